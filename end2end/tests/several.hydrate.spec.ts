// Several personas in one chat, what waits for an answer, and turns that are said again.
import { alive, expect, open, persona, test } from "./house";
import type { APIRequestContext, Page } from "@playwright/test";

const long = "Tell me of the sea. ".repeat(3);

async function pair(request: APIRequestContext, answers: string) {
  const kind = await persona(request, { systemPrompt: "You are kind." });
  const stern = await persona(request, { systemPrompt: "You are stern." });
  const data = { personaIds: [kind.id, stern.id], settings: { answers } };
  const { id } = await (await request.post("/api/chats", { data })).json();
  return { id: id as string, names: [kind.name, stern.name], first: kind };
}

const say = async (page: Page, words: string) => {
  await page.getByRole("textbox", { name: "Say something…" }).fill(words);
  await page.keyboard.press("Enter");
};
const turns = (page: Page) => page.locator("#chat-turns li.turn");

test("two answer at once, side by side, and go on after a reload", async ({ page, request, isMobile }) => {
  const { id, names } = await pair(request, "in_parallel");
  await open(page, `/chats/${id}`);
  await say(page, long);
  const beside = page.locator(".beside > li.turn");
  await expect(beside).toHaveCount(2);
  for (const at of [0, 1]) {
    await expect(beside.nth(at)).toContainText(names[at]);
    await expect(beside.nth(at).locator(".prose").first()).not.toBeEmpty();
  }
  const [one, other] = [await beside.nth(0).boundingBox(), await beside.nth(1).boundingBox()];
  if (isMobile) expect(other!.y).toBeGreaterThan(one!.y);
  else expect(other!.x).toBeGreaterThan(one!.x);
  await page.reload();
  await alive(page);
  await expect(turns(page)).toHaveCount(3);
  await expect(page.getByRole("button", { name: "Again" })).toHaveCount(2, { timeout: 20_000 });
  for (const at of [0, 1]) await expect(turns(page).nth(at + 1)).toContainText(names[at]);
  await expect(beside).toHaveCount(2);
});

test("two answer in turn, each under their own name", async ({ page, request }) => {
  const { id, names } = await pair(request, "in_turn");
  await open(page, `/chats/${id}`);
  await say(page, "Hello");
  await expect(page.getByRole("button", { name: "Again" })).toHaveCount(2, { timeout: 20_000 });
  for (const at of [0, 1]) await expect(turns(page).nth(at + 1).locator(".who")).toContainText(names[at]);
});

test("what is written meanwhile waits, is taken back, and is sent", async ({ page, request }) => {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  await open(page, `/chats/${id}`);
  await say(page, long);
  await expect(page.locator("#chat-turns [data-live] .prose").first()).not.toBeEmpty();
  await say(page, "And the tide?");
  await page.getByRole("button", { name: "Send when the answer is there" }).click();
  const line = page.getByRole("region", { name: "What comes next" });
  await expect(line).toContainText("And the tide?");
  await expect(page.getByRole("textbox", { name: "Say something…" })).toHaveValue("");
  await line.getByRole("button", { name: "Take back" }).click();
  await line.getByLabel("What was not sent").fill("And the moon?");
  await line.getByRole("button", { name: "Send", exact: true }).click();
  await expect(turns(page).filter({ hasText: "And the moon?" })).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole("button", { name: "Again" })).toHaveCount(2, { timeout: 20_000 });
  await expect(line).toHaveCount(0);
});

test("personas are added, moved and removed in the settings", async ({ page, request }) => {
  const { id, names } = await pair(request, "in_turn");
  await open(page, `/chats/${id}?settings=1`);
  const speakers = page.locator(".speakers > li");
  await expect(speakers).toHaveCount(2);
  await page.getByRole("button", { name: `${names[1]} speaks earlier` }).click();
  await expect(speakers.first()).toContainText(names[1]);
  await page.getByRole("button", { name: `Remove ${names[0]}` }).click();
  await expect(speakers).toHaveCount(1);
  await page.getByLabel("Another persona").selectOption({ label: names[0] });
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(speakers.last()).toContainText(names[0]);
});

test("the last turn is said again to a persona that moved on, beside the old one", async ({ page, request }) => {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  const said = await (await request.post(`/api/chats/${id}/messages`, { data: { content: "Hello" } })).json();
  await expect.poll(async () => (await (await request.get(`/api/runs/${said.runId}`)).json()).status).toBe("done");
  await request.put(`/api/storage/personas/${personaId}`, { data: { systemPrompt: "You are stern." } });
  await open(page, `/chats/${id}`);
  await page.getByLabel("Say the last turns again").selectOption("1");
  await page.getByRole("button", { name: "Update", exact: true }).click();
  await expect(page.locator(".chat-turn .place").first()).toHaveText("2 / 2");
  const compare = page.getByRole("link", { name: "Compare the two branches" });
  await expect(compare).toHaveAttribute("href", /compare=.+&with=.+/, { timeout: 20_000 });
});
