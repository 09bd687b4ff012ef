// What fingers, keys and typing do on the page of a chat, and what this browser remembers of it.
import { expect, open, persona, test } from "./house";
import type { APIRequestContext, Page } from "@playwright/test";

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

test("what the next message takes follows what is typed", async ({ page, request }) => {
  const id = await chat(request);
  await open(page, `/chats/${id}`);
  const tokens = async () => Number((await page.locator("#estimate").innerText()).match(/about (\d+) tokens/)![1]);
  const before = await tokens();
  await page.getByRole("textbox", { name: "Say something…" }).fill("word ".repeat(400));
  await expect.poll(tokens).toBe(before + 500);
  await page.getByRole("textbox", { name: "Say something…" }).fill("");
  await expect.poll(tokens).toBe(before);
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

test("the keys of a chat are in the help", async ({ page, request }) => {
  const id = await chat(request);
  await open(page, `/chats/${id}`);
  await page.locator("h1").click();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("In a chat: the answer before or after");
  await expect(page.getByRole("dialog")).toContainText("On the map of a chat");
});
