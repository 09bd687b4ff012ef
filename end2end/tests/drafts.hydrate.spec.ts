// Deciding on drafts: in the rail, in the Inbox, in both at once, and taking it back in the audit.
import { type Locator, type Page } from "@playwright/test";
import { answered, ask, expect, open, persona, rail, read, say, shown, test, unseen } from "./house";

const prompt = "Be kind first.\nAsk once.\nStay on the point, and go slowly.\nBe kind last.";
const waiting = (page: Page) => rail(page).locator(".draft");

test("the Inbox groups drafts, says who made them, when, and until when, and takes two at once", async ({ page, request }) => {
  const { id, name } = await persona(request, { systemPrompt: prompt });
  const wish = "Change the name to Zed, add 'Cite a source.' to the system prompt, and add a test input: 'Where is it?'";
  const drafts = await ask(request, id, wish);
  expect(drafts).toHaveLength(3);
  await open(page, `/inbox?persona=${id}`);
  const rows = page.locator("#served .draft");
  await expect(page.getByRole("group", { name: `persona · ${name}` }).locator(".draft")).toHaveCount(2);
  const group = page.getByRole("group", { name: "test input · Where is it?" });
  await expect(group.locator(".draft")).toHaveCount(1);
  const until = new Date(drafts[0].expiresAt).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
  expect(Date.parse(drafts[0].expiresAt) - Date.now()).toBeGreaterThan(29 * 24 * 3600 * 1000);
  const told = new RegExp(`^${name} in this conversation · (just now|\\d+ (s|min) ago) · expires ${until}, `);
  await expect(group.locator("footer")).toHaveText(told);
  await expect(group.getByRole("link", { name: "this conversation" })).toHaveAttribute("href", /^\/rail\?.*conversation=.+/);

  const mark = (words: string) => page.getByRole("checkbox", { name: `Mark ${words}` });
  await mark("Change the name").check();
  await mark("Make the test input").check();
  await page.locator("#batch").getByRole("button", { name: "Accept" }).click();
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("Cite a source.");
  const now = await read(request, id);
  expect([now.name, now.testInputIds.length, now.systemPrompt]).toEqual(["Zed", 1, prompt]);
  // From a draft one comes to where it was made.
  await rows.getByRole("link", { name: "this conversation" }).click();
  await expect(page.getByRole("heading", { name: "Zed’s agent" })).toBeVisible();
  await expect(page.locator(".turn.you")).toContainText(wish);
});

test("keys go from draft to draft and open one to be edited, and only marked words are taken", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`);
  await say(page, "Replace 'kind' with 'warm' in the system prompt, and change the name to Zed");
  await expect(waiting(page)).toHaveCount(2);
  await answered(page);
  const [words, named] = [waiting(page).first(), waiting(page).last()];
  await page.locator("#page").focus();
  for (const [key, draft] of [["j", words], ["j", named], ["k", words], ["j", named]] as const) {
    await page.keyboard.press(key);
    await expect(draft).toBeFocused();
  }
  await page.keyboard.press("e");
  await expect(named.getByRole("textbox", { name: "name" })).toBeFocused();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("Zoe");
  await named.getByRole("button", { name: "Accept this" }).click();
  await expect(page.locator("#name")).toHaveValue("Zoe");
  await expect(words.getByRole("checkbox")).toHaveCount(2);
  await words.getByRole("checkbox", { name: "Change 2" }).uncheck();
  await words.getByRole("button", { name: "Accept the marked" }).click();
  await expect(words).toContainText("Accepted");
  await expect(page.locator("#system-prompt")).toHaveValue(prompt.replace("kind first", "warm first"));
  expect((await read(request, id)).systemPrompt).toBe(prompt.replace("kind first", "warm first"));
});

test("keys go on from a draft that was decided on, and take the marked words only", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await open(page, `/personas/${id}`);
  await say(page, "Change the name to Zed, replace 'kind' with 'warm' in the system prompt, and add a test input: 'Where is it?'");
  await expect(waiting(page)).toHaveCount(3);
  await answered(page);
  const [first, second, third] = [0, 1, 2].map((at) => waiting(page).nth(at));
  await first.focus();
  await page.keyboard.press("r");
  await page.keyboard.press("Enter");
  await expect(first).toContainText("Rejected");
  await page.keyboard.press("j");
  await expect(second).toBeFocused();
  await page.keyboard.press("j");
  await expect(third).toBeFocused();
  await second.getByRole("checkbox", { name: "Change 2" }).uncheck();
  await page.keyboard.press("a");
  await expect(second).toContainText("Accepted");
  expect((await read(request, id)).systemPrompt).toBe(prompt.replace("kind first", "warm first"));
});

test("a draft that does not fit any more shows both texts, and is joined by hand", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief." });
  const [proposed] = await ask(request, id, "Replace 'brief' with 'long' in the system prompt");
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const draft = waiting(page);
  await expect(draft).toContainText("Waiting");
  const showsBoth = async (card: Locator) => {
    await expect(card.getByLabel("The draft’s system prompt")).toHaveValue("Be long.");
    await expect(card.getByLabel("Saved now")).toHaveValue("Be funny.");
  };
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "Be funny." } });
  await showsBoth(draft);
  const accepted = await request.post(`/api/pending-changes/${proposed.id}/approve`, { data: {} });
  expect(accepted.status()).toBe(409);
  await expect(draft).toContainText("In conflict");
  await showsBoth(draft);
  await open(page, `/inbox?state=conflict&persona=${id}`);
  await showsBoth(page.locator("#served .draft"));
  await open(page, `/personas/${id}`);
  await showsBoth(draft);
  expect((await read(request, id)).systemPrompt).toBe("Be funny.");
  await draft.getByLabel("The draft’s system prompt").fill("Be long and funny.");
  await draft.getByRole("button", { name: "Save the draft’s text" }).click();
  await expect(draft).toContainText("Accepted");
  await expect(page.locator("#system-prompt")).toHaveValue("Be long and funny.");
});

test("what one wrote on a draft that does not fit any more stands beside what is saved, and stays there", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "Be brief." });
  await ask(request, id, "Replace 'brief' with 'long' in the system prompt");
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const draft = waiting(page);
  await draft.getByText("Edit…").click();
  await draft.getByRole("textbox", { name: "system prompt" }).fill("Be very long.");
  await request.put(`/api/storage/personas/${id}`, { data: { systemPrompt: "Be funny." } });
  await draft.getByRole("button", { name: "Accept this" }).click();
  for (const reload of [false, true]) {
    if (reload) await open(page, `/personas/${id}`);
    await expect(draft).toContainText("In conflict");
    await expect(draft.getByLabel("The draft’s system prompt")).toHaveValue("Be very long.");
    await expect(draft.getByLabel("Saved now")).toHaveValue("Be funny.");
  }
  await draft.getByRole("button", { name: "Save the draft’s text" }).click();
  await expect(draft).toContainText("Accepted");
  expect((await read(request, id)).systemPrompt).toBe("Be very long.");
});

test("a draft that is decided on elsewhere shows that, whatever is written on it here", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await ask(request, id, "Replace 'kind' with 'warm' in the system prompt, and change the name to Zed");
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const [words, named] = [waiting(page).first(), waiting(page).last()];
  await words.getByRole("checkbox", { name: "Change 2" }).uncheck();
  await named.getByText("Reject…").click();
  await named.getByRole("textbox", { name: "Why? Its author is told." }).fill("Not so");
  for (const [draft, way] of [[words, "approve"], [named, "reject"]] as const) {
    await request.post(`/api/pending-changes/${await draft.getAttribute("data-draft")}/${way}`, { data: {} });
    await expect(draft).toContainText(way === "approve" ? "Accepted" : "Rejected");
  }
  await expect(rail(page).getByRole("button", { name: /Accept/ })).toHaveCount(0);
  const kept = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("unsaved draft")));
  await expect.poll(kept).toEqual([]);
});

test("what is written on drafts stays while one talks, goes to another page and comes back, until it is decided", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await ask(request, id, "Replace 'kind' with 'warm' in the system prompt, and change the name to Zed");
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const [words, named] = [waiting(page).first(), waiting(page).last()];
  const mine = named.getByRole("textbox", { name: "name" });
  const why = words.getByRole("textbox", { name: "Why? Its author is told." });
  const second = words.getByRole("checkbox", { name: "Change 2" });
  const stays = async () => {
    await expect(mine).toBeVisible();
    await expect(mine).toHaveValue("Zoe");
    await expect(why).toBeVisible();
    await expect(why).toHaveValue("Not so");
    await expect(second).not.toBeChecked();
  };
  await second.uncheck();
  await words.getByText("Reject…").click();
  await why.fill("Not so");
  await named.getByText("Edit…").click();
  await mine.fill("Zoe");

  await say(page, "What is the name?");
  await expect(rail(page).locator(".turn")).toHaveCount(4);
  await answered(page);
  await stays();
  // Where the companion listens, its conversation takes the place of this one.
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: "Bin" }).click();
  await expect(rail(page).getByRole("heading", { name: "Companion" })).toBeVisible();
  await page.goBack();
  await expect(rail(page).locator(".turn")).toHaveCount(4);
  await stays();
  await open(page, `/personas/${id}`);
  await shown(page, "pinned");
  await stays();

  await mine.fill("Zora");
  await named.getByRole("button", { name: "Accept this" }).click();
  await expect(named).toContainText("Accepted");
  await words.getByRole("button", { name: "Reject", exact: true }).click();
  await expect(words).toContainText("Rejected");
  await expect(words).toContainText("Not so");
  expect((await read(request, id)).name).toBe("Zora");
  // Nothing of it is kept.
  const kept = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("unsaved draft")));
  await expect.poll(kept).toEqual([]);
});

test("after a while out of sight, what was unmarked stays so, and one reads on where one was", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: prompt });
  await ask(request, id, "Replace 'kind' with 'warm' in the system prompt");
  for (let more = 0; more < 8; more++) await ask(request, id, "Thanks");
  await page.clock.install();
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const [words, turns] = [waiting(page).first(), rail(page).locator(".turn")];
  await expect(turns).toHaveCount(18);
  await words.getByRole("checkbox", { name: "Change 2" }).uncheck();
  const body = page.locator("#rail-body");
  await body.evaluate((body) => body.scrollTo(0, 10));
  await unseen(page, () => ask(request, id, "Thanks"));
  await expect(turns.last()).toContainText(/demo/);
  await expect(turns).toHaveCount(20);
  expect(await body.evaluate((body) => body.scrollTop)).toBeLessThan(100);
  await expect(words.getByRole("checkbox", { name: "Change 1" })).toBeChecked();
  await expect(words.getByRole("checkbox", { name: "Change 2" })).not.toBeChecked();
  await words.getByRole("button", { name: "Accept the marked" }).click();
  await expect(words).toContainText("Accepted");
  expect((await read(request, id)).systemPrompt).toBe(prompt.replace("kind first", "warm first"));
});

/** Notes when a page hears of a draft. */
async function hearing(page: Page) {
  await page.addInitScript(() => {
    const heard: Record<string, number> = {};
    class Heard extends EventSource {
      constructor(url: string | URL, options?: EventSourceInit) {
        super(url, options);
        this.addEventListener("message", ({ data }) => {
          const { changeId } = JSON.parse(data);
          if (changeId) heard[changeId] = performance.now();
        });
      }
    }
    Object.assign(window, { EventSource: Heard, heard });
  });
}

/** How many milliseconds after it heard of a draft a page has, or has no more, what fits. */
const lag = (page: Page, draft: string, selector: string, there: boolean) =>
  page.evaluate(
    ([draft, selector, there]) =>
      new Promise<number>((done) => {
        const { heard } = window as any;
        delete heard[draft];
        new MutationObserver(() => {
          const is = !!document.querySelector(selector) === there;
          if (is && heard[draft]) done(performance.now() - heard[draft]);
        }).observe(document, { subtree: true, childList: true, attributes: true });
      }),
    [draft, selector, there] as const,
  );

test("a decision in the rail is in the Inbox within a second, and one in the Inbox in the rail", { tag: "@desktop" }, async ({ page, context, request }) => {
  const made = await persona(request);
  const [{ id }] = await ask(request, made.id, "Change the name to Zed");
  const inbox = await context.newPage();
  await hearing(page);
  await hearing(inbox);
  await open(inbox, "/inbox");
  await open(page, `/personas/${made.id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  const [card, row] = [rail(page).locator(".draft"), inbox.locator(`#inbox-${id}`)];
  await expect(row).toBeVisible();

  const gone = lag(inbox, id, `#inbox-${id}`, false);
  await card.getByText("Reject…").click();
  await card.getByRole("button", { name: "Reject", exact: true }).click();
  expect(await gone).toBeLessThan(1000);
  const back = lag(inbox, id, `#inbox-${id}`, true);
  await card.getByRole("button", { name: "Undo" }).click();
  expect(await back).toBeLessThan(1000);

  const accepted = lag(page, id, `#rail [data-draft="${id}"][data-state=applied]`, true);
  await row.getByRole("button", { name: "Accept" }).click();
  expect(await accepted).toBeLessThan(1000);
});

test("the audit shows what a draft changed and in which run, and takes it back", { tag: "@desktop" }, async ({ page, request }) => {
  const { id, name } = await persona(request);
  const [draft] = await ask(request, id, "Change the name to Zed");
  await request.post(`/api/pending-changes/${draft.id}/approve`);
  await open(page, "/audit");
  const line = page.locator(`#audit-${draft.id}`);
  await expect(line).toContainText("Changed the name to “Zed”");
  await expect(line).toContainText("v1 → v2");
  await expect(line.locator("code")).toHaveText(draft.proposedBy.runId);
  await line.getByText("What changed").click();
  await expect(line.locator("del")).toHaveText(name);
  await expect(line.locator("ins")).toHaveText("Zed");
  await line.getByRole("button", { name: "Revert" }).click();
  await expect(line).toContainText("taken back");
  await expect(line.getByRole("button", { name: "Revert" })).toHaveCount(0);
  expect((await read(request, id)).name).toBe(name);
});
