// Drives of version 2 on the official TypeScript SDK, what is unstable included:
// `node drives_v2.mjs NAME AGENT-COMMAND…`.
//
// Each uses some methods that acp-agent has, or lets it ask for something, and ends with 0 only if
// all came of it that has to. The agent has to know the orders of the demo model.

import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk/experimental/v2/unstable";
import { ChildAgent, refusal, report } from "./child_agent.mjs";

const { agent: asks, client: asked } = acp.methods;
const [name, ...command] = process.argv.slice(2);
const agent = new ChildAgent(command);
const cwd = process.cwd();
const notes = join(cwd, "notes.md");
const heard = [];
const watchers = new Set();
const servers = new acp.McpOverAcpProvider();
const RAIN = { type: "text", text: "It rains." };
const TOOLS = {
  resultType: "complete",
  tools: [{ name: "look", inputSchema: { type: "object" } }],
  ttlMs: 0,
  cacheScope: "private",
};
let decide = () => "allow_once";

/** Return when a signal is aborted. */
async function aborted(signal) {
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done));
}

const { agent: far } = acp
  .client({ name: "sdk-client" })
  .onNotification(asked.session.update, ({ params }) => {
    agent.told(params);
    for (const look of watchers) look(params);
  })
  .onNotification(asked.elicitation.complete, ({ params }) => heard.push(params))
  .onNotification(asked.auth.statusUpdate, ({ params }) => heard.push(params))
  .onRequest(asked.elicitation.create, ({ params }) => {
    agent.asked(asked.elicitation.create, params);
    const content = params.mode === "form" ? { content: { answer: "red" } } : {};
    return { action: "accept", ...content };
  })
  .onRequest(asked.mcp.message, servers.handleRequest)
  .onRequest(asked.session.requestPermission, async ({ params, signal }) => {
    agent.asked(asked.session.requestPermission, params);
    const kind = await decide(params, signal);
    if (kind === null) return { outcome: { outcome: "cancelled" } };
    const { optionId } = params.options.find((option) => option.kind === kind);
    return { outcome: { outcome: "selected", optionId } };
  })
  .connect(agent.stream);

async function hello() {
  return far.request(asks.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    info: { name: "sdk-client", version: "2" },
    capabilities: { elicitation: { form: {}, url: {} } },
  });
}

async function open(...mcpServers) {
  return (await far.request(asks.session.new, { cwd, mcpServers })).sessionId;
}

/** Return the next update of a session that fits. */
function next(sessionId, fits) {
  return new Promise((done) => {
    const look = ({ sessionId: id, update }) => {
      if (id !== sessionId || !fits(update)) return;
      watchers.delete(look);
      done(update);
    };
    watchers.add(look);
  });
}

/** Prompt with texts and other blocks, and return how the turn ended. */
async function say(sessionId, ...said) {
  const end = next(sessionId, ({ state }) => state === "idle");
  const prompt = said.map((each) => (typeof each === "string" ? { type: "text", text: each } : each));
  await far.request(asks.session.prompt, { sessionId, prompt });
  return (await end).stopReason;
}

/** Return all that was said in a session. */
async function text(sessionId) {
  const blocks = (await agent.updates(sessionId)).flatMap(({ content }) => content ?? []);
  return blocks.map((block) => block.text ?? "").join("");
}

/** Let a program run, and return the update that shows its tool call at work. */
async function running(sessionId) {
  const runs = next(sessionId, ({ content }) => content?.[0]?.type === "terminal");
  const end = say(sessionId, "run sleep 60");
  return { ...(await runs), end };
}

const drives = {
  async talk() {
    await hello();
    const sessionId = await open();
    agent.expect((await say(sessionId, "edit notes.md: milk => bread")) === "end_turn", "an edit");
    agent.expect(readFileSync(notes, "utf8") === "Buy bread.\n", "the file was changed");

    const first = await running(sessionId);
    await far.request(asks.toolCall.cancel, { sessionId, toolCallId: first.toolCallId });
    agent.expect((await first.end) === "end_turn", "a call ends, and the turn goes on");
    const second = await running(sessionId);
    const { terminalId } = second.content[0];
    await far.request(asks.terminal.cancel, { sessionId, terminalId });
    agent.expect((await second.end) === "end_turn", "a terminal ends, and the turn goes on");

    // A prompt that is held can be taken back, and the one before it cancelled.
    const stop = new AbortController();
    decide = async (_, signal) => {
      const prompt = [{ type: "text", text: "held" }];
      const options = { cancellationSignal: stop.signal };
      const held = refusal(far.request(asks.session.prompt, { sessionId, prompt }, options));
      stop.abort();
      heard.push(await held);
      await far.notify(asks.session.cancel, { sessionId });
      await aborted(signal);
      return null;
    };
    const cancelled = await say(sessionId, "edit notes.md: bread => jam");
    agent.expect(cancelled === "cancelled", "a turn is cancelled");
    agent.expect(heard[0] === -32800, "a prompt is taken back");
    agent.expect(readFileSync(notes, "utf8") === "Buy bread.\n", "the file was left alone");
  },

  async prompts() {
    await hello();
    const [program, ...args] = JSON.parse(process.env.WEATHER);
    const server = { type: "stdio", name: "w", command: program, args, env: [] };
    const place = { cwd, additionalDirectories: [mkdtempSync(join(cwd, "beside-"))] };
    const { sessionId } = await far.request(asks.session.new, { ...place, mcpServers: [server] });
    await say(sessionId, "call w__look place=Rome");
    const resource = { uri: "file:///notes.md", text: "Buy milk." };
    await say(
      sessionId,
      { type: "image", mimeType: "image/png", data: "aGkh" },
      { type: "resource", resource },
      { type: "resource_link", name: "it", uri: "file:///it.md" },
      { type: "text", text: "think" },
    );
    const said = await text(sessionId);
    const image = "an image, image/png, 3 bytes";
    for (const told of ["It rains in Rome.", image, "`file:///notes.md`, 9 characters", "it.md"]) {
      agent.expect(said.includes(told), `something is said of ${told}`);
    }
    agent.expect((await say(sessionId, "/tour")) === "end_turn", "the tour passes");
    await far.request(asks.session.close, { sessionId });
  },

  async questions() {
    await hello();
    const sessionId = await open();
    await say(sessionId, "ask Which colour?: red, green");
    await say(sessionId, "open https://example.org/");
    agent.expect((await text(sessionId)).includes('{"answer": "red"}'), "the form comes back");
    agent.expect(heard.length === 1 && heard[0].elicitationId, "the page needs nobody any more");
  },

  async sessions() {
    await hello();
    const sessionId = await open();
    const id = { sessionId };
    const again = { ...id, cwd, mcpServers: [] };
    await say(sessionId, "read notes.md");
    const policy = { ...id, configId: "policy", type: "id", value: "allow_all" };
    const { configOptions } = await far.request(asks.session.setConfigOption, policy);
    agent.expect(configOptions.at(-1).currentValue === "allow_all", "an option is set");
    const { title } = await far.request(asks.session.setTitle, { ...id, title: " A  title " });
    agent.expect(title === "A title", "a title is set");
    const { status, state } = await far.request(asks.session.status, id);
    agent.expect(status === "open" && state.state === "idle", "an open session is one");
    const before = await agent.updates(sessionId);
    const copy = await far.request(asks.session.fork, again);
    await far.request(asks.session.close, id);
    await far.request(asks.session.resume, { ...again, replayFrom: { type: "start" } });
    const replay = (await agent.updates(sessionId)).slice(before.length);
    agent.expectSame(replay, before, "all of a resumed session is told again");
    await far.request(asks.session.archive, id);
    const only = await far.request(asks.session.list, { archived: "only" });
    agent.expect(only.sessions.length === 1 && only.sessions[0].archived, "one is archived");
    await far.request(asks.session.unarchive, id);
    await far.request(asks.session.delete, { sessionId: copy.sessionId });
    const { sessions } = await far.request(asks.session.list, { cwd });
    agent.expect(sessions.length === 1 && sessions[0].title === "A title", "one is left");
  },

  async login() {
    const { authMethods } = await hello();
    const refused = await refusal(far.request(asks.session.new, { cwd, mcpServers: [] }));
    agent.expect(refused === -32000, "nobody comes in without a login");
    await far.request(asks.auth.login, { methodId: authMethods[0].methodId });
    await say(await open(), "hello");
    agent.expect((await far.request(asks.auth.status, {})).state === "authenticated", "is in");
    await far.request(asks.auth.logout, {});
    agent.expect((await far.request(asks.auth.status, {})).state === "unauthenticated", "is out");
    const states = heard.map(({ state }) => state).join();
    agent.expect(states === "authenticated,unauthenticated", "each change is told");
  },

  async providers() {
    await hello();
    const baseUrl = "http://127.0.0.1:8/v1";
    const id = { providerId: "ollama" };
    await far.request(asks.providers.set, { ...id, apiType: "openai", baseUrl, headers: {} });
    const [set] = (await far.request(asks.providers.list, {})).providers;
    agent.expect(set.current.baseUrl === baseUrl, "a service is reached elsewhere");
    await far.request(asks.providers.disable, id);
    const [off] = (await far.request(asks.providers.list, {})).providers;
    agent.expect(off.current === null, "a service is switched off");
  },

  async over_acp() {
    await hello();
    let sessionId;
    const handler = async ({ method, params, signal, notify }) => {
      if (method === "tools/list") return { result: TOOLS };
      if (method !== "tools/call") throw new acp.McpProtocolError(-32601, "Method not found");
      await notify("notifications/message", { level: "info", data: "looking" });
      const { place } = params.arguments;
      if (place === "Rome") return { result: { resultType: "complete", content: [RAIN] } };
      await far.notify(asks.session.cancel, { sessionId });
      await aborted(signal);
      heard.push("taken back");
      throw signal.reason;
    };
    const { declaration } = servers.registerServer(far, { name: "here", handler });
    sessionId = await open(declaration);
    agent.expect((await say(sessionId, "call here__look place=Rome")) === "end_turn", "a call");
    agent.expect((await text(sessionId)).includes(RAIN.text), "the server's answer is said");
    const end = await say(sessionId, "call here__look place=Oslo");
    agent.expect(end === "cancelled", "a turn is cancelled");
    await far.request(asks.session.close, { sessionId });
    agent.expect(heard[0] === "taken back", "the call is taken back");
  },
};

await drives[name]();
const code = await agent.end();
report({ code }, agent.failures);
