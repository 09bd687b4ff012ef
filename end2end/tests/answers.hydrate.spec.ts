// Answers to test inputs as they stream, in several tabs, stopped and compared.
import { expect, open, persona, read, test } from "./house";

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
  expect(await other.locator(".test > .output").allInnerTexts()).toEqual(await answers.allInnerTexts());
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
