// Serves an agent of the official TypeScript SDK over HTTP and WebSocket, with the SDK's own server:
// `node remote_agent.mjs VERSION`. Prints its URL, and ends with its stdin.

import { createServer } from "node:http";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import {
  createNodeHttpHandler,
  createNodeWebSocketUpgradeHandler,
} from "@agentclientprotocol/sdk/experimental/node";
import { WebSocketServer } from "ws";
import { agentV1 } from "./agent_v1.mjs";
import { agentRouter } from "./agent_v2.mjs";

// One agent for all connections: a session that was opened on one can be loaded on another.
const agent = process.argv[2] === "2" ? agentRouter() : agentV1();
const server = new AcpServer({ agent });
const http = createServer(createNodeHttpHandler(server));
const sockets = new WebSocketServer({ noServer: true });
http.on("upgrade", createNodeWebSocketUpgradeHandler(server, sockets));
http.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${http.address().port}/acp\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
