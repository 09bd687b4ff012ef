// Every device runs twice, with and without JavaScript. `*.hydrate.spec.ts` needs the browser's
// program and runs only with it. The server is the optimised binary, on a database of its own.
import { defineConfig } from "@playwright/test";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const port = Number(process.env.GREENROOM_E2E_PORT ?? 3107);
const data = process.env.GREENROOM_E2E_DATA ?? mkdtempSync(join(tmpdir(), "greenroom-e2e-"));
process.env.GREENROOM_E2E_DATA = data;
const chromium = "/usr/bin/chromium";

const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
// What the other site's own program does is not there without JavaScript.
const plain = { testIgnore: /.*\.hydrate\.spec\.ts/, grepInvert: /@script/ };

export default defineConfig({
  testDir: "tests",
  forbidOnly: true,
  fullyParallel: true,
  workers: 2,
  // A machine that others use too may be too slow once; what needed another try is counted as flaky.
  retries: process.env.CI ? 2 : 0,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: [["list"], ["json", { outputFile: "test-results/report.json" }]],
  use: {
    baseURL: `http://127.0.0.1:${port}`,
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: existsSync(chromium) ? chromium : undefined,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  projects: [
    // There is no finger without a screen that feels it.
    { name: "desktop", use: desktop, grepInvert: /@phone/ },
    // What is the same on both, or is not on a phone, is tested once.
    { name: "phone", use: phone, grepInvert: /@desktop/ },
    { name: "desktop-plain", use: { ...desktop, javaScriptEnabled: false }, ...plain },
    { name: "phone-plain", use: { ...phone, javaScriptEnabled: false }, ...plain },
  ],
  webServer: {
    command: `${process.env.GREENROOM_E2E_BINARY ?? "target/release/greenroom"} serve --addr 127.0.0.1:${port} --data ${data}`,
    cwd: "..",
    url: `http://127.0.0.1:${port}/readyz`,
    reuseExistingServer: false,
    stdout: "ignore",
    // No key of this machine: the tests talk to the demo model.
    env: {
      DATABASE_URL: "",
      RUST_LOG: "warn",
      ANTHROPIC_API_KEY: "",
      OPENAI_API_KEY: "",
      GEMINI_API_KEY: "",
      GOOGLE_API_KEY: "",
    },
  },
});
