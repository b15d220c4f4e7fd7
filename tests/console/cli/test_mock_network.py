"""`mock --listen`: a recording in the place of its agent over the network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from acp_console.cli import exit_codes
from acp_inspector.recording.reader import read_recording
from tests.console.cli.servers import LIMIT_S, Server, serving
from tests.console.conftest import Call

HELLO = Path(__file__).parents[3] / "recordings/hello.acp.ndjson"
LISTEN = ("--listen", "127.0.0.1:0")


def talk(server: Server, *, until: str | None = None) -> None:
    """Say over a WebSocket what the recorded client said, until a method, and leave."""
    url = "ws" + server.url.removeprefix("http")
    token = {"Authorization": f"Bearer {server.token}"}
    with connect(url, additional_headers=token, proxy=None) as socket:
        for frame in read_recording(HELLO).frames:
            if frame.side == "agent":
                socket.recv(LIMIT_S)
            elif until is not None and json.loads(frame.data).get("method") == until:
                return
            else:
                socket.send(frame.data.decode())


def test_a_client_that_does_as_recorded_passes(tmp_path: Path) -> None:
    report = tmp_path / "verdict.json"
    with serving("mock", str(HELLO), *LISTEN, "--report", str(report)) as server:
        talk(server)
        # It ends with its first connection.
        assert server.process.wait(LIMIT_S) == exit_codes.DONE
    assert json.loads(report.read_text())["passed"] is True
    assert server.wait_for("hello.acp.ndjson: ").startswith("pass")


def test_a_client_that_leaves_too_early_fails(tmp_path: Path) -> None:
    report = tmp_path / "verdict.json"
    with serving("mock", str(HELLO), *LISTEN, "--report", str(report)) as server:
        talk(server, until="session/prompt")
        assert server.process.wait(LIMIT_S) == exit_codes.FOUND
    verdict: Any = json.loads(report.read_text())
    assert verdict["passed"] is False
    assert "not reached: session/prompt" in verdict["errors"][0]


def test_with_repeat_each_connection_has_a_verdict(tmp_path: Path) -> None:
    report = tmp_path / "verdict.json"
    words = ("mock", str(HELLO), *LISTEN, "--repeat", "--report", str(report))
    with serving(*words) as server:
        talk(server)
        server.wait_for("pass: ")
        talk(server, until="session/prompt")
        server.wait_for("fail: ")
        server.process.terminate()
        assert server.process.wait(LIMIT_S) == exit_codes.FOUND
    second = report.with_name("verdict.2.json")
    assert [json.loads(each.read_text())["passed"] for each in (report, second)] == [True, False]


def test_without_a_client_nothing_was_tried() -> None:
    with serving("mock", str(HELLO), *LISTEN) as server:
        assert server.initialize("a-wrong-token-0123456789").status_code == 401
        server.process.terminate()
        assert server.process.wait(LIMIT_S) == exit_codes.NOTHING
        assert server.wait_for("warning: ") == "no client has opened a connection"


@pytest.mark.parametrize("words", [("--repeat",), ("--plain",), ("--drain", "3s")])
def test_options_of_a_server_need_listen(words: tuple[str, ...], call: Call) -> None:
    done = call("mock", str(HELLO), *words)
    assert done.code == exit_codes.USAGE
    assert f"{words[0]} has no effect without --listen" in done.err
