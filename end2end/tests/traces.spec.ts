// Traces and usage: read with and without JavaScript, on a desktop and on a phone.
import type { APIRequestContext } from "@playwright/test";
import { expect, fitsTheScreen, open, persona, test } from "./house";

/** A persona whose agent has used a tool, and the run in which it did. */
async function traced(request: APIRequestContext) {
  const made = await persona(request, { systemPrompt: "Be brief and kind." });
  const said = "Add 'Cite a source.' to the system prompt";
  const answer = await request.post("/api/persona-agent/chat", { data: { personaId: made.id, message: said } });
  expect(await answer.text()).toContain('"type":"done"');
  return { made, run: answer.headers()["greenroom-run-id"] };
}

test("a run is found among the traces and read span by span", async ({ page, request, javaScriptEnabled }) => {
  const { made, run } = await traced(request);
  await open(page, `/traces?persona=${made.id}`, javaScriptEnabled);
  const row = page.locator(`#trace-${run}`);
  await expect(row).toContainText("Done");
  await expect(row).toContainText("demo");
  await fitsTheScreen(page);

  await row.getByRole("link", { name: made.name }).click();
  await expect(page.getByRole("heading", { name: made.name, level: 1 })).toBeVisible();
  const spans = page.getByRole("region", { name: "Spans over time" });
  await expect(spans.getByRole("link", { name: /run/ }).first()).toBeVisible();
  await spans.getByRole("link", { name: /llm_call.*step 1/ }).click();
  const details = page.locator("#span");
  await expect(details).toContainText("First token");
  await expect(details).toContainText("Instructions");
  await spans.getByRole("link", { name: /tool_call/ }).first().click();
  await expect(details.getByText("Input", { exact: true })).toBeVisible();
  await expect(details).toContainText("Output");
  await fitsTheScreen(page);
});

test("the filters say what they show, and nothing found is said", async ({ page, request, javaScriptEnabled }) => {
  const { made } = await traced(request);
  await open(page, "/traces", javaScriptEnabled);
  await page.getByLabel("Persona", { exact: true }).selectOption(made.id);
  await page.getByLabel("Only errors").check();
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await expect(page.getByRole("heading", { name: "None found" })).toBeVisible();
  await expect(page.getByLabel("Persona", { exact: true })).toHaveValue(made.id);
  await page.getByRole("link", { name: "Show all" }).click();
  await expect(page.locator(".trace-row").first()).toBeVisible();
});

test("what runs took is summed up, and a period is chosen", async ({ page, request, javaScriptEnabled }) => {
  const { made } = await traced(request);
  await open(page, "/usage", javaScriptEnabled);
  await expect(page.getByRole("img", { name: /Tokens by day/ })).toBeVisible();
  await expect(page.getByRole("row", { name: new RegExp(made.name) })).toBeVisible();
  await page.getByRole("link", { name: "7 days" }).click();
  await expect(page.getByRole("link", { name: "7 days" })).toHaveAttribute("aria-current", "page");
  await fitsTheScreen(page);
});
