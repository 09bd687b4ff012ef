// Pages fit the screen, and machines find no barrier in them.
import AxeBuilder from "@axe-core/playwright";
import { ask, expect, fitsTheScreen, open, persona, rail, test } from "./house";

const pages = ["/", "/personas/optimist", "/personas/optimist?versions=1", "/personas/optimist?preview=1", "/personas/optimist?workbench=enhance", "/personas/optimist?workbench=publish", "/chats", "/inbox", "/audit", "/bin", "/settings", "/playground/code-reviewer", "/traces", "/usage", "/nothing"];

for (const path of pages) {
  test(`${path} fits the screen and has no barriers`, async ({ page }) => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await open(page, path);
      await fitsTheScreen(page);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
    }
  });
}

test("long and odd names break no page", async ({ page, request }) => {
  const name = "W".repeat(120) + "<b>‮bidi" + "👩‍👩‍👧".repeat(5);
  const { id } = await persona(request, { name, systemPrompt: "x".repeat(5000) });
  for (const path of ["/", `/personas/${id}`, "/chats"]) {
    await open(page, path);
    await fitsTheScreen(page);
  }
  await request.delete(`/api/storage/personas/${id}`);
});

test("words without an end stay within the panel, the Inbox, what is found, and a ref", async ({ page, request }) => {
  const [name, word] = ["W".repeat(100), "w".repeat(100)];
  const { id } = await persona(request, { name, systemPrompt: "one" });
  const ref = { title: name, url: `https://${"w".repeat(60)}.${"w".repeat(60)}.example/` };
  const made = await (await request.post("/api/storage/refs", { data: ref })).json();
  await ask(request, id, `Replace 'one' with '${word}' in the system prompt`);
  for (const path of [`/inbox?persona=${id}`, `/search?q=${name}`, `/refs/${made.id}`]) {
    await open(page, path);
    await fitsTheScreen(page);
  }
  await open(page, `/personas/${id}`);
  await page.getByRole("button", { name: "Show output" }).click();
  await expect(rail(page).locator(".draft")).toBeVisible();
  const wider = await page.locator("#rail-body").evaluate((body) => body.scrollWidth - body.clientWidth);
  expect(wider).toBe(0);
  await expect(rail(page).getByRole("button", { name: "New conversation" })).toBeInViewport();
  await request.delete(`/api/storage/personas/${id}`);
  await request.delete(`/api/storage/refs/${made.id}`);
});

test("a chat and what opens beside it fit the screen and have no barriers", async ({ page, request }) => {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  const said = await request.post(`/api/chats/${id}/messages`, { data: { content: "W".repeat(300) } });
  const { runId, replyId } = await said.json();
  await expect.poll(async () => (await (await request.get(`/api/runs/${runId}`)).json()).status).toBe("done");
  for (const path of ["", "?chats=1", "?settings=1", "?map=1", `?sent=${replyId}`]) {
    await open(page, `/chats/${id}${path}`);
    await fitsTheScreen(page);
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
  }
});

test("what a button opens lies inside the window", async ({ page, request }) => {
  const { id: personaId } = await persona(request, { systemPrompt: "You are kind." });
  const { id } = await (await request.post("/api/chats", { data: { personaId } })).json();
  for (const [path, menu] of [
    [`/chats/${id}`, "#chat-more"],
    ["/chats", `#rename-${id}`],
  ]) {
    await open(page, path);
    await page.locator(`${menu} > summary`).click();
    const box = (await page.locator(`${menu} > .popup`).boundingBox())!;
    expect(box.x).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(page.viewportSize()!.width);
  }
});
