// An agent of version 1 on the official TypeScript SDK; started as a program by the tests.
//
// It knows the orders "edit FILE: OLD => NEW" and "everything", a few more for what can go wrong,
// and echoes the rest. What it was answered comes back as text, so that a test sees it.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import * as acp from "@agentclientprotocol/sdk";

const { agent: asked, client: asks } = acp.methods;
const MODES = [
  { id: "ask", name: "Ask" },
  { id: "code", name: "Code" },
];
const CHOICES = [
  { optionId: "go", name: "Edit", kind: "allow_once" },
  { optionId: "stop", name: "Leave", kind: "reject_once" },
];

/** What is said to one session, and what it said. */
class Session {
  mode = "ask";
  title = null;
  calls = 0;
  history = [];
  stopping = new AbortController();

  constructor(id, cwd, client, files) {
    Object.assign(this, { id, cwd, client, files });
  }

  async tell(update) {
    this.history.push(update);
    await this.client.notify(asks.session.update, { sessionId: this.id, update });
  }

  async say(text) {
    await this.tell({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  /** Ask the client, and return its answer or the code of its refusal. */
  async ask(method, params) {
    try {
      return await this.client.request(method, { sessionId: this.id, ...params });
    } catch (refusal) {
      return refusal.code;
    }
  }

  async read(path) {
    if (!this.files.readTextFile) return await readFile(path, "utf8");
    return (await this.client.request(asks.fs.readTextFile, { sessionId: this.id, path })).content;
  }

  async write(path, content) {
    if (!this.files.writeTextFile) return await writeFile(path, content);
    return await this.client.request(asks.fs.writeTextFile, { sessionId: this.id, path, content });
  }
}

/** Edit a file after asking; return whether the turn goes on. */
async function edit(session, file, from, to) {
  const path = join(session.cwd, file);
  const toolCallId = `edit-${++session.calls}`;
  const oldText = await session.read(path);
  const newText = oldText.replace(from, to);
  const content = [{ type: "diff", path, oldText, newText }];
  const call = { toolCallId, title: `Edit ${file}`, kind: "edit", content };
  await session.tell({ sessionUpdate: "tool_call", status: "pending", ...call });
  let outcome = { outcome: "selected", optionId: "go" };
  if (session.mode === "ask") {
    const params = { toolCall: { toolCallId }, options: CHOICES };
    outcome = (await session.ask(asks.session.requestPermission, params)).outcome;
  }
  const isDone = outcome.optionId === "go" && !session.stopping.signal.aborted;
  if (isDone) await session.write(path, newText);
  const status = isDone ? "completed" : "failed";
  await session.tell({ sessionUpdate: "tool_call_update", toolCallId, status });
  await session.say(`chosen: ${outcome.optionId ?? outcome.outcome}`);
}

/** Return when the turn is cancelled. */
async function wait(session) {
  await session.say("waiting");
  const { signal } = session.stopping;
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done));
}

/** Ask for what a client of this test does not offer, and tell its answers. */
async function ask(session) {
  const codes = [
    await session.ask(asks.terminal.create, { command: "true" }),
    await session.ask("_acme/ask", {}),
    await session.ask(asks.fs.readTextFile, { path: join(session.cwd, "gone.txt") }),
    await session.ask(asks.fs.readTextFile, { path: 7 }),
    await session.ask(asks.fs.readTextFile, { path: "/etc/hostname" }),
  ];
  await session.client.notify("_acme/tell", { sessionId: session.id });
  await session.say(codes.join(" "));
}

/** Run commands in terminals of the client, and tell what came of them. */
async function terminals(session) {
  const open = (params) => session.client.createTerminal({ sessionId: session.id, ...params });
  const env = [{ name: "WORD", value: "hey" }];
  const short = await open({ command: "sh", args: ["-c", "echo $WORD; exit 3"], env });
  const { exitCode } = await short.waitForExit();
  const { output, truncated } = await short.currentOutput();
  await short.release();
  const cut = await open({ command: "echo", args: ["0123456789"], outputByteLimit: 4 });
  await cut.waitForExit();
  const end = await cut.currentOutput();
  const long = await open({ command: "sleep", args: ["1000"] });
  const before = await long.currentOutput();
  await long.kill();
  const { signal } = await long.waitForExit();
  await long.release();
  const codes = [
    await session.ask(asks.terminal.output, { terminalId: long.id }),
    await session.ask(asks.terminal.create, { command: "/gone" }),
    await session.ask(asks.terminal.create, { command: "true", cwd: "/" }),
  ];
  const isRunning = !before.exitStatus;
  const seen = { output, truncated, exitCode, end, isRunning, signal, codes };
  await session.say(JSON.stringify(seen));
}

/** Say what is hard to cut into lines and to decode, and something long. */
async function odd(session) {
  for (const text of ["a\u2028b\u0085c", "\ud83d\ude00", "\ud800", "\u0000\u001b[31m", "\r\n"]) {
    await session.say(text);
  }
  await session.say("long ".repeat(2_000_000));
}

/** Send each kind of update once, and one that nobody knows yet. */
async function everything(session) {
  const text = (words) => ({ type: "text", text: words });
  const png = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
  const link = { type: "resource_link", uri: "file:///notes.md", name: "notes.md" };
  const resource = { type: "resource", resource: { uri: "file:///a.txt", text: "a" } };
  const call = { toolCallId: "all-1", title: "Look at everything", kind: "other" };
  const option = { id: "model", name: "Model", type: "select", currentValue: "one" };
  const updates = [
    { sessionUpdate: "user_message_chunk", content: text("everything") },
    { sessionUpdate: "agent_thought_chunk", content: text("hm") },
    { sessionUpdate: "plan", entries: [{ content: "Look", priority: "low", status: "pending" }] },
    { sessionUpdate: "tool_call", ...call, locations: [{ path: "/notes.md", line: 1 }] },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "all-1",
      status: "completed",
      content: [{ type: "content", content: png }, { type: "terminal", terminalId: "t" }],
      rawOutput: { deep: [1, null] },
    },
    { sessionUpdate: "available_commands_update", availableCommands: [] },
    { sessionUpdate: "current_mode_update", currentModeId: session.mode },
    {
      sessionUpdate: "config_option_update",
      configOptions: [{ ...option, options: [{ value: "one", name: "One" }] }],
    },
    { sessionUpdate: "session_info_update", title: "Everything" },
    { sessionUpdate: "usage_update", used: 1, size: 2, cost: { amount: 0.1, currency: "USD" } },
    { sessionUpdate: "agent_message_chunk", content: text("all of ") },
    { sessionUpdate: "agent_message_chunk", content: png },
    { sessionUpdate: "agent_message_chunk", content: link, _meta: { mine: [1] } },
    { sessionUpdate: "agent_message_chunk", content: resource, messageId: "m" },
    { sessionUpdate: "of_the_future", content: 7 },
    { sessionUpdate: "agent_message_chunk", content: text(" it") },
  ];
  for (const update of updates) await session.tell(update);
}

const ORDERS = { wait, ask, terminals, odd, everything };

async function obey(session, text) {
  const change = /^edit (.*): (.*) => (.*)$/.exec(text);
  if (change) return await edit(session, ...change.slice(1));
  if (text === "fail") throw acp.RequestError.internalError({ why: "told so" }, "out of ideas");
  if (text in ORDERS) return await ORDERS[text](session);
  for (const word of ["You ", "said: ", text]) await session.say(word);
}

/** Return the agent; `needsSignIn` refuses sessions to who has not signed in. */
export function agentV1({ needsSignIn = false } = {}) {
  const sessions = new Map();
  let files = {};
  let isSignedIn = !needsSignIn;

  const known = ({ sessionId }) => {
    const session = sessions.get(sessionId);
    if (!session) throw acp.RequestError.resourceNotFound(sessionId);
    return session;
  };

  const prompt = async ({ params, signal, client }) => {
    const session = known(params);
    session.client = client;
    session.stopping = new AbortController();
    signal.addEventListener("abort", () => session.stopping.abort());
    const text = params.prompt.map((block) => block.text ?? "").join("");
    session.title ??= text;
    await obey(session, text);
    if (signal.aborted) throw signal.reason;
    return { stopReason: session.stopping.signal.aborted ? "cancelled" : "end_turn" };
  };

  const initialize = ({ params }) => {
    files = params.clientCapabilities?.fs ?? {};
    return {
      protocolVersion: 1,
      agentInfo: { name: "sdk-agent", title: "SDK agent", version: "1" },
      agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, close: {} } },
      authMethods: needsSignIn ? [{ id: "key", name: "A key" }] : [],
    };
  };

  const signIn = ({ params }) => {
    if (!needsSignIn || params.methodId !== "key") throw acp.RequestError.invalidParams();
    isSignedIn = true;
    return {};
  };

  const newSession = ({ params, client }) => {
    if (!isSignedIn) throw acp.RequestError.authRequired(undefined, "who are you?");
    const session = new Session(`s-${sessions.size + 1}`, params.cwd, client, files);
    sessions.set(session.id, session);
    return { sessionId: session.id, modes: { currentModeId: "ask", availableModes: MODES } };
  };

  const loadSession = async ({ params, client }) => {
    for (const update of known(params).history) {
      await client.notify(asks.session.update, { sessionId: params.sessionId, update });
    }
    return {};
  };

  const list = () => ({
    sessions: [...sessions.values()].map(({ id, cwd, title }) => ({ sessionId: id, cwd, title })),
  });

  return acp
    .agent({ name: "sdk-agent" })
    .onRequest(asked.initialize, initialize)
    .onRequest(asked.authenticate, signIn)
    .onRequest(asked.session.new, newSession)
    .onRequest(asked.session.load, loadSession)
    .onRequest(asked.session.list, list)
    .onRequest(asked.session.setMode, async ({ params }) => {
      if (!MODES.some(({ id }) => id === params.modeId)) throw acp.RequestError.invalidParams();
      known(params).mode = params.modeId;
      const update = { sessionUpdate: "current_mode_update", currentModeId: params.modeId };
      await known(params).tell(update);
      return {};
    })
    .onRequest(asked.session.close, ({ params }) => {
      known(params).stopping.abort();
      sessions.delete(params.sessionId);
      return {};
    })
    .onRequest(asked.session.prompt, prompt)
    .onNotification(asked.session.cancel, ({ params }) => known(params).stopping.abort());
}

/** Serve `agent` to whoever started this process. */
export function serve(agent) {
  agent.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  serve(agentV1({ needsSignIn: process.argv.includes("--sign-in") }));
}
