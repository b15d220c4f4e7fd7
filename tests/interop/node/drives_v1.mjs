// Drives of version 1 on the official TypeScript SDK, what is unstable included:
// `node drives_v1.mjs NAME AGENT-COMMAND…`.

import * as acp from "@agentclientprotocol/sdk/unstable";
import { refusal } from "./child_agent.mjs";
import { aborted, Drive, take } from "./drive.mjs";

const ABLE = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  elicitation: { form: {}, url: {} },
};

class FirstVersion extends Drive {
  buffers = new Map([[this.notes, "Buy milk.\n"]]);
  killed = new AbortController();

  constructor(command) {
    super(acp, command);
  }

  answering(client, asked) {
    return super
      .answering(client, asked)
      .onRequest(asked.fs.readTextFile, ({ params }) => ({ content: this.buffers.get(params.path) }))
      .onRequest(asked.fs.writeTextFile, ({ params }) => {
        this.buffers.set(params.path, params.content);
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
        await aborted(this.killed.signal);
        return { signal: "SIGTERM" };
      })
      .onRequest(asked.terminal.kill, () => {
        this.killed.abort();
        return {};
      })
      .onRequest(asked.terminal.release, () => ({}));
  }

  async hello(clientCapabilities = ABLE) {
    const clientInfo = { name: "sdk-client", version: "1" };
    const hello = { protocolVersion: acp.PROTOCOL_VERSION, clientInfo, clientCapabilities };
    return this.far.request(this.asks.initialize, hello);
  }

  /** Prompt with texts and other blocks, and return how the turn ended. */
  async say(sessionId, ...said) {
    const prompt = this.prompt(...said);
    return this.ended(this.far.request(this.asks.session.prompt, { sessionId, prompt }));
  }

  /** Return how a turn ends: with a stop reason, or with the code of a refusal. */
  async ended(asking) {
    const answer = await refusal(asking);
    return answer.stopReason ?? answer;
  }

  /** Return all that was said in a session. */
  async text(sessionId) {
    const updates = await this.agent.updates(sessionId);
    return updates.map(({ content }) => content?.text ?? "").join("");
  }

  server(stdio) {
    return stdio;
  }

  async logIn({ id }) {
    await this.far.request(this.asks.authenticate, { methodId: id });
  }

  async logOut() {
    await this.far.request(this.asks.logout, {});
  }

  async allowAll(id) {
    await this.far.request(this.asks.session.setMode, { ...id, modeId: "code" });
    const policy = { ...id, configId: "policy", value: "allow_all" };
    return this.far.request(this.asks.session.setConfigOption, policy);
  }

  isIdle({ status }) {
    return status === "open";
  }

  async replay(session) {
    await this.far.request(this.asks.session.load, session);
  }

  async resume(session) {
    await this.far.request(this.asks.session.resume, session);
  }

  async talk() {
    const { asks, buffers, far, notes } = this;
    await this.hello();
    const sessionId = await this.open();
    const end = await this.say(sessionId, "edit notes.md: milk => bread");
    this.expect(end === "end_turn", "an edit");
    this.expect(buffers.get(notes) === "Buy bread.\n", "the buffer was changed");
    await this.say(sessionId, "run ls");
    this.expect((await this.text(sessionId)).includes("ls was here"), "a terminal is read");
    await this.say(sessionId, 'call run {"command": ["sleep", "60"], "seconds": 0.05}');
    this.expect(this.killed.signal.aborted, "what takes too long is killed");
    const stop = new AbortController();
    this.decide = () => {
      stop.abort();
      return null;
    };
    const prompt = this.prompt("edit notes.md: bread => jam");
    const options = { cancellationSignal: stop.signal };
    const asking = far.request(asks.session.prompt, { sessionId, prompt }, options);
    this.expect((await this.ended(asking)) === -32800, "a prompt is taken back");
    this.decide = async () => {
      await far.notify(asks.session.cancel, { sessionId });
      return null;
    };
    const cancelled = await this.say(sessionId, "edit notes.md: bread => jam");
    this.expect(cancelled === "cancelled", "a turn is cancelled");
    this.expect(buffers.get(notes) === "Buy bread.\n", "the buffer was left alone");
  }

  async bridge() {
    await this.hello();
    const connection = await this.far.request("mcp/connect", { id: "weather" });
    const message = { jsonrpc: "2.0", id: 1, method: "ping" };
    const answer = await this.far.request("mcp/message", { ...connection, message });
    this.expect(answer.id === 1, "the server's own answer comes back");
    await this.far.request("mcp/disconnect", connection);
  }
}

await take(FirstVersion);
