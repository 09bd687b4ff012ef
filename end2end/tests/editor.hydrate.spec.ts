// The editor with JavaScript: nothing typed is ever lost, and nothing reloads.
import { deaf, expect, open, persona, read, test } from "./house";

const state = ".editor-head .save-state";

test("what is typed is saved by itself, and nothing reloads", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "one" });
  await open(page, "/?q=skeptic");
  await page.evaluate(() => Object.assign(window, { same: true }));
  await page.getByRole("link", { name: /Skeptic/ }).first().click();
  await expect(page.getByLabel("Name")).toHaveValue("Skeptic");
  await page.getByRole("link", { name: "Greenroom" }).click();
  await expect(page.getByRole("heading", { name: "Personas" })).toBeVisible();
  expect(await page.evaluate(() => (window as any).same)).toBe(true);
  await open(page, `/personas/${id}`);
  await page.evaluate(() => Object.assign(window, { same: true }));
  await page.locator("#system-prompt").fill("one two");
  await expect(page.locator(state)).toHaveText("Saved");
  expect((await read(request, id)).systemPrompt).toBe("one two");
  await expect(page.getByText("Characters: 7 · tokens: about 2")).toBeVisible();
  await page.getByLabel("Name").fill("Renamed");
  await expect(page).toHaveTitle("Renamed · Greenroom");
  await page.keyboard.press("Control+s");
  await expect.poll(async () => (await read(request, id)).name).toBe("Renamed");
  await page.getByRole("link", { name: "Versions" }).click();
  await expect(page.getByRole("complementary", { name: "Versions" })).toBeVisible();
  await page.getByRole("link", { name: "Close the versions" }).click();
  expect(await page.evaluate(() => (window as any).same)).toBe(true);
});

test("two tabs that edit apart both keep their words", async ({ page, context, request }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief.\nBe kind.\nAsk when unsure.\n" });
  const other = await context.newPage();
  await deaf(page);
  await open(page, `/personas/${id}`);
  await open(other, `/personas/${id}`);
  await other.locator("#system-prompt").fill("Be brief.\nBe kind.\nAsk twice when unsure.\n");
  await expect(other.locator(state)).toHaveText("Saved");
  await page.locator("#system-prompt").fill("Be very brief.\nBe kind.\nAsk when unsure.\n");
  await expect(page.locator(state)).toHaveText("Saved, with a change from elsewhere");
  const both = "Be very brief.\nBe kind.\nAsk twice when unsure.\n";
  await expect(page.locator("#system-prompt")).toHaveValue(both);
  expect((await read(request, id)).systemPrompt).toBe(both);
});

test("two tabs that edit one passage are shown both texts", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief." });
  await deaf(page);
  await open(page, `/personas/${id}`);
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "Be long." } });
  await page.locator("#system-prompt").fill("Be funny.");
  await expect(page.locator(state)).toHaveText("Needs your decision");
  await expect(page.getByLabel("Yours")).toHaveValue("Be funny.");
  await expect(page.getByLabel("Theirs")).toHaveValue("Be long.");
  await page.getByLabel("Yours").fill("Be funny and long.");
  await page.getByRole("button", { name: "Save mine" }).click();
  await expect(page.locator(state)).toHaveText("Saved");
  await expect(page.locator("#system-prompt")).toHaveValue("Be funny and long.");
  expect((await read(request, id)).systemPrompt).toBe("Be funny and long.");
});

test("a change from elsewhere appears at once, and meets what is being typed", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief.\nBe kind.\n" });
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "Be brief.\nBe kind.\nAsk.\n" } });
  await expect(page.locator("#system-prompt")).toHaveValue("Be brief.\nBe kind.\nAsk.\n");
  // The clock stands still, so that what is typed is not saved yet.
  await page.locator("#system-prompt").fill("Be very brief.\nBe kind.\nAsk.\n");
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "Be brief.\nBe kind.\nAsk twice.\n" } });
  await expect(page.locator("#system-prompt")).toHaveValue("Be very brief.\nBe kind.\nAsk twice.\n");
  await expect(page.locator(".notices")).toContainText("A change from elsewhere was merged into your text.");
  await expect(page.locator(".notices").getByRole("link", { name: "Show" })).toHaveAttribute("href", "?versions=1&from=2&to=3");
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "Be terse.\nBe kind.\nAsk twice.\n" } });
  await expect(page.getByLabel("Yours")).toHaveValue("Be very brief.\nBe kind.\nAsk twice.\n");
  await expect(page.getByLabel("Theirs")).toHaveValue("Be terse.\nBe kind.\nAsk twice.\n");
});

test("the cursor stays in the words that are being typed when a change from elsewhere comes", async ({ page, request }) => {
  const before = "Greet.\n\nBe brief.\n\nBe kind.\n\nAsk.";
  const elsewhere = "Greet everybody.\n\nBe brief.\n\nBe kind.\n\nAsk.";
  const { id } = await persona(request, { systemPrompt: before });
  const inputs = `/api/storage/personas/${id}/test-inputs`;
  const input = await (await request.post(inputs, { data: { content: before } })).json();
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1000);
  const fields = [
    { area: page.locator("#system-prompt"), change: () => request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: elsewhere } }) },
    { area: page.locator(`#test-${input.id}`), change: () => request.put(`${inputs}/${input.id}`, { data: { content: elsewhere } }) },
  ];
  for (const { area, change } of fields) {
    await area.focus();
    await area.evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(11, 11));
    await page.keyboard.type("very ");
    await expect(area).toHaveValue(before.replace("brief", "very brief"));
    expect((await change()).ok()).toBe(true);
    await expect(area).toHaveValue(elsewhere.replace("brief", "very brief"));
    await expect(page.locator(".notices")).toContainText("A change from elsewhere was merged into your text.");
    await page.keyboard.type("very ");
    await expect(area).toHaveValue(elsewhere.replace("brief", "very very brief"));
    await page.locator(".notices").getByRole("button", { name: "Close" }).click();
  }
});

test("a server that is away loses nothing", async ({ page, context, request }) => {
  const { id } = await persona(request, { systemPrompt: "one" });
  await open(page, `/personas/${id}`);
  await context.setOffline(true);
  await page.locator("#system-prompt").fill("written while away");
  await expect(page.locator(state)).toContainText("Not saved");
  await expect(page.getByRole("alert").first()).toContainText("What you wrote is still here.");
  await context.setOffline(false);
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator(state)).toHaveText("Saved");
  expect((await read(request, id)).systemPrompt).toBe("written while away");
});

test("text that could not be saved is still there after a crash", async ({ page, context, request }) => {
  const { id } = await persona(request, { systemPrompt: "one" });
  await open(page, `/personas/${id}`);
  await context.setOffline(true);
  await page.locator("#system-prompt").fill("nearly lost");
  await expect(page.locator(state)).toContainText("Not saved");
  await page.close({ runBeforeUnload: false });
  await context.setOffline(false);
  const later = await context.newPage();
  await open(later, `/personas/${id}`);
  await later.getByRole("button", { name: "Bring it back" }).click();
  await expect(later.locator("#system-prompt")).toHaveValue("nearly lost");
  await expect(later.locator(state)).toHaveText("Saved");
  expect((await read(request, id)).systemPrompt).toBe("nearly lost");
});

test("leaving with something unsaved asks first", async ({ page, context, request }) => {
  const { id } = await persona(request);
  await open(page, `/personas/${id}`);
  await context.setOffline(true);
  await page.locator("#system-prompt").click();
  await page.keyboard.type("unsaved");
  await expect(page.locator(state)).toContainText("Not saved");
  const asked = page.waitForEvent("dialog");
  const leaving = page.close({ runBeforeUnload: true });
  const dialog = await asked;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  await leaving;
  await expect(page.locator("#system-prompt")).toHaveValue("unsaved");
  await context.setOffline(false);
});

test("going to another page saves on the way", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "one" });
  await open(page, `/personas/${id}`);
  await page.locator("#system-prompt").fill("on the way");
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Bin" }).click();
  await expect(page.getByRole("heading", { name: "Bin", exact: true })).toBeVisible();
  await expect.poll(async () => (await read(request, id)).systemPrompt).toBe("on the way");
});

test("bad input is told beside the form and changes nothing", async ({ page, request }) => {
  const { id, name } = await persona(request);
  await open(page, `/personas/${id}`);
  await page.getByLabel("Name").fill("   ");
  await expect(page.locator(state)).toContainText("Not saved");
  await expect(page.getByText("The name must not be empty.")).toBeVisible();
  expect((await read(request, id)).name).toBe(name);
  await page.getByLabel("Name").fill("Better");
  await expect(page.locator(state)).toHaveText("Saved");
});

test("a field can be emptied, and a name cannot", async ({ page, request }) => {
  const { id, name } = await persona(request, { systemPrompt: "one" });
  await open(page, `/personas/${id}`);
  await page.locator("#system-prompt").fill("");
  await expect(page.locator(state)).toHaveText("Saved");
  await expect.poll(async () => (await read(request, id)).systemPrompt).toBe("");
  await page.getByLabel("Name").fill("");
  await expect(page.locator(state)).toContainText("Not saved");
  await expect(page.getByText("The name must not be empty.")).toBeVisible();
  await expect(page.getByLabel("Name")).toHaveValue("");
  expect((await read(request, id)).name).toBe(name);
  await page.getByLabel("Name").fill(name);
  await expect(page.locator(state)).toHaveText("Saved");
});

test("typing on while a conflict waits is part of one's own text", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief." });
  await deaf(page);
  await open(page, `/personas/${id}`);
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "Be long." } });
  await page.locator("#system-prompt").fill("Be funny.");
  await expect(page.getByLabel("Yours")).toHaveValue("Be funny.");
  await page.locator("#system-prompt").fill("Be funny, and much more.");
  await expect(page.getByLabel("Yours")).toHaveValue("Be funny, and much more.");
  await page.getByRole("button", { name: "Save mine" }).click();
  await expect(page.locator(state)).toContainText("Saved");
  expect((await read(request, id)).systemPrompt).toBe("Be funny, and much more.");
});

test("the cursor stays with a test input that is moved by keyboard", async ({ page, request }) => {
  const { id } = await persona(request);
  for (const content of ["One?", "Two?", "Three?"]) {
    await request.post(`/api/storage/personas/${id}/test-inputs`, { data: { content } });
  }
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Move Test input 3 up" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Test input 2", { exact: true })).toHaveValue("Three?");
  await expect(page.getByRole("button", { name: "Move Test input 2 up" })).toBeFocused();
});

test("a deleted test input comes back by Undo", async ({ page, request }) => {
  const { id } = await persona(request);
  await request.post(`/api/storage/personas/${id}/test-inputs`, { data: { content: "Hello?" } });
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Delete Test input 1" }).click();
  await expect(page.locator(".test")).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByLabel("Test input 1", { exact: true })).toHaveValue("Hello?");
});

test("a test input is edited in place", async ({ page, request }) => {
  const { id } = await persona(request);
  const path = `/api/storage/personas/${id}/test-inputs`;
  await request.post(path, { data: { content: "Hello?" } });
  await open(page, `/personas/${id}`);
  await page.getByLabel("Test input 1", { exact: true }).fill("Hello there?");
  await expect(page.locator(".test .save-state")).toHaveText("Saved");
  expect((await (await request.get(path)).json()).items[0].content).toBe("Hello there?");
});

test("a prompt of the greatest size stays editable", async ({ page, request }) => {
  const long = "All work and no play makes a dull persona. ".repeat(2300);
  const { id } = await persona(request, { systemPrompt: long });
  await open(page, `/personas/${id}`);
  await page.locator("#system-prompt").focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("The end.");
  await expect(page.locator(state)).toHaveText("Saved");
  expect((await read(request, id)).systemPrompt).toBe(`${long}The end.`);
});

test("a deleted persona is brought back by Undo", async ({ page, request }) => {
  const { id, name } = await persona(request);
  await open(page, `/?q=${encodeURIComponent(name)}`);
  await page.getByRole("button", { name: `Delete ${name}` }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await read(request, id)).name).toBe(name);
});

test("what is typed before the program has loaded is kept", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "one" });
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/*.wasm", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`/personas/${id}`, { waitUntil: "commit" });
  await page.locator("#system-prompt").fill("typed early");
  await page.locator("#composer-words").fill("asked early");
  release();
  await expect(page.locator("html[data-alive]")).toBeAttached();
  await expect(page.locator("#system-prompt")).toHaveValue("typed early");
  await expect(page.locator("#composer-words")).toHaveValue("asked early");
  await expect.poll(async () => (await read(request, id)).systemPrompt).toBe("typed early");
});

test("settling a conflict keeps what was changed elsewhere in other fields", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief." });
  await deaf(page);
  await open(page, `/personas/${id}`);
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "Be long.", notes: "theirs" } });
  await page.locator("#system-prompt").fill("Be funny.");
  await page.getByRole("button", { name: "Save mine" }).click();
  await expect(page.locator(state)).toContainText("Saved");
  await expect(page.getByLabel("Notes")).toHaveValue("theirs");
  const now = await read(request, id);
  expect([now.systemPrompt, (now as any).notes]).toEqual(["Be funny.", "theirs"]);
});

test("commas in the list of tools stay where they were typed", async ({ page, request }) => {
  const { id } = await persona(request);
  await open(page, `/personas/${id}`);
  await page.getByLabel("Tools").fill("ls, ");
  await expect(page.locator(state)).toHaveText("Saved");
  await expect(page.getByLabel("Tools")).toHaveValue("ls, ");
  expect((await read(request, id) as any).tools).toEqual(["ls"]);
});

test("a restored version can be taken back without losing what is typed", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "first" });
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "second" } });
  await open(page, `/personas/${id}?versions=1`);
  const drawer = page.getByRole("complementary", { name: "Versions" });
  await drawer.getByText("1 more save just before").click();
  await drawer.getByRole("button", { name: "Restore" }).click();
  await expect(page.locator("#system-prompt")).toHaveValue("first");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.locator("#system-prompt")).toHaveValue("second");
});
