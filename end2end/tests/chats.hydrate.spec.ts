// What only the browser's program can do in a chat: streams, several tabs, and what it remembers.
import { alive, deaf, expect, open, persona, test } from "./house";
import type { APIRequestContext, Page } from "@playwright/test";

const long = "Tell me of the sea. ".repeat(3);

async function begin(request: APIRequestContext) {
  const { id: personaId, name } = await persona(request, { systemPrompt: "You are kind." });
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  return { id: id as string, name };
}

const say = async (page: Page, words: string) => {
  await page.getByRole("textbox", { name: "Say something…" }).fill(words);
  await page.keyboard.press("Enter");
};
const turns = (page: Page) => page.locator("#chat-turns .turn");
const answer = (page: Page) => page.locator("#chat-turns > li").last();

test("an answer goes on after a reload", async ({ page, request }) => {
  const { id } = await begin(request);
  await open(page, `/chats/${id}`);
  await say(page, long);
  await expect(answer(page).locator(".prose")).not.toBeEmpty();
  const early = (await answer(page).locator(".prose").first().innerText()).trim().slice(0, 12);
  const { run } = await (await request.get(`/api/chats/${id}/messages`)).json();
  expect(run.status, "it is in the middle").toBe("running");
  await page.reload();
  await alive(page);
  await expect(answer(page)).toContainText(early);
  await expect(answer(page).getByRole("button", { name: "Again" })).toBeVisible({ timeout: 20_000 });
  await expect(turns(page)).toHaveCount(2);
});

test("what is said in one tab is answered in the other, which can stop it and keeps its words", async ({ page, request, context }) => {
  const { id } = await begin(request);
  const other = await context.newPage();
  await open(page, `/chats/${id}`);
  await open(other, `/chats/${id}`);
  await say(page, long);
  await expect(answer(other).locator(".prose")).not.toBeEmpty();
  await answer(other).getByRole("button", { name: "Stop" }).click();
  for (const tab of [page, other]) {
    await expect(answer(tab)).toContainText("Stopped.");
    await expect(answer(tab).locator(".prose").first()).not.toBeEmpty();
    await expect(turns(tab)).toHaveCount(2);
  }
});

test("a second tab on an older branch says that there is something newer, and goes there", async ({ page, request, browser, baseURL }) => {
  const { id } = await begin(request);
  const said = await (await request.post(`/api/chats/${id}/messages`, { data: { content: "One" } })).json();
  await expect.poll(async () => (await (await request.get(`/api/runs/${said.runId}`)).json()).status).toBe("done");
  await open(page, `/chats/${id}`);
  await expect(turns(page)).toHaveCount(2);
  // Another device asks again from the first message.
  const elsewhere = await browser.newContext({ baseURL });
  const other = await elsewhere.newPage();
  await open(other, `/chats/${id}`);
  await other.getByText("Edit…").first().click();
  await other.getByLabel("Other words").first().fill("Another one");
  await other.getByRole("button", { name: "Save and answer" }).first().click();
  await expect(other.locator(".chat-turn")).toHaveCount(2);
  await elsewhere.close();
  const jump = page.getByRole("button", { name: "Go there" });
  await expect(jump).toBeVisible();
  await expect(page.getByText(/newer messages? on another branch/)).toBeVisible();
  await expect(turns(page).first()).toContainText("One");
  await jump.click();
  await expect(turns(page).first()).toContainText("Another one");
});

test("who did not see what was said meanwhile is told, keeps the words, and sends them after it", async ({ page, request }) => {
  const { id } = await begin(request);
  const said = async (content: string) => {
    const { runId } = await (await request.post(`/api/chats/${id}/messages`, { data: { content } })).json();
    await expect.poll(async () => (await (await request.get(`/api/runs/${runId}`)).json()).status).toBe("done");
  };
  await said("One");
  await deaf(page);
  await open(page, `/chats/${id}`);
  await said("Two");
  await say(page, "Three");
  await expect(page.getByText("Something was said after that meanwhile.")).toBeVisible();
  await expect(turns(page)).toHaveCount(4);
  const words = page.getByRole("textbox", { name: "Say something…" });
  await expect(words).toHaveValue("Three");
  await words.press("Enter");
  await expect(turns(page)).toHaveCount(6);
  await expect(turns(page).nth(2)).toContainText("Two");
  await expect(turns(page).nth(4)).toContainText("Three");
  await expect(words).toHaveValue("");
});

test("while another answer is written, one goes to the one before", async ({ page, request }) => {
  const { id } = await begin(request);
  await open(page, `/chats/${id}`);
  await say(page, long);
  await answer(page).getByRole("button", { name: "Again" }).click({ timeout: 20_000 });
  await expect(answer(page).locator(".place")).toHaveText("2 / 2");
  await expect(answer(page).locator(".prose")).not.toBeEmpty();
  const { run } = await (await request.get(`/api/chats/${id}/messages`)).json();
  expect(run.status, "it is in the middle").toBe("running");
  await expect(answer(page).locator(".place")).toHaveText("2 / 2");
  await answer(page).getByRole("button", { name: "The one before" }).click();
  await expect(answer(page).locator(".place")).toHaveText("1 / 2");
});

test("two tabs stay on two branches, whatever is marked or answered", async ({ page, request, context }) => {
  const { id } = await begin(request);
  const said = await (await request.post(`/api/chats/${id}/messages`, { data: { content: "One" } })).json();
  const done = async (run: string) =>
    expect.poll(async () => (await (await request.get(`/api/runs/${run}`)).json()).status).toBe("done");
  await done(said.runId);
  const again = await (await request.post(`/api/messages/${said.replyId}/regenerate`, { data: {} })).json();
  await done(again.runId);
  const other = await context.newPage();
  await open(page, `/chats/${id}`);
  await open(other, `/chats/${id}`);
  const place = (tab: Page) => turns(tab).nth(1).locator(".place");
  await expect(place(page)).toHaveText("2 / 2");
  // The browser is at the first answer now, and this tab still shows the second.
  await turns(other).nth(1).getByRole("button", { name: "The one before" }).click();
  await expect(place(other)).toHaveText("1 / 2");
  await turns(page).nth(1).getByText("More…").click();
  await turns(page).nth(1).getByRole("button", { name: "Bookmark", exact: true }).click();
  await expect(turns(page).nth(1).getByText("Bookmarked")).toBeVisible();
  await expect(place(page)).toHaveText("2 / 2");
  await say(page, long);
  await expect(answer(page).locator(".prose")).not.toBeEmpty();
  await turns(other).nth(1).getByRole("button", { name: "The one after" }).click();
  await expect(place(other)).toHaveText("2 / 2");
  await turns(other).nth(1).getByRole("button", { name: "The one before" }).click();
  await expect(place(other)).toHaveText("1 / 2");
  await expect(answer(page).getByRole("button", { name: "Again" })).toBeVisible({ timeout: 20_000 });
  await expect(place(page)).toHaveText("2 / 2");
  await expect(turns(page)).toHaveCount(4);
  await expect(turns(other)).toHaveCount(2);
});

test("settings are reused for new chats in this browser", async ({ page, request }) => {
  const { id, name } = await begin(request);
  await open(page, `/chats/${id}?settings=1`);
  await page.getByLabel("Name", { exact: true }).fill("Robin");
  await page.getByLabel("Overview").fill("A sailor & cook");
  await page.getByLabel(/Reuse the model/).check();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("status").filter({ hasText: "Saved." })).toBeVisible();
  await open(page, "/chats");
  await page.getByRole("combobox", { name: "Talk to" }).selectOption({ label: name });
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await expect(page).toHaveURL(/\/chats\/.+/);
  const made = page.url().split("/").pop();
  const { settings } = await (await request.get(`/api/chats/${made}`)).json();
  expect(settings.userPersona).toMatchObject({ name: "Robin", overview: "A sailor & cook" });
});

test("what is reused is shown, is no more than it says, and is forgotten again", async ({ page, request }) => {
  const { id } = await begin(request);
  const box = page.getByLabel(/Reuse the model/);
  const save = async () => {
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await expect(page.getByRole("status").filter({ hasText: "Saved." })).toBeVisible();
  };
  const kept = () => page.evaluate(() => localStorage.getItem("chat-settings"));
  await open(page, `/chats/${id}?settings=1`);
  await expect(box).not.toBeChecked();
  await page.getByLabel("Name", { exact: true }).fill("Robin");
  await box.check();
  await save();
  await expect.poll(async () => [...new URLSearchParams((await kept()) ?? "").keys()]).toEqual([
    "settings[filled]",
    "settings[model]",
    "settings[window]",
    "settings[name]",
    "settings[appearance]",
    "settings[overview]",
  ]);
  await expect(box).toBeChecked();
  await open(page, `/chats/${id}?settings=1`);
  await expect(box).toBeChecked();
  await box.uncheck();
  await save();
  await expect.poll(kept).toBeNull();
  await open(page, `/chats/${id}?settings=1`);
  await expect(box).not.toBeChecked();
});

test("settings that the server refuses are not reused", async ({ page, request }) => {
  const { id } = await begin(request);
  await open(page, `/chats/${id}?settings=1`);
  await page.getByLabel("Title").fill("   ");
  await page.getByLabel(/Reuse the model/).check();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("status").filter({ hasText: "The title" })).toBeVisible();
  expect(await page.evaluate(() => localStorage.getItem("chat-settings"))).toBeNull();
});

test("of settings that are remembered and cannot be any more, the others are used", async ({ page, request }) => {
  const { name } = await begin(request);
  await open(page, "/chats");
  await page.evaluate(() => {
    const settings = { "settings[filled]": "true", "settings[model]": "gone", "settings[window]": "12", "settings[name]": "Robin" };
    localStorage.setItem("chat-settings", new URLSearchParams(settings).toString());
  });
  await page.getByRole("combobox", { name: "Talk to" }).selectOption({ label: name });
  await page.getByRole("button", { name: "New chat", exact: true }).click();
  await expect(page).toHaveURL(/\/chats\/.+/);
  await expect(page.getByRole("status").filter({ hasText: "left out: the model." })).toBeVisible();
  const { settings } = await (await request.get(`/api/chats/${page.url().split("/").pop()}`)).json();
  expect(settings).toMatchObject({ model: "", window: 12, userPersona: { name: "Robin" } });
});

test("what is being edited stays while an answer arrives", async ({ page, request }) => {
  const { id } = await begin(request);
  await open(page, `/chats/${id}`);
  await say(page, "Hello");
  await expect(answer(page).getByRole("button", { name: "Again" })).toBeVisible();
  await page.getByText("Edit…").first().click();
  await page.getByLabel("Other words").first().fill("Half a thought");
  await request.post(`/api/chats/${id}/messages`, { data: { content: "From elsewhere" } });
  await expect(turns(page)).toHaveCount(4);
  await expect(page.getByRole("button", { name: "Again" })).toHaveCount(2, { timeout: 20_000 });
  await expect(page.getByLabel("Other words").first()).toHaveValue("Half a thought");
});

test("keys go from message to message, to other answers, and make a moment a test input", async ({ page, request }) => {
  const { id } = await begin(request);
  const said = await (await request.post(`/api/chats/${id}/messages`, { data: { content: "Hello" } })).json();
  await expect.poll(async () => (await (await request.get(`/api/runs/${said.runId}`)).json()).status).toBe("done");
  await request.post(`/api/messages/${said.replyId}/edit`, { data: { content: "Another answer" } });
  await open(page, `/chats/${id}`);
  const place = page.locator(".chat-turn .place");
  await expect(place).toHaveText("2 / 2");
  await page.locator("h1").click();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("h");
  await expect(place).toHaveText("1 / 2");
  await page.keyboard.press("l");
  await expect(place).toHaveText("2 / 2");
  await page.locator("h1").click();
  await page.keyboard.press("j");
  await page.keyboard.press("t");
  await expect(page.getByRole("status").filter({ hasText: "test input" })).toBeVisible();
});
