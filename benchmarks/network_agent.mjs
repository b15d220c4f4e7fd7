// The agent of network_agent.py on the official TypeScript SDK, behind the SDK's own server.
//
// Run where the SDK and `ws` are installed. Prints its URL, and ends with its stdin. With a
// certificate and its key as arguments it serves HTTP/2 over TLS, and no WebSocket.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import * as acp from "@agentclientprotocol/sdk";
import {
  createNodeHttpHandler,
  createNodeWebSocketUpgradeHandler,
} from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { WebSocketServer } from "ws";

const { agent: asked, client: asks } = acp.methods;
const text = "x".repeat(100);

function createAgent() {
  let sessions = 0;
  return acp
    .agent({ name: "flood" })
    .onRequest(asked.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
    .onRequest(asked.session.new, () => ({ sessionId: `s${++sessions}` }))
    .onRequest(asked.authenticate, () => ({}))
    .onRequest(asked.session.prompt, async ({ params, client }) => {
      const { sessionId, prompt } = params;
      const content = { type: "text", text };
      const update = { sessionUpdate: "agent_message_chunk", content };
      for (let left = Number(prompt[0].text); left; left -= 1) {
        await client.notify(asks.session.update, { sessionId, update });
      }
      return { stopReason: "end_turn" };
    });
}

const server = new AcpServer({ createAgent });
const handle = createNodeHttpHandler(server);
const [certificate, key] = process.argv.slice(2);

// The SDK's handler makes `Headers` of all fields, which the pseudo-headers of HTTP/2 cannot be.
function handleHttp2(request, response) {
  const fields = Object.entries(request.headers).filter(([name]) => !name.startsWith(":"));
  const headers = { host: request.authority, ...Object.fromEntries(fields) };
  Object.defineProperty(request, "headers", { value: headers });
  return handle(request, response);
}

function listen(http, scheme) {
  http.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${scheme}://127.0.0.1:${http.address().port}/acp\n`);
  });
}

if (certificate) {
  const files = { cert: readFileSync(certificate), key: readFileSync(key) };
  listen(createSecureServer(files, handleHttp2), "https");
} else {
  const http = createServer(handle);
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  http.on("upgrade", createNodeWebSocketUpgradeHandler(server, sockets));
  listen(http, "http");
}
process.stdin.on("end", () => process.exit(0)).resume();
