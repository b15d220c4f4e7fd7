"""The order of messages that come on different streams, with our client and our server."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message

from acp_protocol.jsonrpc import encode_notification, encode_request, encode_result
from acp_protocol.transport import Transport
from acp_protocol.transport.http_client import open_http
from acp_protocol.transport.http_server import HttpEndpoint
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.remote import RemoteAgent
from acp_protocol.transport.served_connections import Connections, ServerLimits
from tests.protocol.transport.served_agent import LIMIT, TOKEN, serving

OPENED = encode_result(1, {"sessionId": "s1"})
UPDATE = encode_notification("session/update", {"sessionId": "s1", "update": {}})


@asynccontextmanager
async def eager_agent() -> AsyncGenerator[Transport]:
    """Open a session, and say something in it at once."""
    ours, theirs = memory_pair(8)

    async def play() -> None:
        await theirs.receive()
        await theirs.send(encode_result(0, {"protocolVersion": 1}))
        await theirs.receive()
        await theirs.send(OPENED)
        await theirs.send(UPDATE)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play)
        try:
            yield ours
        finally:
            tasks.cancel_scope.cancel()
            await ours.aclose()
            await theirs.aclose()


LOAD = encode_request(1, "session/load", {"sessionId": "s1"})
LOADED = encode_result(1, {})
SAID = 6
"""Updates that the agent says one after the other, without a wait; enough for a pause."""
LONG = 2000
"""Updates that a client does not read at once."""


@asynccontextmanager
async def loading_agent(said: int = SAID) -> AsyncGenerator[Transport]:
    """Answer `initialize`; then tell all of a session again, and answer for that."""
    ours, theirs = memory_pair(8)

    async def play() -> None:
        await theirs.receive()
        await theirs.send(encode_result(0, {}))
        while True:
            await theirs.receive()
            for _ in range(said):
                await theirs.send(UPDATE)
            await theirs.send(LOADED)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play)
        try:
            yield ours
        finally:
            tasks.cancel_scope.cancel()
            await ours.aclose()
            await theirs.aclose()


class Client:
    """Calls the endpoint without a network between."""

    def __init__(self, endpoint: HttpEndpoint, turns: float = 0) -> None:
        """`turns`: how many turns of the loop the client takes to read an update."""
        self._endpoint = endpoint
        self._turns = turns
        self._connection = ""
        self.written = b""
        """What all streams together have said, in order."""
        self.is_answered = anyio.Event()

    async def request(self, method: str, body: bytes = b"", session: str = "") -> None:
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if self._connection:
            headers["acp-connection-id"] = self._connection
        if session:
            headers["acp-session-id"] = session
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if not parts:
                await anyio.sleep_forever()
            return parts.pop()

        async def send(message: Message) -> None:
            taken = 0
            while UPDATE in message.get("body", b"") and taken < self._turns:
                taken += 1
                await anyio.lowlevel.checkpoint()
            names = dict(message.get("headers", []))
            self._connection = names.get(b"acp-connection-id", self._connection.encode()).decode()
            self.written += message.get("body", b"") if method == "GET" else b""
            if LOADED in self.written:
                self.is_answered.set()

        await self._endpoint({"type": "http", "method": method, "headers": raw}, receive, send)


@pytest.mark.parametrize("streams", [("", "s1"), ("s1", "")])
async def test_what_comes_on_several_streams_is_written_in_the_order_in_which_it_was_said(
    streams: tuple[str, str],
) -> None:
    """A client that has the response to `session/load` takes all of the session for told."""
    connections = Connections(loading_agent)
    client = Client(HttpEndpoint(connections))
    with anyio.fail_after(LIMIT):
        async with connections.running(), anyio.create_task_group() as tasks:
            await client.request("POST", encode_request(0, "initialize", {}))
            for session in streams:
                tasks.start_soon(client.request, "GET", b"", session)
                await anyio.wait_all_tasks_blocked()
            for _ in range(3):
                client.written, client.is_answered = b"", anyio.Event()
                await client.request("POST", LOAD)
                await client.is_answered.wait()
                await anyio.wait_all_tasks_blocked()
                assert client.written.partition(LOADED)[0].count(UPDATE) == SAID
            tasks.cancel_scope.cancel()


async def test_the_response_to_load_waits_for_a_history_that_is_read_slowly() -> None:
    client = await load_with(turns=50, limits=ServerLimits())
    assert client.written.partition(LOADED)[0].count(UPDATE) == SAID


async def test_a_history_that_nobody_takes_does_not_hold_the_response_to_load() -> None:
    client = await load_with(turns=math.inf, limits=ServerLimits(history_s=0.05))
    assert UPDATE not in client.written


async def load_with(turns: float, limits: ServerLimits) -> Client:
    """Return a client once it has the response to `session/load`."""
    connections = Connections(loading_agent, server_limits=limits)
    client = Client(HttpEndpoint(connections), turns)
    with anyio.fail_after(LIMIT):
        async with connections.running(), anyio.create_task_group() as tasks:
            await client.request("POST", encode_request(0, "initialize", {}))
            tasks.start_soon(client.request, "GET", b"", "")
            tasks.start_soon(client.request, "GET", b"", "s1")
            await anyio.wait_all_tasks_blocked()
            await client.request("POST", LOAD)
            await client.is_answered.wait()
            tasks.cancel_scope.cancel()
    return client


async def test_the_response_that_opens_a_session_comes_before_its_updates() -> None:
    async with (
        serving(eager_agent) as server,
        open_http(RemoteAgent(server.url, token=TOKEN)) as transport,
    ):
        await transport.send(encode_request(0, "initialize", {}))
        await transport.receive()
        await transport.send(encode_request(1, "session/new", {}))
        assert [await transport.receive() for _ in range(2)] == [OPENED, UPDATE]


async def test_the_whole_history_of_a_session_is_received_before_the_response_that_ends_it() -> (
    None
):
    """Wire: the response to `session/load` comes on the stream of the connection."""
    async with (
        serving(lambda: loading_agent(LONG)) as server,
        open_http(RemoteAgent(server.url, token=TOKEN)) as transport,
    ):
        await transport.send(encode_request(0, "initialize", {}))
        await transport.receive()
        for _ in range(2):
            await transport.send(LOAD)
            received = [await transport.receive() for _ in range(LONG + 1)]
            assert received == [UPDATE] * LONG + [LOADED]
