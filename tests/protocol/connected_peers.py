"""Connected pairs of peers for tests."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.handler import ConnectionLimits
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.transport import Transport
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.stdio import StreamTransport

LIMIT = 5.0
"""Seconds after which a talk counts as hung."""


async def answer_nothing(request: Request) -> Json:
    raise RequestFailedError(
        jsonrpc.METHOD_NOT_FOUND, "Method not found", {"method": request.method}
    )


async def ignore(notification: Notification) -> None:
    del notification


@dataclass
class Script:
    """A handler made of two functions of a test."""

    on_request: Callable[[Request], Awaitable[Json]] = answer_nothing
    on_notification: Callable[[Notification], Awaitable[None]] = ignore
    heard: list[Notification] = field(default_factory=list[Notification])

    async def handle_request(self, request: Request) -> Json:
        return await self.on_request(request)

    async def handle_notification(self, notification: Notification) -> None:
        await self.on_notification(notification)
        self.heard.append(notification)


class Sink:
    """A transport that takes whatever is sent at once, and hands on what a test puts in."""

    def __init__(self) -> None:
        self.incoming, self._lines = anyio.create_memory_object_stream[bytes](10)

    async def send(self, line: bytes) -> None:
        del line

    async def receive(self) -> bytes:
        return await self._lines.receive()

    async def aclose(self) -> None:
        self.incoming.close()
        self._lines.close()


def pipe_pair() -> tuple[Transport, Transport]:
    there, back = os.pipe(), os.pipe()
    return (
        StreamTransport(FdReceiveStream(back[0]), FdSendStream(there[1])),
        StreamTransport(FdReceiveStream(there[0]), FdSendStream(back[1])),
    )


pair: Callable[[], tuple[Transport, Transport]] = memory_pair
"""Makes the two ends of a talk; see `over_every_wire`."""


@asynccontextmanager
async def talk(
    client: Script | None = None, agent: Script | None = None
) -> AsyncGenerator[tuple[Connection, Connection]]:
    ours, theirs = pair()
    with anyio.fail_after(LIMIT):
        async with (
            Connection(ours, client or Script()) as one,
            Connection(theirs, agent or Script()) as other,
        ):
            yield one, other


@asynccontextmanager
async def talk_with_bytes(
    script: Script | None = None,
    limits: ConnectionLimits | None = None,
    *,
    takes_batches: bool = False,
) -> AsyncGenerator[tuple[Connection, Transport]]:
    """One real side; the test plays the other, frame by frame."""
    ours, theirs = pair()
    with anyio.fail_after(LIMIT):
        ours_side = Connection(ours, script or Script(), limits=limits, allow_batches=takes_batches)
        async with ours_side as connection:
            yield connection, theirs
    await theirs.aclose()


async def read(transport: Transport) -> dict[str, Json]:
    return json.loads(await transport.receive())


async def send_together(peer: Transport, *lines: bytes) -> None:
    """Write `lines` at once, so that one look at the pipe finds them all."""
    assert isinstance(peer, StreamTransport)
    await peer.send(b"\n".join(lines))
