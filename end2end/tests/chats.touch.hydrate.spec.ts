// What fingers, keys and typing do on the page of a chat, and what this browser remembers of it.
import { expect, open, persona, test } from "./house";
import type { APIRequestContext, Page, Route } from "@playwright/test";

async function chat(request: APIRequestContext) {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const messages = [
    { id: "ask", parentId: null, role: "user", content: "How is it?" },
    { id: "rain", parentId: "ask", role: "assistant", content: "It rains." },
    { id: "snow", parentId: "ask", role: "assistant", content: "It snows." },
  ];
  const file = { format: "greenroom-chat", personaId, title: "Weather", messages };
  return (await (await request.post("/api/chats/import", { data: file })).json()).id as string;
}

const place = (page: Page) => page.locator(".chat-turn .place");

/** A finger that goes from one place to another on an element. */
async function swipe(page: Page, selector: string, across: number, down = 0) {
  await page.locator(selector).last().evaluate(
    (element, [across, down]) => {
      const { left, top } = element.getBoundingClientRect();
      const at = (type: string, x: number, y: number) =>
        element.dispatchEvent(
          new PointerEvent(type, {
            bubbles: true, pointerType: "touch", isPrimary: true, pointerId: 1, clientX: left + x, clientY: top + y,
          }),
        );
      at("pointerdown", 120, 10);
      at("pointermove", 120 + across / 2, 10 + down / 2);
      at("pointerup", 120 + across, 10 + down);
    },
    [across, down],
  );
}

test("a finger across a message turns it over, and up and down does not", async ({ page, request }) => {
  const id = await chat(request);
  await open(page, `/chats/${id}`);
  await expect(place(page)).toHaveText("2 / 2");
  await swipe(page, ".chat-turn .prose", 20, 200);
  await swipe(page, ".chat-turn .prose", 30);
  await expect(place(page)).toHaveText("2 / 2");
  await swipe(page, ".chat-turn .prose", 110);
  await expect(place(page)).toHaveText("1 / 2");
  await swipe(page, ".chat-turn .prose", -110);
  await expect(place(page)).toHaveText("2 / 2");
});

/** What a real finger does: the browser decides by itself whether it scrolls. */
async function touch(page: Page, selector: string, across: number, down = 0) {
  const box = (await page.locator(selector).last().boundingBox())!;
  const session = await page.context().newCDPSession(page);
  const at = (part: number) => ({ x: box.x + box.width / 2 + across * part, y: box.y + box.height / 2 + down * part });
  await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [at(0)] });
  for (const part of [0.1, 0.25, 0.5, 0.75, 1]) {
    await session.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [at(part)] });
  }
  await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await session.detach();
}

test("a finger on the screen turns a message over, and scrolling it does not @phone", async ({ page, request }) => {
  const id = await chat(request);
  await open(page, `/chats/${id}`);
  await expect(place(page)).toHaveText("2 / 2");
  await touch(page, ".chat-turn .prose", 10, 90);
  await expect(place(page)).toHaveText("2 / 2");
  await touch(page, ".chat-turn .prose", 110);
  await expect(place(page)).toHaveText("1 / 2");
  await touch(page, ".chat-turn .prose", -110);
  await expect(place(page)).toHaveText("2 / 2");
});

test("a message that is turned over stays where it is, however much follows it", async ({ page, request }) => {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const rest = Array.from({ length: 30 }, (_, at) => ({
    id: `m${at}`,
    parentId: at === 0 ? "rain" : `m${at - 1}`,
    role: at % 2 === 0 ? "user" : "assistant",
    content: `Message number ${at}`,
  }));
  const messages = [
    { id: "ask", parentId: null, role: "user", content: "How is it?" },
    { id: "rain", parentId: "ask", role: "assistant", content: "It rains." },
    ...rest,
    { id: "snow", parentId: "ask", role: "assistant", content: "It snows." },
  ];
  const file = { format: "greenroom-chat", personaId, title: "Weather", messages };
  const { id } = await (await request.post("/api/chats/import", { data: file })).json();
  await open(page, `/chats/${id}`);
  const turn = page.locator(".chat-turn").nth(1);
  await expect(turn).toContainText("It snows.");
  const before = (await turn.boundingBox())!.y;
  await turn.getByRole("button", { name: "The one before" }).click();
  await expect(turn).toContainText("It rains.");
  await expect(page.locator(".chat-turn")).toHaveCount(32);
  expect(Math.abs((await turn.boundingBox())!.y - before)).toBeLessThan(40);
});

test("what the next message takes follows what is typed", async ({ page, request }) => {
  const id = await chat(request);
  await open(page, `/chats/${id}`);
  const tokens = async () => Number((await page.locator("#estimate").innerText()).match(/about (\d+) tokens/)![1]);
  const before = await tokens();
  await page.getByRole("textbox", { name: "Say something…" }).fill("word ".repeat(400));
  // How the persona looks may be known only now, and counts too.
  await expect.poll(tokens).toBeGreaterThanOrEqual(before + 500);
  await page.getByRole("textbox", { name: "Say something…" }).fill("");
  await expect.poll(tokens).toBeLessThan(before + 100);
});

test("the map is made larger and smaller by keys and buttons", async ({ page, request }) => {
  const id = await chat(request);
  await open(page, `/chats/${id}?map=1`);
  const width = async () => (await page.locator(".map svg").boundingBox())!.width;
  const first = await width();
  await page.getByRole("button", { name: "Larger" }).click();
  await expect.poll(width).toBeGreaterThan(first * 1.2);
  await page.locator(".map").focus();
  await page.keyboard.press("-");
  await expect.poll(width).toBeLessThan(first * 1.1);
  await page.getByRole("link", { name: /It rains/ }).click();
  await expect(page.getByRole("region", { name: "The chosen message" })).toContainText("It rains.");
});

test("the map is moved by dragging it, and a drag chooses nothing @desktop", async ({ page, request }) => {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const messages = Array.from({ length: 60 }, (_, at) => ({
    id: `m${at}`, parentId: at === 0 ? null : at % 3 === 0 ? `m${at - 2}` : `m${at - 1}`, role: at % 2 === 0 ? "user" : "assistant", content: `Words ${at}`,
  }));
  const file = { format: "greenroom-chat", personaId, title: "Wide", messages };
  const { id } = await (await request.post("/api/chats/import", { data: file })).json();
  await open(page, `/chats/${id}?map=1&whole=1`);
  for (let times = 0; times < 4; times++) await page.getByRole("button", { name: "Larger" }).click();
  const map = page.locator("#map");
  const scrolled = () => map.evaluate((map) => [map.scrollLeft, map.scrollTop]);
  await map.evaluate((map) => map.scrollTo(40, 200));
  const [left, top] = await scrolled();
  const box = (await map.boundingBox())!;
  const from = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x - 30, from.y - 90, { steps: 5 });
  await page.mouse.up();
  await expect.poll(async () => (await scrolled())[1]).toBe(top + 90);
  expect((await scrolled())[0]).toBeGreaterThanOrEqual(left);
  await expect(page.getByRole("region", { name: "The chosen message" })).toHaveCount(0);
});

test("a browser whose name was lost remembers by itself where it was", async ({ page, request, context }) => {
  const id = await chat(request);
  await open(page, `/chats/${id}`);
  await page.getByRole("button", { name: "The one before" }).click();
  await expect(place(page)).toHaveText("1 / 2");
  await expect
    .poll(() => page.evaluate((id) => localStorage.getItem(`leaf ${id}`), id))
    .toBe(await page.locator("#chat").getAttribute("data-leaf"));
  await context.clearCookies();
  await open(page, `/chats/${id}`);
  await expect(place(page)).toHaveText("1 / 2");
  await expect(page.getByText("1 newer message on another branch")).toBeVisible();
});

test("it remembers that in every chat, not only in the first", async ({ page, request, context }) => {
  const ids = [await chat(request), await chat(request)];
  for (const id of ids) {
    await open(page, `/chats/${id}`);
    await page.getByRole("button", { name: "The one before" }).click();
    await expect(place(page)).toHaveText("1 / 2");
    await expect
      .poll(() => page.evaluate((id) => localStorage.getItem(`leaf ${id}`), id))
      .toBe(await page.locator("#chat").getAttribute("data-leaf"));
  }
  await context.clearCookies();
  await open(page, `/chats/${ids[0]}`);
  await expect(place(page)).toHaveText("1 / 2");
  // Something happens elsewhere while it is on its way: its first answer counts all the same.
  const heard = await page.evaluateHandle(
    () =>
      new Promise<Set<string>>((listening) => {
        const ids = new Set<string>();
        new EventSource("/api/live").onmessage = ({ data }) => {
          ids.add(JSON.parse(data).entityId);
          listening(ids);
        };
      }),
  );
  const first = async (route: Route) => {
    const response = await route.fetch();
    const { id } = await persona(request);
    await expect.poll(() => heard.evaluate((ids, id) => ids.has(id), id)).toBe(true);
    await route.fulfill({ response });
  };
  await page.route(`**/chats/${ids[1]}`, first, { times: 1 });
  // On to the other one without loading the page anew.
  await page.evaluate((path) => {
    const link = Object.assign(document.createElement("a"), { href: path });
    document.querySelector("main")!.append(link);
    link.click();
  }, `/chats/${ids[1]}`);
  await expect(page.locator("#chat")).toHaveAttribute("data-chat", ids[1]);
  await expect(place(page)).toHaveText("1 / 2");
});

test("the keys of a chat are in the help", async ({ page, request }) => {
  const id = await chat(request);
  await open(page, `/chats/${id}`);
  await page.locator("h1").click();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("In a chat: the answer before or after");
  await expect(page.getByRole("dialog")).toContainText("On the map of a chat");
});
