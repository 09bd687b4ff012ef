// Everything by keyboard.
import { expect, open, test } from "./house";

test("the palette finds everything by its words", async ({ page }) => {
  await open(page, "/settings");
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog");
  const search = palette.getByRole("combobox");
  await expect(search).toBeFocused();
  await page.keyboard.type("retire");
  await expect(palette.getByRole("option").first()).toHaveText(/^Retirement Guide/);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/personas\/retirement-guide$/);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("bin");
  await expect(page.getByRole("option", { name: "Bin place" })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Bin", exact: true })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Escape");
  await expect(search).toBeHidden();
});

test("the palette is walked by arrows", async ({ page }) => {
  await open(page, "/");
  await page.keyboard.press("Control+k");
  const options = page.getByRole("option");
  await expect(options.nth(0)).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowDown");
  await expect(options.nth(1)).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await expect(options.last()).toHaveAttribute("aria-selected", "true");
});

test("a question mark shows the keys, but not while typing", async ({ page }) => {
  await open(page, "/");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await expect(help).toBeVisible();
  for (const [keys, does] of [
    ["Ctrl /", "Talk to whoever listens"],
    ["j k", "Go to the next or the previous draft"],
    ["a e r", "Accept, edit or reject the draft"],
    ["Enter", "send what stands in the bar"],
    ["Shift Enter", "Begin a new line in the bar"],
    ["Esc", "Close what is open"],
  ]) {
    await expect(help.locator("dt", { hasText: new RegExp(`^${keys}$`) }).locator("+ dd")).toContainText(does);
  }
  await page.keyboard.press("Escape");
  await expect(help).toBeHidden();
  await page.keyboard.press("/");
  await expect(page.getByLabel("Search personas by name")).toBeFocused();
  await page.keyboard.type("?");
  await expect(help).toBeHidden();
});

test("every control is reached by Tab and shows where one is", async ({ page }) => {
  await open(page, "/personas/optimist");
  const total = await page.evaluate(() => {
    const controls = document.querySelectorAll<HTMLInputElement>("main :is(a, button, input, textarea, summary)");
    const reachable = [...controls].filter(
      (control) =>
        control.checkVisibility() &&
        !control.disabled &&
        // Of a group of radio buttons, Tab stops at the chosen one.
        (control.type !== "radio" || control.checked),
    );
    reachable.forEach((control, at) => control.setAttribute("data-stop", String(at)));
    return reachable.length;
  });
  const reached = new Set<string>();
  for (let press = 0; press < total + 20; press++) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(() => {
      const element = document.activeElement as HTMLElement | null;
      const stop = element?.getAttribute("data-stop");
      return stop ? { stop, ring: getComputedStyle(element!).outlineStyle !== "none" } : null;
    });
    if (here) {
      expect(here.ring, `ring at stop ${here.stop}`).toBe(true);
      reached.add(here.stop);
    }
  }
  expect(reached.size).toBe(total);
});

test("Escape closes what is open, the topmost first", async ({ page }) => {
  await open(page, "/personas/optimist?versions=1");
  const drawer = page.getByRole("complementary", { name: "Versions" });
  await drawer.getByText("Label…").first().click();
  await expect(drawer.getByLabel("Label for version 1")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(drawer.getByLabel("Label for version 1")).toBeHidden();
  await expect(drawer).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Escape");
  await expect(drawer).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(drawer).toHaveCount(0);
});
