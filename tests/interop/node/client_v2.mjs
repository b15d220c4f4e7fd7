// A client of version 2 on the official TypeScript SDK: `node client_v2.mjs AGENT-COMMAND…|URL`.
//
// It uses every method that the agent has, prints what came of it as JSON, and exits with 0 only if
// all was as the protocol wants it. The agent has to know "edit FILE: OLD => NEW".

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk/experimental/v2";
import { ChildAgent, refusal, report } from "./child_agent.mjs";

const { agent: asks, client: asked } = acp.methods;
const EDIT = "edit notes.md: milk => bread";
const cwd = process.cwd();
const notes = join(cwd, "notes.md");
const agent = new ChildAgent();
const questions = [];
const watchers = new Set();
let decide = () => "allow_once";

const { agent: far } = acp
  .client({ name: "sdk-client" })
  .onNotification(asked.session.update, ({ params }) => {
    agent.told(params);
    for (const look of watchers) look(params);
  })
  .onRequest(asked.session.requestPermission, async ({ params, signal }) => {
    agent.asked(asked.session.requestPermission, params);
    questions.push(params);
    const kind = await decide(params, signal);
    if (kind === null) return { outcome: { outcome: "cancelled" } };
    const { optionId } = params.options.find((option) => option.kind === kind);
    return { outcome: { outcome: "selected", optionId } };
  })
  .connect(agent.stream);

/** Return the next idle state that ends work of a session. */
function idle(sessionId) {
  return new Promise((done) => {
    const look = ({ sessionId: id, update }) => {
      if (id !== sessionId || update.state !== "idle") return;
      watchers.delete(look);
      done(update);
    };
    watchers.add(look);
  });
}

function prompt(sessionId, text, options) {
  const params = { sessionId, prompt: [{ type: "text", text }] };
  return refusal(far.request(asks.session.prompt, params, options));
}

/** Prompt, and return how the turn ended and what was said meanwhile. */
async function turn(sessionId, text) {
  const before = (await agent.updates(sessionId)).length;
  questions.length = 0;
  writeFileSync(notes, "Buy milk.\n");
  const end = idle(sessionId);
  const { messageId } = await prompt(sessionId, text);
  const { stopReason } = await end;
  const updates = (await agent.updates(sessionId)).slice(before);
  const echo = updates.find(({ sessionUpdate: kind }) => kind.startsWith("user_message"));
  agent.expect(echo.messageId === messageId, "the echo has the id of the answer to its prompt");
  const states = updates.map(({ state }) => state).filter(Boolean);
  agent.expect(states[0] === "running", "a turn begins by running");
  const said = updates.filter(({ sessionUpdate: kind }) => kind.startsWith("agent_message"));
  agent.expect(said.every((update) => update.messageId), "what is said has an id");
  return {
    stopReason,
    states,
    text: said.flatMap(({ content }) => content).map((block) => block.text).join(""),
    statuses: updates
      .filter((update) => update.sessionUpdate === "tool_call_update")
      .map((update) => update.status)
      .filter(Boolean),
    asked: questions.length,
    file: readFileSync(notes, "utf8"),
  };
}

/** Agree on the version, twice; the SDK asks neither too early nor too late. */
async function agree() {
  const info = { name: "sdk-client", version: "2" };
  const params = { protocolVersion: acp.PROTOCOL_VERSION, info, capabilities: {} };
  const hello = await far.request(asks.initialize, params);
  agent.expect(hello.protocolVersion === 2, "the agent speaks version 2");
  // Over the network a connection begins with initialize, and has no second one.
  if (agent.isRemote) return hello;
  const again = await far.request(asks.initialize, params);
  agent.expect(again.info.name === hello.info.name, "initialize may be repeated at first");
  return hello;
}

const summary = {};
const hello = await agree();
summary.agent = hello.info.name;
const unknown = { sessionId: "?" };
summary.refusals = {
  newSession: await refusal(far.request(asks.session.new, { cwd: 7 })),
  unknownSession: await prompt("?", "hello"),
  unknownMethod: await refusal(far.request("session/unheard_of", {})),
  extension: await refusal(far.request("_acme/ask", { deep: [null] })),
  resume: await refusal(far.request(asks.session.resume, { ...unknown, cwd })),
};

const opened = await far.request(asks.session.new, { cwd });
const { sessionId } = opened;
const mode = opened.configOptions.find(({ configId }) => configId === "mode");
summary.mode = mode.currentValue;
agent.expect(opened.availableCommands.length, "there are commands");
summary.talk = await turn(sessionId, "hello");
agent.expect(summary.talk.text, "something is said");
summary.allowed = await turn(sessionId, EDIT);
agent.expect(summary.allowed.file === "Buy bread.\n", "the file was changed");
decide = () => "reject_once";
summary.rejected = await turn(sessionId, EDIT);
agent.expect(summary.rejected.file === "Buy milk.\n", "the file was left alone");

// A question is withdrawn by the agent when the client cancels the session.
decide = async (_, signal) => {
  await far.notify(asks.session.cancel, { sessionId });
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done));
  summary.isQuestionWithdrawn = signal.aborted;
  return null;
};
summary.cancelled = await turn(sessionId, EDIT);

// The second prompt is held while the first one waits for consent, and both are cancelled.
let held;
decide = async () => {
  held = prompt(sessionId, "held");
  await new Promise(setImmediate);
  await far.notify(asks.session.cancel, { sessionId });
  return null;
};
summary.first = (await turn(sessionId, EDIT)).stopReason;
summary.held = await held;

// The second prompt is held, and answered when its turn has come.
let second;
decide = () => {
  second = prompt(sessionId, "hello");
  return "reject_once";
};
const end = idle(sessionId).then(() => idle(sessionId));
summary.before = (await turn(sessionId, EDIT)).stopReason;
agent.expect((await second).messageId, "a held prompt is answered at last");
summary.after = (await end).stopReason;

summary.cancelPart = {
  toolCall: await refusal(far.request(asks.toolCall.cancel, { sessionId, toolCallId: "?" })),
  terminal: await refusal(far.request(asks.terminal.cancel, { sessionId, terminalId: "?" })),
};
const code = { sessionId, configId: "mode", type: "id", value: "code" };
const { configOptions } = await far.request(asks.session.setConfigOption, code);
agent.expect(configOptions[0].currentValue === "code", "the answer has the option's new value");
summary.unasked = await turn(sessionId, EDIT);
agent.expect(summary.unasked.asked === 0, "in the mode code nobody is asked");
summary.unknownOption = [
  await refusal(far.request(asks.session.setConfigOption, { ...code, configId: "unheard of" })),
  await refusal(far.request(asks.session.setConfigOption, { ...code, value: "unheard of" })),
];

// The same once more as the SDK's users write it.
const active = await far.buildSession(cwd).start();
await active.prompt("hello");
agent.expect(summary.talk.text === (await active.readTextUntilIdle()), "the SDK reads the same");

const { sessions } = await far.request(asks.session.list, { cwd });
summary.titles = sessions.map(({ title }) => title);
await far.request(asks.session.close, { sessionId });
await far.request(asks.session.close, { sessionId });
summary.closed = await prompt(sessionId, "hello");
const before = await agent.updates(sessionId);
await far.request(asks.session.resume, { sessionId, cwd, replayFrom: { type: "start" } });
const replay = (await agent.updates(sessionId)).slice(before.length);
summary.replayed = replay.at(-1).state;
agent.expectSame(replay, before, "the whole history is told again");
summary.resumed = (await turn(sessionId, "hello")).stopReason;
summary.code = await agent.end();
report(summary, agent.failures);
