"""Servers at an address that answer one tool call as no server should, and all others well.

They speak HTTP over real sockets by hand: what is wrong here, no library would send.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
from anyio.abc import SocketAttribute, SocketStream

from acp_agent.mcp.declarations import WebServer
from acp_protocol.concurrency import BackgroundTasks

Asked: TypeAlias = dict[str, Any]
Fault: TypeAlias = Callable[[SocketStream, Asked], Awaitable[None]]
"""Answers the call of a tool on the connection that it came by."""
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("fine", "odd")]
JSON = b"application/json"
EVENTS = b"text/event-stream"


def answer_to(asked: Asked, text: str = "fine") -> bytes:
    """Return the answer to a request, as a server of the year 2025 gives it."""
    result: Any
    match asked["method"]:
        case "initialize":
            version = asked["params"]["protocolVersion"]
            info = {"name": "faulty", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            result = {"tools": TOOLS}
        case "tools/call":
            result = {"content": [{"type": "text", "text": text}]}
        case _:
            error = {"code": -32601, "message": "Method not found"}
            return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode()
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()


def event(data: bytes) -> bytes:
    """Return an event of a stream."""
    return b"event: message\ndata: %b\n\n" % data


async def respond(
    stream: SocketStream, body: bytes = b"", *, status: str = "200 OK", kind: bytes = JSON
) -> None:
    """Send a whole response."""
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nMcp-Session-Id: s\r\nConnection: close\r\n"
    size = b"Content-Length: %d\r\n\r\n" % len(body)
    await stream.send(head % (status.encode(), kind) + size + body)


async def begin(stream: SocketStream, kind: bytes = EVENTS) -> None:
    """Send the head of a response that ends with its connection."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nConnection: close\r\n\r\n"
    await stream.send(head % kind)


def reset(stream: SocketStream) -> None:
    """Let the connection end with a reset, once it is closed."""
    raw = stream.extra(SocketAttribute.raw_socket)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class _Faulty:
    def __init__(self, fault: Fault, *, is_sse: bool, is_at_post: bool) -> None:
        self._fault = fault
        self._is_at_post = is_at_post
        self._is_sse = is_sse
        self._events: SocketStream | None = None

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                await self._answer(stream)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                return

    async def _answer(self, stream: SocketStream) -> None:
        head, _, body = (await _request(stream)).partition(b"\r\n\r\n")
        if head.startswith(b"GET"):
            await self._listen(stream)
            return
        asked: Asked = json.loads(body) if head.startswith(b"POST") else {}
        if "id" not in asked or "method" not in asked:
            await respond(stream, status="202 Accepted")
            return
        target = stream
        is_odd = asked["method"] == "tools/call" and asked["params"]["name"] == "odd"
        if self._is_sse and not (is_odd and self._is_at_post):
            await respond(stream, status="202 Accepted")
            assert self._events is not None
            target = self._events
        if is_odd:
            await self._fault(target, asked)
        elif self._is_sse:
            await target.send(event(answer_to(asked)))
        else:
            await respond(target, answer_to(asked))

    async def _listen(self, stream: SocketStream) -> None:
        if not self._is_sse:
            await respond(stream, status="405 Method Not Allowed")
            return
        await begin(stream)
        await stream.send(b"event: endpoint\ndata: /messages\n\n")
        self._events = stream
        # Nothing more is said to us; this ends when the client, or the fault, ends it.
        await stream.receive()


async def _request(stream: SocketStream) -> bytes:
    """Return a request as a whole."""
    held = b""
    while b"\r\n\r\n" not in held:
        held += await stream.receive()
    head, _, body = held.partition(b"\r\n\r\n")
    sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    size = int(sizes[0].partition(b":")[2]) if sizes else 0
    while len(body) < size:
        body += await stream.receive()
    return head + b"\r\n\r\n" + body


@asynccontextmanager
async def faulty(
    fault: Fault, *, is_sse: bool = False, is_at_post: bool = False
) -> AsyncGenerator[WebServer]:
    """Serve two tools, `fine` and `odd`; a call of the latter is left to `fault`.

    With a stream of events, it gets that stream, or the request that should only be accepted.
    """
    server = _Faulty(fault, is_sse=is_sse, is_at_post=is_at_post)
    listeners = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listeners, BackgroundTasks() as tasks:
        tasks.start_soon(listeners.serve, server.serve)
        port = listeners.extra(SocketAttribute.local_port)
        path = "sse" if is_sse else "mcp"
        yield WebServer("f", f"http://127.0.0.1:{port}/{path}", is_sse=is_sse)
