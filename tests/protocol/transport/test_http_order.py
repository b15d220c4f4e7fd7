"""The order of messages that come on different streams, with our client and our server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from acp_protocol.jsonrpc import encode_notification, encode_request, encode_result
from acp_protocol.transport import Transport
from acp_protocol.transport.http_client import open_http
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.remote import RemoteAgent
from tests.protocol.transport.served_agent import TOKEN, serving

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


async def test_the_response_that_opens_a_session_comes_before_its_updates() -> None:
    async with (
        serving(eager_agent) as server,
        open_http(RemoteAgent(server.url, token=TOKEN)) as transport,
    ):
        await transport.send(encode_request(0, "initialize", {}))
        await transport.receive()
        await transport.send(encode_request(1, "session/new", {}))
        assert [await transport.receive() for _ in range(2)] == [OPENED, UPDATE]
