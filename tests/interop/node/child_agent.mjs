// An agent as a child process or behind a URL, and an account of what was expected of it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";

/** Return whether all of `part` stands in `whole`, whose objects may hold more. */
function holds(whole, part) {
  if (Array.isArray(part)) {
    return part.length === whole?.length && part.every((each, at) => holds(whole[at], each));
  }
  if (part === null || typeof part !== "object") return isDeepStrictEqual(whole, part);
  return Object.entries(part).every(([name, value]) => holds(whole?.[name], value));
}

/**
 * Return a stream that writes messages of one moment together: however fast the agent is, its first
 * response comes after the last of them.
 */
function together(pipe) {
  let chunks = [];
  const flush = () => {
    pipe.write(Buffer.concat(chunks));
    chunks = [];
  };
  pipe.on("error", () => {});
  return new WritableStream({
    write(chunk) {
      if (!chunks.length) setImmediate(flush);
      chunks.push(chunk);
    },
  });
}

/** Return the SDK's stream to a URL; ACP_TOKEN is the token that its server wants. */
function remote(url) {
  const token = process.env.ACP_TOKEN;
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (url.startsWith("http")) return createHttpStream(url, { headers });
  return createWebSocketStream(url, { headers, WebSocket });
}

/** Runs the agent that the command line names, or talks to the one behind its URL. */
export class ChildAgent {
  said = [];
  failures = [];
  #told = new Map();

  constructor(command = process.argv.slice(2)) {
    this.isRemote = /^(http|ws)s?:/.test(command[0]);
    const { writable, readable } = this.isRemote ? remote(command[0]) : this.#start(command);
    const keep = new TransformStream({
      transform: (message, next) => {
        this.said.push(message);
        next.enqueue(message);
      },
    });
    this.stream = { writable, readable: readable.pipeThrough(keep) };
    // The SDK complains of what it cannot read there, and nowhere else.
    console.error = (...words) => this.failures.push(`the SDK complains: ${JSON.stringify(words)}`);
  }

  #start(command) {
    this.process = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    return ndJsonStream(together(this.process.stdin), Readable.toWeb(this.process.stdout));
  }

  /** Expect two stories to be the same. */
  expectSame(one, other, sentence) {
    this.expect(isDeepStrictEqual(story(one), story(other)), sentence);
  }

  expect(isHeld, sentence) {
    if (!isHeld) this.failures.push(sentence);
  }

  /** Return the updates of a session, once the SDK has handed them all over. */
  async updates(sessionId) {
    const missing = () => this.#of(sessionId).length - (this.#told.get(sessionId) ?? []).length;
    for (let turns = 0; missing() && turns < 1000; turns += 1) await new Promise(setImmediate);
    this.expect(!missing(), `${missing()} updates were not handed over`);
    return this.#of(sessionId).map(({ update }) => update);
  }

  /** Take note of params as the SDK has read them: nothing of what was said may be missing. */
  told(params) {
    const read = this.#told.get(params.sessionId) ?? [];
    this.#told.set(params.sessionId, read);
    const raw = this.#of(params.sessionId)[read.length];
    read.push(params);
    this.expect(holds(params, raw), `not all of this was read: ${JSON.stringify(raw)}`);
  }

  /** Take note of a request as the SDK has read it. */
  asked(method, params) {
    const raw = this.said.findLast((message) => message.method === method);
    this.expect(holds(params, raw.params), `not all of this was read: ${JSON.stringify(raw)}`);
  }

  /** Close the pipes, and return the exit code of the agent; 0 if it is not ours to end. */
  async end() {
    await new Promise(setImmediate);
    if (this.isRemote) return 0;
    this.process.stdin.end();
    if (this.process.exitCode === null) await once(this.process, "exit");
    return this.process.exitCode;
  }

  #of(sessionId) {
    return this.said
      .filter(({ method }) => method === "session/update")
      .map(({ params }) => params)
      .filter((params) => params.sessionId === sessionId);
  }
}

/** Return what updates tell, in however many pieces they come: what the agent says and does. */
export function story(updates) {
  const told = { said: "", thought: "", calls: {} };
  for (const { sessionUpdate: kind, content, toolCallId, ...members } of updates) {
    const text = [content ?? []].flat().map((block) => block.text ?? "").join("");
    if (kind.startsWith("agent_message")) told.said += text;
    if (kind.startsWith("agent_thought")) told.thought += text;
    if (kind === "tool_call" || kind === "tool_call_update") {
      const { title, kind: kindOfCall, status, rawInput, rawOutput } = members;
      const before = told.calls[toolCallId];
      const known = { title, kind: kindOfCall, status, rawInput, rawOutput };
      const news = Object.entries(known).filter(([, value]) => value !== undefined);
      told.calls[toolCallId] = { ...before, ...Object.fromEntries(news) };
    }
  }
  return told;
}

/** Return the code with which a request was refused, or its result. */
export async function refusal(asking) {
  try {
    return await asking;
  } catch (problem) {
    return problem.code ?? String(problem);
  }
}

/** Print what came of a talk; exit with 0 only if all was as it has to be. */
export function report(summary, failures) {
  process.stdout.write(`${JSON.stringify({ ...summary, failures })}\n`);
  process.exit(failures.length ? 1 : 0);
}
