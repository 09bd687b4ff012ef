// What only the browser's program can do on the pages of knowledge.
import { type Page } from "@playwright/test";
import { expect, open, persona, test } from "./house";

test("Ctrl-S saves, and the cursor stays where it was", async ({ page, request }) => {
  const made = await request.post("/api/storage/pages", { data: { title: "By key", body: "one three" } });
  const { id } = await made.json();
  await open(page, `/pages/${id}`);
  const text = page.getByLabel("Text", { exact: true });
  await text.focus();
  await text.evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(4, 4));
  await page.keyboard.type("two ");
  await page.keyboard.press("Control+s");
  await expect(page.getByRole("status").filter({ hasText: "Saved." })).toBeVisible();
  await expect(page.getByText("v2")).toBeVisible();
  await page.keyboard.type("and ");
  await expect(text).toHaveValue("one two and three");
  await page.keyboard.press("Control+s");
  await expect.poll(async () => (await (await request.get(`/api/storage/pages/${id}`)).json()).body).toBe("one two and three");
});

test("a link asks before it leaves what is not saved", async ({ page, request }) => {
  const made = await request.post("/api/storage/pages", { data: { title: "Unsaved" } });
  const { id } = await made.json();
  await open(page, `/pages/${id}`);
  await page.getByLabel("Text", { exact: true }).fill("Not saved yet");
  const away = page.getByRole("navigation", { name: "Where this is" }).getByRole("link", { name: "Knowledge" });
  page.once("dialog", (dialog) => dialog.dismiss());
  await away.click();
  await expect(page.getByLabel("Text", { exact: true })).toHaveValue("Not saved yet");
  page.once("dialog", (dialog) => dialog.accept());
  await away.click();
  await expect(page.getByRole("heading", { name: "Knowledge" })).toBeVisible();
});

test("the preview shows what is typed, and one writes on from there", async ({ page, request }) => {
  const made = await request.post("/api/storage/pages", { data: { title: "Previewed", body: "saved" } });
  const { id } = await made.json();
  await open(page, `/pages/${id}`);
  const [text, read] = [page.getByLabel("Text", { exact: true }), page.locator("#typed")];
  const [write, preview] = ["Write", "Preview"].map((name) => page.getByRole("link", { name, exact: true }));
  await expect(read).toBeHidden();
  await text.fill("Not **kept** yet, see [[Previewed]]");
  await preview.click();
  await expect(read.locator("strong")).toHaveText("kept");
  await expect(read.getByRole("link", { name: "Previewed" })).toHaveAttribute("href", /^\/pages\//);
  await expect(preview).toHaveAttribute("aria-current", "page");
  await expect(text).toBeHidden();
  await write.click();
  await expect(write).toHaveAttribute("aria-current", "page");
  await expect(read).toBeHidden();
  await expect(text).toHaveValue("Not **kept** yet, see [[Previewed]]");
  expect((await (await request.get(`/api/storage/pages/${id}`)).json()).body).toBe("saved");
  await page.keyboard.press("Control+s");
  await expect(page.getByText("v2")).toBeVisible();
  await preview.click();
  await expect(page).toHaveURL(/preview=1/);
  await expect(page.locator("#entry strong")).toHaveText("kept");
});

test("what was not saved is back after leaving by a key, and can be thrown away", async ({ page, request }) => {
  const made = await request.post("/api/storage/pages", { data: { title: "Left behind", body: "saved" } });
  const { id } = await made.json();
  const text = page.getByLabel("Text", { exact: true });
  await open(page, "/knowledge");
  await page.getByRole("link", { name: "Left behind" }).first().click();
  await expect(text).toHaveValue("saved");
  await expect(page.getByRole("button", { name: "Discard" })).toBeHidden();
  await text.fill("saved, and more");
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Knowledge" })).toBeVisible();
  await page.goForward();
  await expect(text).toHaveValue("saved, and more");
  await expect(page.getByRole("status").filter({ hasText: "is back" })).toBeVisible();

  // Somebody else wrote meanwhile: it appears beside what is written, and nothing is lost when that is saved.
  await request.put(`/api/storage/pages/${id}`, { data: { title: "Found again", body: "At first: saved" } });
  const merged = page.getByText("A change from elsewhere was merged into your text.");
  await expect(merged).toBeVisible();
  await expect(text).toHaveValue("At first: saved, and more");
  await expect(page.getByLabel("Title", { exact: true })).toHaveValue("Found again");
  await page.keyboard.press("Control+s");
  await expect(merged).toBeHidden();
  await expect.poll(async () => (await (await request.get(`/api/storage/pages/${id}`)).json()).body).toBe("At first: saved, and more");

  await text.fill("a slip");
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(text).toHaveValue("At first: saved, and more");
  await open(page, `/pages/${id}`);
  await expect(text).toHaveValue("At first: saved, and more");
});

test("a ref is fetched from the address that is saved, not from one that is being written", async ({ page, request }) => {
  const made = await request.post("/api/storage/refs", { data: { title: "Elsewhere", url: "https://example.org/" } });
  const { id } = await made.json();
  await open(page, `/refs/${id}`);
  const fetches = page.getByRole("button", { name: "Fetch text" });
  await expect(fetches).toBeVisible();
  await page.getByLabel("Address", { exact: true }).fill("https://example.com/");
  await expect(page.getByText("Save before fetching")).toBeVisible();
  await expect(fetches).toBeHidden();
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(fetches).toBeVisible();
});

test("what is open on a list stays open when the list changes", async ({ page, request }) => {
  const { id, name } = await persona(request);
  const other = await persona(request);
  await request.delete(`/api/storage/personas/${id}`);
  await open(page, "/bin");
  const row = page.getByRole("listitem").filter({ hasText: name });
  await row.getByText("Remove…").click();
  await request.delete(`/api/storage/personas/${other.id}`);
  await expect(page.getByRole("listitem").filter({ hasText: other.name })).toBeVisible();
  await expect(row.getByRole("button", { name: "Remove for good" })).toBeVisible();
});

test("what is saved in one tab appears in another, and is merged with what is being written there", async ({ page, context, request }) => {
  const other = await context.newPage();
  const text = (tab: Page) => tab.getByLabel("Text", { exact: true });
  for (const [kind, field] of [["refs", "text"], ["pages", "body"]]) {
    const data = { title: "Twice open", [field]: "In the middle." };
    const { id } = await (await request.post(`/api/storage/${kind}`, { data })).json();
    for (const tab of [page, other]) await open(tab, `/${kind}/${id}`);
    await page.getByLabel("Title", { exact: true }).fill("Seen twice");
    await text(page).fill("At first.\n\nIn the middle.");
    await page.keyboard.press("Control+s");
    await expect(text(other)).toHaveValue("At first.\n\nIn the middle.");
    await expect(other.getByLabel("Title", { exact: true })).toHaveValue("Seen twice");
  }
  await text(other).fill("At first.\n\nIn the middle.\n\nAt last.");
  await text(page).fill("At the very first.\n\nIn the middle.");
  await page.keyboard.press("Control+s");
  await expect(page.getByText("v3")).toBeVisible();
  await expect(text(other)).toHaveValue("At the very first.\n\nIn the middle.\n\nAt last.");
  await expect(other.getByRole("status").filter({ hasText: "merged into your text" })).toBeVisible();
  await other.keyboard.press("Control+s");
  await expect(text(page)).toHaveValue("At the very first.\n\nIn the middle.\n\nAt last.");

  // The same passage written twice stays as it is here, and that is said.
  await text(other).fill("At the very first.\n\nOn the left.\n\nAt last.");
  await text(page).fill("At the very first.\n\nOn the right.\n\nAt last.");
  await page.keyboard.press("Control+s");
  await expect(other.getByText("This was changed elsewhere.")).toBeVisible();
  await expect(text(other)).toHaveValue("At the very first.\n\nOn the left.\n\nAt last.");
});
