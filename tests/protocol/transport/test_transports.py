"""The contract that every transport keeps, held by one suite for all."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import anyio
import pytest
from websockets.asyncio.server import ServerConnection, serve

from acp_protocol.dialects.registry import open_dialect
from acp_protocol.errors import ConnectionClosedError, FrameTooLongError
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.host.process import spawn
from acp_protocol.jsonrpc import encode_request
from acp_protocol.transport import Transport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.http_client import open_http
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.remote import RemoteAgent
from acp_protocol.transport.stdio import StreamTransport
from acp_protocol.transport.websocket_client import open_websocket
from tests.protocol.transport.raw_server import QUICK, Exchange, RawServer, raw_server, usual

LIMIT = 10.0
"""Seconds after which a transport counts as hung."""

ECHO = "import os\nwhile chunk := os.read(0, 65536): os.write(1, chunk)"


@asynccontextmanager
async def in_memory() -> AsyncGenerator[Transport]:
    ours, theirs = memory_pair()

    async def echo() -> None:
        try:
            while True:
                await theirs.send(await theirs.receive())
        except ConnectionClosedError:
            await theirs.aclose()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(echo)
        yield ours
        await ours.aclose()


@asynccontextmanager
async def over_descriptors() -> AsyncGenerator[Transport]:
    reader, writer = os.pipe()
    yield StreamTransport(FdReceiveStream(reader), FdSendStream(writer))


@asynccontextmanager
async def with_headers() -> AsyncGenerator[Transport]:
    reader, writer = os.pipe()
    streams = FdReceiveStream(reader), FdSendStream(writer)
    yield StreamTransport(*streams, framing="headers")


@asynccontextmanager
async def translated() -> AsyncGenerator[Transport]:
    async with in_memory() as transport:
        yield DialectTransport(transport, "client", open_dialect("continuum"))


@asynccontextmanager
async def listening_for_a_dialect() -> AsyncGenerator[Transport]:
    async with over_descriptors() as transport:
        yield DialectTransport(transport, "client")


@asynccontextmanager
async def over_a_process() -> AsyncGenerator[Transport]:
    async with spawn([sys.executable, "-c", ECHO]) as child:
        yield StreamTransport(child.stdout, child.stdin)


async def echo_of_http(server: RawServer, exchange: Exchange) -> None:
    if exchange.name in {"initialize", "GET", "DELETE"}:
        await usual(server, exchange)
        return
    await exchange.reply()
    await (await server.stream()).say(b"data: " + exchange.body + b"\n\n")


@asynccontextmanager
async def over_http() -> AsyncGenerator[Transport]:
    async with (
        raw_server(echo_of_http) as server,
        open_http(RemoteAgent(server.url), limits=QUICK) as transport,
    ):
        await transport.send(encode_request(0, "initialize", {}))
        await transport.receive()
        yield transport


@asynccontextmanager
async def over_a_websocket() -> AsyncGenerator[Transport]:
    async def echo(socket: ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    async with serve(echo, "127.0.0.1", 0, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with open_websocket(RemoteAgent(f"ws://127.0.0.1:{port}/acp")) as transport:
            yield transport


Echoing: TypeAlias = Callable[[], AbstractAsyncContextManager[Transport]]
every_transport = pytest.mark.parametrize(
    "echoing",
    [
        in_memory,
        over_descriptors,
        over_a_process,
        with_headers,
        translated,
        listening_for_a_dialect,
        over_http,
        over_a_websocket,
    ],
)
"""Transports whose other end sends back what it gets."""
NETWORK = (over_http, over_a_websocket)
"""Those that carry nothing but messages, as text."""


@every_transport
async def test_frames_arrive_whole_and_in_order(echoing: Echoing) -> None:
    lines = [b"{}", b'["%b"]' % (b"x" * 2_000_000), '{"ünï": "\u2028🎉"}'.encode()]
    if echoing not in NETWORK:
        lines += [b"", b"\x00\xff\r", "ünï".encode()]
    with anyio.fail_after(LIMIT):
        async with echoing() as transport, anyio.create_task_group() as tasks:

            async def send() -> None:
                for line in lines:
                    await transport.send(line)

            tasks.start_soon(send)
            assert [await transport.receive() for _ in lines] == lines
            await transport.aclose()


@every_transport
async def test_a_closed_transport_neither_sends_nor_receives(echoing: Echoing) -> None:
    with anyio.fail_after(LIMIT):
        async with echoing() as transport:
            await transport.aclose()
            with pytest.raises(ConnectionClosedError):
                await transport.send(b"{}")
            with pytest.raises(ConnectionClosedError):
                await transport.receive()
            await transport.aclose()


async def test_the_last_line_may_lack_its_newline() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"one\ntw")
    os.close(writer)
    transport = StreamTransport(FdReceiveStream(reader), FdSendStream(os.dup(1)))
    assert [await transport.receive(), await transport.receive()] == [b"one", b"tw"]
    with pytest.raises(ConnectionClosedError):
        await transport.receive()
    await transport.aclose()


async def test_a_file_can_be_read_like_a_pipe(tmp_path: os.PathLike[str]) -> None:
    path = anyio.Path(tmp_path) / "frames"
    await path.write_bytes(b"one\ntwo\n")
    reader = os.open(path, os.O_RDONLY)
    transport = StreamTransport(FdReceiveStream(reader), FdSendStream(os.dup(1)))
    assert [await transport.receive(), await transport.receive()] == [b"one", b"two"]
    await transport.aclose()


async def test_a_frame_beyond_the_limit_ends_the_reading() -> None:
    reader, writer = os.pipe()
    transport = StreamTransport(FdReceiveStream(reader), FdSendStream(writer), limit=10)
    await transport.send(b"x" * 11)
    with pytest.raises(FrameTooLongError, match="limit of 10 bytes"):
        await transport.receive()
    await transport.aclose()


async def test_a_send_that_is_cancelled_does_not_cut_the_stream() -> None:
    reader, writer = os.pipe()
    transport = StreamTransport(FdReceiveStream(reader), FdSendStream(writer))
    long = b"x" * 1_000_000
    with anyio.fail_after(LIMIT):
        with anyio.move_on_after(0.05) as scope:
            await transport.send(long)
        assert scope.cancelled_caught
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.send, b"next")
            assert await transport.receive() == long
            assert await transport.receive() == b"next"
    await transport.aclose()


async def test_sending_fails_if_the_other_end_is_closed() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(ConnectionClosedError):
        await StreamTransport(FdReceiveStream(os.dup(0)), FdSendStream(writer)).send(b"{}")
