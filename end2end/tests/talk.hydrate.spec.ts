// Talking in the rail: who listens, what is told of an answer, its steps, and the place it takes.
import { announced, answered, ask, expect, open, persona, rail, say, shown, test } from "./house";

// The phone's sheet has no edge, the Space's one companion listens to one at a time, and the rest is the same there.

test("who listens and what they see is said, an answer is announced but not read out, and its steps open", { tag: "@desktop" }, async ({ page, request }) => {
  const { id, name } = await persona(request);
  await open(page, `/personas/${id}`);
  const told = await announced(page);
  await say(page, "Change the name to Zed");
  await answered(page);
  expect(await told()).toEqual([`${name}’s agent is answering.`, "The answer has ended."]);
  await expect(rail(page).getByRole("heading", { name: `${name}’s agent` })).toBeVisible();
  await expect(rail(page).locator(".chip")).toHaveText(name);
  const step = rail(page).locator(".step").filter({ hasText: "update_persona_name" });
  const [input, output] = [step.locator("pre").first(), step.locator("pre").last()];
  await expect(input).toBeHidden();
  await step.locator("summary").click();
  await expect(input).toHaveText(/^\{\s*"name": "Zed"\s*\}$/);
  await expect(output).toContainText("changeId");
});

test("an answer in a chat is announced but not read out", { tag: "@desktop" }, async ({ page, request }) => {
  const { id: personaId } = await persona(request);
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  await open(page, `/chats/${id}`);
  const told = await announced(page);
  const long = "Tell me of the sea. ".repeat(3);
  const each = ["An answer has begun.", "The answer has ended."];
  await say(page, long);
  await expect.poll(told, { timeout: 20_000 }).toEqual(each);
  await say(page, long);
  await expect.poll(told, { timeout: 20_000 }).toEqual([...each, ...each]);
});

test("what stands in the bar is there again when its document comes back, until it is sent", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request);
  await open(page, `/personas/${id}`);
  const bar = page.locator("#composer-words");
  await bar.fill("Half a question");
  await page.goto("/rail?whole=1&at=/");
  await open(page, "/bin");
  await expect(bar).toHaveValue("Half a question");
  await open(page, `/personas/${id}`);
  await say(page, "What is the name?");
  await answered(page);
  await open(page, "/bin");
  await expect(bar).toHaveValue("");
});

test("an answer is copied, and where the browser does not let it be that is said", { tag: "@desktop" }, async ({ page, context, request }) => {
  const { id, name } = await persona(request);
  await ask(request, id, "What is the name?");
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const copy = rail(page).getByRole("button", { name: "Copy this answer" });
  const told = page.locator(".notices");
  await copy.click();
  await expect(told).toContainText("Copied.");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(name);
  // One that refuses, and none at all, as on a page that came without encryption.
  for (const clipboard of ["refuses", "none"]) {
    await open(page, `/personas/${id}`);
    await shown(page, "pinned");
    await page.evaluate((clipboard) => {
      const refuses = { writeText: () => Promise.reject(new Error("no")) };
      const value = clipboard === "none" ? undefined : refuses;
      Object.defineProperty(navigator, "clipboard", { value, configurable: true });
    }, clipboard);
    await copy.click();
    await expect(told).toContainText("The browser did not let it be copied.");
    await expect(told).not.toContainText("Copied.");
  }
});

test("elsewhere the companion listens, and sees what one looks at", { tag: "@desktop" }, async ({ page, request }) => {
  const word = `airship${Date.now()}`;
  const made = await request.post("/api/storage/pages", { data: { title: `About ${word}`, body: "It flies." } });
  await open(page, "/inbox");
  await expect(page.getByRole("textbox", { name: "Talk to the companion…" })).toBeVisible();
  await say(page, `Find '${word}'`);
  await expect(rail(page).locator(".turn.you").last()).toContainText(word);
  await expect(rail(page).getByRole("heading", { name: "Companion" })).toBeVisible();
  await expect(rail(page).locator(".chip")).toHaveText("Inbox");
  await answered(page);
  await expect(rail(page).locator(".turn").last()).toContainText(`About ${word}`);
  await open(page, `/pages/${(await made.json()).id}`);
  await say(page, "What am I looking at?");
  await expect(rail(page).locator(".chip")).toHaveText(`About ${word}`);
  await answered(page);
  await expect(rail(page).locator(".turn").last()).toContainText(`About ${word}`);
  await expect(rail(page).locator(".turn.you").nth(-2)).toContainText(`Find '${word}'`);
  // What it drafts appears on the page once it is accepted.
  await say(page, "Add 'Ring the bell.' to this page");
  const draft = rail(page).locator(".draft").filter({ hasText: word });
  await draft.getByRole("button", { name: "Accept" }).click();
  await expect(draft).toContainText("Accepted");
  await expect(page.getByLabel("Text", { exact: true })).toHaveValue("It flies.\n\nRing the bell.");
});

test("the panel's head calls what is looked at as it is called now", { tag: "@desktop" }, async ({ page, request }) => {
  const { id, name } = await persona(request);
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const head = rail(page).locator(".rail-head");
  await expect(head.getByRole("heading")).toContainText(name);
  const [draft] = await ask(request, id, "Change the name to Zed of the panel");
  await answered(page);
  await request.post(`/api/pending-changes/${draft.id}/approve`);
  await expect(head.getByRole("heading")).toContainText("Zed of the panel");
  await expect(head.locator(".chip")).toHaveText("Zed of the panel");
});

test("what is asked for last is shown, though what was asked for before comes later", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request);
  await ask(request, id, "What is the name?");
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  await expect(rail(page).locator(".turn.you")).toContainText("What is the name?");
  await rail(page).getByRole("button", { name: "New conversation" }).click();
  await expect(rail(page).locator(".turn")).toHaveCount(0);
  await rail(page).locator("summary[aria-label='Earlier conversations']").click();
  const earlier = rail(page).locator(".popup button[data-conversation]").first();
  const old = new RegExp(`/rail\\?.*conversation=${await earlier.getAttribute("data-conversation")}`);
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(old, async (route) => {
    await held;
    await route.continue();
  });
  const late = page.waitForResponse(old);
  await earlier.click();
  await say(page, "Thanks");
  await answered(page);
  await expect(rail(page).locator(".turn.you")).toContainText("Thanks");
  release();
  await (await late).finished();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 0)));
  await expect(rail(page).locator(".turn.you")).toContainText("Thanks");
});

test("what was said long ago is loaded once one scrolls there, and what is read stays in its place", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request);
  await ask(request, id, "What is the name?");
  for (let more = 0; more < 14; more++) await ask(request, id, "Thanks");
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const turns = rail(page).locator(".turn");
  await expect(turns).toHaveCount(20);
  await expect(turns.first()).not.toContainText("What is the name?");
  const body = page.locator("#rail-body");
  await body.evaluate((body) => body.scrollTo(0, 0));
  await expect(turns).toHaveCount(30);
  await expect(turns.first()).toContainText("What is the name?");
  expect(await body.evaluate((body) => body.scrollTop)).toBeGreaterThan(200);
  await expect(rail(page).getByRole("button", { name: "Earlier messages" })).toHaveCount(0);
});

test("the panel's edge is dragged, it collapses to a tab, and both are remembered", { tag: "@desktop" }, async ({ page }) => {
  await open(page, "/bin");
  const tab = page.getByRole("button", { name: "Open the conversation" });
  await tab.click();
  await shown(page, "pinned");
  await expect(tab).toHaveCount(0);
  const width = async () => (await rail(page).boundingBox())!.width;
  const edge = (await page.getByRole("separator").boundingBox())!;
  await page.mouse.move(edge.x + edge.width / 2, 200);
  await page.mouse.down();
  await page.mouse.move(page.viewportSize()!.width - 520, 200, { steps: 4 });
  await page.mouse.up();
  await expect.poll(width).toBe(520);
  expect(await page.evaluate(() => String(getSelection()))).toBe("");
  // It was let go.
  await page.mouse.move(400, 200);
  await open(page, "/bin");
  await shown(page, "pinned");
  await expect.poll(width).toBe(520);
  await page.getByRole("button", { name: "Close the conversation" }).click();
  await expect(tab).toBeVisible();
  await open(page, "/bin");
  await shown(page, "hidden");
  await tab.click();
  await expect.poll(width).toBe(520);
});

test("each tier says what it means, the chosen one is kept, and what an agent does that may act is there at once", { tag: "@desktop" }, async ({ page, context, request }) => {
  const { id } = await persona(request);
  const other = await context.newPage();
  await open(other, `/personas/${id}`);
  await open(page, `/personas/${id}`);
  for (const sentence of [
    "The agent may look, and change nothing.",
    "What the agent wants to change waits for your decision.",
    "The agent changes this persona at once; you can undo every change.",
  ]) {
    await expect(page.getByRole("group", { name: "Its agent" }).getByText(sentence)).toBeVisible();
  }
  const acts = (tab = page) => tab.getByRole("radio", { name: /^act/ });
  await expect(page.getByRole("radio", { name: /^suggest/ })).toBeChecked();
  await acts().check();
  await expect(page.locator(".editor-head .save-state")).toHaveText("Saved");
  await expect(acts(other)).toBeChecked();
  await open(page, `/personas/${id}`);
  await expect(acts()).toBeChecked();
  const input = (tab = page) => tab.getByLabel("Test input 1", { exact: true });
  const steps = [
    ["Add a test input: 'Where is it?'", "Where is it?"],
    ["Change test input 1 to 'Where was it?'", "Where was it?"],
  ];
  for (const [wish, text] of steps) {
    await ask(request, id, wish);
    for (const tab of [page, other]) await expect(input(tab)).toHaveValue(text);
  }
  await ask(request, id, "Delete test input 1");
  for (const tab of [page, other]) await expect(input(tab)).toHaveCount(0);
});

test("a long conversation in the panel makes the page no higher", { tag: "@desktop" }, async ({ page, request }) => {
  const conversation = await (await request.get("/api/conversations/ambient")).json();
  for (let turn = 0; turn < 6; turn++) {
    // Another test may be talking to the same companion.
    const path = `/api/conversations/${conversation.id}/messages`;
    const say = async () => (await request.post(path, { data: { content: "Find testing" } })).ok();
    await expect.poll(say).toBe(true);
  }
  await open(page, "/search");
  await page.getByRole("button", { name: "Show output" }).click();
  await shown(page, "pinned");
  await expect(rail(page).locator(".step").first()).toBeAttached();
  const over = () => page.evaluate(() => document.documentElement.scrollHeight - window.innerHeight);
  await expect.poll(() => page.locator("#rail-body").evaluate((body) => body.scrollHeight - body.clientHeight)).toBeGreaterThan(400);
  expect(await over()).toBeLessThanOrEqual(0);
});

test("a wide panel leaves the page a column, and Esc in a draft closes only what is written there", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief." });
  await ask(request, id, "Change the name to Zed");
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  await shown(page, "pinned");
  const edge = page.getByRole("separator");
  await edge.focus();
  await page.keyboard.press("Home");
  const pageWidth = async () => (await page.locator("main").boundingBox())!.width;
  await expect.poll(pageWidth).toBeGreaterThanOrEqual(480);
  expect(await edge.getAttribute("aria-valuemax")).toBe(await edge.getAttribute("aria-valuenow"));
  // What does not fit beside the prompt stands below it.
  const [prompt, tests] = [page.locator(".editor > *").nth(0), page.locator(".editor > *").nth(1)];
  const [above, below] = [(await prompt.boundingBox())!, (await tests.boundingBox())!];
  expect(below.y).toBeGreaterThanOrEqual(above.y + above.height);
  const card = rail(page).locator(".draft");
  await card.getByText("Edit…").click();
  await card.getByRole("textbox").first().fill("Zoe");
  await page.keyboard.press("Escape");
  await expect(card.getByRole("textbox").first()).toBeHidden();
  await shown(page, "pinned");
  await expect(card).toBeFocused();
  await page.keyboard.press("Escape");
  await shown(page, "hidden");
});
