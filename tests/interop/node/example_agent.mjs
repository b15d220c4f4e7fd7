// A small agent of version 1 on the official TypeScript SDK, for `tools/make_reports.py`.
//
// The SDK ships no example any more. This one does what a prompt of one line says, by the files
// and terminals of the client, and leaves everything else to the SDK:
//
//   read FILE · edit FILE: OLD => NEW · run WORDS · plan · wait

import { randomUUID } from "node:crypto";
import { isAbsolute, join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { agent: asked, client: asks } = acp.methods;
const CHOICES = [
  { optionId: "yes", name: "Edit", kind: "allow_once" },
  { optionId: "no", name: "Leave", kind: "reject_once" },
];

/** One turn: its session, and what it sends. */
class Turn {
  constructor(session, client, able) {
    Object.assign(this, { session, client, able, calls: 0 });
  }

  async send(update) {
    await this.client.notify(asks.session.update, { sessionId: this.session.id, update });
  }

  async say(text) {
    const content = { type: "text", text };
    await this.send({ sessionUpdate: "agent_message_chunk", content });
  }

  async request(method, params) {
    return await this.client.request(method, { sessionId: this.session.id, ...params });
  }

  /** Announce a tool call, do it, and report how it ended. */
  async call(kind, title, work) {
    const toolCallId = randomUUID();
    await this.send({ sessionUpdate: "tool_call", toolCallId, title, kind, status: "pending" });
    let status = "failed";
    try {
      if (await work(toolCallId)) status = "completed";
    } catch (problem) {
      await this.say(`${title} failed: ${problem.message}`);
    }
    await this.send({ sessionUpdate: "tool_call_update", toolCallId, status });
  }
}

async function read(turn, file) {
  const path = join(turn.session.cwd, file);
  await turn.call("read", `Read ${file}`, async () => {
    if (!turn.able.fs?.readTextFile) return false;
    await turn.say((await turn.request(asks.fs.readTextFile, { path })).content);
    return true;
  });
}

async function edit(turn, file, from, to) {
  const path = join(turn.session.cwd, file);
  await turn.call("edit", `Edit ${file}`, async (toolCallId) => {
    const params = { toolCall: { toolCallId }, options: CHOICES };
    const { outcome } = await turn.request(asks.session.requestPermission, params);
    if (outcome.optionId !== "yes" || turn.session.stopping.signal.aborted) return false;
    if (!turn.able.fs?.writeTextFile || !turn.able.fs?.readTextFile) return false;
    const { content } = await turn.request(asks.fs.readTextFile, { path });
    await turn.request(asks.fs.writeTextFile, { path, content: content.replace(from, to) });
    return true;
  });
}

async function run(turn, words) {
  const [command, ...args] = words.split(" ");
  await turn.call("execute", `Run ${words}`, async () => {
    if (!turn.able.terminal) return false;
    const sessionId = turn.session.id;
    const terminal = await turn.client.createTerminal({ sessionId, command, args });
    await terminal.waitForExit();
    await turn.say((await terminal.currentOutput()).output);
    await terminal.release();
    return true;
  });
}

async function plan(turn) {
  const entries = [{ content: "Look", priority: "medium", status: "completed" }];
  await turn.send({ sessionUpdate: "plan", entries });
}

/** Return when the turn is cancelled. */
async function wait(turn) {
  await turn.say("waiting");
  const { signal } = turn.session.stopping;
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done));
}

async function obey(turn, text) {
  const change = /^edit (.*): (.*) => (.*)$/.exec(text);
  if (change) return await edit(turn, ...change.slice(1));
  if (text.startsWith("read ")) return await read(turn, text.slice(5));
  if (text.startsWith("run ")) return await run(turn, text.slice(4));
  if (text === "plan") return await plan(turn);
  if (text === "wait") return await wait(turn);
  await turn.say("Hello.");
}

const sessions = new Map();
let able = {};

const known = ({ sessionId }) => {
  const session = sessions.get(sessionId);
  if (!session) throw acp.RequestError.resourceNotFound(sessionId);
  return session;
};

acp
  .agent({ name: "sdk-example" })
  .onRequest(asked.initialize, ({ params }) => {
    able = params.clientCapabilities ?? {};
    return {
      protocolVersion: 1,
      agentInfo: { name: "sdk-example", version: "1" },
      agentCapabilities: { sessionCapabilities: { close: {} } },
    };
  })
  .onRequest(asked.session.new, ({ params }) => {
    if (!isAbsolute(params.cwd)) throw acp.RequestError.invalidParams();
    const session = { id: randomUUID(), cwd: params.cwd, stopping: new AbortController() };
    sessions.set(session.id, session);
    return { sessionId: session.id };
  })
  .onRequest(asked.session.prompt, async ({ params, client }) => {
    const session = known(params);
    // A cancellation is handled after a prompt that came with it: it has to find its own turn.
    if (session.isBusy) throw acp.RequestError.invalidRequest(undefined, "a turn still runs");
    session.isBusy = true;
    session.stopping = new AbortController();
    try {
      const text = params.prompt.map((block) => block.text ?? "").join("");
      await obey(new Turn(session, client, able), text);
    } finally {
      session.isBusy = false;
    }
    return { stopReason: session.stopping.signal.aborted ? "cancelled" : "end_turn" };
  })
  .onRequest(asked.session.close, ({ params }) => {
    known(params).stopping.abort();
    sessions.delete(params.sessionId);
    return {};
  })
  .onNotification(asked.session.cancel, ({ params }) => {
    sessions.get(params.sessionId)?.stopping.abort();
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
