// The navigation folds on a phone.
import { expect, open, test } from "./house";

test("the navigation folds where there is little room", async ({ page, viewport }) => {
  await open(page, "/");
  const bin = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Bin" });
  if (viewport!.width > 800) {
    await expect(bin).toBeVisible();
    return;
  }
  await expect(bin).toBeHidden();
  await page.locator(".nav-button").click();
  await bin.click();
  await expect(page.getByRole("heading", { name: "Bin", exact: true })).toBeVisible();
  await expect(bin).toBeHidden();
});
