"""Round trips per second through a connection, ours and the Python SDK's.

Both sides of a conversation are in one process and talk over two pipes. The SDK is used as in its
documentation, with typed calls, and also with an extension method, whose params it does not check.
"""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import anyio

from acp_protocol.connection import Connection
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.transport.stdio import StreamTransport
from benchmarks.table import Row, Section, Spread

ROUNDS: Final = 9
"""Times that each kind of connection is measured, in turns."""
ALONE: Final = 1000
"""Requests that are sent one after the other."""
TOGETHER: Final = 50
"""Requests that are open at once."""
EACH: Final = 30
"""Requests that each of them makes, one after the other."""
SESSION: Final = "sess-1"
PROMPT: Final = [{"type": "text", "text": "Rename the helper and run the tests."}]

Ask: TypeAlias = Callable[[], Awaitable[object]]
Talk: TypeAlias = Callable[[], AbstractAsyncContextManager[Ask]]


def measure() -> Section:
    """Measure every kind of connection in turns, so that other load slows all of them."""
    talks = (_floor, _sdk_typed, _sdk_raw, _ours)
    alone: list[list[float]] = [[] for _ in talks]
    together: list[list[float]] = [[] for _ in talks]
    for _ in range(ROUNDS):
        for talk, one, many in zip(talks, alone, together, strict=True):
            seconds = anyio.run(_timed, talk)
            one.append(seconds[0])
            many.append(seconds[1])
    names = (
        "two futures over two pipes, no JSON",
        "official Python SDK, typed calls",
        "official Python SDK, extension method",
        "`Connection`",
    )
    rows = [
        *_rows("one after the other", names, alone),
        *_rows(f"{TOGETHER} at once", names, together),
    ]
    return Section("round trips through a connection", tuple(rows))


def _rows(how: str, names: tuple[str, ...], durations: list[list[float]]) -> list[Row]:
    spreads = [Spread.of(taken) for taken in durations]
    rival = spreads[1].median
    goals = ("", "", "", "≥ 2 × the SDK's typed calls")
    return [
        Row(
            f"{name}, {how}",
            f"{1 / spread.median:,.0f} /s",
            f"{1 / spread.slow:,.0f} /s",
            f"{rival / spread.median:.1f} × the SDK's typed calls",
            goal,
        )
        for name, spread, goal in zip(names, spreads, goals, strict=True)
    ]


async def _timed(talk: Talk) -> tuple[float, float]:
    """Return the seconds that one request takes alone, and among others."""
    async with talk() as ask:
        await _series(ask, ALONE // 10)
        begin = time.perf_counter()
        await _series(ask, ALONE)
        alone = (time.perf_counter() - begin) / ALONE
        begin = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for _ in range(TOGETHER):
                tasks.start_soon(_series, ask, EACH)
        return alone, (time.perf_counter() - begin) / (TOGETHER * EACH)


async def _series(ask: Ask, times: int) -> None:
    for _ in range(times):
        await ask()


@asynccontextmanager
async def _floor() -> AsyncGenerator[Ask]:
    """Measure the cost of waiting for bytes: one end sends back what it reads."""
    loop = asyncio.get_running_loop()
    there, back = os.pipe(), os.pipe()
    waiting: list[asyncio.Future[None]] = []

    def answer() -> None:
        os.write(back[1], os.read(there[0], 65536))

    def arrived() -> None:
        for _ in range(len(os.read(back[0], 65536))):
            waiting.pop().set_result(None)

    async def ask() -> None:
        future = asyncio.Future[None]()
        waiting.append(future)
        os.write(there[1], b"x")
        await future

    loop.add_reader(there[0], answer)
    loop.add_reader(back[0], arrived)
    try:
        yield ask
    finally:
        loop.remove_reader(there[0])
        loop.remove_reader(back[0])
        for end in (*there, *back):
            os.close(end)


class _Agent:
    """Responds at once, through our connection."""

    async def handle_request(self, request: Request) -> Json:
        del request
        return {"stopReason": "end_turn"}

    async def handle_notification(self, notification: Notification) -> None:
        del notification


@asynccontextmanager
async def _ours() -> AsyncGenerator[Ask]:
    there, back = os.pipe(), os.pipe()
    client = StreamTransport(FdReceiveStream(back[0]), FdSendStream(there[1]))
    agent = StreamTransport(FdReceiveStream(there[0]), FdSendStream(back[1]))
    async with Connection(client, _Agent()) as connection, Connection(agent, _Agent()):
        params = {"sessionId": SESSION, "prompt": PROMPT}
        yield lambda: connection.request("session/prompt", params)


@asynccontextmanager
async def _sdk_typed() -> AsyncGenerator[Ask]:
    async with _sdk() as (client, prompt):
        yield lambda: client.prompt(session_id=SESSION, prompt=prompt)


@asynccontextmanager
async def _sdk_raw() -> AsyncGenerator[Ask]:
    params = {"sessionId": SESSION, "prompt": PROMPT}
    async with _sdk() as (client, _):
        yield lambda: client.ext_method("prompt", params)


@asynccontextmanager
async def _sdk() -> AsyncGenerator[tuple[Any, list[Any]]]:
    """Open both sides of the SDK; yields the client's side and a prompt in the SDK's types."""
    import acp

    class Agent:
        def on_connect(self, conn: object) -> None:
            del conn

        async def prompt(
            self, prompt: object, session_id: str, **more: object
        ) -> acp.PromptResponse:
            del prompt, session_id, more
            return acp.PromptResponse(stop_reason="end_turn")

        async def ext_method(self, method: str, params: object) -> Json:
            del method, params
            return {"stopReason": "end_turn"}

    class Client:
        def on_connect(self, conn: object) -> None:
            del conn

    def side(of: Any, handlers: object, ends: _Ends) -> Any:
        def made(connection: object) -> object:
            del connection
            return handlers

        return of(made, ends.writer, ends.reader)

    there, back = os.pipe(), os.pipe()
    prompt = [acp.text_block(str(block["text"])) for block in PROMPT]
    theirs, ours = await _Ends.open(back[1], there[0]), await _Ends.open(there[1], back[0])
    with warnings.catch_warnings():
        # The SDK says of its own constructors that they are going to change.
        warnings.simplefilter("ignore")
        agent = side(acp.AgentSideConnection, Agent(), theirs)
        client = side(acp.ClientSideConnection, Client(), ours)
        try:
            yield client, prompt
        finally:
            await client.close()
            await agent.close()
            await theirs.close()
            await ours.close()


@dataclass(frozen=True, slots=True)
class _Ends:
    """The two pipes of one side, as the SDK wants them."""

    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader
    incoming: asyncio.ReadTransport

    @classmethod
    async def open(cls, outgoing: int, incoming: int) -> _Ends:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        source, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(incoming, "rb", 0)
        )
        sink, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
            os.fdopen(outgoing, "wb", 0),
        )
        return cls(asyncio.StreamWriter(sink, protocol, None, loop), reader, source)

    async def close(self) -> None:
        self.writer.close()
        self.incoming.close()
        # Transports close their descriptors in the loop's next round.
        await asyncio.sleep(0)
