"""A scripted agent over HTTP and WebSocket, and a proxy before it, on real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import uvicorn

from acp_inspector.http_proxy.context import LARGE_WAIT_S, MAX_BODY_BYTES
from acp_inspector.http_proxy.serving import serve
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.proxy.session import ProxyOptions
from acp_inspector.recording.reader import read_recording
from acp_protocol.transport.http_runner import Listener
from acp_protocol.transport.remote import RemoteAgent

LIMIT = 20
CONNECTION = {"Acp-Connection-Id": "c1"}
JSON = {"Content-Type": "application/json"}
SECRET = "hunter2-hunter2"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass
class Request:
    """A request as the agent got it."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def value(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key == name), None)


@dataclass
class Answer:
    """A response of the agent."""

    status: int = 202
    body: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])


def line(method: str, id_: int | None = None, **params: Any) -> bytes:
    """Return a call."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if id_ is None else message | {"id": id_}).encode()


def result(id_: int, **members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "result": members}).encode()


def initialized(request: Request) -> Answer:
    """Answer `initialize` as an agent does."""
    id_ = json.loads(request.body)["id"]
    kind = (b"content-type", b"application/json")
    return Answer(200, result(id_, protocolVersion=1), [kind, (b"Acp-Connection-Id", b"c1")])


class Agent:
    """Answers each request as it is told, and writes to streams and sockets what it is given."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: dict[str, Callable[[Request], Answer]] = {}
        """By the method of the message, or that of the request."""
        self.streams: dict[str | None, asyncio.Queue[bytes | None]] = {}
        self.opened = asyncio.Event()
        self.left = asyncio.Event()
        """Set when the reader of a stream has left."""
        self.sockets: list[tuple[Receive, Send, asyncio.Event]] = []
        self.socket_headers = [(b"acp-connection-id", b"w1"), (b"set-cookie", b"aff=secret-value")]
        self.socket_refusal: Answer | None = None
        self.heads: list[list[tuple[bytes, bytes]]] = []
        self.held: dict[str, asyncio.Event] = {}
        """The methods whose POST gets its response when the event is set."""

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        body = b""
        is_more = True
        while is_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            is_more = message.get("more_body", False)
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        request = Request(scope["method"], scope["raw_path"] + query, scope["headers"], body)
        self.requests.append(request)
        if b'"method"' in body and (hold := self.held.get(json.loads(body)["method"])):
            await hold.wait()
        answer = self._answer(request)
        if answer is not None:
            length = (b"content-length", str(len(answer.body)).encode())
            head = [*answer.headers, length]
            await send({"type": "http.response.start", "status": answer.status, "headers": head})
            await send({"type": "http.response.body", "body": answer.body})
            return
        await self._stream(request, receive, send)

    def _answer(self, request: Request) -> Answer | None:
        method = None
        if b'"method"' in request.body:
            method = json.loads(request.body).get("method")
        chosen = self.answers.get(method or "") or self.answers.get(request.method)
        if chosen is not None:
            return chosen(request)
        if method == "initialize":
            return initialized(request)
        return None if request.method == "GET" else Answer()

    async def _stream(self, request: Request, receive: Receive, send: Send) -> None:
        session = request.value(b"acp-session-id")
        name = None if session is None else session.decode()
        queue = self.streams[name] = asyncio.Queue[bytes | None]()
        kind = (b"content-type", b"text/event-stream")
        await send({"type": "http.response.start", "status": 200, "headers": [kind]})
        self.opened.set()
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.left.set()
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            while (chunk := await queue.get()) is not None:
                if chunk == b"BREAK":
                    # uvicorn closes the connection, and the response stays without its end.
                    tasks.cancel_scope.cancel()
                    await anyio.sleep_forever()
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            tasks.cancel_scope.cancel()

    async def _socket(self, scope: Any, receive: Receive, send: Send) -> None:
        await receive()
        self.heads.append(scope["headers"])
        if self.socket_refusal is not None:
            refusal = self.socket_refusal
            start = {"status": refusal.status, "headers": refusal.headers}
            await send({"type": "websocket.http.response.start", **start})
            await send({"type": "websocket.http.response.body", "body": refusal.body})
            return
        chosen = scope["subprotocols"][0] if scope["subprotocols"] else None
        accept = {"subprotocol": chosen, "headers": self.socket_headers}
        await send({"type": "websocket.accept", **accept})
        done = asyncio.Event()
        self.sockets.append((receive, send, done))
        self.opened.set()
        await done.wait()


@asynccontextmanager
async def running(app: Any, port: int = 0) -> AsyncGenerator[int]:
    """Serve an application; yield its port."""
    listener = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(
        app, http="h11", ws="websockets-sansio", lifespan="off", log_config=None,
        log_level="critical", timeout_graceful_shutdown=1, ws_ping_interval=None,
        server_header=False, date_header=False,
    )  # fmt: skip
    server = _Server(config)
    with listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(server.serve, sockets=[listener]))
            try:
                yield listener.getsockname()[1]
            finally:
                server.should_exit = server.force_exit = True


class _Server(uvicorn.Server):
    def capture_signals(self) -> Any:
        from contextlib import nullcontext

        return nullcontext()


@dataclass
class Scene:
    """A client's view of the proxy."""

    agent: Agent
    url: str
    folder: Path
    client: httpx.AsyncClient
    warnings: list[str]

    @property
    def recording(self) -> Path:
        return self.folder / "r.acp.ndjson"

    def entries(self, name: str = "r.acp.ndjson") -> list[Entry]:
        """Return what was recorded, after the end or while the proxy runs."""
        return [
            each
            for each in read_recording(self.folder / name).entries
            if isinstance(each, Frame | JournalEvent)
        ]

    async def begin(self) -> httpx.Response:
        """Open a connection."""
        return await self.client.post(self.url, content=line("initialize", 0), headers=JSON)

    async def post(self, raw: bytes, session: str | None = None) -> httpx.Response:
        headers = CONNECTION | JSON | ({"Acp-Session-Id": session} if session else {})
        return await self.client.post(self.url, content=raw, headers=headers)

    @asynccontextmanager
    async def stream(self, session: str | None = None) -> AsyncGenerator[Reader]:
        """Open a stream of events."""
        headers = CONNECTION | {"Accept": "text/event-stream"}
        headers |= {"Acp-Session-Id": session} if session else {}
        async with self.client.stream("GET", self.url, headers=headers) as response:
            yield Reader(response)


class Reader:
    """Reads the bytes of a stream."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._chunks = response.aiter_raw()
        self._data = bytearray()

    async def until(self, end: bytes) -> bytes:
        """Read until the data end with `end`; return all of it."""
        while not self._data.endswith(end):
            self._data += await anext(self._chunks)
        return bytes(self._data)

    async def to_end(self) -> bytes:
        async for chunk in self._chunks:
            self._data += chunk
        return bytes(self._data)


@asynccontextmanager
async def proxied(
    folder: Path,
    agent: Agent | None = None,
    *,
    to: str | None = None,
    rules: str = "",
    max_body: int = MAX_BODY_BYTES,
    large_wait_s: float = LARGE_WAIT_S,
    options: ProxyOptions | None = None,
) -> AsyncGenerator[Scene]:
    """Run an agent and the proxy before it."""
    agent = agent or Agent()
    warnings: list[str] = []
    announced: list[str] = []
    options = options or ProxyOptions(has_control=False)
    options = replace(options, record=options.record or str(folder / "r.acp.ndjson"))
    if rules:
        (folder / "rules.toml").write_text(rules)
        options = replace(options, rules=folder / "rules.toml")
    with ExitStack() as stack, anyio.fail_after(LIMIT):
        async with running(agent) as port, anyio.create_task_group() as tasks:
            listener = stack.enter_context(Listener("127.0.0.1:0"))
            ending = anyio.Event()
            tasks.start_soon(
                partial(
                    serve,
                    listener,
                    RemoteAgent(to or f"http://127.0.0.1:{port}/acp"),
                    options,
                    announce=announced.append,
                    ending=ending,
                    warn=warnings.append,
                    max_body=max_body,
                    large_wait_s=large_wait_s,
                )
            )
            while not announced:
                await anyio.lowlevel.checkpoint()
            async with httpx.AsyncClient(timeout=LIMIT) as client:
                yield Scene(agent, announced[0], folder, client, warnings)
            ending.set()


def kinds(entries: list[Entry]) -> list[str]:
    """Return what each entry is: its event, or its side and method."""
    return [
        each.name
        if isinstance(each, JournalEvent)
        else f"{each.side} {json.loads(each.data).get('method', 'response')}"
        for each in entries
        if isinstance(each, Frame | JournalEvent)
    ]


def events(entries: list[Entry], name: str) -> list[JournalEvent]:
    return [each for each in entries if isinstance(each, JournalEvent) and each.name == name]


def frames(entries: list[Entry]) -> list[bytes]:
    return [each.data for each in entries if isinstance(each, Frame)]
