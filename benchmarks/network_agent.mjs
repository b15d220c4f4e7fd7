// The agent of network_agent.py on the official TypeScript SDK, behind the SDK's own server.
//
// Run where the SDK and `ws` are installed. Prints its URL, and ends with its stdin.

import { createServer } from "node:http";
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
const http = createServer(createNodeHttpHandler(server));
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
http.on("upgrade", createNodeWebSocketUpgradeHandler(server, sockets));
http.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${http.address().port}/acp\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
