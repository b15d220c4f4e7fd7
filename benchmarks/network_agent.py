"""An agent behind our server that says as many updates as its prompt asks for; `network` runs it.

Its counterpart on the TypeScript SDK is `network_agent.mjs`. Prints its URL, and ends with its
stdin. The token is in ACP_TOKEN.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from acp_protocol.connection import Connection
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.transport import Transport
from acp_protocol.transport.http_guard import Access
from acp_protocol.transport.http_runner import Listener, TlsFiles, serve_agents
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.served_connections import Connections, ServerLimits
from acp_protocol.transport.serving import run_served

TEXT: Final = "x" * 100
"""What each update says; the frame then has the usual length of a streamed piece of text."""


class FloodAgent:
    """Responds at once; a prompt with the text `N` has N updates before its response."""

    connection: Connection

    def __init__(self) -> None:
        self._sessions = 0

    async def handle_request(self, request: Request) -> Json:
        params: Any = request.params or {}
        match request.method:
            case "initialize":
                return {"protocolVersion": 1, "agentCapabilities": {}}
            case "session/new":
                self._sessions += 1
                return {"sessionId": f"s{self._sessions}"}
            case "session/prompt":
                session = params["sessionId"]
                content = {"type": "text", "text": TEXT}
                update = {"sessionUpdate": "agent_message_chunk", "content": content}
                for _ in range(int(params["prompt"][0]["text"])):
                    said: Json = {"sessionId": session, "update": update}
                    await self.connection.notify("session/update", said)
                return {"stopReason": "end_turn"}
            case _:
                return {}

    async def handle_notification(self, notification: Notification) -> None:
        """Take no notice."""


@asynccontextmanager
async def flood_agent() -> AsyncGenerator[Transport]:
    """Run an agent, and yield the client's end of it."""
    ours, theirs = memory_pair(64)
    agent = FloodAgent()
    async with Connection(theirs, agent) as agent.connection:
        try:
            yield ours
        finally:
            await ours.aclose()


async def serve(tls: TlsFiles | None) -> None:
    """Serve until stdin ends."""
    stop = anyio.Event()

    async def wait_end() -> None:
        await anyio.to_thread.run_sync(sys.stdin.buffer.read, abandon_on_cancel=True)
        stop.set()

    connections = Connections(flood_agent, server_limits=ServerLimits(connections=4096))
    with Listener("127.0.0.1:0", tls) as listener:
        access = Access(os.environ["ACP_TOKEN"], listener.hosts, scheme=listener.scheme)
        sys.stdout.write(f"{listener.url}{connections.path}\n")
        sys.stdout.flush()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_end)
            await serve_agents(listener, connections, access, stop=stop, drain_s=0.1)
            tasks.cancel_scope.cancel()


if __name__ == "__main__":
    files = TlsFiles(Path(sys.argv[1]), Path(sys.argv[2])) if sys.argv[1:] else None
    run_served(partial(serve, files))
