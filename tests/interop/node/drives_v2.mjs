// Drives of version 2 on the official TypeScript SDK, what is unstable included:
// `node drives_v2.mjs NAME AGENT-COMMAND…`.

import { readFileSync } from "node:fs";
import * as acp from "@agentclientprotocol/sdk/experimental/v2/unstable";
import { refusal } from "./child_agent.mjs";
import { aborted, Drive, take } from "./drive.mjs";

class SecondVersion extends Drive {
  watchers = new Set();

  constructor(command) {
    super(acp, command);
  }

  told(params) {
    super.told(params);
    for (const look of this.watchers) look(params);
  }

  async hello() {
    return this.far.request(this.asks.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      info: { name: "sdk-client", version: "2" },
      capabilities: { elicitation: { form: {}, url: {} } },
    });
  }

  /** Return the next update of a session that fits. */
  next(sessionId, fits) {
    return new Promise((done) => {
      const look = ({ sessionId: id, update }) => {
        if (id !== sessionId || !fits(update)) return;
        this.watchers.delete(look);
        done(update);
      };
      this.watchers.add(look);
    });
  }

  /** Prompt with texts and other blocks, and return how the turn ended. */
  async say(sessionId, ...said) {
    const end = this.next(sessionId, ({ state }) => state === "idle");
    const prompt = this.prompt(...said);
    await this.far.request(this.asks.session.prompt, { sessionId, prompt });
    return (await end).stopReason;
  }

  /** Return all that was said in a session. */
  async text(sessionId) {
    const updates = await this.agent.updates(sessionId);
    return updates
      .flatMap(({ content }) => content ?? [])
      .map((block) => block.text ?? "")
      .join("");
  }

  /** Let a program run, and return the update that shows its tool call at work. */
  async running(sessionId) {
    const runs = this.next(sessionId, ({ content }) => content?.[0]?.type === "terminal");
    const end = this.say(sessionId, "run sleep 60");
    return { ...(await runs), end };
  }

  server(stdio) {
    return { type: "stdio", ...stdio };
  }

  async logIn({ methodId }) {
    await this.far.request(this.asks.auth.login, { methodId });
  }

  async logOut() {
    await this.far.request(this.asks.auth.logout, {});
  }

  async allowAll(id) {
    const policy = { ...id, configId: "policy", type: "id", value: "allow_all" };
    return this.far.request(this.asks.session.setConfigOption, policy);
  }

  isIdle({ status, state }) {
    return status === "open" && state.state === "idle";
  }

  async replay(session) {
    const replayFrom = { type: "start" };
    await this.far.request(this.asks.session.resume, { ...session, replayFrom });
  }

  async resume() {}

  async talk() {
    const { asks, far, notes } = this;
    await this.hello();
    const sessionId = await this.open();
    const end = await this.say(sessionId, "edit notes.md: milk => bread");
    this.expect(end === "end_turn", "an edit");
    this.expect(readFileSync(notes, "utf8") === "Buy bread.\n", "the file was changed");

    const first = await this.running(sessionId);
    await far.request(asks.toolCall.cancel, { sessionId, toolCallId: first.toolCallId });
    this.expect((await first.end) === "end_turn", "a call ends, and the turn goes on");
    const second = await this.running(sessionId);
    const { terminalId } = second.content[0];
    await far.request(asks.terminal.cancel, { sessionId, terminalId });
    this.expect((await second.end) === "end_turn", "a terminal ends, and the turn goes on");

    // A prompt that is held can be taken back, and the one before it cancelled.
    const stop = new AbortController();
    this.decide = async (_, signal) => {
      const prompt = this.prompt("held");
      const options = { cancellationSignal: stop.signal };
      const held = refusal(far.request(asks.session.prompt, { sessionId, prompt }, options));
      stop.abort();
      this.heard.push(await held);
      await far.notify(asks.session.cancel, { sessionId });
      await aborted(signal);
      return null;
    };
    const cancelled = await this.say(sessionId, "edit notes.md: bread => jam");
    this.expect(cancelled === "cancelled", "a turn is cancelled");
    this.expect(this.heard[0] === -32800, "a prompt is taken back");
    this.expect(readFileSync(notes, "utf8") === "Buy bread.\n", "the file was left alone");
  }
}

await take(SecondVersion);
