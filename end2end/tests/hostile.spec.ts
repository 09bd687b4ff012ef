// Texts that would run as programs where a page is careless, in every place where text of others is shown: none runs,
// and nothing is asked of another address (the page of every test here complains about both).
import { chromium } from "@playwright/test";
import { existsSync, readFileSync } from "node:fs";
import { expect, open, persona, read, test } from "./house";

/** Our own, and others' where they lie beside the repository. */
function collected(file: string): string[] {
  const places = [`../src/tests/hostile/${file}`, `../../shared/fixtures/security/${file}`];
  const found = places.map((place) => new URL(place, `file://${process.cwd()}/`).pathname).filter((path) => existsSync(path));
  expect(found.length).toBeGreaterThan(0);
  const cases = found.flatMap((path) => JSON.parse(readFileSync(path, "utf8")) as { payload: string }[]);
  return cases.map((one) => one.payload).filter((text) => !text.includes("\0"));
}

const line = (text: string) => text.replace(/[\r\n\t\u2028\u2029]+/g, " ").trim().slice(0, 200);

test("nothing that anybody wrote is run or loads anything @desktop", async ({ page, request, javaScriptEnabled }) => {
  test.setTimeout(120_000);
  const ran: string[] = [];
  page.on("dialog", (dialog) => {
    ran.push(dialog.message());
    void dialog.dismiss();
  });
  const payloads = [...collected("xss_core.json"), ...collected("xss_markdown.json")];
  expect(payloads.length).toBeGreaterThan(100);
  const all = payloads.join("\n\n").slice(0, 90_000);
  const made = async (path: string, data: object) => {
    const answer = await request.post(path, { data });
    expect(answer.ok(), await answer.text()).toBe(true);
    return answer.json();
  };
  const looked = async (path: string) => {
    await open(page, path, javaScriptEnabled);
    expect(ran, path).toEqual([]);
    const marks = "main script, main iframe, main object, main embed, main base, main [onerror], main [onload], main [onclick]";
    await expect(page.locator(marks)).toHaveCount(0);
  };

  // Names, in a list of them; few enough that others still find theirs on its first page.
  const names = payloads.map(line).filter((name) => name !== "").slice(0, 12);
  const ids: string[] = [];
  for (const name of names) ids.push((await persona(request, { name })).id);
  await looked("/");
  // A prompt and notes, in the editor.
  const poisoned = await made("/api/storage/personas", { name: line(payloads[3]), systemPrompt: all, notes: all.slice(0, 19_000), appearance: all.slice(0, 9_000) });
  await looked(`/personas/${poisoned.id}`);
  // A page, a ref and a task.
  for (const [kind, fields] of [
    ["pages", { title: line(payloads[0]), body: all }],
    ["refs", { title: line(payloads[1]), text: all }],
    ["tasks", { title: line(payloads[2]), note: all.slice(0, 9_000) }],
  ] as const) {
    const thing = await made(`/api/storage/${kind}`, fields);
    await looked(`/${kind}/${thing.id}`);
  }
  await looked("/knowledge");
  // What is said, and what is answered: the demo's characters repeat some of it.
  const chat = await made("/api/chats", { personaId: poisoned.id, title: line(payloads[5]) });
  const said = await made(`/api/chats/${chat.id}/messages`, { content: all.slice(0, 15_000) });
  await request.get(`/api/runs/${said.runId}/events`);
  await looked(`/chats/${chat.id}`);
  // The names of files, and what is in them; then what a run left.
  const session = await made(`/api/agents/${poisoned.id}/playground/sessions`, {});
  for (const name of ["<img src=x onerror=alert(1)>.md", "\"onload=alert(1).txt"]) {
    const path = `/api/agents/${poisoned.id}/playground/sessions/${session.id}/files/${encodeURIComponent(name)}`;
    expect((await request.put(path, { data: { content: all } })).ok()).toBe(true);
  }
  await looked(`/playground/${poisoned.id}/${session.id}`);
  await looked(`/traces/${said.runId}`);
  await looked("/audit");
  // Words in the address, and errors that quote them.
  for (const payload of payloads.slice(0, 12)) await looked(`/search?q=${encodeURIComponent(payload)}`);
  await looked(`/?q=${encodeURIComponent(payloads[3])}`);
  for (const id of [...ids, poisoned.id]) await request.delete(`/api/storage/personas/${id}`);
});

test("what was uploaded is saved and never opened as a page @desktop @script", async ({ page, request }) => {
  const ran: string[] = [];
  page.on("dialog", (dialog) => {
    ran.push(dialog.message());
    void dialog.dismiss();
  });
  const { id } = await persona(request, { name: "Keeper of files" });
  const sessions = `/api/agents/${id}/playground/sessions`;
  const session = await (await request.post(sessions, { data: {} })).json();
  const active = {
    "a.html": "<script>alert(1)</script>",
    "b.svg": '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>',
    "c.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>',
    "d.xml": '<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>',
    "e.txt": "<script>alert(1)</script>",
  };
  for (const [name, content] of Object.entries(active)) {
    const path = `${sessions}/${session.id}/files/${name}`;
    expect((await request.put(path, { data: { content } })).ok(), name).toBe(true);
    const saved = page.waitForEvent("download");
    // What is saved is no page that one comes to.
    await page.goto(path).catch(() => null);
    expect((await saved).suggestedFilename()).toBe(name);
  }
  expect(ran).toEqual([]);
  await request.delete(`/api/storage/personas/${id}`);
});

test("a name that was bent to this machine is not ours @desktop @script", async ({ baseURL }, info) => {
  const { port } = new URL(baseURL!);
  const usual = info.project.use.launchOptions ?? {};
  const rules = "--host-resolver-rules=MAP evil.test 127.0.0.1";
  const browser = await chromium.launch({ ...usual, args: [...(usual.args ?? []), rules] });
  try {
    const page = await browser.newPage();
    for (const path of ["/", "/api/storage/personas", "/api/live", "/favicon.svg", "/healthz"]) {
      const answer = await page.goto(`http://evil.test:${port}${path}`);
      expect(answer!.status(), path).toBe(421);
    }
  } finally {
    await browser.close();
  }
});

test("a character card becomes a persona @desktop", async ({ page, request, javaScriptEnabled }) => {
  await open(page, "/", javaScriptEnabled);
  await page.getByText("Import a character card…").click();
  const card = { name: "Ada of the cards", description: "{{char}} keeps the inn." };
  const file = { name: "ada.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(card)) };
  await page.getByLabel("A card (PNG, JSON or CHARX)").setInputFiles(file);
  await page.getByRole("button", { name: "Import" }).click();
  await expect(page).toHaveURL(/\/personas\/[^/?]+/);
  const id = page.url().split("/").pop()!;
  expect((await read(request, id)).systemPrompt).toContain("Ada of the cards keeps the inn.");
  await request.delete(`/api/storage/personas/${id}`);
});
