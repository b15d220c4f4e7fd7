"""An agent of a few lines behind a real server, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import httpx
from httpx_sse import EventSource, ServerSentEvent

from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import METHOD_NOT_FOUND, Json, Notification, Request, encode, parse
from acp_protocol.transport import Transport
from acp_protocol.transport.http import HttpLimits
from acp_protocol.transport.http_guard import Access
from acp_protocol.transport.http_protocols import SocketLimits
from acp_protocol.transport.http_runner import Listener, TlsFiles, serve_agents
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.served_connections import Connections, OpenAgent, ServerLimits

LIMIT = 20.0
"""Seconds after which a test counts as hung."""
TOKEN = "0123456789abcdef-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


class SmallAgent:
    """Opens sessions s1, s2, …; a prompt is echoed in updates, and asks if it says so."""

    connection: Connection

    def __init__(self) -> None:
        self.sessions = 0
        self.held = anyio.Event()
        """Lets prompts that say "hold" end."""

    async def handle_request(self, request: Request) -> Json:
        params: Any = request.params or {}
        match request.method:
            case "initialize":
                return {"protocolVersion": 1, "agentCapabilities": {}}
            case "session/new":
                self.sessions += 1
                return {"sessionId": f"s{self.sessions}"}
            case "session/load":
                await self.say(params["sessionId"], "loaded")
                return {}
            case "session/prompt":
                return await self.prompt(params["sessionId"], params["prompt"])
            case method:
                raise RequestFailedError(METHOD_NOT_FOUND, f"no {method}")

    async def handle_notification(self, notification: Notification) -> None:
        if notification.method == "session/cancel":
            self.held.set()

    async def prompt(self, session: str, text: str) -> Json:
        await self.say(session, text)
        if text == "hold":
            await self.held.wait()
        if text == "ask":
            asked: Json = {"sessionId": session, "options": []}
            chosen: Any = await self.connection.request("session/request_permission", asked)
            await self.say(session, chosen["outcome"]["outcome"])
        return {"stopReason": "end_turn"}

    async def say(self, session: str, text: str) -> None:
        await self.connection.notify("session/update", {"sessionId": session, "text": text})


@asynccontextmanager
async def small_agent(agent: SmallAgent | None = None) -> AsyncGenerator[Transport]:
    ours, theirs = memory_pair()
    agent = agent or SmallAgent()
    async with Connection(theirs, agent) as agent.connection:
        try:
            yield ours
        finally:
            await ours.aclose()


def agent_that(run: Callable[[Transport], Coroutine[Any, Any, None]]) -> OpenAgent:
    """Return what opens an agent that does what `run` does with its end of the connection."""

    @asynccontextmanager
    async def open_agent() -> AsyncGenerator[Transport]:
        ours, theirs = memory_pair(10)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, theirs)
            try:
                yield ours
            finally:
                tasks.cancel_scope.cancel()
                await ours.aclose()
                await theirs.aclose()

    return open_agent


@dataclass
class Serving:
    """A server that runs."""

    url: str
    connections: Connections
    stop: anyio.Event

    @property
    def base(self) -> str:
        return self.url.removesuffix("/acp")

    @property
    def socket_url(self) -> str:
        return "ws" + self.url.removeprefix("http")


@asynccontextmanager
async def serving(
    open_agent: OpenAgent = small_agent,
    *,
    limits: HttpLimits | None = None,
    server_limits: ServerLimits | None = None,
    origins: tuple[str, ...] = (),
    tls: TlsFiles | None = None,
    address: str = "127.0.0.1:0",
    drain_s: float = LIMIT,
    socket_limits: SocketLimits | None = None,
    limit_s: float = LIMIT,
    dialect: str | None = None,
) -> AsyncGenerator[Serving]:
    """Serve agents on a port of this machine."""
    connections = Connections(
        open_agent,
        limits=limits or HttpLimits(),
        server_limits=server_limits or ServerLimits(),
        dialect=dialect,
    )
    stop = anyio.Event()
    with anyio.fail_after(limit_s), Listener(address, tls) as listener:
        access = Access(TOKEN, listener.hosts, origins, listener.scheme)
        async with anyio.create_task_group() as tasks:
            run = partial(serve_agents, stop=stop, drain_s=drain_s, limits=socket_limits)
            tasks.start_soon(run, listener, connections, access)
            yield Serving(f"{listener.url}/acp", connections, stop)
            tasks.cancel_scope.cancel()


def http_client(**options: Any) -> httpx.AsyncClient:
    """Return a client with the token."""
    headers = BEARER | options.pop("headers", {})
    return httpx.AsyncClient(headers=headers, trust_env=False, timeout=LIMIT, **options)


class HttpPeer:
    """A client that speaks HTTP by hand."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self.url = url
        self.client = client
        self.id = ""
        self._ids = 0

    async def initialize(self) -> httpx.Response:
        answer = await self.post("initialize", {"protocolVersion": 1}, id_=0)
        self.id = answer.headers.get("Acp-Connection-Id", "")
        return answer

    async def post(
        self, method: str, params: Json = None, session: str | None = None, id_: Json = None
    ) -> httpx.Response:
        """Send a request; the id is the next number unless it is given."""
        if id_ is None:
            self._ids += 1
            id_ = self._ids
        return await self.post_message(
            {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}, session
        )

    async def post_message(self, message: Json, session: str | None = None) -> httpx.Response:
        headers = self.headers(session) | {"Content-Type": "application/json"}
        return await self.client.post(self.url, content=encode(message), headers=headers)

    def headers(self, session: str | None = None) -> dict[str, str]:
        headers = {"Acp-Connection-Id": self.id} if self.id else {}
        return headers | ({"Acp-Session-Id": session} if session is not None else {})

    @asynccontextmanager
    async def stream(
        self, session: str | None = None, **headers: str
    ) -> AsyncGenerator[Callable[[], Any]]:
        """Open a stream; yields what returns the next message."""
        sent = self.headers(session) | {"Accept": "text/event-stream"} | headers
        async with self.client.stream("GET", self.url, headers=sent) as response:
            assert response.status_code == 200, await response.aread()
            events = EventSource(response).aiter_sse()

            async def next_message() -> Any:
                while True:
                    event: ServerSentEvent = await anext(events)
                    # The library makes an event of each comment.
                    if event.data:
                        return parse(event.data.encode())

            yield next_message


@asynccontextmanager
async def http_peer(server: Serving, **options: Any) -> AsyncGenerator[HttpPeer]:
    """Yield a client with an initialized connection."""
    async with http_client(**options) as client:
        peer = HttpPeer(server.url, client)
        assert (await peer.initialize()).status_code == 200
        yield peer
