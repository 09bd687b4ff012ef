// Deciding on drafts by plain forms, with and without JavaScript.
import { expect, open, persona, read, test } from "./house";

test("drafts are read, accepted in part and rejected in the Inbox", async ({ page, request, javaScriptEnabled }) => {
  const made = await persona(request, { systemPrompt: "Be brief and kind.\nAsk once." });
  const said = "Change the name to Inboxed, and add 'Cite a source.' to the system prompt";
  const answer = await request.post("/api/persona-agent/chat", { data: { personaId: made.id, message: said } });
  expect(await answer.text()).toContain('"type":"done"');
  await open(page, "/inbox", javaScriptEnabled);
  const rows = page.locator("#served .draft").filter({ hasText: made.name });
  await expect(rows).toHaveCount(2);
  await rows.filter({ hasText: "Change the system prompt" }).getByRole("button", { name: "Accept" }).first().click();
  await expect(rows).toHaveCount(1);
  expect((await read(request, made.id)).systemPrompt).toContain("Cite a source.");
  await rows.getByText("Reject…").click();
  await rows.getByLabel("Why? Its author is told.").fill("Not now.");
  await rows.getByRole("button", { name: "Reject", exact: true }).click();
  await expect(rows).toHaveCount(0);
  await page.goto("/inbox?state=rejected");
  await expect(rows.first()).toContainText("Not now.");
  expect((await read(request, made.id)).name).toBe(made.name);
});

test("one talks to the page, by the panel or by a plain form", async ({ page, request, javaScriptEnabled }) => {
  const made = await persona(request);
  await open(page, `/personas/${made.id}`, javaScriptEnabled);
  await page.locator("#composer-words").fill("What is the name?");
  await page.getByRole("button", { name: "Send" }).click();
  if (javaScriptEnabled) {
    await expect(page.locator("#rail .turn.you")).toContainText("What is the name?");
    return;
  }
  await expect(page.locator(".turn.you")).toContainText("What is the name?");
  await page.getByRole("link", { name: "Back to the page" }).click();
  await expect(page.locator("#system-prompt")).toBeVisible();
  await page.getByRole("link", { name: "Show output" }).click();
  await expect(page.locator(".turn.you")).toContainText("What is the name?");
});
