// Sessions of the terminal: read with and without JavaScript, on a desktop and on a phone.
import { expect, fitsTheScreen, open, test } from "./house";

test("a session of the terminal is found, read, renamed, deleted and brought back", async ({ page, request, javaScriptEnabled }) => {
  const name = `Savings ${crypto.randomUUID().slice(0, 8)}`;
  const settings = {
    model: "demo",
    windowSize: 5,
    shouldTruncateResults: true,
    systemPrompt: { text: "You are a guide.", source: "file", path: "guide.md" },
  };
  const made = await request.post("/api/terminal/sessions", { data: { description: name, settings } });
  const { id } = await made.json();
  const said = await request.post(`/api/terminal/sessions/${id}/messages`, { data: { content: "What is **2 + 2**?" } });
  const { run } = await said.json();
  await request.get(`/api/runs/${run.id}/events`);

  await open(page, "/chats", javaScriptEnabled);
  await page.getByRole("link", { name: "Terminal", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Terminal", level: 1 })).toBeVisible();
  const row = page.locator(`#session-${id}`);
  await expect(row).toContainText("1 turn");
  await fitsTheScreen(page);

  await row.getByRole("link", { name }).click();
  await expect(page.getByRole("heading", { name, level: 1 })).toBeVisible();
  await expect(page.locator(".turn").first()).toContainText("2 + 2");
  await expect(page.locator(".turn").nth(1)).toContainText("4");
  await expect(page.getByText(`greenroom chat --session ${id}`)).toBeVisible();
  await page.getByText("System prompt (from guide.md)").click();
  await expect(page.getByText("You are a guide.")).toBeVisible();
  await fitsTheScreen(page);

  await page.getByLabel("What it is called").fill(`${name}, later`);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { name: `${name}, later` })).toBeVisible();

  await open(page, "/terminal", javaScriptEnabled);
  await row.getByRole("button", { name: "Delete" }).click();
  await expect(row).toHaveCount(0);
  await open(page, "/terminal?deleted=1", javaScriptEnabled);
  await row.getByRole("button", { name: "Bring back" }).click();
  await expect(row).toHaveCount(0);
  await open(page, "/terminal", javaScriptEnabled);
  await expect(row).toContainText("later");
});
