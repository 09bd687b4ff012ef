// What a person sets.
import { expect, open, persona, test } from "./house";

test("a model is added with its limits and its price, is offered, and is removed", async ({ page, request }) => {
  const name = `fox-${process.pid}-${Date.now()}`;
  const { id } = await persona(request);
  await open(page, "/settings");
  await page.getByText("Add a model", { exact: true }).click();
  await page.getByLabel("Service", { exact: true }).selectOption("ollama");
  await page.getByLabel("Its name there").fill(name);
  await page.getByLabel("Tokens it can read").fill("64000");
  await page.getByLabel("Dollars per million read").fill("0.5");
  await page.getByLabel("Dollars per million written").fill("1.5");
  await page.getByRole("button", { name: "Add model" }).click();
  const row = page.getByRole("listitem").filter({ hasText: `ollama/${name}` });
  await expect(row).toBeVisible();
  await expect(page.locator(`#default-model option[value="ollama/${name}"]`)).toBeAttached();
  const chat = await (await request.post("/api/chats", { data: { personaId: id } })).json();
  await open(page, `/chats/${chat.id}?settings=1`);
  await expect(page.locator(`#chat-model option[value="ollama/${name}"]`)).toContainText("$0.5 in, $1.5 out");
  await open(page, "/settings");
  await row.getByRole("button", { name: /^Remove/ }).click();
  await expect(row).toHaveCount(0);
});
