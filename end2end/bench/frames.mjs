// Measures in Chromium what a person feels while an answer streams into a long conversation: the time
// between frames, and tasks so long that typing would hang. Beside it, in the same browser, a bare page
// that only appends the words: the limit. And what a person feels who types in a long chat, beside a bare
// field. `scripts/bench frames` runs it.
import { chromium } from "@playwright/test";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const scale = Number(process.env.GREENROOM_BENCH_SCALE ?? 1);
const binary = process.env.GREENROOM_BENCH_BINARY ?? "target/release/greenroom";
const messages = Math.max(20, Math.round(500 * scale));
const words = Math.max(200, Math.round(2000 * scale));
const perSecond = 200;
const rendered = Math.max(100, Math.round(2000 * scale));

const text = "Some *words* of an answer with `code`, a [link](https://example.com/) and **weight**. ";
const pieces = Array.from({ length: words }, (_, at) => {
  const word = text.split(" ")[at % 13] ?? "word";
  return at % 60 === 59 ? `${word}\n\n` : at % 300 === 150 ? `${word}\n\n- one\n- two\n\n` : `${word} `;
});

/** A service that speaks Anthropic's format: a short answer at once, or a long one at a pace. */
function service() {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const tell = (event) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const delta = (text) => tell({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
    response.writeHead(200, { "content-type": "text/event-stream" });
    const usage = { input_tokens: 10, output_tokens: 1 };
    tell({ type: "message_start", message: { id: "m", role: "assistant", content: [], model: "fake", usage } });
    tell({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
    const last = JSON.parse(body).messages.at(-1).content;
    if (JSON.stringify(last).includes("At length")) {
      const begun = performance.now();
      for (const [at, piece] of pieces.entries()) {
        await pause(Math.max(0, begun + (at * 1000) / perSecond - performance.now()));
        delta(piece);
      }
    } else {
      delta(text.repeat(4));
    }
    tell({ type: "content_block_stop", index: 0 });
    tell({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } });
    tell({ type: "message_stop" });
    response.end();
  });
  return new Promise((ready) => server.listen(0, "127.0.0.1", () => ready(server)));
}

async function greenroom(upstream, data) {
  const port = 3190;
  const env = { ...process.env, DATABASE_URL: "", RUST_LOG: "warn", ANTHROPIC_API_KEY: "none" };
  env.ANTHROPIC_BASE_URL = `http://127.0.0.1:${upstream.address().port}`;
  const child = spawn(binary, ["serve", "--addr", `127.0.0.1:${port}`, "--data", data], { env, stdio: "inherit" });
  const address = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error("the server did not start");
    if ((await fetch(`${address}/readyz`).catch(() => null))?.ok) return { child, address };
    await pause(50);
  }
}

async function fill(address) {
  const { id } = await (await fetch(`${address}/api/conversations/ambient`)).json();
  for (let at = 0; at < messages / 2; at += 1) {
    const said = await fetch(`${address}/api/conversations/${id}/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ content: `Question ${at}` }),
    });
    const { id: messageId } = await said.json();
    await (await fetch(`${address}/api/conversations/${id}/stream?messageId=${messageId}`)).text();
  }
}

/** A chat with as many messages as shall be on the page. */
async function chat(address) {
  const said = Array.from({ length: rendered }, (_, at) => ({
    id: `m${at}`,
    parentId: at ? `m${at - 1}` : null,
    role: at % 2 ? "assistant" : "user",
    content: text.repeat(3),
  }));
  const answer = await fetch(`${address}/api/chats/import`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ format: "greenroom-chat", personaId: "optimist", messages: said }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).id;
}

/** Types a sentence key by key, and tells how long each key took to be seen. */
async function typed(page, field, what) {
  await field.click();
  await page.evaluate(() => {
    const keys = [];
    window.keys = keys;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.name === "keydown") keys.push(entry.duration);
    }).observe({ type: "event", durationThreshold: 16 });
  });
  await page.evaluate(watch);
  const sentence = "A longer thought that somebody writes down. ";
  await page.keyboard.type(sentence.repeat(3), { delay: 25 });
  const slow = await page.evaluate(() => window.keys);
  const worst = Math.max(0, ...slow).toFixed(0);
  await report(page, what);
  console.log(`  ${"".padEnd(34)} keys seen later than 16 ms: ${slow.length} of ${sentence.length * 3}, the slowest ${worst} ms`);
}

/** Notes every frame and every long task from now on. */
const watch = () => {
  const seen = { frames: [], tasks: [] };
  window.seen = seen;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) seen.tasks.push(task.duration);
  }).observe({ type: "longtask" });
  let last = performance.now();
  const frame = (now) => {
    seen.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
};

async function report(page, what) {
  const { frames, tasks } = await page.evaluate(() => window.seen);
  frames.sort((one, other) => one - other);
  const part = (share) => (frames[Math.floor((frames.length - 1) * share)] ?? 0).toFixed(1).padStart(6);
  const long = tasks.filter((task) => task > 50);
  const longest = Math.max(0, ...tasks).toFixed(0);
  console.log(
    `  ${what.padEnd(34)} frames p50 ${part(0.5)}  p95 ${part(0.95)}  max ${part(1)} ms   ` +
      `tasks over 50 ms: ${long.length}${long.length ? ` (longest ${longest} ms)` : ""}`,
  );
}

const data = mkdtempSync(join(tmpdir(), "greenroom-frames-"));
const upstream = await service();
const { child, address } = await greenroom(upstream, data);
const installed = "/usr/bin/chromium";
const browser = await chromium.launch({
  executablePath: existsSync(installed) ? installed : undefined,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});
try {
  await fill(address);
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  console.log(`\nIn Chromium, ${perSecond} tokens a second into a conversation of ${messages} messages`);

  await page.setContent("<main style='height:700px;overflow:auto'><p></p></main>");
  await page.evaluate(watch);
  await page.evaluate(
    ({ pieces, perSecond }) =>
      new Promise((done) => {
        let at = 0;
        const timer = setInterval(() => {
          document.querySelector("p").append(pieces[at++]);
          if (at === pieces.length) done(clearInterval(timer));
        }, 1000 / perSecond);
      }),
    { pieces, perSecond },
  );
  await report(page, "a bare page (the limit)");

  await page.goto(`${address}/inbox`);
  await page.locator("html[data-alive]").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Show output" }).click();
  const turns = page.locator("#turns > *");
  await turns.first().waitFor();
  for (let before = -1; (await turns.count()) !== before && (await turns.count()) < messages; ) {
    before = await turns.count();
    await page.locator("#rail-body").evaluate((body) => body.scrollTo(0, 0));
    await page.waitForFunction((n) => document.querySelectorAll("#turns > *").length > n, before, { timeout: 5000 }).catch(() => {});
  }
  console.log(`  ${await turns.count()} turns are on the page`);
  await page.locator("#rail-body").evaluate((body) => body.scrollTo(0, body.scrollHeight));
  await page.locator("#bar textarea").fill("At length, please");
  await page.evaluate(watch);
  await page.keyboard.press("Enter");
  const stop = page.locator("#bar").getByRole("button", { name: "Stop" });
  await stop.waitFor();
  await stop.waitFor({ state: "hidden", timeout: 60_000 });
  await report(page, "Greenroom's rail");

  console.log(`\nIn Chromium, typing beside a chat of ${rendered} rendered messages`);
  await page.goto("about:blank");
  await page.setContent("<textarea></textarea>");
  await typed(page, page.locator("textarea"), "a bare field (the limit)");
  await page.goto(`${address}/chats/${await chat(address)}`);
  await page.locator("html[data-alive]").waitFor({ state: "attached" });
  const said = page.locator("#chat-turns > .chat-turn");
  for (let before = -1; (await said.count()) !== before && (await said.count()) < rendered; ) {
    before = await said.count();
    // What was said before comes when one reads up to it; its link would lead to a page of its own.
    await page.evaluate(() => scrollTo(0, 0));
    await page.waitForFunction((n) => document.querySelectorAll("#chat-turns > .chat-turn").length > n, before, { timeout: 5000 }).catch(() => {});
  }
  console.log(`  ${await said.count()} messages are on the page`);
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  await typed(page, page.locator("#bar textarea"), "Greenroom's bar");
} finally {
  await browser.close();
  child.kill();
  upstream.close();
  rmSync(data, { recursive: true, force: true });
}
