// Pages, refs, tasks and search: with and without JavaScript, on a desktop and on a phone.
import type { Page } from "@playwright/test";
import { alive, expect, fitsTheScreen, open, test } from "./house";

let counter = 0;
const unique = (word: string) => `${word}${Date.now().toString(36)}x${process.pid}x${counter++}`;

/** Makes something by the form of its list, and gives the path of its page. */
async function add(page: Page, kind: "page" | "ref" | "task", fields: Record<string, string>, script: boolean) {
  await open(page, `/knowledge?kind=${kind}`, script);
  const form = page.getByRole("form", { name: `Add a ${kind}` });
  for (const [label, text] of Object.entries(fields)) await form.getByLabel(label).fill(text);
  await form.getByRole("button", { name: `Add ${kind}` }).click();
  await expect(page).toHaveURL(new RegExp(`/${kind}s/[^/?]+$`));
  await expect(page.getByLabel("Title", { exact: true })).toBeVisible();
  return new URL(page.url()).pathname;
}

/** Saves what is written, and waits until the page shows the version that it became. */
async function save(page: Page) {
  const version = page.locator(".editor-actions").getByText(/^v\d/);
  const before = Number((await version.textContent())!.match(/\d+/)![0]);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(version).toContainText(`v${before + 1} `);
}

test("a page is written, linked, read, changed and restored", async ({ page, javaScriptEnabled }) => {
  const script = javaScriptEnabled;
  const [first, second] = [unique("First "), unique("Second ")];
  const target = await add(page, "page", { "Title of the new page": first }, script);
  await page.getByLabel("Text", { exact: true }).fill("# Head\n\nBe brief.");
  await save(page);

  await add(page, "page", { "Title of the new page": second }, script);
  await page.getByLabel("Text", { exact: true }).fill(`See [[${first.toLowerCase()}]] and [[Nobody at all]].`);
  await save(page);
  await page.getByRole("link", { name: "Preview" }).click();
  const prose = page.locator(".prose");
  await expect(prose.locator(".missing")).toHaveText("Nobody at all");
  await fitsTheScreen(page);
  await prose.getByRole("link", { name: first.toLowerCase() }).click();

  await expect(page).toHaveURL(new RegExp(`${target}$`));
  await expect(page.getByRole("link", { name: second })).toBeVisible();
  await expect(page.getByLabel("Text", { exact: true })).toHaveValue("# Head\n\nBe brief.");
  await page.getByLabel("Text", { exact: true }).fill("# Head\n\nBe very brief.");
  await save(page);
  await page.getByRole("link", { name: "Versions" }).click();
  const drawer = page.getByRole("complementary", { name: "Versions" });
  await expect(drawer.locator("ins")).toHaveText("very ");
  await drawer.getByRole("button", { name: "Restore version 2" }).click();
  await expect(drawer.getByText("Restored version 2.")).toBeVisible();
  await drawer.getByRole("link", { name: "Close the versions" }).click();
  await expect(drawer).toHaveCount(0);
  await expect(page.getByLabel("Text", { exact: true })).toHaveValue("# Head\n\nBe brief.");
});

test("a ref keeps its address, its note and a pasted text", async ({ page, javaScriptEnabled }) => {
  const title = unique("Ref ");
  await add(page, "ref", { Address: "https://example.org/a", Title: title }, javaScriptEnabled);
  await page.getByLabel("Note").fill("Read this first.");
  await page.getByLabel("Text", { exact: true }).fill("What it says.");
  await save(page);
  const link = page.getByRole("link", { name: "example.org" });
  await expect(link).toHaveAttribute("href", "https://example.org/a");
  await expect(link).toHaveAttribute("rel", "noopener noreferrer nofollow");
  await expect(page.getByRole("button", { name: "Fetch text" })).toBeVisible();
  await fitsTheScreen(page);
  await open(page, "/knowledge?kind=ref", javaScriptEnabled);
  const row = page.getByRole("listitem").filter({ hasText: title });
  await expect(row).toContainText("Read this first.");
  await expect(row).toContainText("example.org");
});

test("a task is due, overdue and done", async ({ page, javaScriptEnabled }) => {
  const title = unique("Task ");
  await add(page, "task", { "What is to be done": title, Due: "2020-01-02" }, javaScriptEnabled);
  await page.getByLabel("Doing").check();
  await save(page);
  await open(page, "/knowledge?kind=task", javaScriptEnabled);
  const row = page.getByRole("listitem").filter({ hasText: title });
  await expect(row).toContainText("Overdue since 2 Jan 2020");
  await expect(row).toContainText("Doing");
  await fitsTheScreen(page);
  await row.getByRole("button", { name: `“${title}” is done` }).click();
  await expect(row.getByRole("button", { name: `Take up “${title}” again` })).toBeVisible();
  await expect(row).not.toContainText("Overdue");
});

test("searching finds pages by their words and leads to them", async ({ page, request, javaScriptEnabled }) => {
  const word = unique("zeppelin");
  const made = await request.post("/api/storage/pages", {
    data: { title: `About ${word}`, body: `It flew.\n\nNobody saw the ${word} land.` },
  });
  const { id } = await made.json();
  await request.post("/api/storage/tasks", { data: { title: `Book the ${word}` } });
  await open(page, "/search", javaScriptEnabled);
  await page.getByLabel("Search everything").fill(word.slice(0, -1));
  await page.getByRole("button", { name: "Search" }).click();
  await expect(page.getByRole("status").filter({ hasText: "2 things were found. Only words were looked for" })).toBeVisible();
  await expect(page.locator("mark").first()).toHaveText(word);
  await fitsTheScreen(page);
  await page.getByRole("navigation", { name: "What to look for" }).getByRole("link", { name: "Pages" }).click();
  await expect(page.getByRole("link", { name: `Book the ${word}` })).toHaveCount(0);
  await page.getByRole("link", { name: `About ${word}` }).click();
  await expect(page).toHaveURL(new RegExp(`/pages/${id}$`));
});

test("what is deleted waits in the bin and comes back", async ({ page, request, javaScriptEnabled }) => {
  const title = unique("Page ");
  const made = await request.post("/api/storage/pages", { data: { title } });
  const { id } = await made.json();
  await open(page, `/pages/${id}`, javaScriptEnabled);
  await page.getByRole("button", { name: "Delete this page" }).click();
  await expect(page).toHaveURL(/\/knowledge\?kind=page$/);
  expect((await request.get(`/api/storage/pages/${id}`)).status()).toBe(404);
  await open(page, "/bin", javaScriptEnabled);
  await page.getByRole("button", { name: `Restore ${title}` }).click();
  await expect(page.getByRole("button", { name: `Restore ${title}` })).toHaveCount(0);
  await open(page, `/pages/${id}`, javaScriptEnabled);
  await expect(page.getByLabel("Title", { exact: true })).toHaveValue(title);
});

test("two edits of one passage are both kept", async ({ page, request, javaScriptEnabled }) => {
  const made = await request.post("/api/storage/pages", { data: { title: unique("Both "), body: "one" } });
  const { id } = await made.json();
  await open(page, `/pages/${id}`, javaScriptEnabled);
  await page.getByLabel("Text", { exact: true }).fill("mine");
  await request.put(`/api/storage/pages/${id}`, { data: { body: "theirs" } });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page).toHaveURL(/\/conflicts\//);
  if (javaScriptEnabled) await alive(page);
  await expect(page.getByLabel("Your text")).toHaveValue("mine");
  await expect(page.getByLabel("Saved now")).toHaveValue("theirs");
  await page.getByRole("button", { name: "Save mine" }).click();
  await expect(page).toHaveURL(`/pages/${id}`);
  await expect(page.getByLabel("Text", { exact: true })).toHaveValue("mine");
});
