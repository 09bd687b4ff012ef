// The playground's API as the AI SDK's own clients read it: an older and the newest major version, from npm.
import { expect, test } from "@playwright/test";
import * as newest from "ai";
import * as older from "ai-v5";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const binary = process.env.GREENROOM_E2E_BINARY ?? "target/release/greenroom";
const TOOLS = ["ls", "read_file", "write_file", "edit_file", "delete_file", "glob", "grep", "write_todos", "execute"];

type Step = Record<string, unknown> | string;
type Sdk = Pick<typeof newest, "DefaultChatTransport" | "readUIMessageStream">;
type Message = { id: string; role: string; metadata?: any; parts: any[] };

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** A house of its own in which the demo model plays these answers. */
class House {
  constructor(
    readonly base: string,
    private readonly server: ChildProcess,
  ) {}

  static async playing(answers: Step[][]): Promise<House> {
    const folder = mkdtempSync(join(tmpdir(), "greenroom-ai-"));
    writeFileSync(join(folder, "script.json"), JSON.stringify({ answers }));
    const port = await freePort();
    const server = spawn(
      join("..", binary),
      ["serve", "--addr", `127.0.0.1:${port}`, "--data", folder, "--demo-script", join(folder, "script.json"), "--demo-pace", "at-once"],
      { stdio: "ignore", env: { PATH: process.env.PATH, RUST_LOG: "error" } },
    );
    const house = new House(`http://127.0.0.1:${port}`, server);
    await expect
      .poll(() => fetch(`${house.base}/readyz`).then((answer) => answer.status, () => 0), { timeout: 20_000 })
      .toBe(200);
    const data = { id: "handy", name: "Handy", systemPrompt: "Be handy.", tools: TOOLS };
    const made = await fetch(`${house.base}/api/storage/personas`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(data),
    });
    expect(made.status).toBe(201);
    return house;
  }

  get home() {
    return `${this.base}/api/agents/handy/playground`;
  }

  stop() {
    this.server.kill("SIGKILL");
  }
}

const said = (text: string, id = "u1"): any => ({ id, role: "user", parts: [{ type: "text", text }] });

/** Sends messages as a client does. */
function send(sdk: Sdk, house: House, messages: any[], more: Record<string, unknown> = {}) {
  const transport = new sdk.DefaultChatTransport({ api: `${house.home}/chat` });
  return transport.sendMessages({
    chatId: "a-chat",
    messages,
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
    ...more,
  } as any);
}

/** Reads a stream to its end, as a client does; what it complains about is kept beside the message. */
async function read(sdk: Sdk, stream: ReadableStream<any>) {
  const errors: string[] = [];
  let message: Message | undefined;
  const onError = (error: unknown) => void errors.push(String((error as Error)?.message ?? error));
  for await (const next of sdk.readUIMessageStream({ stream: stream as any, onError })) {
    message = next as unknown as Message;
  }
  return { message: message!, errors };
}

const text = (message: Message) =>
  message.parts.filter((part) => part.type === "text").map((part) => part.text).join("|");

for (const [name, sdk] of [["the newest", newest], ["an older", older]] as [string, Sdk][]) {
  test.describe(`${name} AI SDK`, { tag: "@desktop" }, () => {
    let house: House;
    test.afterEach(() => house?.stop());

    test("reads text, thoughts and several tools side by side", async () => {
      house = await House.playing([
        [
          { reasoning: "Let me see." },
          { text: "Looking." },
          { call: { name: "write_file", input: { path: "a.txt", content: "one" } } },
          { call: { name: "ls", input: {} } },
        ],
        [{ text: "There is one file." }],
      ]);
      const { message, errors } = await read(sdk, await send(sdk, house, [said("What is there?")]));

      expect(errors).toEqual([]);
      expect(message.role).toBe("assistant");
      expect(text(message)).toBe("Looking.|There is one file.");
      expect(message.parts.filter((part) => part.type === "reasoning").map((part) => part.text)).toEqual(["Let me see."]);
      const tools = message.parts.filter((part) => part.type.startsWith("tool-"));
      expect(tools.map((part) => [part.type, part.state])).toEqual([
        ["tool-write_file", "output-available"],
        ["tool-ls", "output-available"],
      ]);
      expect(tools[0].input).toEqual({ path: "a.txt", content: "one" });
      expect(tools[1].output).toContain("a.txt");
      expect(message.parts.filter((part) => part.type === "step-start")).toHaveLength(2);
      expect(message.metadata).toMatchObject({ sessionId: "a-chat", finishReason: "stop" });
      expect(message.metadata.traceId).toBeTruthy();

      // What the server keeps is what the client made of the stream.
      const kept = await (await fetch(`${house.home}/sessions/a-chat`)).json();
      const bare = ({ type, text, state, input, output, toolCallId }: any) => ({ type, text, state, input, output, toolCallId });
      expect(kept.messages[1].id).toBe(message.id);
      expect(kept.messages[1].parts.map(bare)).toEqual(message.parts.map(bare));
    });

    test("reads a tool that fails, and goes on", async () => {
      house = await House.playing([
        [{ call: { name: "read_file", input: { path: "../../etc/passwd" } } }],
        [{ text: "That cannot be read." }],
      ]);
      const { message, errors } = await read(sdk, await send(sdk, house, [said("Read it")]));

      expect(errors).toEqual([]);
      const tool = message.parts.find((part) => part.type === "tool-read_file");
      expect(tool.state).toBe("output-error");
      expect(tool.errorText).toContain("lead nowhere");
      expect(text(message)).toBe("That cannot be read.");
    });

    test("reads an error in the middle of an answer, and asks again", async () => {
      house = await House.playing([
        [{ text: "I begin" }, { error: { fault: "overloaded", message: "too much to do" } }],
        [{ text: "Whole." }],
      ]);
      const broken = await read(sdk, await send(sdk, house, [said("Hello")]));
      expect(broken.errors).toHaveLength(1);
      expect(broken.errors[0]).toMatch(/\.$/);
      expect(text(broken.message)).toBe("I begin");

      const again = await send(sdk, house, [said("Hello")], {
        trigger: "regenerate-message",
        messageId: broken.message.id,
      });
      expect(text((await read(sdk, again)).message)).toBe("Whole.");
    });

    test("is told of a limit that ended an answer", async () => {
      house = await House.playing([
        [{ text: "Step." }, { call: { name: "ls", input: {} } }, { usage: { input: 1000, output: 200 } }],
      ]);
      const set = await fetch(`${house.base}/api/budgets`, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ runTokens: 2500 }),
      });
      expect(set.ok).toBe(true);
      const { message, errors } = await read(sdk, await send(sdk, house, [said("Go on")]));
      expect(errors).toHaveLength(1);
      expect(errors[0]).toContain("the next answer would not fit into what is left for one run");
      expect(message.metadata.error).toBe(errors[0]);
      expect(text(message)).toBe("Step.");
    });

    test("asks again for an answer that failed before its first word", async () => {
      house = await House.playing([
        [{ error: { fault: "bad_request", message: "not like that" } }],
        [{ text: "Whole." }],
        [{ text: "More." }],
      ]);
      const broken = await read(sdk, await send(sdk, house, [said("Hello")]));
      expect(broken.errors).toHaveLength(1);
      expect(text(broken.message)).toBe("");

      const again = await send(sdk, house, [said("Hello")], {
        trigger: "regenerate-message",
        messageId: broken.message.id,
      });
      const whole = (await read(sdk, again)).message;
      expect(text(whole)).toBe("Whole.");
      const more = await send(sdk, house, [said("Hello"), whole, said("Go on", "u2")]);
      expect(text((await read(sdk, more)).message)).toBe("More.");
    });

    test("says what was refused when it is asked to answer it again", async () => {
      house = await House.playing([[{ text: "one" }], [{ text: "two" }], [{ text: "three" }]]);
      const limit = (budgets: Record<string, number>) =>
        fetch(`${house.base}/api/budgets`, {
          method: "PUT",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(budgets),
        });
      // What the SDK's `regenerate()` sends: no message is named, and the user's own is the last.
      const again = async (messages: any[]) =>
        (await read(sdk, await send(sdk, house, messages, { trigger: "regenerate-message" }))).message;
      const one = (await read(sdk, await send(sdk, house, [said("Hello")]))).message;
      const history = [said("Hello"), one, said("More", "second-of-the-client")];
      await limit({ runTokens: 1 });
      await expect(send(sdk, house, history)).rejects.toThrow();
      await limit({});

      expect(text(await again(history))).toBe("two");
      expect(text(await again(history))).toBe("three");
      const kept = await (await fetch(`${house.home}/sessions/a-chat`)).json();
      expect(kept.messages.map(text)).toEqual(["Hello", "one", "More", "three"]);
    });

    test("is told in a sentence why a message is not taken", async () => {
      house = await House.playing([]);
      await expect(send(sdk, house, [said("  ")])).rejects.toThrow("The message must not be empty.");
    });

    test("comes back to an answer that is being given, and stops it", async () => {
      house = await House.playing([[{ text: "I begin" }, "stall"]]);
      const transport = new sdk.DefaultChatTransport({ api: `${house.home}/chat` });
      const first = (await send(sdk, house, [said("Hello")])).getReader();
      let chunk: any;
      do chunk = (await first.read()).value;
      while (chunk.type !== "text-delta");
      // Closing the connection is no stop.
      await first.cancel();

      const resumed = await transport.reconnectToStream({ chatId: "a-chat" } as any);
      expect(resumed).not.toBeNull();
      const reading = read(sdk, resumed!);
      const stopped = await fetch(`${house.home}/a-chat/stop`, { method: "POST" });
      expect((await stopped.json()).run.status).toBe("stopped");
      const { message, errors } = await reading;
      expect(errors).toEqual([]);
      expect(text(message)).toBe("I begin");
      expect(await transport.reconnectToStream({ chatId: "a-chat" } as any)).toBeNull();
      // A chat in which nothing was said yet has nothing to be resumed either.
      expect(await transport.reconnectToStream({ chatId: "not-said-yet" } as any)).toBeNull();
    });

    test("goes on where its own history stands", async () => {
      house = await House.playing([[{ text: "one" }], [{ text: "two" }], [{ text: "three" }]]);
      const one = (await read(sdk, await send(sdk, house, [said("Hello")]))).message;
      const two = (await read(sdk, await send(sdk, house, [said("Hello"), one, said("More", "u2")]))).message;
      expect(text(two)).toBe("two");
      const other = await send(sdk, house, [said("Hello"), one, said("Other words", "u2")], { messageId: "u2" });
      expect(text((await read(sdk, other)).message)).toBe("three");

      const kept = await (await fetch(`${house.home}/sessions/a-chat`)).json();
      expect(kept.messages.map(text)).toEqual(["Hello", "one", "Other words", "three"]);
    });
  });
}
