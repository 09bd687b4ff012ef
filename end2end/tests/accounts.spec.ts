// Accounts, as people meet them: signing in, one's account, people, an invitation, and what a viewer sees.
import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "@playwright/test";
import type { Page } from "@playwright/test";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const binary = join("..", process.env.GREENROOM_E2E_BINARY ?? "target/release/greenroom");
const PASSWORD = "correct horse";
const env = { ...process.env, DATABASE_URL: "", RUST_LOG: "warn" };

let server: ChildProcess;
let base: string;

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const listener = createServer();
    listener.listen(0, "127.0.0.1", () => {
      const { port } = listener.address() as { port: number };
      listener.close(() => resolve(port));
    });
  });
}

test.beforeAll(async () => {
  const data = mkdtempSync(join(tmpdir(), "greenroom-accounts-"));
  const file = join(data, "password");
  writeFileSync(file, PASSWORD);
  execFileSync(binary, ["user", "add", "ann", "--password-file", file, "--data", data], { env });
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  server = spawn(binary, ["serve", "--addr", `127.0.0.1:${port}`, "--data", data], { env, stdio: "ignore" });
  await expect(async () => expect((await fetch(`${base}/readyz`)).status).toBe(200)).toPass();
});

test.afterAll(() => {
  server.kill();
});

async function signIn(page: Page, name: string, password: string) {
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function fits(page: Page) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth).catch(() => 0);
  expect(over).toBeLessThanOrEqual(0);
}

test("one is asked to sign in, and goes on where one wanted to go", async ({ page, javaScriptEnabled }) => {
  await page.goto(`${base}/personas/optimist`);
  await expect(page).toHaveURL(`${base}/login?next=/personas/optimist`);
  if (javaScriptEnabled) {
    await fits(page);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  }
  await signIn(page, "ann", "wrong password");
  await expect(page.getByRole("alert")).toHaveText("The name or the password is wrong.");
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("ann");
  await signIn(page, "ann", PASSWORD);
  await expect(page).toHaveURL(`${base}/personas/optimist`);
});

test("an owner invites a viewer, who looks and changes nothing", async ({ page, browser, javaScriptEnabled }, info) => {
  await page.goto(`${base}/login?next=/people`);
  await signIn(page, "ann", PASSWORD);
  await page.getByLabel("What they will be").selectOption("viewer");
  await page.getByRole("button", { name: "Make a link" }).click();
  const link = (await page.locator(".shown-once").textContent())!;
  if (javaScriptEnabled) {
    await fits(page);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  }
  const asked = { personaId: "skeptic", message: "Change the name to Zed" };
  const answer = await page.request.post(`${base}/api/persona-agent/chat`, { data: asked });
  expect(await answer.text()).toContain('"type":"done"');
  const context = await browser.newContext({ javaScriptEnabled });
  const other = await context.newPage();
  await other.goto(link);
  await other.getByRole("textbox", { name: "Name" }).fill(`eve-${info.project.name}-${info.retry}`);
  await other.getByLabel("Password").fill(PASSWORD);
  await other.getByRole("button", { name: "Come in" }).click();
  await expect(other.getByRole("heading", { name: "Personas" })).toBeVisible();
  await expect(other.locator("html")).toHaveAttribute("data-account", "viewer");
  for (const path of ["/", "/personas/optimist", "/chats", "/bin", "/inbox"]) {
    await other.goto(`${base}${path}`);
    await expect(other.locator('form[action^="/fn/"]:not([action$="set_theme"]) button:visible')).toHaveCount(0);
  }
  await expect(other.locator(".draft").first()).toContainText("Zed");
  await expect(other.locator(".draft .button:visible")).toHaveCount(0);
  expect((await other.request.post(`${base}/api/storage/personas`, { data: { name: "x" } })).status()).toBe(403);
  expect((await other.goto(link))?.status()).toBe(404);
  expect((await other.goto(`${base}/people`))?.status()).toBe(403);
  await context.close();
});

test("a token is shown once, works, and is revoked", async ({ page, playwright, javaScriptEnabled }, info) => {
  const name = `A script (${info.project.name} ${info.retry})`;
  await page.goto(`${base}/login?next=/account`);
  await signIn(page, "ann", PASSWORD);
  await page.getByText("Make a token").click();
  await page.getByLabel("What it is for").fill(name);
  await page.getByRole("button", { name: "Make it" }).click();
  const token = (await page.locator(".shown-once").textContent())!;
  if (javaScriptEnabled) {
    await fits(page);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  }
  const program = await playwright.request.newContext({ extraHTTPHeaders: { Authorization: `Bearer ${token}` } });
  expect((await program.get(`${base}/api/storage/personas`)).status()).toBe(200);
  expect((await program.post(`${base}/api/pending-changes/x/approve`, { data: {} })).status()).toBe(403);
  await page.goto(`${base}/account`);
  await expect(page.locator(".shown-once")).toHaveCount(0);
  await page.getByRole("listitem").filter({ hasText: name }).getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText(name)).toHaveCount(0);
  expect((await program.get(`${base}/api/storage/personas`)).status()).toBe(401);
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await expect(page).toHaveURL(`${base}/login`);
});

test("a page of another site can neither read nor write here @desktop @script", async ({ page }) => {
  await page.goto(`${base}/login`);
  await signIn(page, "ann", PASSWORD);
  const { createServer: http } = await import("node:http");
  const evil = http((_, answer) => answer.setHeader("content-type", "text/html").end("<p>evil</p>"));
  await new Promise<void>((done) => evil.listen(0, "127.0.0.1", done));
  const { port } = evil.address() as { port: number };
  await page.goto(`http://localhost:${port}/`);
  const tried = await page.evaluate(async (base) => {
    const read = await fetch(`${base}/api/storage/personas`, { credentials: "include" }).then(() => "read", () => "refused");
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: `${base}/fn/empty_bin` });
    document.body.append(form);
    form.submit();
    return read;
  }, base);
  expect(tried).toBe("refused");
  await expect(page.locator("body")).toContainText("from another site");
  evil.close();
});
