"""A server of HTTP that a test scripts byte by byte, for what implementations and faults send."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import h11
from anyio.abc import SocketStream

from acp_protocol.connection import Connection
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json, Notification, Request, encode, parse
from acp_protocol.transport.http_client import HttpTransport, open_http
from acp_protocol.transport.remote import RemoteAgent, RemoteLimits, WireObserver

LIMIT = 20.0
"""Seconds after which a test counts as hung."""
QUICK = RemoteLimits(
    retry_s=0.01,
    max_retry_s=0.02,
    give_up_s=0.3,
    stream_give_up_s=0.3,
    held_s=0.02,
    open_s=0.5,
    close_s=0.5,
    post_s=2.0,
)
ID = "c-1"


@dataclass(eq=False)
class Exchange:
    """A request, and what answers it."""

    stream: SocketStream
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    is_answered: bool = False
    keeps_open: bool = True
    hung_up: anyio.Event = field(default_factory=anyio.Event)
    """Set when the client has closed the TCP connection."""

    @property
    def message(self) -> Any:
        return parse(self.body)

    @property
    def session(self) -> str | None:
        return self.headers.get("acp-session-id")

    @property
    def name(self) -> str:
        """What is requested: `GET`, `GET s1`, `DELETE`, or the method in a POST."""
        if self.method != "POST":
            return f"{self.method} {self.session}" if self.session else self.method
        if isinstance(self.message, list):
            return "array"
        return get_text(self.message, "method") or "response"

    async def reply(
        self, status: int = 202, body: bytes = b"", kind: str = "application/json", **headers: str
    ) -> None:
        named = "".join(f"{name.replace('_', '-')}: {each}\r\n" for name, each in headers.items())
        kind = f"content-type: {kind}\r\n" if body else ""
        head = f"HTTP/1.1 {status} Status\r\n{kind}{named}content-length: {len(body)}\r\n\r\n"
        await self.stream.send(head.encode() + body)
        self.is_answered = True

    async def reply_and_close(self, status: int = 202) -> None:
        """Reply, and take nothing more on this TCP connection, so that the script may wait."""
        await self.reply(status, connection="close")
        self.keeps_open = False

    async def answer(self, result: Json, status: int = 200, **headers: str) -> None:
        """Answer in the body."""
        message: Json = {"jsonrpc": "2.0", "id": self.message["id"], "result": result}
        await self.reply(status, encode(message), **headers)

    async def initialized(self, version: int = 1, **headers: str) -> None:
        result: Json = {"protocolVersion": version, "agentCapabilities": {}}
        await self.answer(result, 200, **({"acp_connection_id": ID} | headers))

    async def begin(
        self,
        kind: str = "text/event-stream",
        *,
        is_chunked: bool = True,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Begin a stream of events."""
        length = "transfer-encoding: chunked\r\n" if is_chunked else "connection: close\r\n"
        named = "".join(f"{name}: {each}\r\n" for name, each in (headers or {}).items())
        self.keeps_open = is_chunked
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{named}{length}\r\n"
        await self.stream.send(head.encode())
        self.is_answered = True

    async def say(self, *chunks: bytes) -> None:
        """Send bytes of a stream, each in a chunk of its own."""
        for chunk in chunks:
            await self.stream.send(b"%x\r\n%b\r\n" % (len(chunk), chunk))

    async def event(self, message: Json, id_: str = "") -> None:
        number = f"id: {id_}\n".encode() if id_ else b""
        await self.say(number + b"data: " + encode(message) + b"\n\n")

    async def update(self, session: str, text: str, id_: str = "") -> None:
        params: Json = {"sessionId": session, "text": text}
        message: Json = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        await self.event(message, id_)

    async def respond(self, request: Any, result: Json) -> None:
        """Answer a request on this stream."""
        await self.event({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def end(self) -> None:
        """End the stream as it has to be."""
        await self.stream.send(b"0\r\n\r\n")

    async def cut(self) -> None:
        """Break the connection."""
        self.keeps_open = False
        with suppress(OSError):
            linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
            raw: Any = self.stream.extra(anyio.abc.SocketAttribute.raw_socket)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        await self.stream.aclose()


Handle = Callable[[Exchange], Awaitable[None]]


@dataclass
class RawServer:
    """What came in, and where it listens."""

    port: int = 0
    seen: list[Exchange] = field(default_factory=list[Exchange])
    streams: dict[str | None, Exchange] = field(default_factory=dict[str | None, Exchange])
    """The newest stream of the connection, and of each session."""
    changed: anyio.Event = field(default_factory=anyio.Event)
    stop_listening: Callable[[], Awaitable[None]] = anyio.sleep_forever
    """Close the port, but no connection."""
    is_gone: bool = False
    """Whether it hangs up on everybody."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/acp"

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.seen]

    def requests(self, name: str) -> list[Exchange]:
        return [each for each in self.seen if each.name == name]

    async def wait_for(self, is_met: Callable[[], bool]) -> None:
        while not is_met():
            self.changed = anyio.Event()
            await self.changed.wait()

    async def stream(self, session: str | None = None) -> Exchange:
        """Return the stream of a session, once it was opened."""
        await self.wait_for(lambda: session in self.streams)
        return self.streams[session]

    def note(self, exchange: Exchange) -> None:
        self.seen.append(exchange)
        self.changed.set()

    async def open_stream(
        self, exchange: Exchange, headers: Mapping[str, str] | None = None
    ) -> None:
        await exchange.begin(headers=headers)
        self.streams[exchange.session] = exchange
        self.changed.set()


async def usual(server: RawServer, exchange: Exchange) -> None:
    """Answer as most servers do: streams, 202, a session for session/new."""
    match exchange.name:
        case "initialize":
            await exchange.initialized()
        case "GET" | "GET s1" | "GET s2":
            await server.open_stream(exchange)
        case "session/new":
            await exchange.reply()
            await (await server.stream()).respond(exchange.message, {"sessionId": "s1"})
        case "session/prompt":
            await exchange.reply()
            stream = await server.stream(exchange.message["params"]["sessionId"])
            await stream.respond(exchange.message, {"stopReason": "end_turn"})
        case _:
            await exchange.reply()


@asynccontextmanager
async def raw_server(
    handle: Callable[[RawServer, Exchange], Awaitable[None]] = usual,
) -> AsyncGenerator[RawServer]:
    """Run a server on a port of this machine."""
    server = RawServer()

    async def serve(stream: SocketStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await _serve(server, partial(handle, server), stream)

    with anyio.fail_after(LIMIT):
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            scope, has_stopped = anyio.CancelScope(), anyio.Event()

            async def listen() -> None:
                with scope:
                    await listener.serve(serve, tasks)
                has_stopped.set()

            async def stop_listening() -> None:
                scope.cancel()
                await has_stopped.wait()
                await listener.aclose()

            server.stop_listening = stop_listening
            server.port = listener.extra(anyio.abc.SocketAttribute.local_port)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen)
                yield server
                tasks.cancel_scope.cancel()


async def _serve(server: RawServer, handle: Handle, stream: SocketStream) -> None:
    """Read requests; write what the script says."""
    reader = h11.Connection(h11.SERVER)
    exchange: Exchange | None = None
    while (found := await _request(reader, stream)) is not None:
        head, body = found
        headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
        exchange = Exchange(stream, head.method.decode(), head.target.decode(), headers, body)
        if server.is_gone:
            await exchange.cut()
            return
        server.note(exchange)
        await handle(exchange)
        if not exchange.keeps_open:
            return
        # What was written went around h11.
        reader.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
        reader.send(h11.EndOfMessage())
        reader.start_next_cycle()
    if exchange is not None:
        exchange.hung_up.set()


async def _request(
    reader: h11.Connection, stream: SocketStream
) -> tuple[h11.Request, bytes] | None:
    """Return the next request with its body; None at the end."""
    head: h11.Request | None = None
    body = b""
    while True:
        match reader.next_event():
            case h11.NEED_DATA:
                try:
                    reader.receive_data(await stream.receive())
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return None
            case h11.Request() as head:
                pass
            case h11.Data(data=data):
                body += data
            case h11.EndOfMessage() if head is not None:
                return head, body
            case _:
                return None


class Client:
    """A client that keeps what it gets."""

    connection: Connection

    def __init__(self, transport: HttpTransport) -> None:
        self.transport = transport
        self.texts: list[str] = []
        self.notices: list[str] = []
        self.asked: list[Request] = []
        self.came = anyio.Event()

    async def handle_request(self, request: Request) -> Json:
        self.asked.append(request)
        return {"outcome": {"outcome": "cancelled"}}

    async def handle_notification(self, notification: Notification) -> None:
        params: Any = notification.params or {}
        self.texts.append(params.get("text", notification.method))
        self.came.set()

    async def wait_for_text(self, text: str) -> None:
        while text not in self.texts:
            self.came = anyio.Event()
            await self.came.wait()

    async def initialize(self) -> Any:
        return await self.connection.request("initialize", {"protocolVersion": 1})

    async def new_session(self) -> str:
        await self.initialize()
        return (await self.connection.request("session/new", {}))["sessionId"]

    async def request(self, method: str, **params: Json) -> Any:
        return await self.connection.request(method, params)

    async def prompt(self, session: str = "s1") -> Any:
        return await self.request("session/prompt", sessionId=session, prompt=[])


@asynccontextmanager
async def http_client_of(
    url: str,
    *,
    limits: RemoteLimits = QUICK,
    observer: WireObserver | None = None,
    headers: dict[str, str] | None = None,
    token: str | None = None,
) -> AsyncGenerator[Client]:
    """Connect to a URL over HTTP."""
    agent = RemoteAgent(url, headers or {}, token)
    notices: list[str] = []
    async with open_http(
        agent, limits=limits, observer=observer, notify=notices.append
    ) as transport:
        client = Client(transport)
        client.notices = notices
        async with Connection(transport, client) as client.connection:
            yield client
