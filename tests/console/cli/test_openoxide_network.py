"""Agents that speak OpenOxide over the network, and our client of them, as processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from acp_inspector.recording.reader import read_recording
from acp_protocol.jsonrpc import parse
from tests.console.cli.servers import Server, serving
from tests.console.conftest import Call
from tests.warm import WARM

TOKEN = "0123456789abcdef-token"
AGENT = [*WARM, "-m", "acp_agent", "--no-config", "--dialect", "openoxide"]
SERVERS = {
    "serve": ("agent", "serve", "--no-config", "--dialect", "openoxide", "--http", "127.0.0.1:0"),
    "bridge": ("bridge", "--dialect", "openoxide", "--listen", "127.0.0.1:0", "--", *AGENT),
}
TOKENS = {"ACP_AGENT_HTTP_TOKEN": TOKEN, "ACP_CONSOLE_TOKEN": TOKEN}


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKEN)


def reached(server: Server, scheme: str) -> list[str]:
    url = scheme + server.url.removeprefix("http")
    return ["--url", url, "--token-env", "MY_TOKEN", "--dialect", "openoxide"]


@pytest.mark.parametrize("scheme", ["http", "ws"])
@pytest.mark.parametrize("kind", list(SERVERS))
def test_a_turn_with_a_file_of_the_client(
    kind: str, scheme: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("something to read\n")
    recording = tmp_path / "talk.acp.ndjson"
    with serving(*SERVERS[kind], env=TOKENS) as server:
        words = [*reached(server, scheme), "--allow", "reads", "--record", str(recording)]
        done = call("exec", *words, "read notes.txt")
    assert done.code == exit_codes.DONE
    assert "something to read" in done.out
    frames: list[Any] = [parse(frame.data) for frame in read_recording(recording).frames]
    texts = json.dumps(frames)
    assert '"type": "prompt"' in texts
    assert '"text_delta"' in texts
    # The transport has them as events, without JSON-RPC around them.
    bare = [each for each in frames if each.get("type") == "text_delta"]
    assert bool(bare) == (scheme == "http")


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_a_client_on_stdio_speaks_it_through_a_bridge(scheme: str, call: Call) -> None:
    with serving(*SERVERS["serve"], env=TOKENS) as server:
        bridge = [*WARM, "-m", "acp_console", "bridge", *reached(server, scheme)]
        done = call("exec", "--dialect", "openoxide", "hello", "--", *bridge)
    assert done.code == exit_codes.DONE
    assert "demo agent" in done.out


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_a_session_is_resumed(
    scheme: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (*SERVERS["serve"], "--sessions", str(tmp_path / "sessions"))
    with serving(*words, env=TOKENS) as server:
        words = (*reached(server, scheme), "--json")
        runs = [call("exec", *words, "hello"), call("exec", *words, "--continue", "again")]
    assert [each.code for each in runs] == [exit_codes.DONE] * 2
    first, second = (json.loads(each.out.splitlines()[0])["session"] for each in runs)
    assert first["sessionId"] == second["sessionId"]
