// The playground as a person uses it: a session, its tools, files, branches, and coming back to it.
import { alive, expect, fitsTheScreen, open, persona, test } from "./house";
import type { APIRequestContext, Page } from "@playwright/test";

const TOOLS = ["ls", "read_file", "write_file", "edit_file", "delete_file", "glob", "grep", "write_todos", "execute"];

async function handy(request: APIRequestContext, systemPrompt = "You are handy.") {
  const made = await persona(request, { systemPrompt });
  const data = { tools: TOOLS };
  expect((await request.put(`/api/storage/personas/${made.id}`, { data })).ok()).toBe(true);
  return made;
}

const say = async (page: Page, words: string) => {
  await page.getByRole("textbox", { name: "Say something…" }).fill(words);
  await page.keyboard.press("Enter");
};
const turns = (page: Page) => page.locator("#chat-turns > li.turn");
const files = (page: Page) => page.getByRole("region", { name: "Files" });

/** Begins a session on the entrance with these words, and waits for the answer. */
async function begin(page: Page, id: string, words: string) {
  await open(page, `/playground/${id}`);
  await page.getByLabel("First message").fill(words);
  await page.getByRole("button", { name: "Begin" }).click();
  await expect(page).toHaveURL(new RegExp(`/playground/${id}/.+`));
  await expect(page.getByRole("button", { name: "Answer again" })).toBeVisible({ timeout: 20_000 });
}

test("a persona is given tools, and begins with the variables of its prompt", async ({ page, request }) => {
  const { id } = await persona(request, { systemPrompt: "You know all about {{topic}}." });
  await open(page, `/playground/${id}`);
  await expect(page.getByText("has no tools yet")).toBeVisible();
  for (const tool of ["write_file", "ls"]) await page.getByRole("checkbox", { name: tool }).check();
  await page.getByRole("button", { name: "Save the tools" }).click();
  await expect(page.getByText("The tools are saved as a new version.")).toBeVisible();
  await expect(page.getByText("has no tools yet")).toHaveCount(0);
  await page.getByLabel("{{topic}}").fill("clocks");
  await page.getByLabel("First message").fill("List the files");
  await page.getByRole("button", { name: "Begin" }).click();
  await expect(page.getByRole("button", { name: "Answer again" })).toBeVisible({ timeout: 20_000 });
  await expect(turns(page).last()).toContainText("no files yet");
  await page.locator("#served").getByRole("link", { name: "Settings" }).click();
  await expect(page.getByLabel("{{topic}}")).toHaveValue("clocks");
  await fitsTheScreen(page);
});

test("files are written, looked at, edited, and follow the branch", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, 'Write "milk and eggs" to notes/list.txt');
  await expect(files(page).getByRole("link", { name: "list.txt" })).toBeVisible();
  await page.getByRole("link", { name: "notes/list.txt" }).click();
  await expect(page.locator(".drawer ins")).toContainText("milk and eggs");
  await page.getByRole("link", { name: "Close" }).click();
  await files(page).getByRole("link", { name: "list.txt" }).click();
  await expect(page.getByRole("region", { name: "The text" })).toContainText("milk and eggs");
  await page.locator(".drawer").getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Content").fill("milk and bread");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The file is saved.")).toBeVisible();
  await page.getByRole("link", { name: "Close" }).click();
  await say(page, "Read notes/list.txt");
  await expect(turns(page).last()).toContainText("milk and bread", { timeout: 20_000 });
  await expect(page.getByRole("button", { name: "Answer again" })).toBeVisible({ timeout: 20_000 });

  // Another answer to the first message knows nothing of all that.
  await turns(page).first().getByText("Edit").click();
  await turns(page).first().getByRole("textbox").fill("List the files");
  await page.getByRole("button", { name: "Save and answer" }).click();
  await expect(turns(page).last()).toContainText("no files yet", { timeout: 20_000 });
  await expect(page.getByRole("button", { name: "Answer again" })).toBeVisible({ timeout: 20_000 });
  await expect(files(page).getByRole("link", { name: "list.txt" })).toHaveCount(0);
  await turns(page).first().getByRole("button", { name: "The one before" }).click();
  await expect(files(page).getByRole("link", { name: "list.txt" })).toBeVisible();
  await fitsTheScreen(page);
});

test("a reload comes back to the answer, and Stop keeps its words", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "List the files");
  const long = "Tell me of the sea. ".repeat(20);
  const live = page.locator("#chat-turns [data-live]");
  await say(page, long);
  await expect(live.locator(".prose").first()).not.toBeEmpty();
  const early = (await live.locator(".prose").first().innerText()).trim().slice(0, 12);
  await page.reload();
  await alive(page);
  await expect(turns(page).last()).toContainText(early);
  await expect(page.getByRole("button", { name: "Answer again" })).toBeVisible({ timeout: 20_000 });

  // Whoever stops one that has only just begun finds it going on.
  await say(page, long);
  await expect(live.locator(".prose").first()).not.toBeEmpty();
  await live.getByRole("button", { name: "Stop" }).click();
  await expect(turns(page).last()).toContainText("Stopped.");
  await expect(live).toHaveCount(0);
  await expect(turns(page).last().locator(".prose").first()).not.toBeEmpty();
});

test("what is said while an answer is being given is sent once it is there", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "List the files");
  await say(page, "Tell me of the sea. ".repeat(3));
  await expect(page.locator("#chat-turns [data-live] .prose").first()).not.toBeEmpty();
  await say(page, "List the files once more");
  await page.getByRole("button", { name: "Send when the answer is there" }).click();
  await expect(turns(page)).toHaveCount(6, { timeout: 20_000 });
  await expect(turns(page).nth(4)).toContainText("List the files once more");
  await expect(page.getByRole("textbox", { name: "Say something…" })).toHaveValue("");
  await expect(page.getByRole("button", { name: "Answer again" })).toBeVisible({ timeout: 20_000 });
});

test("todos stand beside the conversation", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "Plan: shop, cook, eat");
  const todos = page.getByRole("region", { name: "Todos" });
  await expect(todos.getByRole("listitem")).toHaveCount(3);
  await expect(todos).toContainText("0 of 3");
});

test("a session is renamed, cleared, deleted and brought back", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "List the files");
  await page.locator("#served").getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Title").fill("My session");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { name: "My session" })).toBeVisible();
  await page.getByRole("link", { name: "Close" }).click();
  await page.getByText("More…").click();
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(turns(page)).toHaveCount(0);
  await page.getByText("More…").click();
  await page.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(new RegExp(`/playground/${id}$`));
  await page.getByRole("link", { name: "Deleted sessions" }).click();
  await page.getByRole("button", { name: "Bring back" }).click();
  await page.getByRole("link", { name: "Sessions in use" }).click();
  await expect(page.getByRole("link", { name: "My session" })).toBeVisible();
});

test("files come from this computer and go there", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "List the files");
  const upload = { name: "data.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") };
  await page.getByLabel("Files from this computer").setInputFiles(upload);
  await page.getByRole("button", { name: "Upload" }).click();
  await expect(files(page).getByRole("link", { name: "data.csv" })).toBeVisible();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    files(page).getByRole("link", { name: "Zip" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("files.zip");
});

test("a step of a trace is gone on from with another prompt, on a branch of its session", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "List the files");
  const session = page.url();
  await turns(page).last().getByRole("link", { name: "Trace" }).click();
  await page.getByRole("region", { name: "Spans over time" }).getByRole("link", { name: /llm_call.*step 1/ }).click();
  await page.getByText("Change the prompt and run on from here").click();
  await expect(page.getByText("It goes on as a branch of its own session")).toBeVisible();
  await page.getByLabel("What the model is told").fill("You are handy, and short.");
  await page.getByRole("button", { name: "Run on" }).click();
  await expect(page).toHaveURL(session);
  await expect(page.getByText("another prompt is tried on this branch")).toBeVisible();
  await expect(turns(page).last()).toContainText("2 / 2", { timeout: 20_000 });
  await turns(page).last().getByRole("button", { name: "The one before" }).click();
  await expect(page.getByText("another prompt is tried on this branch")).toHaveCount(0);
  await fitsTheScreen(page);
});

test("a tool's result is changed from its call in a trace, and the run goes on with it", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "List the files");
  const session = page.url();
  await turns(page).last().getByRole("link", { name: "Trace" }).click();
  await page.getByRole("region", { name: "Spans over time" }).getByRole("link", { name: /tool_call/ }).first().click();
  await page.getByText("Change this result and run on from here").click();
  await page.getByLabel("What the tool gave").fill("Only a cat.");
  await page.getByRole("button", { name: "Run on" }).click();
  await expect(page).toHaveURL(session);
  await expect(turns(page).last()).toContainText("2 / 2", { timeout: 20_000 });
  await turns(page).last().getByRole("link", { name: "Trace" }).click();
  await expect(page.locator("#span")).toContainText("Result of ls before this run");
});

test("a version and a model are chosen, an error says what is wrong, and another model answers", async ({ page, request }) => {
  const { id } = await handy(request, "You know all about {{topic}}.");
  const data = { systemPrompt: "You are handy." };
  expect((await request.put(`/api/storage/personas/${id}`, { data })).ok()).toBe(true);
  await open(page, `/playground/${id}`);
  await page.getByText("Variables of versions before").click();
  await page.getByLabel("{{topic}}").fill("clocks");
  await page.getByLabel("Version", { exact: true }).selectOption("2");
  await page.getByLabel("Model", { exact: true }).selectOption("gemini-2.5-flash");
  await page.getByLabel("First message").fill("List the files");
  await page.getByRole("button", { name: "Begin" }).click();
  await expect(page.getByText("v2 · gemini-2.5-flash")).toBeVisible();
  // Nobody has a key for it.
  await expect(turns(page).last()).toContainText(/key/i, { timeout: 20_000 });
  await expect(turns(page).last().getByRole("button", { name: "Retry", exact: true })).toBeVisible();
  await turns(page).last().getByRole("combobox", { name: "Model" }).selectOption("demo");
  await turns(page).last().getByRole("button", { name: "Retry with it" }).click();
  await expect(turns(page).last()).toContainText("no files yet", { timeout: 20_000 });
  await page.locator("#served").getByRole("link", { name: "Settings" }).click();
  await expect(page.getByLabel("{{topic}}")).toHaveValue("clocks");
  await expect(page.getByLabel("Version")).toHaveValue("2");
  await fitsTheScreen(page);
});

test("Python is run, and its step shows what went in, what came out and how long it took", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "Calculate 6 * 7");
  await expect(turns(page).last()).toContainText("42");
  const step = turns(page).last().locator("details.step").filter({ hasText: "execute" });
  await expect(step.locator("summary")).toContainText(/\d+(\.\d+)? m?s/);
  await step.locator("summary").click();
  await expect(step.locator("pre").first()).toContainText("print(6 * 7)");
  await expect(step.locator("pre").last()).toContainText("42");
});

test("a text that is being written stays while the persona rewrites its file, and nothing is written over", async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, 'Write "milk" to list.txt');
  const sessionId = page.url().split("/").pop();
  await files(page).getByRole("link", { name: "list.txt" }).click();
  await page.locator(".drawer").getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Content").fill("bread, typed by hand");
  const messages = [{ role: "user", content: 'Write "eggs" to list.txt' }];
  const said = await request.post(`/api/agents/${id}/playground/chat`, { data: { sessionId, messages } });
  expect(said.ok()).toBe(true);
  await expect(turns(page)).toHaveCount(4, { timeout: 20_000 });
  await expect(page.getByLabel("Content")).toHaveValue("bread, typed by hand");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The file was changed meanwhile. Yours is not saved yet.")).toBeVisible();
  await expect(page.getByLabel("What stands there now")).toHaveValue("eggs");
  await expect(page.getByLabel("Your text")).toHaveValue("bread, typed by hand");
  await fitsTheScreen(page);
  await page.getByRole("button", { name: "Save mine" }).click();
  await expect(page.getByText("The file is saved.")).toBeVisible();
  await expect(page.getByRole("region", { name: "The text" })).toContainText("bread, typed by hand");
});

test("an upload that is too large is refused with a sentence", { tag: "@desktop" }, async ({ page, request }) => {
  const { id } = await handy(request);
  await begin(page, id, "List the files");
  const upload = { name: "large.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(20 * 1024 * 1024) };
  await page.getByLabel("Files from this computer").setInputFiles(upload);
  await page.getByRole("button", { name: "Upload" }).click();
  await expect(page.getByText("at most 16384 KiB are taken")).toBeVisible();
  await expect(files(page).getByRole("link", { name: "large.bin" })).toHaveCount(0);
});
