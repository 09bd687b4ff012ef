// Chats read and work alike with and without the browser's program.
import { expect, open, persona, test, type Persona } from "./house";
import type { APIRequestContext, Page } from "@playwright/test";

/** A chat whose answers are there. */
async function chat(request: APIRequestContext, said: string[], who?: Persona) {
  const { id: personaId } = who ?? (await persona(request, { systemPrompt: "You are kind." }));
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  for (const content of said) {
    const answer = await request.post(`/api/chats/${id}/messages`, { data: { content } });
    expect(answer.status()).toBe(201);
    const { runId } = await answer.json();
    await expect
      .poll(async () => (await (await request.get(`/api/runs/${runId}`)).json()).status)
      .toBe("done");
  }
  return id as string;
}

const turns = (page: Page) => page.locator(".chat-turn");

/** Without JavaScript one looks again. */
async function until(page: Page, javaScriptEnabled: boolean, check: () => Promise<void>) {
  await expect(async () => {
    if (!javaScriptEnabled) await page.reload();
    await check();
  }).toPass({ timeout: 20_000 });
}

test("a chat is begun and answered, and asking again makes a branch", async ({ page, request, javaScriptEnabled }) => {
  const { name } = await persona(request, { systemPrompt: "You are kind." });
  await open(page, "/chats", javaScriptEnabled);
  await page.getByRole("combobox", { name: "Talk to" }).selectOption({ label: name });
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await expect(page.getByRole("heading", { name: "New chat" })).toBeVisible();
  await expect(page.getByText(`Say something to ${name} below.`)).toBeVisible();
  await page.getByRole("textbox", { name: "Say something…" }).fill("Hello there");
  await page.getByRole("button", { name: "Send" }).click();
  await until(page, javaScriptEnabled, async () => {
    await expect(turns(page)).toHaveCount(2, { timeout: 1000 });
    await expect(turns(page).nth(1).getByRole("button", { name: "Again" })).toBeVisible({ timeout: 3000 });
  });
  await expect(turns(page).nth(0)).toContainText("Hello there");
  await turns(page).nth(1).getByRole("button", { name: "Again" }).click();
  await until(page, javaScriptEnabled, async () => {
    await expect(turns(page).nth(1).locator(".place")).toHaveText("2 / 2", { timeout: 3000 });
  });
  await turns(page).nth(1).getByRole("button", { name: "The one before" }).click();
  await expect(turns(page).nth(1).locator(".place")).toHaveText("1 / 2");
  await page.goto("/chats");
  await expect(page.getByRole("listitem").filter({ hasText: name })).toBeVisible();
});

test("a message is put in other words, and what followed it is told of", async ({ page, request, javaScriptEnabled }) => {
  const id = await chat(request, ["First words", "Second words"]);
  await open(page, `/chats/${id}`, javaScriptEnabled);
  await expect(turns(page)).toHaveCount(4);
  const first = turns(page).nth(0);
  await first.getByText("Edit…").click();
  await first.getByLabel("Other words").fill("Other first words");
  await first.getByRole("button", { name: "Save only" }).click();
  await expect(turns(page)).toHaveCount(1);
  await expect(turns(page).nth(0)).toContainText("Other first words");
  await expect(turns(page).nth(0)).toContainText("2 / 2");
  await expect(turns(page).nth(0)).toContainText("3 messages on the other branch");
});

test("a branch is pruned and brought back from the map", async ({ page, request, javaScriptEnabled }) => {
  const id = await chat(request, ["Once", "Twice"]);
  await open(page, `/chats/${id}`, javaScriptEnabled);
  const third = turns(page).nth(2);
  await third.getByText("More…").click();
  await third.getByRole("button", { name: "Prune from here" }).click();
  await expect(turns(page)).toHaveCount(2);
  await page.getByRole("link", { name: "Map" }).click();
  await expect(page.locator(".map circle")).toHaveCount(4);
  await page.getByRole("button", { name: "Bring back" }).click();
  await expect(page.getByRole("button", { name: "Bring back" })).toHaveCount(0);
  await open(page, `/chats/${id}`, javaScriptEnabled);
  await expect(turns(page)).toHaveCount(4);
});

test("what was sent is shown in sections, and settings are kept", async ({ page, request, javaScriptEnabled }) => {
  const id = await chat(request, ["What do you see?"]);
  await open(page, `/chats/${id}`, javaScriptEnabled);
  await turns(page).nth(1).getByText("More…").click();
  await page.getByRole("link", { name: "What was sent" }).click();
  const drawer = page.getByRole("complementary", { name: "What was sent" });
  await expect(drawer).toContainText("tokens");
  await expect(drawer.locator("details")).not.toHaveCount(0);

  await open(page, `/chats/${id}?settings=1`, javaScriptEnabled);
  await page.getByLabel("Title").fill("A title of mine");
  await page.getByLabel("Name", { exact: true }).fill("Robin");
  await page.getByLabel("Messages that go to the model").fill("12");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("heading", { name: "A title of mine" })).toBeVisible();
  const kept = await (await request.get(`/api/chats/${id}`)).json();
  expect(kept.settings).toMatchObject({ window: 12, userPersona: { name: "Robin" } });
});

test("a persona that moved on says so, and is updated on request", async ({ page, request, javaScriptEnabled }) => {
  const who = await persona(request, { systemPrompt: "You are kind." });
  const id = await chat(request, [], who);
  await request.put(`/api/storage/personas/${who.id}`, { data: { systemPrompt: "You are kinder." } });
  await open(page, `/chats/${id}`, javaScriptEnabled);
  await expect(page.getByText("has moved on: 1 change between v1 and v2.")).toBeVisible();
  await page.getByRole("button", { name: "Update" }).click();
  await expect(page.getByText("has moved on")).toHaveCount(0);
});

test("a long chat is read upwards", async ({ page, request, javaScriptEnabled }) => {
  const { id: personaId } = await persona(request);
  const messages = Array.from({ length: 130 }, (_, at) => ({
    id: `m${at}`,
    parentId: at === 0 ? null : `m${at - 1}`,
    role: at % 2 === 0 ? "user" : "assistant",
    content: `Message number ${at}`,
  }));
  const { id: example } = await (await request.post("/api/chats", { data: { personaId } })).json();
  const file = await (await request.get(`/api/chats/${example}/export`)).json();
  const made = await request.post("/api/chats/import", { data: { ...file, messages } });
  expect(made.status()).toBe(201);
  const { id } = await made.json();
  await request.put(`/api/storage/personas/${personaId}`, { data: { systemPrompt: "You are kinder." } });
  const numbered = (at: number) => page.locator(".prose").getByText(`Message number ${at}`, { exact: true });
  await open(page, `/chats/${id}`, javaScriptEnabled);
  await expect(numbered(129)).toBeVisible();
  if (javaScriptEnabled) {
    await expect(numbered(129)).toBeInViewport();
    // That its persona moved on is told where one is.
    await expect(page.getByText("has moved on")).toBeInViewport();
    await page.evaluate(() => window.scrollTo(0, 0));
    await expect(numbered(30)).toBeAttached();
    // What was read stays in sight.
    await expect(numbered(80)).toBeInViewport();
    await page.evaluate(() => window.scrollTo(0, 0));
    await expect(turns(page)).toHaveCount(130);
    await expect(page.getByRole("link", { name: "Earlier messages" })).toHaveCount(0);
    // With all that comes into sight something can be done, whoever said it.
    for (const at of [64, 65]) {
      await numbered(at).scrollIntoViewIfNeeded();
      await expect(turns(page).nth(at).locator(".chat-tools > details").first()).toBeVisible();
    }
    // What was loaded stays when something changes.
    const { items } = await (await request.get(`/api/chats/${id}/messages`)).json();
    await request.patch(`/api/messages/${items.at(-1).id}`, { data: { label: "The last one" } });
    await expect(turns(page).last()).toContainText("The last one");
    await expect(turns(page)).toHaveCount(130);
    // What was loaded above the last ones changes too: at once where one looks, and elsewhere once one does.
    const { items: nodes } = await (await request.get(`/api/chats/${id}/tree`)).json();
    await numbered(10).scrollIntoViewIfNeeded();
    await request.patch(`/api/messages/${nodes[10].id}`, { data: { label: "An early one", bookmarked: true } });
    await expect(turns(page).nth(10)).toContainText("An early one");
    await expect(turns(page).nth(10)).toContainText("Bookmarked");
    await numbered(129).scrollIntoViewIfNeeded();
    await request.patch(`/api/messages/${nodes[3].id}`, { data: { label: "The third one" } });
    await request.patch(`/api/messages/${nodes[129].id}`, { data: { label: "Once more" } });
    await expect(turns(page).last()).toContainText("Once more");
    await numbered(3).scrollIntoViewIfNeeded();
    await expect(turns(page).nth(3)).toContainText("The third one");
    // What is done with one of them is seen there.
    await turns(page).nth(3).getByText("More…").click();
    await turns(page).nth(3).getByRole("button", { name: "Bookmark" }).click();
    await expect(turns(page).nth(3)).toContainText("Bookmarked");
    await expect(numbered(3)).toBeInViewport();
    await expect(turns(page)).toHaveCount(130);
    // Opening and closing something beside the chat leaves one where one was.
    await turns(page).nth(3).getByText("More…").click();
    await turns(page).nth(3).getByRole("link", { name: "Show on the map" }).click();
    await expect(page.getByRole("complementary", { name: "Map" })).toBeVisible();
    await page.getByRole("link", { name: "Close" }).click();
    await expect(page.getByRole("complementary", { name: "Map" })).toHaveCount(0);
    await expect(numbered(3)).toBeInViewport();
    await expect(turns(page)).toHaveCount(130);
  } else {
    await page.getByRole("link", { name: "Earlier messages" }).click();
    await page.getByRole("link", { name: "Earlier messages" }).click();
    await expect(numbered(0)).toBeVisible();
    await page.getByRole("link", { name: "Later messages" }).click();
    await expect(numbered(30)).toBeInViewport();
    await page.getByRole("link", { name: "The newest messages" }).click();
    await expect(numbered(129)).toBeVisible();
  }
});
