// What works for everyone: with and without JavaScript, on a desktop and on a phone.
import { expect, open, persona, read, test } from "./house";

test("a newcomer finds personas to begin with", async ({ page, javaScriptEnabled }) => {
  await open(page, "/?q=optimist", javaScriptEnabled);
  await expect(page.getByRole("heading", { name: "Personas" })).toBeVisible();
  await page.getByRole("link", { name: /^Optimist/ }).first().click();
  await expect(page).toHaveURL(/\/personas\/optimist$/);
  await expect(page.getByLabel("Name")).toHaveValue("Optimist");
  await expect(page.getByRole("heading", { name: "Test inputs" })).toBeVisible();
  await expect(page.getByLabel("Test input 1", { exact: true })).toHaveValue(/2\+2/);
});

test("a persona is made, named, saved and found again", async ({ page, request, javaScriptEnabled }) => {
  await open(page, "/", javaScriptEnabled);
  await page.getByRole("button", { name: "New persona" }).click();
  await expect(page).toHaveURL(/\/personas\/.+/);
  const name = `Made by hand ${Date.now()}`;
  await page.getByLabel("Name").fill(name);
  await page.locator("#system-prompt").fill("Speak plainly.\nBe kind.");
  if (javaScriptEnabled) {
    await expect(page.locator(".editor-head .save-state")).toHaveText("Saved");
  } else {
    await page.locator(".editor-head").getByRole("button", { name: "Save" }).click();
  }
  const id = page.url().split("/").pop()!.split("?")[0];
  await expect.poll(async () => (await read(request, id)).systemPrompt).toBe("Speak plainly.\nBe kind.");
  await open(page, `/?q=${encodeURIComponent(name)}`, javaScriptEnabled);
  await expect(page.getByRole("link", { name: new RegExp(name) })).toBeVisible();
});

test("searching narrows the list and says when nobody is found", async ({ page, javaScriptEnabled }) => {
  await open(page, "/", javaScriptEnabled);
  await page.getByLabel("Search personas by name").fill("SKEPT");
  if (!javaScriptEnabled) await page.getByRole("button", { name: "Search" }).click();
  await expect(page).toHaveURL(/q=SKEPT/);
  await expect(page.getByRole("link", { name: /Skeptic/ }).first()).toBeVisible();
  await expect(page.getByRole("link", { name: /^Optimist/ })).toHaveCount(0);
  await open(page, "/?q=nobodyiscalledthis", javaScriptEnabled);
  await expect(page.getByText("Nobody by that name")).toBeVisible();
});

test("a test input is added, moved and deleted", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await persona(request);
  await open(page, `/personas/${id}`, javaScriptEnabled);
  for (const text of ["First?", "Second?"]) {
    await page.getByLabel("New test input").fill(text);
    await page.getByRole("button", { name: "Add test input" }).click();
    await expect(page.getByLabel(/^Test input \d+$/).last()).toHaveValue(text);
  }
  await page.getByRole("button", { name: "Move Test input 2 up" }).click();
  await expect(page.getByLabel("Test input 1", { exact: true })).toHaveValue("Second?");
  await page.getByRole("button", { name: "Delete Test input 1" }).click();
  await expect(page.locator(".test")).toHaveCount(1);
  await expect(page.getByLabel("Test input 1", { exact: true })).toHaveValue("First?");
});

test("what is deleted waits in the bin and comes back", async ({ page, request, javaScriptEnabled }) => {
  const { id, name } = await persona(request);
  await open(page, `/personas/${id}`, javaScriptEnabled);
  await page.getByRole("button", { name: "Delete this persona" }).click();
  await expect(page).toHaveURL(/\/$/);
  await open(page, "/bin", javaScriptEnabled);
  await page.getByRole("button", { name: `Restore ${name}` }).click();
  await expect(page.getByRole("button", { name: `Restore ${name}` })).toHaveCount(0);
  expect((await read(request, id)).name).toBe(name);
});

test("versions are listed, compared, labelled and restored", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief." });
  const put = (data: object) => request.put(`/api/storage/personas/${id}`, { data });
  await put({ systemPrompt: "Be very brief.", reason: "Shorter still." });
  await open(page, `/personas/${id}`, javaScriptEnabled);
  await page.getByRole("link", { name: "Versions" }).click();
  const drawer = page.getByRole("complementary", { name: "Versions" });
  await expect(drawer.getByText("You: Shorter still.")).toBeVisible();
  await expect(drawer.locator("ins")).toHaveText("very ");
  await drawer.getByText("Label…").last().click();
  await drawer.getByLabel("Label for version 1").fill("production");
  await drawer.getByRole("button", { name: "Set" }).last().click();
  await expect(drawer.locator(".label")).toHaveText("production");
  await drawer.getByRole("button", { name: "Restore" }).click();
  await expect(drawer.getByText("Restored version 1.")).toBeVisible();
  await expect(page.locator("#system-prompt")).toHaveValue("Be brief.");
  expect((await read(request, id)).revision).toBe(3);
});

test("the prompt is shown as it reads", async ({ page, request, javaScriptEnabled }) => {
  const prompt = "# Who\n\n- kind\n- **brief**\n\n<script>alert(1)</script> ![x](https://example.org/x.png)";
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`, javaScriptEnabled);
  await page.getByRole("link", { name: "Preview" }).click();
  const prose = page.locator(".prose");
  await expect(prose.getByRole("heading", { name: "Who" })).toBeVisible();
  await expect(prose.locator("strong")).toHaveText("brief");
  await expect(prose).toContainText("<script>alert(1)</script>");
  await expect(prose.locator("img")).toHaveCount(0);
  await page.getByRole("link", { name: "Write" }).click();
  await expect(page.locator("#system-prompt")).toBeVisible();
});

test("colours are chosen and remembered", async ({ page, javaScriptEnabled }) => {
  await open(page, "/settings", javaScriptEnabled);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const choose = (name: string) => page.getByRole("main").getByRole("button", { name }).click();
  await choose("Dark");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  if (javaScriptEnabled) expect(await background()).toBe("rgb(21, 24, 26)");
  await choose("Light");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
});

test("an unknown address says so", async ({ page }) => {
  const answer = await page.goto("/no/such/page");
  expect(answer!.status()).toBe(404);
  await expect(page.getByRole("heading", { name: "Nothing here" })).toBeVisible();
  await page.getByRole("link", { name: "Go to the personas" }).click();
  await expect(page.getByRole("heading", { name: "Personas" })).toBeVisible();
});

test("the bin asks before it forgets for good", async ({ page, request, javaScriptEnabled }) => {
  const { id, name } = await persona(request);
  await request.delete(`/api/storage/personas/${id}`);
  await open(page, "/bin", javaScriptEnabled);
  const row = page.getByRole("listitem").filter({ hasText: name });
  await row.getByText("Remove…").click();
  await row.getByRole("button", { name: "Remove for good" }).click();
  await expect(row).toHaveCount(0);
  expect((await request.post(`/api/storage/bin/persona/${id}/restore`)).status()).toBe(404);
});

test("a test input is run, and its answer is kept with what it took", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await persona(request, { systemPrompt: "You are a kind coach." });
  await request.post(`/api/storage/personas/${id}/test-inputs`, { data: { content: "Where do I start?" } });
  await open(page, `/personas/${id}`, javaScriptEnabled);
  await expect(page.getByText("No answer yet")).toBeVisible();
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  const answer = page.getByLabel("Answer", { exact: true });
  await expect(async () => {
    if (!javaScriptEnabled) await page.reload();
    await expect(answer).toContainText("Demo, scripted", { timeout: 1000 });
    await expect(answer).toContainText(/v1 · demo · \d+ in · \d+ out · .* · free/, { timeout: 1000 });
  }).toPass();
  await open(page, `/personas/${id}`, javaScriptEnabled);
  await expect(answer).toContainText("Demo, scripted");
});

test("a service is added with the place of its key, never with the key", async ({ page, javaScriptEnabled }) => {
  const word = `mine-${Date.now()}-${process.pid}`;
  await open(page, "/settings", javaScriptEnabled);
  const fill = async (key: string) => {
    await page.getByText("Add a service").click();
    const form = page.locator("form", { has: page.getByRole("button", { name: "Add service" }) });
    await form.getByLabel("Its word in model strings").fill(word);
    await form.getByLabel("Label").fill(`Server ${word}`);
    await form.getByLabel("Address").fill("http://127.0.0.1:9/v1");
    await form.getByLabel("Key", { exact: true }).fill(key);
    await form.getByRole("button", { name: "Add service" }).click();
  };
  await fill("sk-not-a-place");
  await expect(page.getByRole("alert")).toContainText("env:NAME");
  await fill("env:NOT_SET_ANYWHERE");
  const row = page.locator(".services li", { hasText: `Server ${word}` });
  await expect(row).toContainText("no key");
  await row.getByText(`Server ${word}`).click();
  await row.getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
});

test("a pasted key is shown by its last letters and forgotten at another address", async ({ page, javaScriptEnabled }) => {
  const word = `pasted-${Date.now()}-${process.pid}`;
  await open(page, "/settings", javaScriptEnabled);
  await page.getByText("Add a service").click();
  const form = page.locator("form", { has: page.getByRole("button", { name: "Add service" }) });
  await form.getByLabel("Its word in model strings").fill(word);
  await form.getByLabel("Label").fill(`Server ${word}`);
  await form.getByLabel("Address").fill("http://127.0.0.1:9/v1");
  await form.getByLabel("Or paste a key").fill("c4n4ry-0123456789-wxyz");
  await form.getByRole("button", { name: "Add service" }).click();
  const row = page.locator(".services li", { hasText: `Server ${word}` });
  await expect(row).toContainText("key found");
  expect(await page.content()).not.toContain("c4n4ry");
  await row.getByText(`Server ${word}`).click();
  await expect(row.getByLabel("Key", { exact: true })).toHaveValue("sealed:…wxyz");
  await row.getByLabel("Address").fill("http://127.0.0.1:10/v1");
  await row.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("needs no key");
  await row.getByText(`Server ${word}`).click();
  await expect(row.getByLabel("Key", { exact: true })).toHaveValue("");
  await row.getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
});
