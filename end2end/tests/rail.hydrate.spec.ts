// The bar, the panel and the drafts in it: every transition of the panel, two tabs, reload, Stop.
import { type APIRequestContext, type Page, type Route } from "@playwright/test";
import { answered, ask, expect, open, persona, rail, read, say, shown, test, unseen } from "./house";

const prompt = "Be brief and kind.\nAsk once.\nNever shout.";

/** Stops the clock, and lets the panel's time begin now. */
async function stopClock(page: Page) {
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1000);
  await rail(page).hover();
  await page.mouse.move(5, 60);
}

/** Whether a persona's agent is answering. */
async function goesOn(request: APIRequestContext, id: string) {
  const history = await (await request.get(`/api/persona-agent/history?personaId=${id}`)).json();
  return history.runId !== null;
}

test("sending shows the panel, silence hides it, and show output pins it", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await shown(page, "hidden");
  await say(page, "What is the name?");
  await shown(page, "visible");
  await expect(page.locator(".turn.you")).toContainText("What is the name?");
  await answered(page);
  await stopClock(page);
  await page.clock.runFor(4000);
  await shown(page, "visible");
  await page.clock.runFor(2000);
  await shown(page, "hidden");
  await page.getByRole("button", { name: "Show output" }).click();
  await shown(page, "pinned");
  await page.clock.runFor(60_000);
  await shown(page, "pinned");
  await expect(page.locator(".turn")).toHaveCount(2);
});

test("the time stands still while one points at the panel or has the cursor in it", async ({ page, request }) => {
  const { id } = await persona(request);
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await say(page, "What is the name?");
  await answered(page);
  await stopClock(page);
  await rail(page).hover();
  await page.clock.runFor(30_000);
  await shown(page, "visible");
  await page.mouse.move(5, 60);
  await rail(page).getByRole("combobox").focus();
  await page.clock.runFor(30_000);
  await shown(page, "visible");
  await page.locator("#composer-words").focus();
  await page.clock.runFor(6000);
  await shown(page, "hidden");
});

test("a click inside pins it, and a click away, Esc or its button hide it", async ({ page, request }) => {
  const { id } = await persona(request);
  await open(page, `/personas/${id}`);
  await say(page, "What is the name?");
  await shown(page, "visible");
  await page.locator(".turn.you").click();
  await shown(page, "pinned");
  await page.locator("h2", { hasText: "System prompt" }).click();
  await shown(page, "hidden");
  await page.getByRole("button", { name: "Show output" }).click();
  await page.keyboard.press("Escape");
  await shown(page, "hidden");
  await page.getByRole("button", { name: "Show output" }).click();
  await page.getByRole("button", { name: "Close the conversation" }).click();
  await shown(page, "hidden");
  await page.keyboard.press("Control+/");
  await expect(page.locator("#composer-words")).toBeFocused();
});

test("what is clicked beside a panel that stands there hears of it, though the page moves", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request);
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  await shown(page, "pinned");
  const place = (await page.getByRole("link", { name: "Workbench" }).boundingBox())!;
  await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
  await page.mouse.down();
  await shown(page, "pinned");
  await page.mouse.up();
  await shown(page, "hidden");
  await expect(page.getByRole("navigation", { name: "Workbench" })).toBeVisible();
});

test("a panel that shows itself is hidden by a click away, Esc or its button, and then counts what is new", async ({ page, request }) => {
  const { id } = await persona(request);
  await page.clock.install();
  await open(page, `/personas/${id}`);
  // No time passes, so that silence cannot hide it.
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1000);
  const ways = [
    () => page.locator("h2", { hasText: "System prompt" }).click(),
    () => page.keyboard.press("Escape"),
    () => page.getByRole("button", { name: "Close the conversation" }).click(),
  ];
  const output = page.getByRole("button", { name: "Show output" });
  for (const hide of ways) {
    await say(page, "What is the name?");
    await shown(page, "visible");
    await hide();
    await shown(page, "hidden");
    await expect.poll(() => goesOn(request, id)).toBe(false);
  }
  await page.clock.resume();
  await output.click();
  await expect(output.locator(".badge")).toHaveCount(0);
  await expect(rail(page).locator(".turn-foot").filter({ hasText: "demo" })).toHaveCount(ways.length);
  await page.keyboard.press("Escape");
  await ask(request, id, "Hello");
  await expect(output.locator(".badge")).toHaveText("1");
});

test("what is said elsewhere is counted where it is listened to, also where the panel was never open", async ({ page, context, request }) => {
  const { id } = await persona(request);
  const stranger = await persona(request);
  const elsewhere = await context.newPage();
  await open(elsewhere, `/personas/${stranger.id}`);
  await open(page, `/personas/${id}`);
  const badge = (tab: Page) => tab.getByRole("button", { name: "Show output" }).locator(".badge");
  await ask(request, id, "Hello");
  await expect(badge(page)).toHaveText("1");
  await ask(request, id, "Thanks");
  await expect(badge(page)).toHaveText("2");
  // Another persona's page listens to another conversation.
  await ask(request, stranger.id, "Hello");
  await expect(badge(elsewhere)).toHaveText("1");
  await expect(badge(page)).toHaveText("2");
  await page.getByRole("button", { name: "Show output" }).click();
  await expect(badge(page)).toHaveCount(0);
  await expect(rail(page).locator(".turn")).toHaveCount(4);
  await page.keyboard.press("Escape");
  // What another tab asks is new here, and counted once though it is heard twice.
  const other = await context.newPage();
  await open(other, `/personas/${id}`);
  await say(other, "What is the name?");
  await answered(other);
  await expect(badge(page)).toHaveText("1");
  await expect(rail(page).locator(".turn")).toHaveCount(6);
  await expect(badge(elsewhere)).toHaveText("1");
});

test("what ended while nobody looked is counted, also where the panel was never open", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request);
  await ask(request, id, "Hello");
  await page.clock.install();
  const known = page.waitForResponse((answer) => answer.url().includes("/rail?"));
  await open(page, `/personas/${id}`);
  await (await known).finished();
  const badge = page.getByRole("button", { name: "Show output" }).locator(".badge");
  await expect(badge).toHaveCount(0);
  await unseen(page, () => ask(request, id, "Thanks"));
  await expect(badge).toHaveText("1");
});

test("a stream that is refused is not the end of the answer, and what was said stays when it cannot be loaded", { tag: "@desktop" }, async ({ page, request }) => {
  const { id, name } = await persona(request, { systemPrompt: prompt });
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1000);
  const refused = page.waitForResponse((answer) => answer.url().includes("/rail/runs/"));
  const refuse = (route: Route) => route.fulfill({ status: 503, body: "" });
  await page.route("**/rail/runs/*", refuse);
  await say(page, "What is the name?");
  expect((await refused).status()).toBe(503);
  await page.unroute("**/rail/runs/*", refuse);
  const told = page.locator("p.sr[role=status]");
  await expect(told).toHaveText(`${name}’s agent is answering.`);
  await expect(page.locator("#composer").getByRole("button", { name: "Stop" })).toBeVisible();
  await page.clock.runFor(3500);
  await answered(page);
  await expect(rail(page).locator(".turn").last()).toContainText(name);
  await expect(page.locator("#composer").getByRole("button", { name: "Stop" })).toHaveCount(0);

  await page.route("**/rail?*", (route) => route.abort());
  await say(page, "Thanks");
  await expect(page.locator(".notices")).toContainText("could not be reached");
  await expect(rail(page).locator(".turn").nth(1)).toContainText(name);
});

test("the panel stays for two seconds at the least and thirty at the most", async ({ page, request }) => {
  const { id } = await persona(request);
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await say(page, "What is the name?");
  await answered(page);
  await stopClock(page);
  const stays = rail(page).locator("select");
  await stays.selectOption("2");
  // The cursor would hold it.
  await page.locator("#composer-words").focus();
  await page.clock.runFor(1500);
  await shown(page, "visible");
  await page.clock.runFor(1000);
  await shown(page, "hidden");
  await stays.evaluate((select: HTMLSelectElement) => {
    select.value = "30";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await say(page, "Thanks");
  await expect(rail(page).locator(".turn-foot").filter({ hasText: "demo" })).toHaveCount(2);
  await answered(page);
  await rail(page).hover();
  await page.mouse.move(5, 60);
  await page.clock.runFor(29_000);
  await shown(page, "visible");
  await page.clock.runFor(2000);
  await shown(page, "hidden");
  await page.clock.resume();
  for (const [remembered, seconds] of [["1", "2"], ["31", "30"], ["4294967295", "30"], ["0", "0"]]) {
    await page.evaluate((value) => localStorage.setItem("rail-patience", value), remembered);
    await open(page, `/personas/${id}`);
    await expect(stays).toHaveValue(seconds);
  }
});

test("a panel that stays until it is closed stays, however long it is silent", async ({ page, request }) => {
  const { id } = await persona(request);
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await say(page, "What is the name?");
  await answered(page);
  await stopClock(page);
  await rail(page).locator("select").selectOption("0");
  await page.locator("#composer-words").focus();
  await page.clock.runFor(120_000);
  await shown(page, "visible");
  await rail(page).locator("select").selectOption("5");
  await page.locator("#composer-words").focus();
  await page.clock.runFor(6000);
  await shown(page, "hidden");
});

test("an answer that comes meanwhile starts the panel's time anew", async ({ page, request }) => {
  const { id } = await persona(request);
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await say(page, "What is the name?");
  await answered(page);
  await stopClock(page);
  await page.clock.runFor(4000);
  await ask(request, id, "Thanks");
  await expect(rail(page).locator(".turn-foot").filter({ hasText: "demo" })).toHaveCount(2);
  await page.clock.runFor(4000);
  await shown(page, "visible");
  await page.clock.runFor(2000);
  await shown(page, "hidden");
});

test("a draft that waits is never hidden by itself, and how long the panel stays is remembered", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await say(page, "Change the name to Zed");
  await answered(page);
  await expect(page.locator("#rail .draft")).toContainText("Waiting");
  await stopClock(page);
  await page.clock.runFor(60_000);
  await shown(page, "visible");
  await rail(page).getByRole("combobox").selectOption("0");
  await page.clock.resume();
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  await expect(rail(page).getByRole("combobox")).toHaveValue("0");
});

test("a draft is accepted word by word, and the editor shows it at once in every tab", async ({ page, context, request }) => {
  const made = await persona(request, { systemPrompt: prompt });
  const other = await context.newPage();
  await open(other, `/personas/${made.id}`);
  await open(page, `/personas/${made.id}`);
  await say(page, "Change the name to Zed, and add 'Cite a source.' to the system prompt");
  const drafts = page.locator("#rail .draft");
  await expect(drafts).toHaveCount(2);
  const named = drafts.filter({ hasText: "Change the name" });
  await named.getByRole("button", { name: "Accept" }).click();
  await expect(named).toContainText("Accepted");
  for (const tab of [page, other]) {
    await expect(tab.locator("#name")).toHaveValue("Zed");
  }
  // Who types keeps what they typed.
  await other.locator("#system-prompt").fill(`${prompt}\nMine.`);
  await other.locator("#system-prompt").press("End");
  const words = drafts.filter({ hasText: "Change the system prompt" });
  await words.getByText("Edit…").click();
  await words.getByRole("textbox").fill(prompt.replace("once", "twice"));
  await words.getByRole("button", { name: "Accept this" }).click();
  await expect(page.locator("#system-prompt")).toHaveValue(/Ask twice/);
  await expect(other.locator("#system-prompt")).toHaveValue(/Ask twice[\s\S]*Mine\./);
  await named.getByRole("button", { name: "Undo" }).click();
  await expect(named).toContainText("Taken back");
  await expect(page.locator("#name")).toHaveValue(made.name);
  await expect.poll(async () => (await read(request, made.id)).systemPrompt).toContain("Mine.");
});

test("a rejected draft says why and can be taken up again; keys do it, too", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`);
  await say(page, "Change the name to Zed");
  const draft = page.locator("#rail .draft");
  await expect(draft).toContainText("Waiting");
  await answered(page);
  await page.locator("#page").focus();
  await page.keyboard.press("j");
  await expect(draft).toBeFocused();
  await page.keyboard.press("r");
  await page.keyboard.type("Too short.");
  await page.keyboard.press("Enter");
  await expect(draft).toContainText("Rejected");
  await expect(draft).toContainText("Too short.");
  await draft.getByRole("button", { name: "Undo" }).click();
  await expect(draft).toContainText("Waiting");
  await draft.focus();
  await page.keyboard.press("a");
  await expect(draft).toContainText("Accepted");
  await expect(page.locator("#name")).toHaveValue("Zed");
});

test("the Inbox has the same drafts, and both stay in step in two tabs", async ({ page, context, request }) => {
  const made = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${made.id}`);
  await say(page, "Change the name to Zed");
  await expect(page.locator("#rail .draft")).toContainText("Waiting");
  const inbox = await context.newPage();
  await open(inbox, "/inbox");
  const row = inbox.locator("#served .draft").filter({ hasText: made.name });
  await expect(row).toBeVisible();
  await row.getByRole("button", { name: "Accept" }).click();
  await expect(row).toHaveCount(0);
  await expect(page.locator("#rail .draft")).toContainText("Accepted");
  await expect(page.locator("#name")).toHaveValue("Zed");
  await page.locator("#rail .draft").getByRole("button", { name: "Undo" }).click();
  await expect(page.locator("#name")).toHaveValue(made.name);
  await inbox.goto("/audit");
  await expect(inbox.locator(".audit li").filter({ hasText: "Zed" }).first()).toBeVisible();
});

test("a reload in the middle of an answer loses nothing, and another tab shows the same", async ({ page, context, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`);
  await say(page, "Show the prompt, list the test inputs, what is the name, show the prompt");
  await expect(page.locator("#rail .turn")).toHaveCount(2);
  await open(page, `/personas/${id}`);
  const other = await context.newPage();
  await open(other, `/personas/${id}`);
  await other.getByRole("button", { name: "Show output" }).click();
  await expect(other.locator("#rail .turn.you")).toContainText("Show the prompt");
  await page.getByRole("button", { name: "Show output" }).click();
  await expect(page.locator("#rail .turn").last().locator(".turn-foot")).toContainText(/demo/);
  await expect(other.locator("#rail .turn").last().locator(".turn-foot")).toContainText(/demo/);
});

test("Stop works from another tab and keeps the words in both, and Retry answers anew", async ({ page, context, request }) => {
  const words = Array.from({ length: 200 }, (_, at) => `word${at}`).join(" ");
  const { id } = await persona(request, { systemPrompt: words });
  const other = await context.newPage();
  for (const tab of [page, other]) {
    await open(tab, `/personas/${id}`);
    await tab.getByRole("button", { name: "Show output" }).click();
  }
  await say(page, "Show the prompt");
  const last = (tab: Page) => rail(tab).locator(".turn").last();
  const said = (tab: Page) => last(tab).locator(".prose").last();
  await expect(said(other)).toContainText("word3");
  await last(other).getByRole("button", { name: "Stop" }).click();
  for (const tab of [page, other]) {
    await expect(last(tab)).toContainText("Stopped.");
    await expect(said(tab)).toContainText("word3");
    await expect(said(tab)).not.toContainText("word199");
  }
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: prompt } });
  await last(page).getByRole("button", { name: "Retry" }).click();
  for (const tab of [page, other]) {
    await expect(said(tab)).toContainText("Never shout.");
    await expect(last(tab)).not.toContainText("Stopped.");
    await expect(rail(tab).locator(".turn")).toHaveCount(2);
  }
});

test("Continue says the rest of an answer that was stopped", async ({ page, request }) => {
  const words = Array.from({ length: 200 }, (_, at) => `word${at}`).join(" ");
  const { id } = await persona(request, { systemPrompt: words });
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  await say(page, "Show the prompt");
  const last = rail(page).locator(".turn").last();
  await expect(last.locator(".prose").last()).toContainText("word3");
  await last.getByRole("button", { name: "Stop" }).click();
  await expect(last).toContainText("Stopped.");
  await last.getByRole("button", { name: "Continue" }).click();
  await expect(rail(page).locator(".turn")).toHaveCount(4);
  await expect(last).toContainText("word199", { timeout: 20_000 });
  await expect(last).not.toContainText("word0 ");
});

test("a new conversation leaves the old one within reach", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`);
  await say(page, "What is the name?");
  await answered(page);
  await page.getByRole("button", { name: "New conversation" }).click();
  await expect(page.locator("#rail")).toContainText("Nothing was said yet");
  await page.locator("summary[aria-label='Earlier conversations']").click();
  await page.locator("#rail .popup button").first().click();
  await expect(page.locator("#rail .turn.you")).toContainText("What is the name?");
});

test("what is marked goes along, and the panel's width is moved by keys and remembered", async ({ page, request, isMobile }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`);
  const mark = (end: number) =>
    page.locator("#system-prompt").evaluate((area: HTMLTextAreaElement, end) => {
      area.focus();
      area.setSelectionRange(0, end);
    }, end);
  await mark(9);
  await page.locator("#composer-words").focus();
  await expect(page.locator(".marked")).toContainText("Be brief");
  await page.getByRole("button", { name: "Leave the marked passage out" }).click();
  await expect(page.locator(".marked")).toHaveCount(0);
  // What was marked before one went elsewhere is not meant any more.
  await mark(2);
  await page.locator("#name").focus();
  await page.locator("#composer-words").focus();
  await expect(page.locator(".marked")).toHaveCount(0);
  await mark(2);
  await page.keyboard.press("Control+/");
  await expect(page.locator(".marked")).toContainText("Be");
  await page.getByRole("button", { name: "Leave the marked passage out" }).click();
  if (isMobile) return;
  await page.getByRole("button", { name: "Show output" }).click();
  const before = (await rail(page).boundingBox())!.width;
  await page.getByRole("separator").focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect.poll(async () => (await rail(page).boundingBox())!.width).toBe(before + 48);
  await open(page, `/personas/${id}`);
  await shown(page, "pinned");
  await expect.poll(async () => (await rail(page).boundingBox())!.width).toBe(before + 48);
});

test("an earlier conversation stays while its answer is asked for again, and Esc closes its list first", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`);
  await say(page, "What is the name?");
  await answered(page);
  await page.getByRole("button", { name: "New conversation" }).click();
  await expect(rail(page).locator(".turn")).toHaveCount(0);
  const list = rail(page).locator("details.popover");
  const turn = rail(page).locator(".turn").last();
  await list.locator("summary").click();
  await page.keyboard.press("Escape");
  await expect(list).not.toHaveAttribute("open");
  await expect(rail(page)).toBeVisible();
  await list.locator("summary").click();
  await rail(page).locator(".popup button").first().click();
  await expect(rail(page)).toContainText("This is an earlier conversation.");
  const first = await turn.getAttribute("id");
  await turn.getByRole("button", { name: "Retry" }).click();
  await expect(turn).not.toHaveAttribute("id", first!);
  await answered(page);
  await expect(rail(page)).toContainText("This is an earlier conversation.");
  await expect(rail(page).locator(".turn.you")).toContainText("What is the name?");
  // Nothing was said in the one in use yet, and it is reached all the same.
  await rail(page).getByRole("button", { name: "Back to the one in use" }).click();
  await expect(rail(page).locator(".turn")).toHaveCount(0);
  await list.locator("summary").click();
  await expect(rail(page).locator(".popup button").first()).toContainText("What is the name?");
});

test("a line of the ledger stays within the panel, however long it is", async ({ page, request }) => {
  const { id } = await persona(request);
  await open(page, `/personas/${id}`);
  await say(page, "Change the name to Somebody whose name goes on and on until no line of a panel holds it");
  await answered(page);
  await expect(rail(page).locator(".step")).toContainText("Somebody whose name goes on and on");
  const wider = await page.locator("#rail-body").evaluate((body) => body.scrollWidth - body.clientWidth);
  expect(wider).toBe(0);
});

test("the panel ends where the bar begins, however much is written in it", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  await shown(page, "pinned");
  await page.locator("#composer-words").fill("one\ntwo\nthree\nfour\nfive\nsix");
  const gap = async () => {
    const [panel, bar] = [(await rail(page).boundingBox())!, (await page.locator("#bar").boundingBox())!];
    return Math.abs(panel.y + panel.height - bar.y);
  };
  await expect.poll(gap).toBeLessThan(2);
});

test("a passage of a page that is marked with the mouse goes along, and is left behind with its page", { tag: "@desktop" }, async ({ page, request }) => {
  const data = { title: "Marked", body: "Zeppelins fly.\n\nHarbours stay." };
  const made = await (await request.post("/api/storage/pages", { data })).json();
  await open(page, `/pages/${made.id}`);
  await page.getByRole("link", { name: "Preview" }).click();
  const [marked, bar] = [page.locator(".marked"), page.locator("#composer-words")];
  await page.getByText("Zeppelins fly.").dblclick({ position: { x: 20, y: 10 } });
  await bar.click();
  await expect(marked).toContainText("Zeppelins");
  await page.getByText("Harbours stay.").dblclick({ position: { x: 20, y: 10 } });
  await page.keyboard.press("Control+/");
  await expect(bar).toBeFocused();
  await expect(marked).toContainText("Harbours");
  await bar.fill("What is this?");
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Bin" }).click();
  await expect(page.getByRole("heading", { name: "Bin", exact: true })).toBeVisible();
  await expect(marked).toHaveCount(0);
  await expect(bar).toHaveValue("What is this?");
});

test("what is marked in the bar is no passage of the page, and the bar grows where a narrow window breaks its lines", { tag: "@desktop" }, async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, "/bin");
  const bar = page.locator("#composer-words");
  await bar.fill("Is anything here of what I threw away? ".repeat(3));
  const [hidden, height] = await bar.evaluate((area) => [area.scrollHeight - area.clientHeight, area.clientHeight]);
  expect(hidden).toBeLessThan(2);
  expect(height).toBeGreaterThan(60);
  await bar.press("Control+a");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+Tab");
  await expect(bar).toBeFocused();
  await page.keyboard.press("Control+/");
  await expect(page.locator(".marked")).toHaveCount(0);
});

test("a message that cannot be sent stays in the bar", async ({ page, context, request }) => {
  const { id } = await persona(request);
  await open(page, `/personas/${id}`);
  await context.setOffline(true);
  await say(page, "Are you there?");
  await expect(page.locator(".notices")).toContainText("could not be reached");
  await expect(page.locator("#composer-words")).toHaveValue("Are you there?");
  await context.setOffline(false);
  await page.locator("#composer-words").press("Enter");
  await expect(page.locator(".turn.you")).toContainText("Are you there?");
  await expect(page.locator("#composer-words")).toHaveValue("");
});
