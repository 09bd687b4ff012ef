// Answers to test inputs as they stream, in several tabs, stopped and compared.
import { expect, open, persona, read, say, test } from "./house";

const long = "Tell me of the sea. ".repeat(3);

async function withInputs(request: Parameters<typeof persona>[0], inputs: string[]) {
  const made = await persona(request, { systemPrompt: "You are a kind coach." });
  for (const content of inputs) {
    await request.post(`/api/storage/personas/${made.id}/test-inputs`, { data: { content } });
  }
  return made;
}

test("all test inputs run, their words stream, and another tab sees the same", async ({ page, context, request }) => {
  const { id } = await withInputs(request, ["Where do I start?", "I lost my job.", "Is the Moon hollow?", long]);
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Run all" }).click();
  const answers = page.locator(".test > .output");
  await expect(answers.first().locator(".streaming")).not.toBeEmpty();
  await expect(answers.first()).toHaveAttribute("aria-busy", "true");
  await expect(answers.last()).toContainText("Waiting for its turn");
  const other = await context.newPage();
  await open(other, `/personas/${id}`);
  for (const tab of [page, other]) {
    await expect(tab.locator(".test > .output .facts")).toHaveCount(4);
    await expect(tab.getByRole("button", { name: "Run all" })).toBeEnabled();
  }
  await expect(async () => {
    expect(await other.locator(".test > .output").allInnerTexts()).toEqual(await answers.allInnerTexts());
  }).toPass();
});

test("answers that are given at once stream at once, and one that is asked for meanwhile, too", async ({ page, request }) => {
  const { id } = await withInputs(request, [long, long, long]);
  await open(page, `/personas/${id}`);
  const streaming = page.locator(".test > .output .streaming");
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await page.getByRole("button", { name: "Run Test input 2" }).click();
  await page.getByRole("button", { name: "Run Test input 3" }).click();
  await expect(streaming).toHaveCount(3);
  await expect(page.locator(".test > .output .facts")).toHaveCount(3);
});

test("a reload in the middle of an answer loses nothing of it", async ({ page, request }) => {
  const { id } = await withInputs(request, [long]);
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  const answer = page.locator(".test > .output");
  await expect(answer.locator(".streaming")).not.toBeEmpty();
  const early = await answer.locator(".streaming").innerText();
  await open(page, `/personas/${id}`);
  await expect(answer.locator(".facts")).toBeVisible();
  expect(await answer.innerText()).toContain(early.trim());
});

test("a run that is stopped keeps its words", async ({ page, request }) => {
  const { id } = await withInputs(request, [long]);
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  const answer = page.locator(".test > .output");
  await expect(answer.locator(".streaming")).not.toBeEmpty();
  await page.getByRole("button", { name: "Stop Test input 1" }).click();
  await expect(answer).toContainText("Stopped. What was said is kept.");
  await expect(answer.locator(".prose")).not.toBeEmpty();
  await expect(page.getByRole("button", { name: "Run Test input 1" })).toBeEnabled();
});

test("an older answer stays beside the new one with its version", async ({ page, request }) => {
  const { id } = await withInputs(request, ["Where do I start?"]);
  await open(page, `/personas/${id}`);
  const facts = page.locator(".test > .output .facts");
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(facts).toContainText("v1");
  await page.locator("#system-prompt").fill("You are a skeptic who doubts everything.");
  await expect.poll(async () => (await read(request, id)).revision).toBe(2);
  await expect(facts.locator(".old")).toHaveText("v1");
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(facts).toContainText("v2");
  await page.getByText("Earlier answers").click();
  await expect(page.locator(".earlier-list li")).toHaveCount(1);
  await expect(page.locator(".earlier-list li")).toContainText("v1");
});

test("what is run is what stands on the screen", async ({ page, request }) => {
  const { id } = await withInputs(request, ["Where do I start?", "Is the Moon hollow?"]);
  await open(page, `/personas/${id}`);
  const answers = page.locator(".test > .output");
  await page.locator("#system-prompt").fill("You are a skeptic who doubts everything.");
  await page.getByLabel("Test input 1", { exact: true }).fill("What is 6*7?");
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(answers.first()).toContainText("6*7 = 42");
  await expect(answers.first().locator(".facts")).toContainText("v2");
  await page.locator("#system-prompt").fill("You are a coach.");
  await page.getByLabel("Test input 2", { exact: true }).fill("What is 7*8?");
  await page.getByRole("button", { name: "Run all" }).click();
  await expect(answers.last()).toContainText("7*8 = 56");
  for (const answer of await answers.all()) await expect(answer.locator(".facts")).toContainText("v3");
});

test("what cannot be saved is not run, and that is said", async ({ page, request }) => {
  const { id } = await withInputs(request, ["Where do I start?"]);
  await open(page, `/personas/${id}`);
  await page.route("**/fn/save_test_input", (route) => route.abort());
  await page.getByLabel("Test input 1", { exact: true }).fill("What is 6*7?");
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(page.getByText("Not run: what is written here could not be saved yet.")).toBeVisible();
  await expect(page.locator(".test > .output")).toContainText("No answer yet");
  await page.unroute("**/fn/save_test_input");
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(page.locator(".test > .output")).toContainText("6*7 = 42");
});

test("an answer to an earlier version of the test input says so, here and among the earlier ones", async ({ page, request }) => {
  const { id } = await withInputs(request, ["What is 2+2?"]);
  await open(page, `/personas/${id}`);
  const facts = page.locator(".test > .output .facts");
  const old = "answers an earlier version of this test input";
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(facts).toContainText("v1");
  await expect(facts).not.toContainText(old);
  await page.getByLabel("Test input 1", { exact: true }).fill("What is 6*7?");
  await expect(facts).toContainText(old);
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(page.locator(".test > .output")).toContainText("6*7 = 42");
  await expect(facts).not.toContainText(old);
  await page.getByText("Earlier answers").click();
  await expect(page.locator(".earlier-list li")).toContainText(old);
});

test("earlier answers can be read while a new one comes, and what cannot be loaded is told", async ({ page, request }) => {
  const { id } = await withInputs(request, ["What is 2+2?"]);
  await open(page, `/personas/${id}`);
  const answer = page.locator(".test > .output");
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(answer.locator(".facts")).toBeVisible();
  await page.getByLabel("Test input 1", { exact: true }).fill(long);
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(answer.locator(".streaming")).not.toBeEmpty();
  await page.route("**/fn/earlier_answers", (route) => route.abort(), { times: 1 });
  await page.getByText("Earlier answers").click();
  await expect(page.locator(".earlier .problem")).toBeVisible();
  await page.getByText("Earlier answers").click();
  await page.getByText("Earlier answers").click();
  await expect(page.locator(".earlier-list li")).toHaveCount(1);
  await expect(page.locator(".earlier-list li")).toContainText("2+2 = 4");
  await expect(page.locator(".earlier .problem")).toHaveCount(0);
});

test("what is run in one open tab streams in the other, and so does what the agent runs", async ({ page, context, request }) => {
  const { id } = await withInputs(request, [long, `${long} Once more.`]);
  const other = await context.newPage();
  await open(page, `/personas/${id}`);
  await open(other, `/personas/${id}`);
  const answers = (tab: typeof page) => tab.locator(".test > .output");
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(answers(other).first().locator(".streaming")).not.toBeEmpty();
  await expect(answers(other).first().locator(".facts")).toBeVisible();
  await expect(answers(other).last()).toContainText("No answer yet");
  // Both are looked at from before it begins: an answer waits for nobody who looks.
  const streaming = () => {
    const last = [...document.querySelectorAll(".test > .output")].at(-1);
    return last?.querySelector(".streaming")?.textContent;
  };
  const seen = [page, other].map((tab) => tab.waitForFunction(streaming, null, { polling: 20 }));
  await say(other, "Run the test inputs");
  await Promise.all(seen);
  for (const tab of [page, other]) {
    await expect(tab.locator(".test > .output .facts")).toHaveCount(2, { timeout: 20_000 });
  }
  await expect(async () => {
    expect(await answers(other).allInnerTexts()).toEqual(await answers(page).allInnerTexts());
  }).toPass();
});

test("an answer whose stream is lost is followed again", async ({ page, request }) => {
  const { id } = await withInputs(request, [long]);
  await open(page, `/personas/${id}`);
  let refused = 0;
  await page.route("**/rail/answers/*", (route) =>
    refused++ === 0 ? route.fulfill({ status: 503, body: "Not now." }) : route.continue(),
  );
  // What cannot be asked for either is asked for again.
  await page.route("**/fn/last_answers", (route) => route.abort(), { times: 1 });
  await page.getByRole("button", { name: "Run Test input 1" }).click();
  await expect(page.locator(".test > .output .facts")).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole("button", { name: "Run Test input 1" })).toBeEnabled();
  expect(refused).toBeGreaterThan(0);
});

test("an answer tells its model, tokens, time and cost, and the old ones go on as far as there are any", async ({ page, request }) => {
  const made = await withInputs(request, ["Hi"]);
  const dear = {
    id: "demo/dear-test", service: "demo", name: "demo", label: "Dear", context: 100000, maxOutput: 8192,
    price: { input: 2, output: 10 }, tools: true, vision: false, reasoning: false,
  };
  expect((await request.put("/api/models", { data: dear })).ok()).toBe(true);
  await request.put(`/api/storage/personas/${made.id}`, { data: { model: dear.id } });
  const { testInputIds } = await read(request, made.id);
  const answers = `/api/storage/personas/${made.id}/test-inputs/${testInputIds[0]}/answers`;
  for (let count = 0; count < 22; count++) expect((await request.post(answers, { data: {} })).status()).toBe(201);
  await open(page, `/personas/${made.id}`);
  await expect(page.locator(".test > .output .facts")).toHaveText(
    /^v2 · demo\/dear-test · \d+ in · \d+ out · (\d+ ms|\d+\.\d s) · \$0\.\d+ · /,
  );
  await page.getByText("Earlier answers").click();
  await expect(page.locator(".earlier-list li")).toHaveCount(19);
  await page.getByRole("button", { name: "Older" }).click();
  await expect(page.locator(".earlier-list li")).toHaveCount(21);
  await expect(page.getByRole("button", { name: "Older" })).toHaveCount(0);
});
