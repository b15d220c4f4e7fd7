// Drives of version 1 on the official TypeScript SDK, what is unstable included:
// `node drives_v1.mjs NAME AGENT-COMMAND…`.
//
// Each uses some methods that acp-agent has, or lets it ask for something, and ends with 0 only if
// all came of it that has to. The agent has to know the orders of the demo model.

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import * as acp from "@agentclientprotocol/sdk/unstable";
import { ChildAgent, refusal, report } from "./child_agent.mjs";

const { agent: asks, client: asked } = acp.methods;
const [name, ...command] = process.argv.slice(2);
const agent = new ChildAgent(command);
const cwd = process.cwd();
const notes = join(cwd, "notes.md");
const buffers = new Map([[notes, "Buy milk.\n"]]);
const heard = [];
const killed = new AbortController();
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
  .onNotification(asked.session.update, ({ params }) => agent.told(params))
  .onNotification(asked.elicitation.complete, ({ params }) => heard.push(params))
  .onNotification(asked.auth.statusUpdate, ({ params }) => heard.push(params))
  .onRequest(asked.fs.readTextFile, ({ params }) => ({ content: buffers.get(params.path) }))
  .onRequest(asked.fs.writeTextFile, ({ params }) => {
    buffers.set(params.path, params.content);
    return {};
  })
  .onRequest(asked.terminal.create, ({ params }) => ({ terminalId: params.command }))
  .onRequest(asked.terminal.output, ({ params }) => ({
    output: `${params.terminalId} was here\n`,
    truncated: false,
    exitStatus: params.terminalId === "sleep" ? { signal: "SIGTERM" } : { exitCode: 0 },
  }))
  .onRequest(asked.terminal.waitForExit, async ({ params }) => {
    if (params.terminalId !== "sleep") return { exitCode: 0 };
    await aborted(killed.signal);
    return { signal: "SIGTERM" };
  })
  .onRequest(asked.terminal.kill, () => {
    killed.abort();
    return {};
  })
  .onRequest(asked.terminal.release, () => ({}))
  .onRequest(asked.elicitation.create, ({ params }) => {
    agent.asked(asked.elicitation.create, params);
    const content = params.mode === "form" ? { content: { answer: "red" } } : {};
    return { action: "accept", ...content };
  })
  .onRequest(asked.mcp.message, servers.handleRequest)
  .onRequest(asked.session.requestPermission, async ({ params }) => {
    agent.asked(asked.session.requestPermission, params);
    const kind = await decide(params);
    if (kind === null) return { outcome: { outcome: "cancelled" } };
    const { optionId } = params.options.find((option) => option.kind === kind);
    return { outcome: { outcome: "selected", optionId } };
  })
  .connect(agent.stream);

const ABLE = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  elicitation: { form: {}, url: {} },
};

async function hello(clientCapabilities = ABLE) {
  const clientInfo = { name: "sdk-client", version: "1" };
  const protocolVersion = acp.PROTOCOL_VERSION;
  return far.request(asks.initialize, { protocolVersion, clientInfo, clientCapabilities });
}

async function open(...mcpServers) {
  return (await far.request(asks.session.new, { cwd, mcpServers })).sessionId;
}

/** Prompt with texts and other blocks, and return how the turn ended. */
async function say(sessionId, ...said) {
  const prompt = said.map((each) => (typeof each === "string" ? { type: "text", text: each } : each));
  return ended(far.request(asks.session.prompt, { sessionId, prompt }));
}

/** Return how a turn ends: with a stop reason, or with the code of a refusal. */
async function ended(asking) {
  const answer = await refusal(asking);
  return answer.stopReason ?? answer;
}

/** Return all that was said in a session. */
async function text(sessionId) {
  return (await agent.updates(sessionId)).map(({ content }) => content?.text ?? "").join("");
}

const drives = {
  async talk() {
    await hello();
    const sessionId = await open();
    agent.expect((await say(sessionId, "edit notes.md: milk => bread")) === "end_turn", "an edit");
    agent.expect(buffers.get(notes) === "Buy bread.\n", "the buffer was changed");
    await say(sessionId, "run ls");
    agent.expect((await text(sessionId)).includes("ls was here"), "a terminal is read");
    await say(sessionId, 'call run {"command": ["sleep", "60"], "seconds": 0.05}');
    agent.expect(killed.signal.aborted, "what takes too long is killed");
    const stop = new AbortController();
    decide = () => {
      stop.abort();
      return null;
    };
    const prompt = [{ type: "text", text: "edit notes.md: bread => jam" }];
    const options = { cancellationSignal: stop.signal };
    const given = await ended(far.request(asks.session.prompt, { sessionId, prompt }, options));
    agent.expect(given === -32800, "a prompt is taken back");
    decide = async () => {
      await far.notify(asks.session.cancel, { sessionId });
      return null;
    };
    const cancelled = await say(sessionId, "edit notes.md: bread => jam");
    agent.expect(cancelled === "cancelled", "a turn is cancelled");
    agent.expect(buffers.get(notes) === "Buy bread.\n", "the buffer was left alone");
  },

  async prompts() {
    await hello({});
    const [program, ...args] = JSON.parse(process.env.WEATHER);
    const server = { name: "w", command: program, args, env: [] };
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
    await far.request(asks.session.setMode, { ...id, modeId: "code" });
    const policy = { ...id, configId: "policy", value: "allow_all" };
    const { configOptions } = await far.request(asks.session.setConfigOption, policy);
    agent.expect(configOptions.at(-1).currentValue === "allow_all", "an option is set");
    const { title } = await far.request(asks.session.setTitle, { ...id, title: " A  title " });
    agent.expect(title === "A title", "a title is set");
    const { status } = await far.request(asks.session.status, id);
    agent.expect(status === "open", "an open session is one");
    const before = await agent.updates(sessionId);
    const copy = await far.request(asks.session.fork, again);
    await far.request(asks.session.close, id);
    await far.request(asks.session.load, again);
    const replay = (await agent.updates(sessionId)).slice(before.length);
    agent.expectSame(replay, before, "all of a loaded session is told again");
    await far.request(asks.session.archive, id);
    const only = await far.request(asks.session.list, { archived: "only" });
    agent.expect(only.sessions.length === 1 && only.sessions[0].archived, "one is archived");
    await far.request(asks.session.unarchive, id);
    await far.request(asks.session.resume, again);
    await far.request(asks.session.delete, { sessionId: copy.sessionId });
    const { sessions } = await far.request(asks.session.list, { cwd });
    agent.expect(sessions.length === 1 && sessions[0].title === "A title", "one is left");
  },

  async login() {
    const { authMethods } = await hello();
    const refused = await refusal(far.request(asks.session.new, { cwd, mcpServers: [] }));
    agent.expect(refused === -32000, "nobody comes in without a login");
    await far.request(asks.authenticate, { methodId: authMethods[0].id });
    await say(await open(), "hello");
    agent.expect((await far.request(asks.auth.status, {})).state === "authenticated", "is in");
    await far.request(asks.logout, {});
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

  async bridge() {
    await hello();
    const connection = await far.request("mcp/connect", { id: "weather" });
    const message = { jsonrpc: "2.0", id: 1, method: "ping" };
    const answer = await far.request("mcp/message", { ...connection, message });
    agent.expect(answer.id === 1, "the server's own answer comes back");
    await far.request("mcp/disconnect", connection);
  },
};

await drives[name]();
const code = await agent.end();
report({ code }, agent.failures);
