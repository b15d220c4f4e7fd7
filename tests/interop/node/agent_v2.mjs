// An agent on the official TypeScript SDK that speaks versions 1 and 2, and 2 alone with --only.
//
// In version 2 it knows "edit FILE: OLD => NEW", "sleep" (a tool call that can be cancelled by
// itself), "quick" (the whole turn comes before the answer to its prompt), "fail", and "early" and
// "late" for what comes where nobody expects it; it echoes the rest.

import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as acp from "@agentclientprotocol/sdk/experimental/v2";
import { agentV1, serve } from "./agent_v1.mjs";

const { agent: asked, client: asks } = acp.methods;
const COMMANDS = [{ type: "command", name: "sleep", description: "Sleep until you are cancelled" }];
const CHOICES = [
  { optionId: "go", name: "Edit", kind: "allow_once" },
  { optionId: "stop", name: "Leave", kind: "reject_once" },
];
const MODES = ["ask", "code"];

/** Return when one of the signals is aborted. */
async function aborted(...signals) {
  const any = AbortSignal.any(signals);
  if (!any.aborted) await new Promise((done) => any.addEventListener("abort", done));
}

/** What is said to one session, and what it said. */
class Session {
  mode = "ask";
  state = { state: "idle" };
  title = null;
  isOpen = true;
  history = [];
  calls = new Map();
  stopping = new AbortController();
  /** Prompts in the order in which they came; the first one is being answered. */
  turns = [];

  constructor(id, cwd, client) {
    Object.assign(this, { id, cwd, client });
  }

  async send(update) {
    await this.client.notify(asks.session.update, { sessionId: this.id, update });
  }

  async tell(update) {
    this.history.push(update);
    await this.send(update);
  }

  async enter(state) {
    this.state = state;
    await this.send({ sessionUpdate: "state_update", ...state });
  }

  async say(...words) {
    const messageId = randomUUID();
    for (const text of words) {
      const content = { type: "text", text };
      await this.tell({ sessionUpdate: "agent_message_chunk", messageId, content });
    }
  }

  async call(toolCallId, change) {
    await this.tell({ sessionUpdate: "tool_call_update", toolCallId, ...change });
  }

  options() {
    const options = MODES.map((value) => ({ value, name: value }));
    const mode = { configId: "mode", name: "Mode", type: "select", currentValue: this.mode };
    return [{ ...mode, options }];
  }
}

async function edit(session, signal, file, from, to) {
  const path = join(session.cwd, file);
  const toolCallId = `call-${session.calls.size + 1}`;
  session.calls.set(toolCallId, null);
  const text = await readFile(path, "utf8");
  const changes = [{ operation: "modify", path, fileType: "text" }];
  const call = { title: `Edit ${file}`, kind: "edit", content: [{ type: "diff", changes }] };
  await session.call(toolCallId, { status: "pending", ...call });
  let outcome = { outcome: "selected", optionId: "go" };
  if (session.mode === "ask") {
    await session.enter({ state: "requires_action" });
    const question = {
      sessionId: session.id,
      title: `Edit ${file}?`,
      subject: { type: "tool_call", toolCall: { toolCallId } },
      options: CHOICES,
    };
    const asking = session.client.request(asks.session.requestPermission, question, {
      cancellationSignal: signal,
      stopWaitingOnCancel: true,
    });
    outcome = (await asking.catch(() => ({ outcome: { outcome: "cancelled" } }))).outcome;
    if (!signal.aborted) await session.enter({ state: "running" });
  }
  const isDone = outcome.optionId === "go" && !signal.aborted;
  if (isDone) await writeFile(path, text.replace(from, to));
  const status = isDone ? "completed" : signal.aborted ? "cancelled" : "failed";
  await session.call(toolCallId, { status });
  await session.say(`chosen: ${outcome.optionId ?? outcome.outcome}`);
}

async function sleep(session, signal) {
  const toolCallId = `call-${session.calls.size + 1}`;
  const own = new AbortController();
  session.calls.set(toolCallId, own);
  const able = { capabilities: { cancel: {} } };
  await session.call(toolCallId, { title: "Sleep", kind: "other", status: "in_progress", ...able });
  await aborted(signal, own.signal);
  session.calls.set(toolCallId, null);
  await session.call(toolCallId, { status: "cancelled" });
  await session.say("woken");
}

async function obey(session, signal, text) {
  const change = /^edit (.*): (.*) => (.*)$/.exec(text);
  if (change) return await edit(session, signal, ...change.slice(1));
  if (text === "fail") throw new acp.RequestError(-32603, "out of ideas");
  if (text === "sleep") return await sleep(session, signal);
  if (text === "whole") {
    const [messageId, content] = [randomUUID(), [{ type: "text", text: "said at once" }]];
    return await session.tell({ sessionUpdate: "agent_message", messageId, content });
  }
  await session.say("You ", "said: ", text);
}

/** Run one turn, from the echo of its prompt to the idle state. */
async function turn(session, messageId, prompt) {
  session.stopping = new AbortController();
  const { signal } = session.stopping;
  await session.tell({ sessionUpdate: "user_message", messageId, content: prompt });
  await session.enter({ state: "running" });
  let end = { stopReason: "end_turn" };
  try {
    await obey(session, signal, prompt.map((block) => block.text ?? "").join(""));
  } catch (problem) {
    end = { stopReason: "error", error: { code: problem.code, message: problem.message } };
  }
  await session.enter({ state: "idle", ...(signal.aborted ? { stopReason: "cancelled" } : end) });
}

function agentV2() {
  const sessions = new Map();

  const known = ({ sessionId }) => {
    const session = sessions.get(sessionId);
    if (!session?.isOpen) throw new acp.RequestError(-32002, "No such session", { sessionId });
    return session;
  };

  const newSession = ({ params, client }) => {
    acp.assertSupportedMcpServers(params.mcpServers, undefined);
    const session = new Session(randomUUID(), params.cwd, client);
    sessions.set(session.id, session);
    const offered = { configOptions: session.options(), availableCommands: COMMANDS };
    return { sessionId: session.id, ...offered };
  };

  const prompt = async ({ params, signal }) => {
    const session = known(params);
    const text = params.prompt.map((block) => block.text ?? "").join("");
    session.title ??= text;
    // A prompt is held until the ones before it have ended, unless it is no longer wanted.
    const mine = { hold: new AbortController(), over: null };
    const before = session.turns.at(-1)?.over;
    let end;
    mine.over = new Promise((done) => (end = done));
    session.turns.push(mine);
    const leave = () => {
      session.turns.splice(session.turns.indexOf(mine), 1);
      end();
    };
    await Promise.race([before, aborted(signal, mine.hold.signal)]);
    if (signal.aborted || mine.hold.signal.aborted) {
      leave();
      throw acp.RequestError.requestCancelled();
    }
    const messageId = randomUUID();
    const running = turn(session, messageId, params.prompt).finally(leave);
    if (text === "quick") await running;
    return { messageId };
  };

  const cancel = ({ sessionId }) => {
    const session = sessions.get(sessionId);
    for (const held of session.turns.slice(1)) held.hold.abort();
    session.stopping.abort();
  };

  const resume = async ({ params }) => {
    const session = sessions.get(params.sessionId);
    if (!session) throw new acp.RequestError(-32002, "No such session", params);
    session.isOpen = true;
    if (params.replayFrom) for (const update of session.history) await session.send(update);
    await session.enter(session.state);
    return { configOptions: session.options(), availableCommands: COMMANDS };
  };

  const cancelCall = ({ params }) => {
    const call = known(params).calls.get(params.toolCallId);
    if (!call) throw acp.RequestError.invalidParams({ toolCallId: params.toolCallId });
    call.abort();
    return {};
  };

  const setOption = async ({ params }) => {
    const session = known(params);
    if (params.configId !== "mode" || !MODES.includes(params.value)) {
      throw acp.RequestError.invalidParams();
    }
    session.mode = params.value;
    const configOptions = session.options();
    await session.send({ sessionUpdate: "config_option_update", configOptions });
    return { configOptions };
  };

  const close = async ({ params }) => {
    const session = sessions.get(params.sessionId);
    if (session?.isOpen) {
      session.isOpen = false;
      const last = session.turns.at(-1)?.over;
      cancel(params);
      await last;
    }
    return {};
  };

  const list = () => ({
    sessions: [...sessions.values()].map(({ id, cwd, title }) => ({ sessionId: id, cwd, title })),
  });

  return acp
    .agent({ name: "sdk-agent" })
    .onRequest(asked.initialize, () => ({
      protocolVersion: 2,
      info: { name: "sdk-agent", title: "SDK agent", version: "2" },
      capabilities: { session: {} },
    }))
    .onRequest(asked.session.new, newSession)
    .onRequest(asked.session.list, list)
    .onRequest(asked.session.resume, resume)
    .onRequest(asked.session.close, close)
    .onRequest(asked.session.setConfigOption, setOption)
    .onRequest(asked.session.prompt, prompt)
    .onRequest(asked.toolCall.cancel, cancelCall)
    .onNotification(asked.session.cancel, ({ params }) => cancel(params));
}

/** Return an agent of both versions; `isOnly` leaves out version 1. */
export function agentRouter({ isOnly = false } = {}) {
  const router = acp.agentProtocolRouter().withV2(agentV2());
  return isOnly ? router : router.withV1(agentV1());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  serve(agentRouter({ isOnly: process.argv.includes("--only") }));
}
