"""Servers at addresses of this machine."""

from __future__ import annotations

import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from anyio.abc import SocketStream

from acp_agent.mcp.declarations import WebServer
from acp_agent.tools.tool import ToolFailedError
from acp_protocol.tasks import OwnedTasks
from tests.agent.mcp.rooms import LIMITS, call, listed_anew, on_web, opened


@pytest.mark.parametrize("how", ["http", "sse"])
async def test_tools_are_called_at_an_address(tmp_path: Path, how: str) -> None:
    async with on_web(tmp_path, how) as (server, _), opened(tmp_path, server) as room:
        assert room.troubles == {}
        assert (await call(room, "w__look", place="Rome")).text == "It rains in Rome."
        async with listed_anew(room):
            await call(room, "w__change", to="more")
        assert (await call(room, "w__snow")).text == "It snows."


@pytest.mark.parametrize("how", ["http", "sse"])
async def test_a_server_that_dies_in_a_call_ends_that_call(tmp_path: Path, how: str) -> None:
    async with on_web(tmp_path, how) as (server, _), opened(tmp_path, server) as room:
        with pytest.raises(ToolFailedError, match="the MCP server w "):
            await call(room, "w__die", code=4)
        with pytest.raises(ToolFailedError, match="the MCP server w "):
            await call(room, "w__look", place="Rome")


async def test_a_server_at_an_address_is_back_as_soon_as_it_is_back(tmp_path: Path) -> None:
    async with on_web(tmp_path, "http") as (server, _), opened(tmp_path, server) as room:
        with pytest.raises(ToolFailedError, match="the MCP server w "):
            await call(room, "w__die", code=4)
        with pytest.raises(ToolFailedError, match="the MCP server w cannot be reached"):
            await call(room, "w__look", place="Rome")
        port = urlsplit(server.url).port
        assert port is not None
        async with on_web(tmp_path, "http", port):
            assert (await call(room, "w__look", place="Rome")).text == "It rains in Rome."
        assert room.troubles == {}


async def test_a_server_that_stands_still_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with on_web(tmp_path, "http") as (server, child):
        async with opened(tmp_path, server) as room:
            assert len(room) > 0
            child.signal_group(signal.SIGSTOP)
        child.signal_group(signal.SIGCONT)


async def test_nobody_at_an_address_is_said_in_a_few_words(tmp_path: Path) -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    await listener.aclose()
    url = f"http://user:canary@127.0.0.1:{port}/mcp?key=canary"
    async with opened(tmp_path, WebServer("w", url), WebServer("e", url, is_sse=True)) as room:
        assert room.troubles == dict.fromkeys("we", "cannot be reached")


@asynccontextmanager
async def answering(answer: bytes, heard: list[bytes]) -> AsyncGenerator[str]:
    """Run something at an address that says the same to everybody."""

    async def handle(stream: SocketStream) -> None:
        async with stream:
            heard.append(await stream.receive())
            await stream.send(answer)

    listeners = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listeners, OwnedTasks() as tasks:
        tasks.start_soon(listeners.serve, handle)
        yield f"http://127.0.0.1:{listeners.extra(anyio.abc.SocketAttribute.local_port)}/mcp"


@pytest.mark.parametrize("is_sse", [False, True])
@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"200 OK\r\nContent-Type: text/html", b"<h1>Hello</h1>"),
        (b"200 OK\r\nContent-Type: application/json", b'{"jsonrpc":'),
        (b"200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip", b"\x1f\x8b\0"),
        (b"200 OK\r\nContent-Type: text/event-stream", b"event: message\ndata: {]\n\n"),
        (b"401 Unauthorized", b""),
        (b"500 Oops", b"x" * 100),
        (b"307 Elsewhere\r\nLocation: http://192.0.2.1/mcp", b""),
    ],
)
async def test_rubbish_at_an_address_is_a_trouble_and_no_traceback(
    tmp_path: Path, head: bytes, body: bytes, *, is_sse: bool
) -> None:
    answer = b"HTTP/1.1 %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
    limits = replace(LIMITS, spawn_timeout=2.0)
    async with (
        answering(answer % (head, len(body), body), []) as url,
        opened(tmp_path, WebServer("w", url, is_sse=is_sse), limits=limits) as room,
    ):
        assert len(room.troubles["w"]) < 200
        assert "validation" not in room.troubles["w"]
        assert list(room) == []


async def test_an_endless_answer_is_broken_off(tmp_path: Path) -> None:
    body = b"x" * 200_000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    limits = replace(LIMITS, message_size=100_000)
    async with (
        answering(head % (len(body) * 1000) + body, []) as url,
        opened(tmp_path, WebServer("w", url), limits=limits) as room,
    ):
        assert set(room.troubles) == {"w"}


async def test_headers_are_sent_but_those_of_the_transport_are_its_own(tmp_path: Path) -> None:
    heard: list[bytes] = []
    headers = {"Authorization": "Bearer sunny", "Accept": "image/png", "Mcp-Session-Id": "mine"}
    async with (
        answering(
            b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", heard
        ) as url,
        opened(tmp_path, WebServer("w", url, headers)),
    ):
        first = heard[0].lower()
    assert b"authorization: bearer sunny\r\n" in first
    assert b"image/png" not in first
    assert b"mine" not in first
