// What only the browser's program can do on the pages of knowledge.
import { expect, open, test } from "./house";

test("Ctrl-S saves, and the cursor stays where it was", async ({ page, request }) => {
  const made = await request.post("/api/storage/pages", { data: { title: "By key", body: "one three" } });
  const { id } = await made.json();
  await open(page, `/pages/${id}`);
  const text = page.getByLabel("Text", { exact: true });
  await text.focus();
  await text.evaluate((area: HTMLTextAreaElement) => area.setSelectionRange(4, 4));
  await page.keyboard.type("two ");
  await page.keyboard.press("Control+s");
  await expect(page.getByRole("status").filter({ hasText: "Saved." })).toBeVisible();
  await expect(page.getByText("v2")).toBeVisible();
  await page.keyboard.type("and ");
  await expect(text).toHaveValue("one two and three");
  await page.keyboard.press("Control+s");
  await expect.poll(async () => (await (await request.get(`/api/storage/pages/${id}`)).json()).body).toBe("one two and three");
});

test("a link asks before it leaves what is not saved", async ({ page, request }) => {
  const made = await request.post("/api/storage/pages", { data: { title: "Unsaved" } });
  const { id } = await made.json();
  await open(page, `/pages/${id}`);
  await page.getByLabel("Text", { exact: true }).fill("Not saved yet");
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("link", { name: "Preview" }).click();
  await expect(page.getByLabel("Text", { exact: true })).toHaveValue("Not saved yet");
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("link", { name: "Preview" }).click();
  await expect(page.getByText("Nothing is written here yet.")).toBeVisible();
});
