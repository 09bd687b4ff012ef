// The workbench: improvements come as drafts, a version becomes public and stays as it was, chats stand beside each other.
import { expect, fitsTheScreen, open, persona, read, test } from "./house";
import type { Browser, Page } from "@playwright/test";

/** Without JavaScript one looks again. */
async function until(page: Page, javaScriptEnabled: boolean, check: () => Promise<void>) {
  await expect(async () => {
    if (!javaScriptEnabled) await page.reload();
    await check();
  }).toPass({ timeout: 20_000 });
}

const workbench = (page: Page) => page.locator("#workbench");

/** What a stranger without JavaScript sees. */
async function stranger(browser: Browser, baseURL: string, path: string, look: (page: Page) => Promise<void>, status = 200) {
  const context = await browser.newContext({ baseURL, javaScriptEnabled: false });
  const page = await context.newPage();
  const answer = await page.goto(path);
  expect(answer?.status()).toBe(status);
  await look(page);
  await context.close();
}

test("a version is published, stays as it was, moves on when told to, and is taken away", async ({ page, request, browser, baseURL, javaScriptEnabled }) => {
  test.slow();
  const { id, name } = await persona(request, { systemPrompt: "You keep **bees**." });
  const slug = `bees-${Date.now()}-${Math.floor(Math.random() * 1e6)}`;
  await open(page, `/personas/${id}`, javaScriptEnabled);
  await page.getByRole("link", { name: "Workbench" }).click();
  await workbench(page).getByRole("link", { name: "Publish" }).click();
  await expect(workbench(page)).toContainText("Not public.");
  await workbench(page).getByRole("radio", { name: "Your own:" }).check();
  await workbench(page).getByRole("textbox", { name: "Your own address" }).fill(slug);
  await workbench(page).getByRole("button", { name: "Publish v1" }).click();
  await expect(workbench(page)).toContainText("v1 is public.");
  await expect(workbench(page).getByRole("link", { name: `/p/${slug}` })).toHaveAttribute("href", `/p/${slug}`);

  await stranger(browser, baseURL!, `/p/${slug}`, async (public_) => {
    await expect(public_.getByRole("heading", { name })).toBeVisible();
    await expect(public_.locator("body")).not.toContainText("bees.");
    await expect(public_.locator("script, form, #rail, .nav")).toHaveCount(0);
    await expect(public_.locator('meta[name="robots"]')).toHaveAttribute("content", /noindex/);
    await fitsTheScreen(public_);
  });

  await workbench(page).getByRole("checkbox", { name: "The system prompt" }).check();
  await workbench(page).getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => (await (await request.get(`/api/storage/personas/${id}/publication`)).json()).showsPrompt)
    .toBe(true);
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "You keep *ants*." } });
  await stranger(browser, baseURL!, `/p/${slug}`, async (public_) => {
    await expect(public_.locator("body")).toContainText("You keep bees.");
  });
  await until(page, javaScriptEnabled, async () => {
    await expect(workbench(page)).toContainText("v1 is public; the persona is at v2.", { timeout: 3000 });
  });
  await workbench(page).getByRole("button", { name: "Publish v2" }).click();
  await expect(workbench(page)).toContainText("v2 is public.");
  await stranger(browser, baseURL!, `/p/${slug}`, async (public_) => {
    await expect(public_.locator("body")).toContainText("You keep ants.");
  });

  await workbench(page).getByRole("button", { name: "Unpublish" }).click();
  await expect(workbench(page)).toContainText("Not public.");
  await stranger(browser, baseURL!, `/p/${slug}`, async (public_) => {
    await expect(public_.getByRole("heading", { name: "Nothing to see here" })).toBeVisible();
  }, 404);
});

test("an address that is taken is told, and nothing changes", async ({ page, request, javaScriptEnabled }) => {
  const [first, second] = [await persona(request), await persona(request)];
  const slug = `taken-${Date.now()}-${Math.floor(Math.random() * 1e6)}`;
  await request.post(`/api/storage/personas/${first.id}/publication`, { data: { slug } });
  await open(page, `/personas/${second.id}?workbench=publish`, javaScriptEnabled);
  await workbench(page).getByRole("radio", { name: "Your own:" }).check();
  await workbench(page).getByRole("textbox", { name: "Your own address" }).fill(slug);
  await workbench(page).getByRole("button", { name: "Publish v1" }).click();
  await expect(page.getByText(`The address “${slug}” is taken. Choose another.`)).toBeVisible();
  await expect(workbench(page)).toContainText("Not public.");
});

test("an improvement comes as a draft that is accepted where it stands", async ({ page, request, javaScriptEnabled }) => {
  const { id, systemPrompt } = await persona(request, { systemPrompt: "You keep bees." });
  await request.put(`/api/storage/personas/${id}`, { data: { tier: "act" } });
  await open(page, `/personas/${id}?workbench=enhance`, javaScriptEnabled);
  await workbench(page).getByRole("radio", { name: "Clearer voice" }).check();
  await workbench(page).getByRole("button", { name: "Ask for drafts" }).click();
  if (javaScriptEnabled) await expect(page.locator("#rail")).toBeVisible();
  await until(page, javaScriptEnabled, async () => {
    await expect(workbench(page).locator(".draft ins")).toContainText("short, plain sentences", { timeout: 3000 });
  });
  expect((await read(request, id)).systemPrompt).toBe(systemPrompt);
  if (javaScriptEnabled) await page.keyboard.press("Escape");
  await workbench(page).locator(".draft").getByRole("button", { name: /^Accept/ }).first().click();
  await expect.poll(async () => (await read(request, id)).systemPrompt).toContain("short, plain sentences");
});

test("the workbench of a chat lists the chats with its persona, and its settings", async ({ page, request, javaScriptEnabled }) => {
  const { id: personaId, name } = await persona(request, { systemPrompt: "You are kind." });
  const begin = async (title: string) =>
    (await (await request.post("/api/chats", { data: { personaId, title } })).json()).id as string;
  const [first, second] = [await begin("First talk"), await begin("Second talk")];
  await open(page, `/chats/${first}`, javaScriptEnabled);
  await page.getByRole("link", { name: "Other chats" }).click();
  await expect(workbench(page).getByRole("heading", { name: `With ${name}` })).toBeVisible();
  await expect(workbench(page).locator('.chat-list [aria-current="page"]')).toContainText("First talk");
  await workbench(page).getByRole("link", { name: "Second talk" }).click();
  await expect(page).toHaveURL(new RegExp(`/chats/${second}`));
  await expect(workbench(page).locator('.chat-list [aria-current="page"]')).toContainText("Second talk");
  await workbench(page).getByRole("link", { name: "Settings" }).click();
  await expect(workbench(page).getByLabel("Title")).toHaveValue("Second talk");
  await workbench(page).getByRole("link", { name: "Close the workbench" }).click();
  await expect(workbench(page)).toHaveCount(0);
});
