"""The official Python SDK over HTTP and WebSocket: its client with our server, and its server."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import anyio
import pytest
from acp.client.connection import ClientSideConnection
from acp.http.client import create_http_stream
from acp.schema import TextContentBlock
from acp.ws.client import create_websocket_stream

from tests.interop.node.programs import console, lines
from tests.interop.served import TOKEN, served, spelled
from tests.interop.test_python_sdk_client import LIMIT, SdkClient
from tests.warm import WARM

pytestmark = pytest.mark.long

SERVER = (*WARM, "-m", "acp_agent", "serve", "--http", "127.0.0.1:0", "--token-env", "ACP_TOKEN")
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("# Notes\n\nBuy milk.\n")
    return tmp_path


@asynccontextmanager
async def connected(
    client: SdkClient, url: str, transport: str
) -> AsyncGenerator[ClientSideConnection]:
    """Connect the SDK's client to a URL, and initialize."""
    stream = (
        create_http_stream(url, headers=BEARER)
        if transport == "http"
        else await create_websocket_stream(spelled(url, "ws"), headers=BEARER)
    )
    agent = ClientSideConnection(cast("Any", client), stream)
    try:
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.protocol_version == 1
        yield agent
    finally:
        await agent.close()
        await stream.close()


def text(words: str) -> list[Any]:
    return [TextContentBlock(type="text", text=words)]


@pytest.mark.parametrize("transport", ["http", "ws"])
async def test_its_client_talks_to_our_server(cwd: Path, transport: str) -> None:
    client = SdkClient()
    with anyio.fail_after(LIMIT), served(cwd, *SERVER) as url:
        async with connected(client, url, transport) as agent:
            opened = await agent.new_session(cwd=str(cwd))
            id_ = opened.session_id
            hello = await agent.prompt(session_id=id_, prompt=text("héllo 😀"))
            order = text("edit notes.md: milk => bread")
            edited = await agent.prompt(session_id=id_, prompt=order)
            before = client.text
        assert (hello.stop_reason, edited.stop_reason) == ("end_turn",) * 2
        assert "Buy bread." in (cwd / "notes.md").read_text()
        assert [call.kind for call in client.asked] == ["edit"]
        if transport == "http":
            # It opens the stream of a session only when a message names one: it cannot load.
            return
        client.updates.clear()
        async with connected(client, url, transport) as agent:
            await agent.load_session(session_id=id_, cwd=str(cwd))
            again = await agent.prompt(session_id=id_, prompt=text("read notes.md"))
    assert again.stop_reason == "end_turn"
    assert client.text.startswith(before)
    assert "Buy bread." in client.text


@pytest.mark.parametrize("transport", ["http", "ws"])
async def test_its_client_cancels_a_turn_of_our_server(cwd: Path, transport: str) -> None:
    client = SdkClient(choice=None)
    with anyio.fail_after(LIMIT), served(cwd, *SERVER) as url:
        async with connected(client, url, transport) as agent, anyio.create_task_group() as tasks:
            opened = await agent.new_session(cwd=str(cwd))

            async def cancel() -> None:
                await client.is_asked.wait()
                await agent.cancel(session_id=opened.session_id)
                client.is_cancelled.set()

            tasks.start_soon(cancel)
            order = text("edit notes.md: milk => bread")
            ended = await agent.prompt(session_id=opened.session_id, prompt=order)
            assert ended.stop_reason == "cancelled"
    assert "milk" in (cwd / "notes.md").read_text()


SDK_SERVER = (sys.executable, Path(__file__).parent / "python_sdk_server.py")


@pytest.mark.parametrize("transport", ["http", "ws"])
def test_our_client_talks_to_its_server(tmp_path: Path, transport: str) -> None:
    (tmp_path / "greeting.txt").write_text("hello\n")
    path = tmp_path / "it.acp.ndjson"
    with served(tmp_path, *SDK_SERVER) as url:
        to = ("--cwd", tmp_path, "--url", spelled(url, transport))
        said = console(tmp_path, "exec", "--record", path, "good morning", *to)
        edited = console(tmp_path, "exec", "--allow", "edits", "edit it", *to)
    assert (said.returncode, said.stdout) == (0, "You said: good morning\n")
    assert (edited.returncode, edited.stdout) == (0, "chosen: go\n")
    assert (tmp_path / "greeting.txt").read_text() == "edit it"
    linted = lines(console(tmp_path, "lint", "--format", "json", path))
    assert [each for each in linted if each.get("severity") == "error"] == []
