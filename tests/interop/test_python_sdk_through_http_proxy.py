"""The official Python SDK on both ends, over HTTP and WebSocket, with our proxy between."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from acp_inspector.recording.reader import read_header, read_recording
from tests.interop.node.programs import console, lines
from tests.interop.served import TOKEN, served, spelled
from tests.interop.test_python_sdk_client import LIMIT, SdkClient
from tests.interop.test_python_sdk_remote import SDK_SERVER, SERVER, connected, text
from tests.warm import WARM

pytestmark = pytest.mark.long

PROXY = (*WARM, "-m", "acp_console", "proxy", "--no-control", "--listen", "127.0.0.1:0")


@contextmanager
def proxied(folder: Path, *server: object) -> Generator[str]:
    """Run a server and a proxy before it that records; yield the proxy's URL."""
    with (
        served(folder, *server) as url,
        served(folder, *PROXY, "--to", url, "--record", "it.acp.ndjson") as proxy,
    ):
        assert proxy != url
        yield proxy


@pytest.mark.parametrize("transport", ["http", "ws"])
async def test_its_client_talks_to_its_server(tmp_path: Path, transport: str) -> None:
    (tmp_path / "greeting.txt").write_text("hello\n")
    client = SdkClient()
    with anyio.fail_after(LIMIT), proxied(tmp_path, *SDK_SERVER) as url:
        async with connected(client, url, transport) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            said = await agent.prompt(session_id=opened.session_id, prompt=text("héllo 😀"))
    assert said.stop_reason == "end_turn"
    assert "héllo 😀" in client.text
    recording = tmp_path / "it.acp.ndjson"
    assert TOKEN not in recording.read_text()
    assert len(read_recording(recording).frames) > 5
    errors = lines(console(tmp_path, "lint", "--format", "json", recording))
    assert [each for each in errors if each.get("severity") == "error"] == []


@pytest.mark.parametrize("transport", ["http", "ws"])
async def test_its_client_talks_to_our_server_and_the_recording_is_played(
    tmp_path: Path, transport: str
) -> None:
    client = SdkClient()
    with anyio.fail_after(LIMIT), proxied(tmp_path, *SERVER) as url:
        async with connected(client, url, transport) as agent:
            opened = await agent.new_session(cwd=str(tmp_path))
            order = text("plan")
            planned = await agent.prompt(session_id=opened.session_id, prompt=order)
    assert planned.stop_reason == "end_turn"
    recording = tmp_path / "it.acp.ndjson"
    assert read_header(recording).transport == "http"
    agent_command = (sys.executable, "-m", "acp_agent", "--no-config")
    played = console(tmp_path, "replay", recording, "--", *agent_command)
    assert played.returncode == 0, played.stdout + played.stderr


@pytest.mark.parametrize("transport", ["http", "ws"])
def test_our_client_talks_to_its_server(tmp_path: Path, transport: str) -> None:
    (tmp_path / "greeting.txt").write_text("hello\n")
    with proxied(tmp_path, *SDK_SERVER) as url:
        to = ("--cwd", tmp_path, "--url", spelled(url, transport))
        edited = console(tmp_path, "exec", "--allow", "edits", "edit it", *to)
    assert (edited.returncode, edited.stdout) == (0, "chosen: go\n")
    assert (tmp_path / "greeting.txt").read_text() == "edit it"
