"""The MCP server of the cases, with a client of the official SDK, over real pipes and HTTP."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from acp_inspector.conformance.agent import tool_server
from acp_inspector.conformance.agent.tool_server import HttpToolServer

LIMIT_S = 10.0
CALLED = ["initialize", "notifications/initialized", "tools/list", "tools/call"]


async def use(session: ClientSession) -> None:
    await session.initialize()
    (tool,) = (await session.list_tools()).tools
    assert not (await session.call_tool(tool.name, {})).is_error


async def test_methods_of_a_client_over_stdio_are_noted(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = StdioServerParameters(
        command=sys.executable, args=["-I", tool_server.__file__, str(notes)], env={}
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await use(session)
    assert notes.read_text().splitlines() == CALLED


async def test_methods_of_a_client_over_http_are_noted() -> None:
    with HttpToolServer() as server:
        async with (
            streamable_http_client(server.url) as (read, write),
            ClientSession(read, write) as session,
        ):
            await use(session)
        assert server.methods == CALLED


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("", b"no JSON", 400),
        ("", b"[" * 200_000, 400),
        ("x", b"{}", 400),
        ("", b"[]", 202),
        ("", b"x" * (2**20 + 1), 400),
    ],
)
def test_what_is_no_request_is_refused_and_not_noted(path: str, body: bytes, status: int) -> None:
    with HttpToolServer() as server:
        assert httpx.post(server.url + path, content=body, trust_env=False).status_code == status
        assert server.methods == []


def test_an_agent_that_resets_a_connection_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The stderr is that of the command."""
    with HttpToolServer() as server:
        url, before = urlsplit(server.url), {*threading.enumerate()}
        head = f"POST {url.path} HTTP/1.1\r\nContent-Length: 30\r\n\r\n"
        with socket.create_connection((url.hostname, url.port)) as connection:
            connection.sendall(head.encode())
            # Closing it sends a reset.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # It is accepted after the other one.
        assert httpx.get(server.url, trust_env=False).status_code == 405
        for thread in {*threading.enumerate()} - before:
            thread.join(LIMIT_S)
    assert capsys.readouterr().err == ""
