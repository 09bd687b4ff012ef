// Branches, the map, stories and files of chats, with and without the browser's program.
import { expect, fitsTheScreen, open, persona, read, test } from "./house";
import type { APIRequestContext, Page } from "@playwright/test";

type Said = { id: string; parentId: string | null; role: "user" | "assistant"; content: string };

/** A chat with these messages in it. */
async function chat(request: APIRequestContext, messages: Said[], mode = "roleplay") {
  const who = await persona(request, { systemPrompt: "You are kind." });
  const file = { format: "greenroom-chat", personaId: who.id, title: "Weather", mode, messages };
  const made = await request.post("/api/chats/import", { data: file });
  expect(made.status()).toBe(201);
  return { id: (await made.json()).id as string, who };
}

const branched: Said[] = [
  { id: "ask", parentId: null, role: "user", content: "How is it in the hills?" },
  { id: "rain", parentId: "ask", role: "assistant", content: "It rains in the hills today." },
  { id: "snow", parentId: "ask", role: "assistant", content: "It snows in the hills today." },
];

const turns = (page: Page) => page.locator(".chat-turn");
const map = (page: Page) => page.getByRole("complementary", { name: "Map" });

test("two answers are compared word by word, and one of them is gone on from", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await chat(request, branched);
  await open(page, `/chats/${id}`, javaScriptEnabled);
  await expect(turns(page).nth(1)).toContainText("It snows");
  await turns(page).nth(1).getByText("More…").click();
  await page.getByRole("link", { name: "Compare with the one before" }).click();
  await expect(page.getByRole("heading", { name: "Two branches" })).toBeVisible();
  await expect(page.locator(".branch del")).toHaveText("snows");
  await expect(page.locator(".branch ins")).toHaveText("rains");
  await page.getByText("1 message in common").click();
  await expect(page.getByText("How is it in the hills?")).toBeVisible();
  await fitsTheScreen(page);
  await page.getByRole("button", { name: "Go on from B" }).click();
  await expect(turns(page).nth(1)).toContainText("It rains");
});

test("what is said below two branches goes on from the first, and is shown there", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await chat(request, branched);
  // What the file called them is not what they are called here.
  const shown = await request.get(`/api/chats/${id}/messages`).then((answer) => answer.json());
  const [ask, snow] = shown.items.map((item: { id: string }) => item.id);
  const siblings = await request.get(`/api/chats/${id}/export`).then((answer) => answer.json());
  const rain = siblings.messages.find((one: Said) => one.parentId === ask && one.id !== snow).id;
  await open(page, `/chats/${id}?compare=${rain}&with=${snow}`, javaScriptEnabled);
  await page.getByPlaceholder("Say something…").fill("And tomorrow?");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page).toHaveURL(new RegExp(`/chats/${id}$`));
  await expect(turns(page).nth(1)).toContainText("It rains");
  await expect(turns(page).nth(2)).toContainText("And tomorrow?");
});

test("the map finds a message, labels and bookmarks it, and leads there", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await chat(request, branched);
  await open(page, `/chats/${id}?map=1`, javaScriptEnabled);
  await expect(page.locator(".map circle")).toHaveCount(3);
  await expect(page.locator(".map text")).toHaveText([/How is/, /snows/]);
  await page.getByRole("searchbox", { name: "Find in all branches" }).fill("RAINS in");
  await page.getByRole("button", { name: "Find" }).click();
  await expect(map(page)).toContainText("1 message has these words.");
  await expect(page.locator(".map circle.found")).toHaveCount(1);
  await map(page).locator("ul").getByRole("link", { name: /rains in the hills/ }).click();
  const chosen = page.getByRole("region", { name: "The chosen message" });
  await chosen.getByRole("textbox", { name: "What this moment is called" }).fill("The wet one");
  await chosen.getByRole("button", { name: "Label" }).click();
  await expect(chosen).toContainText("The wet one");
  await chosen.getByRole("button", { name: "Bookmark" }).click();
  await expect(chosen).toContainText("Bookmarked");
  await fitsTheScreen(page);
  await chosen.getByRole("button", { name: "Go there" }).click();
  await expect(turns(page).nth(1)).toContainText("It rains");
  await expect(turns(page).nth(1)).toContainText("The wet one");
  await expect(turns(page).nth(1)).toBeInViewport();
  if (javaScriptEnabled) await expect(turns(page).nth(1)).toBeFocused();
});

test("the map leads to a message far above the end, and one goes on from there", async ({ page, request, javaScriptEnabled }) => {
  const messages: Said[] = Array.from({ length: 160 }, (_, at) => ({
    id: `m${at}`,
    parentId: at === 0 ? null : `m${at - 1}`,
    role: at % 2 === 0 ? "user" : "assistant",
    content: at === 30 ? "The lighthouse keeper sneezed." : `Message number ${at}`,
  }));
  const { id } = await chat(request, messages);
  const wanted = turns(page).filter({ hasText: "The lighthouse keeper sneezed." });
  const numbered = (at: number) => page.locator(".prose").getByText(`Message number ${at}`, { exact: true });
  await open(page, `/chats/${id}?map=1&find=lighthouse`, javaScriptEnabled);
  await map(page).locator("ul").getByRole("link", { name: /lighthouse/ }).click();
  await page.getByRole("region", { name: "The chosen message" }).getByRole("button", { name: "Go there" }).click();
  await expect(map(page)).toHaveCount(0);
  await expect(wanted).toBeInViewport();
  if (javaScriptEnabled) await expect(wanted).toBeFocused();
  await fitsTheScreen(page);
  await expect(numbered(159)).toHaveCount(0);
  await page.getByRole("link", { name: "Later messages" }).click();
  await expect(numbered(80)).toBeAttached();
  if (javaScriptEnabled) {
    // All that was loaded stays, and what is marked is seen.
    await expect(wanted).toHaveCount(1);
    await wanted.scrollIntoViewIfNeeded();
    const { items } = await (await request.get(`/api/chats/${id}/tree`)).json();
    await request.patch(`/api/messages/${items[30].id}`, { data: { label: "Bless you" } });
    await expect(wanted).toContainText("Bless you");
    // What is said is seen at the end.
    await page.getByRole("textbox", { name: "Say something…" }).fill("Good morning");
    await page.keyboard.press("Enter");
    await expect(page.locator(".chat-turn.you").filter({ hasText: "Good morning" })).toBeAttached();
    await expect(turns(page).last()).toBeInViewport();
    await expect(page).toHaveURL(`/chats/${id}`);
    await expect(numbered(159)).toBeAttached();
  } else {
    await page.getByRole("link", { name: "The newest messages" }).click();
    await expect(numbered(159)).toBeVisible();
  }
});

test("any branch is compared by choosing it on the map", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await chat(request, branched);
  await open(page, `/chats/${id}`, javaScriptEnabled);
  await turns(page).nth(1).getByText("More…").click();
  await page.getByRole("link", { name: "Compare with a branch…" }).click();
  await expect(map(page)).toContainText("Choose a message of the branch to compare with.");
  await map(page).getByRole("link", { name: /It rains/ }).click();
  await expect(page.getByRole("heading", { name: "Two branches" })).toBeVisible();
});

test("what was pruned is taken back at once", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await chat(request, branched);
  await open(page, `/chats/${id}`, javaScriptEnabled);
  await turns(page).nth(1).getByText("More…").click();
  await turns(page).nth(1).getByRole("button", { name: "Prune from here" }).click();
  await expect(page.getByText("Pruned from “It snows in the hills today.” on.")).toBeVisible();
  await expect(turns(page).nth(1)).toContainText("It rains");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(turns(page).nth(1)).toContainText("It snows");
  await expect(page.getByText("Pruned from")).toHaveCount(0);
});

test("one paragraph of a story is rewritten", async ({ page, request, javaScriptEnabled }) => {
  const story: Said[] = [
    { id: "a", parentId: null, role: "user", content: "Begin." },
    { id: "b", parentId: "a", role: "assistant", content: "The gate was shut.\n\nShe knocked.\n\nNobody came." },
  ];
  const { id } = await chat(request, story, "story");
  await open(page, `/chats/${id}`, javaScriptEnabled);
  const told = turns(page).nth(1);
  await expect(told.locator(".paragraph")).toHaveCount(3);
  await told.locator(".paragraph").nth(1).locator("summary").click();
  await told.getByLabel("This paragraph in other words").nth(1).fill("She waited.");
  await told.getByRole("button", { name: "Save this paragraph" }).click();
  await expect(turns(page).nth(1)).toContainText("2 / 2");
  await expect(turns(page).nth(1).locator(".prose")).toHaveText(["The gate was shut.", "She waited.", "Nobody came."]);
});

test("a place that is not in the chat hides nothing", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await chat(request, branched);
  await open(page, `/chats/${id}?leaf=nothing`, javaScriptEnabled);
  await expect(page.getByText("That message is not in this chat")).toBeVisible();
  await expect(turns(page)).toHaveCount(2);
});

test("a chat is exported, imported, renamed, found and put into the bin", async ({ page, request, javaScriptEnabled }) => {
  const { id, who } = await chat(request, branched);
  const file = await (await request.get(`/api/chats/${id}/export`)).body();
  await open(page, `/chats?persona=${who.id}`, javaScriptEnabled);
  await expect(page.getByRole("listitem").filter({ hasText: "Weather" })).toHaveCount(1);
  await page.getByText("Import a chat…").click();
  await page.getByLabel(/A file that a chat was exported to/).setInputFiles({ name: "chat.json", mimeType: "application/json", buffer: file });
  await page.getByRole("button", { name: "Import" }).click();
  await expect(page.getByRole("heading", { name: "Weather" })).toBeVisible();
  await expect(turns(page)).toHaveCount(2);

  const title = `Hills ${who.id.slice(-6)}`;
  await open(page, `/chats?persona=${who.id}`, javaScriptEnabled);
  const row = page.getByRole("listitem").filter({ hasText: "Weather" }).first();
  await row.getByText("Rename…").click();
  await row.getByLabel("Title").fill(title);
  await row.getByRole("button", { name: "Rename", exact: true }).click();
  await expect(page.getByRole("link", { name: title })).toBeVisible();
  await open(page, "/chats", javaScriptEnabled);
  await page.getByRole("searchbox", { name: "Find in titles and in what was said" }).fill(title);
  await page.getByRole("button", { name: "Find" }).click();
  await expect(page.getByRole("link", { name: title })).toBeVisible();
  await fitsTheScreen(page);
  await page.getByRole("button", { name: `Move “${title}” to the bin` }).click();
  await expect(page.getByRole("link", { name: title })).toHaveCount(0);
});

test("a bad file is refused with a sentence", async ({ page, request, javaScriptEnabled }) => {
  await persona(request);
  await open(page, "/chats", javaScriptEnabled);
  await page.getByText("Import a chat…").click();
  await page.getByLabel(/A file that a chat was exported to/).setInputFiles({ name: "chat.json", mimeType: "application/json", buffer: Buffer.from("no JSON") });
  await page.getByRole("button", { name: "Import" }).click();
  await expect(page.getByRole("alert")).toContainText("The file could not be read");
});

test("models are told with their prices and abilities", async ({ page, request, javaScriptEnabled }) => {
  const { id } = await chat(request, branched);
  await open(page, `/chats/${id}?settings=1`, javaScriptEnabled);
  await page.getByText("What the models cost and can do").click();
  await expect(page.locator("#model-list").getByRole("listitem").filter({ hasText: "tools, images" }).first()).toBeVisible();
  await fitsTheScreen(page);
});

test("what roleplay knows is seen and edited in the persona", async ({ page, request, javaScriptEnabled }) => {
  const { who } = await chat(request, branched);
  await open(page, `/personas/${who.id}/roleplay`, javaScriptEnabled);
  await page.getByLabel("How it looks").fill("Tall, in a green coat");
  await page.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => JSON.stringify(await read(request, who.id)))
    .toContain("Tall, in a green coat");
});

test("a moment that became a test input shows what was said before it, and its check", async ({ page, request, javaScriptEnabled }) => {
  const { id, who } = await chat(request, [
    { id: "a", parentId: null, role: "user", content: "Is it cold?" },
    { id: "b", parentId: "a", role: "assistant", content: "A little." },
    { id: "c", parentId: "b", role: "user", content: "And tomorrow?" },
    { id: "d", parentId: "c", role: "assistant", content: "Warmer." },
  ]);
  const { items } = await (await request.get(`/api/chats/${id}/messages`)).json();
  expect((await request.post(`/api/messages/${items[3].id}/test-input`)).status()).toBe(201);
  await open(page, `/personas/${who.id}`, javaScriptEnabled);
  await page.getByText("After 2 messages of a chat").click();
  await expect(page.getByText("A little.")).toBeVisible();
  await expect(page.getByLabel("What a good answer does")).toHaveValue(/Warmer\./);
});
