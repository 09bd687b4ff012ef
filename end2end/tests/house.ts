// What the tests share: a page that complains about what users never see, and personas of their own.
import { expect, test as base, type APIRequestContext, type Page } from "@playwright/test";

export { expect };

/** A test whose page may neither log an error, nor break the content policy, nor leave our origin. */
export const test = base.extend<{ quiet: void }>({
  quiet: [
    async ({ page, baseURL }, use) => {
      const complaints: string[] = [];
      page.on("console", (message) => {
        const expected = /Failed to load resource|ERR_INTERNET_DISCONNECTED|ERR_FAILED/;
        if (message.type() === "error" && !expected.test(message.text())) {
          complaints.push(message.text());
        }
      });
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("request", (request) => {
        if (!request.url().startsWith(baseURL!) && !request.url().startsWith("data:")) {
          complaints.push(`request to ${request.url()}`);
        }
      });
      await use();
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});

export type Persona = { id: string; name: string; systemPrompt: string; revision: number; testInputIds: string[] };

let counter = 0;

/** A persona that no other test touches. */
export async function persona(
  request: APIRequestContext,
  fields: { name?: string; systemPrompt?: string } = {},
): Promise<Persona> {
  const name = fields.name ?? `Test persona ${process.pid}-${counter++}`;
  const answer = await request.post("/api/storage/personas", { data: { ...fields, name } });
  expect(answer.status()).toBe(201);
  return answer.json();
}

export async function read(request: APIRequestContext, id: string): Promise<Persona> {
  return (await request.get(`/api/storage/personas/${id}`)).json();
}

/** Opens a page and, where there is JavaScript, waits until it is alive. */
export async function open(page: Page, path: string, javaScriptEnabled = true) {
  await page.goto(path);
  if (javaScriptEnabled) await alive(page);
}

export async function alive(page: Page) {
  await expect(page.locator("html[data-alive]")).toBeAttached();
}

/** A page that hears no news, as when its connection is slow. */
export async function deaf(page: Page) {
  await page.route("**/api/live", (route) => route.abort());
}

/** Nobody looks at a page for so long that it stops to listen; `meanwhile` is what it misses. Its clock is ours. */
export async function unseen(page: Page, meanwhile: () => Promise<unknown>) {
  const turn = (state: string) =>
    page.evaluate((state) => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
    }, state);
  await turn("hidden");
  await page.clock.runFor(21_000);
  await meanwhile();
  await turn("visible");
}

/** The page must not be wider than the screen. */
export async function fitsTheScreen(page: Page) {
  const [content, screen] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  expect(content).toBeLessThanOrEqual(screen);
}

/** Says something in the bar. */
export async function say(page: Page, words: string) {
  await page.locator("#composer-words").fill(words);
  await page.locator("#composer-words").press("Enter");
}

export const rail = (page: Page) => page.locator("#rail");

/** How the panel stands: hidden, visible or pinned. */
export const shown = (page: Page, how: string) => expect(rail(page)).toHaveAttribute("data-shown", how);

export const answered = (page: Page) =>
  expect(page.getByRole("status").filter({ hasText: "The answer has ended." })).toBeAttached();

/** Listens to what screen readers are told from now on. */
export async function announced(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const told: string[] = [];
    const live = "[aria-live]:not([aria-live=off]), [role=status], [role=alert], [role=log], output";
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const near = target instanceof Element ? target : target.parentElement;
        const words = near?.closest(live)?.textContent;
        if (words && words !== told.at(-1)) told.push(words);
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
    Object.assign(window, { told });
  });
  return () => page.evaluate(() => (window as any).told);
}

export type Draft = { id: string; expiresAt: string; proposedBy: { runId: string } };

/** Says something to a persona's agent from elsewhere. Returns its drafts that wait, the last first. */
export async function ask(request: APIRequestContext, personaId: string, message: string): Promise<Draft[]> {
  const answer = await request.post("/api/persona-agent/chat", { data: { personaId, message } });
  expect(await answer.text()).toContain('"type":"done"');
  return (await (await request.get(`/api/pending-changes?personaId=${personaId}`)).json()).items;
}
