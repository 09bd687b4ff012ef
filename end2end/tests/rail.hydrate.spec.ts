// The bar, the panel and the drafts in it: every transition of the panel, two tabs, reload, Stop.
import { type Page } from "@playwright/test";
import { answered, ask, expect, open, persona, rail, read, say, shown, test } from "./house";

const prompt = "Be brief and kind.\nAsk once.\nNever shout.";

/** Stops the clock, and lets the panel's time begin now. */
async function stopClock(page: Page) {
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1000);
  await rail(page).hover();
  await page.mouse.move(5, 60);
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
  for (const [at, hide] of ways.entries()) {
    await say(page, "What is the name?");
    await shown(page, "visible");
    await hide();
    await shown(page, "hidden");
    await expect(rail(page).locator(".turn-foot").filter({ hasText: "demo" })).toHaveCount(at + 1);
    await page.clock.runFor(100);
  }
  await page.clock.resume();
  const output = page.getByRole("button", { name: "Show output" });
  await output.click();
  await expect(output.locator(".badge")).toHaveCount(0);
  await page.keyboard.press("Escape");
  await ask(request, id, "Hello");
  await expect(output.locator(".badge")).toHaveText("1");
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
  await page.locator("#system-prompt").evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(0, 9));
  await page.locator("#composer-words").focus();
  await expect(page.locator(".marked")).toContainText("Be brief");
  await page.getByRole("button", { name: "Leave the marked passage out" }).click();
  await expect(page.locator(".marked")).toHaveCount(0);
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
