// Pictures on messages and in the gallery, with and without the browser's program.
import { expect, fitsTheScreen, open, persona, read, test } from "./house";
import type { Page } from "@playwright/test";

/** Without JavaScript one looks again. */
async function until(page: Page, javaScriptEnabled: boolean, check: () => Promise<void>) {
  await expect(async () => {
    if (!javaScriptEnabled) await page.reload();
    await check();
  }).toPass({ timeout: 30_000 });
}

test("an answer gets a picture that says it is a demo, and another one", async ({ page, request, javaScriptEnabled }) => {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  await request.post(`/api/chats/${id}/messages`, { data: { content: "Hello there" } });
  await open(page, `/chats/${id}`, javaScriptEnabled);
  const pictures = page.locator(".chat-turn .picture");
  await until(page, javaScriptEnabled, async () => {
    await expect(pictures.locator("img")).toHaveCount(1, { timeout: 2000 });
  });
  await expect(pictures.getByText("Demo", { exact: true })).toBeVisible();
  const width = await pictures.locator("img").evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth));
  expect(width).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Another picture" }).click();
  await until(page, javaScriptEnabled, async () => {
    await expect(pictures.locator("img")).toHaveCount(2, { timeout: 2000 });
  });
  await fitsTheScreen(page);
});

test("a chat without pictures gets none", async ({ page, request, javaScriptEnabled }) => {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  await open(page, `/chats/${id}?settings=1`, javaScriptEnabled);
  await page.getByLabel("Answers get pictures").uncheck();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect.poll(async () => (await (await request.get(`/api/chats/${id}`)).json()).settings.images).toBe(false);
  const { runId } = await (await request.post(`/api/chats/${id}/messages`, { data: { content: "Hello" } })).json();
  await expect.poll(async () => (await (await request.get(`/api/runs/${runId}`)).json()).status).toBe("done");
  const list = await (await request.get(`/api/pictures?chatId=${id}`)).json();
  expect(list.items).toEqual([]);
});

test("the gallery makes a picture of a persona, and it becomes its face", async ({ page, request, javaScriptEnabled }) => {
  const who = await persona(request, { systemPrompt: "You are kind." });
  await open(page, `/gallery?persona=${who.id}`, javaScriptEnabled);
  await expect(page.getByRole("heading", { name: "No pictures yet" })).toBeVisible();
  await page.getByRole("link", { name: "Advanced" }).click();
  await page.getByLabel("What the picture shows").fill("A lamp in the rain");
  await page.getByLabel("Landscape").check();
  await page.getByLabel("Seed").fill("7");
  await page.getByRole("button", { name: "Make the picture" }).click();
  const pictures = page.locator(".pictures .picture");
  await until(page, javaScriptEnabled, async () => {
    await expect(pictures.locator("img")).toHaveCount(1, { timeout: 2000 });
  });
  await expect(pictures).toContainText("A lamp in the rain");
  await fitsTheScreen(page);
  await pictures.locator(".picture-frame").click();
  await expect(page.locator(".drawer")).toContainText("seed 7");
  await page.locator(".drawer").getByRole("button", { name: "Use as face" }).first().click();
  await expect.poll(async () => ((await read(request, who.id)) as unknown as { face: string }).face).not.toBe("");
  await page.goto(`/personas/${who.id}`);
  await expect(page.locator(".editor-head .face img")).toBeVisible();
});
