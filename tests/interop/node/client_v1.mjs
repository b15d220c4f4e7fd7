// A client of version 1 on the official TypeScript SDK: `node client_v1.mjs AGENT-COMMAND…|URL`.
//
// It uses every method that the agent has, prints what came of it as JSON, and exits with 0 only if
// all was as the protocol wants it. The agent has to know "edit FILE: OLD => NEW".

import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk";
import { ChildAgent, refusal, report } from "./child_agent.mjs";

const { agent: asks, client: asked } = acp.methods;
const EDIT = "edit notes.md: milk => bread";
const cwd = process.cwd();
const notes = join(cwd, "notes.md");
const agent = new ChildAgent();
const buffers = new Map();
const questions = [];
let decide = () => "allow_once";

const { agent: far } = acp
  .client({ name: "sdk-client" })
  .onNotification(asked.session.update, ({ params }) => agent.told(params))
  .onRequest(asked.fs.readTextFile, ({ params }) => ({ content: buffers.get(params.path) }))
  .onRequest(asked.fs.writeTextFile, ({ params }) => {
    buffers.set(params.path, params.content);
    return {};
  })
  .onRequest(asked.session.requestPermission, async ({ params }) => {
    agent.asked(asked.session.requestPermission, params);
    questions.push(params);
    const kind = await decide(params);
    if (kind === null) return { outcome: { outcome: "cancelled" } };
    const { optionId } = params.options.find((option) => option.kind === kind);
    return { outcome: { outcome: "selected", optionId } };
  })
  .connect(agent.stream);

/** Prompt, and return how it ended and what was said meanwhile. */
async function turn(sessionId, text, options) {
  const before = (await agent.updates(sessionId)).length;
  questions.length = 0;
  buffers.set(notes, "Buy milk.\n");
  const prompt = [{ type: "text", text }];
  const answer = await refusal(far.request(asks.session.prompt, { sessionId, prompt }, options));
  const updates = (await agent.updates(sessionId)).slice(before);
  return {
    end: answer.stopReason ?? answer,
    text: updates
      .filter((update) => update.sessionUpdate === "agent_message_chunk")
      .map((update) => update.content.text)
      .join(""),
    statuses: updates
      .filter((update) => update.sessionUpdate.startsWith("tool_call"))
      .map((update) => update.status)
      .filter(Boolean),
    asked: questions.length,
    file: buffers.get(notes),
  };
}

const summary = {};
const params = { cwd, mcpServers: [] };
// Over the network a connection begins with initialize.
if (!agent.isRemote) summary.early = await refusal(far.request(asks.session.new, params));
const hello = await far.request(asks.initialize, {
  protocolVersion: acp.PROTOCOL_VERSION,
  clientInfo: { name: "sdk-client", version: "1" },
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
});
summary.agent = hello.agentInfo.name;
agent.expect(hello.protocolVersion === 1, "the agent speaks version 1");
const refused = [
  ["signIn", asks.authenticate, { methodId: "nonsense" }],
  ["newSession", asks.session.new, { cwd: 7 }],
  ["unknownSession", asks.session.prompt, { sessionId: "?", prompt: [] }],
  ["unknownMethod", "session/unheard_of", {}],
  ["extension", "_acme/ask", { deep: [null] }],
];
if (process.env.CLIENT_ORDER === "reversed") refused.reverse();
summary.refusals = {};
await Promise.all(
  refused.map(async ([name, method, wrong]) => {
    summary.refusals[name] = await refusal(far.request(method, wrong));
  }),
);

const { sessionId, modes } = await far.request(asks.session.new, params);
agent.expect(modes.availableModes.some(({ id }) => id === "code"), "there is a mode code");
summary.mode = modes.currentModeId;
summary.talk = await turn(sessionId, "hello");
agent.expect(summary.talk.text, "something is said");
summary.allowed = await turn(sessionId, EDIT);
agent.expect(summary.allowed.file === "Buy bread.\n", "the buffer was changed");
decide = () => "reject_once";
summary.rejected = await turn(sessionId, EDIT);
agent.expect(summary.rejected.file === "Buy milk.\n", "the buffer was left alone");
decide = async () => {
  await far.notify(asks.session.cancel, { sessionId });
  return null;
};
summary.cancelled = await turn(sessionId, EDIT);
agent.expect(summary.cancelled.end === "cancelled", "a cancelled turn ends as cancelled");
const stop = new AbortController();
decide = () => {
  stop.abort();
  return null;
};
summary.givenUp = await turn(sessionId, EDIT, { cancellationSignal: stop.signal });
agent.expect(summary.givenUp.file === "Buy milk.\n", "what was given up is not done");

await far.request(asks.session.setMode, { sessionId, modeId: "code" });
summary.unasked = await turn(sessionId, EDIT);
agent.expect(summary.unasked.asked === 0, "in the mode code nobody is asked");
summary.unknownMode = await refusal(
  far.request(asks.session.setMode, { sessionId, modeId: "unheard of" }),
);

const other = await far.request(asks.session.new, params);
const both = [turn(sessionId, "hello"), turn(other.sessionId, "hello")];
const [first, second] = await Promise.all(both);
agent.expect(first.text === second.text, "two sessions at once keep their updates apart");

// The same once more as the SDK's users write it.
const active = await far.buildSession(cwd).start();
void active.prompt("hello");
agent.expect(first.text === (await active.readText()), "the SDK's session reads the same");

const { sessions } = await far.request(asks.session.list, { cwd });
summary.titles = sessions.map(({ title }) => title);
agent.expect(sessions[0].cwd === cwd, "a listed session has its directory");
if (hello.agentCapabilities.loadSession) {
  const before = await agent.updates(sessionId);
  await far.request(asks.session.load, { sessionId, ...params });
  const replay = (await agent.updates(sessionId)).slice(before.length);
  agent.expectSame(replay, before, "all of a loaded session is told again");
}
await far.request(asks.session.close, { sessionId });
summary.closed = (await turn(sessionId, "hello")).end;
summary.left = (await far.request(asks.session.list, {})).sessions.length;
summary.code = await agent.end();
report(summary, agent.failures);
