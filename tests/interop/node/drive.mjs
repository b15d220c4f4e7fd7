// A talk with acp-agent on the official TypeScript SDK, and those drives that are alike in both
// versions. A drive uses some methods that the agent has, or lets it ask for something, and the
// process ends with 0 only if all came of it that has to. The agent has to know the orders of the
// demo model.

import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { ChildAgent, refusal, report } from "./child_agent.mjs";

const RAIN = { type: "text", text: "It rains." };
const TOOLS = {
  resultType: "complete",
  tools: [{ name: "look", inputSchema: { type: "object" } }],
  ttlMs: 0,
  cacheScope: "private",
};

/** Return when a signal is aborted. */
export async function aborted(signal) {
  if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done));
}

/** Take the drive that the command line names: `NAME AGENT-COMMAND…`. */
export async function take(Version) {
  const [name, ...command] = process.argv.slice(2);
  const drive = new Version(command);
  await drive[name]();
  report({ code: await drive.agent.end() }, drive.agent.failures);
}

/**
 * What both versions have in common. A version adds how it says hello, what a client of it answers,
 * how a turn ends (`say`), what was said (`text`), and how a server is named (`server`).
 */
export class Drive {
  cwd = process.cwd();
  notes = join(this.cwd, "notes.md");
  heard = [];
  decide = () => "allow_once";

  constructor(acp, command) {
    this.acp = acp;
    this.asks = acp.methods.agent;
    this.agent = new ChildAgent(command);
    this.servers = new acp.McpOverAcpProvider();
    const client = this.answering(acp.client({ name: "sdk-client" }), acp.methods.client);
    this.far = client.connect(this.agent.stream).agent;
  }

  /** Return the client with what it answers. */
  answering(client, asked) {
    return client
      .onNotification(asked.session.update, ({ params }) => this.told(params))
      .onNotification(asked.elicitation.complete, ({ params }) => this.heard.push(params))
      .onNotification(asked.auth.statusUpdate, ({ params }) => this.heard.push(params))
      .onRequest(asked.elicitation.create, ({ params }) => {
        this.agent.asked(asked.elicitation.create, params);
        const content = params.mode === "form" ? { content: { answer: "red" } } : {};
        return { action: "accept", ...content };
      })
      .onRequest(asked.mcp.message, this.servers.handleRequest)
      .onRequest(asked.session.requestPermission, async ({ params, signal }) => {
        this.agent.asked(asked.session.requestPermission, params);
        const kind = await this.decide(params, signal);
        if (kind === null) return { outcome: { outcome: "cancelled" } };
        const { optionId } = params.options.find((option) => option.kind === kind);
        return { outcome: { outcome: "selected", optionId } };
      });
  }

  told(params) {
    this.agent.told(params);
  }

  expect(isHeld, sentence) {
    this.agent.expect(isHeld, sentence);
  }

  async open(...mcpServers) {
    return (await this.far.request(this.asks.session.new, { cwd: this.cwd, mcpServers })).sessionId;
  }

  /** Return a prompt of texts and other blocks. */
  prompt(...said) {
    return said.map((each) => (typeof each === "string" ? { type: "text", text: each } : each));
  }

  async prompts() {
    const { asks, cwd, far } = this;
    await this.hello({});
    const [program, ...args] = JSON.parse(process.env.WEATHER);
    const server = this.server({ name: "w", command: program, args, env: [] });
    const place = { cwd, additionalDirectories: [mkdtempSync(join(cwd, "beside-"))] };
    const { sessionId } = await far.request(asks.session.new, { ...place, mcpServers: [server] });
    await this.say(sessionId, "call w__look place=Rome");
    const resource = { uri: "file:///notes.md", text: "Buy milk." };
    await this.say(
      sessionId,
      { type: "image", mimeType: "image/png", data: "aGkh" },
      { type: "resource", resource },
      { type: "resource_link", name: "it", uri: "file:///it.md" },
      { type: "text", text: "think" },
    );
    const said = await this.text(sessionId);
    const image = "an image, image/png, 3 bytes";
    for (const told of ["It rains in Rome.", image, "`file:///notes.md`, 9 characters", "it.md"]) {
      this.expect(said.includes(told), `something is said of ${told}`);
    }
    this.expect((await this.say(sessionId, "/tour")) === "end_turn", "the tour passes");
    await far.request(asks.session.close, { sessionId });
  }

  async questions() {
    await this.hello();
    const sessionId = await this.open();
    await this.say(sessionId, "ask Which colour?: red, green");
    await this.say(sessionId, "open https://example.org/");
    this.expect((await this.text(sessionId)).includes('{"answer": "red"}'), "the form comes back");
    const [page, ...others] = this.heard;
    this.expect(page?.elicitationId && !others.length, "the page needs nobody any more");
  }

  async login() {
    const { asks, far } = this;
    const { authMethods } = await this.hello();
    const refused = await refusal(this.open());
    this.expect(refused === -32000, "nobody comes in without a login");
    await this.logIn(authMethods[0]);
    await this.say(await this.open(), "hello");
    this.expect((await far.request(asks.auth.status, {})).state === "authenticated", "is in");
    await this.logOut();
    this.expect((await far.request(asks.auth.status, {})).state === "unauthenticated", "is out");
    // The SDK hands notifications over by themselves.
    for (let turns = 0; this.heard.length < 2 && turns < 1000; turns += 1) {
      await new Promise(setImmediate);
    }
    const states = this.heard.map(({ state }) => state).join();
    this.expect(states === "authenticated,unauthenticated", "each change is told");
  }

  async providers() {
    const { asks, far } = this;
    await this.hello();
    const baseUrl = "http://127.0.0.1:8/v1";
    const id = { providerId: "ollama" };
    await far.request(asks.providers.set, { ...id, apiType: "openai", baseUrl, headers: {} });
    const [set] = (await far.request(asks.providers.list, {})).providers;
    this.expect(set.current.baseUrl === baseUrl, "a service is reached elsewhere");
    await far.request(asks.providers.disable, id);
    const [off] = (await far.request(asks.providers.list, {})).providers;
    this.expect(off.current === null, "a service is switched off");
  }

  async over_acp() {
    const { acp, asks, far } = this;
    await this.hello();
    let sessionId;
    const handler = async ({ method, params, signal, notify }) => {
      if (method === "tools/list") return { result: TOOLS };
      if (method !== "tools/call") throw new acp.McpProtocolError(-32601, "Method not found");
      await notify("notifications/message", { level: "info", data: "looking" });
      const { place } = params.arguments;
      if (place === "Rome") return { result: { resultType: "complete", content: [RAIN] } };
      await far.notify(asks.session.cancel, { sessionId });
      await aborted(signal);
      this.heard.push("taken back");
      throw signal.reason;
    };
    const { declaration } = this.servers.registerServer(far, { name: "here", handler });
    sessionId = await this.open(declaration);
    this.expect((await this.say(sessionId, "call here__look place=Rome")) === "end_turn", "a call");
    this.expect((await this.text(sessionId)).includes(RAIN.text), "the server's answer is said");
    const end = await this.say(sessionId, "call here__look place=Oslo");
    this.expect(end === "cancelled", "a turn is cancelled");
    await far.request(asks.session.close, { sessionId });
    this.expect(this.heard[0] === "taken back", "the call is taken back");
  }

  async sessions() {
    const { agent, asks, cwd, far } = this;
    await this.hello();
    const sessionId = await this.open();
    const id = { sessionId };
    const again = { ...id, cwd, mcpServers: [] };
    await this.say(sessionId, "read notes.md");
    const { configOptions } = await this.allowAll(id);
    this.expect(configOptions.at(-1).currentValue === "allow_all", "an option is set");
    const { title } = await far.request(asks.session.setTitle, { ...id, title: " A  title " });
    this.expect(title === "A title", "a title is set");
    this.expect(this.isIdle(await far.request(asks.session.status, id)), "an open session is one");
    const before = await agent.updates(sessionId);
    const copy = await far.request(asks.session.fork, again);
    await far.request(asks.session.close, id);
    await this.replay(again);
    const replay = (await agent.updates(sessionId)).slice(before.length);
    agent.expectSame(replay, before, "all of a session that is opened again is told again");
    await far.request(asks.session.archive, id);
    const only = await far.request(asks.session.list, { archived: "only" });
    this.expect(only.sessions.length === 1 && only.sessions[0].archived, "one is archived");
    await far.request(asks.session.unarchive, id);
    await this.resume(again);
    await far.request(asks.session.delete, { sessionId: copy.sessionId });
    const { sessions } = await far.request(asks.session.list, { cwd });
    this.expect(sessions.length === 1 && sessions[0].title === "A title", "one is left");
  }
}
