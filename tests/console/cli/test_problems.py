"""Each error has its sentence and its code."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from acp_console.agents.spec import SignInRequiredError, UnknownAgentError
from acp_console.cli import exit_codes
from acp_console.cli.errors import fail, report, warn
from acp_inspector.recording.format import RecordingError
from acp_protocol.errors import (
    AcpError,
    AgentExitedError,
    AgentStartError,
    ConnectionClosedError,
    FrameTooLongError,
    LocalProtocolError,
    OperationTimeoutError,
    RemoteProtocolError,
    RequestFailedError,
)
from tests.console.conftest import Call


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (RecordingError("no recording"), exit_codes.USAGE),
        (UnknownAgentError("no such agent"), exit_codes.USAGE),
        (AgentStartError("cannot start"), exit_codes.AGENT),
        (AgentExitedError(-9, ("last words",)), exit_codes.AGENT),
        (ConnectionClosedError(), exit_codes.AGENT),
        (FrameTooLongError(10), exit_codes.AGENT),
        (OperationTimeoutError("the turn", 3), exit_codes.TIME_LIMIT),
        (RemoteProtocolError("nonsense"), exit_codes.PEER),
        (LocalProtocolError("nonsense"), exit_codes.PEER),
        (RequestFailedError(-32603, "no"), exit_codes.PEER),
        (SignInRequiredError(RequestFailedError(-32000, "who?"), ()), exit_codes.PEER),
        (click.UsageError("wrong"), exit_codes.USAGE),
        (click.Abort(), exit_codes.INTERRUPTED),
        (ZeroDivisionError(), exit_codes.FOUND),
    ],
)
def test_each_problem_has_its_code(
    problem: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(problem) == code
    assert "Traceback" not in capsys.readouterr().err


def test_no_further_line_looks_like_one_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    fail("one\nerror: two\r\n\x1b[2Jthree", "four\nhint: five")
    warn("six\n\nerror: seven")
    assert capsys.readouterr().err.splitlines() == [
        "error: one",
        "       error: two",
        "       ␛[2Jthree",
        "hint: four",
        "      hint: five",
        "warning: six",
        "",
        "         error: seven",
    ]


def test_a_hint_has_a_line_of_its_own_and_ends_the_text_elsewhere(
    capsys: pytest.CaptureFixture[str],
) -> None:
    problem = AgentStartError("cannot start", hint="look again")
    report(problem)
    assert capsys.readouterr().err == "error: cannot start\nhint: look again\n"
    assert str(problem) == "cannot start; look again"


def test_a_hint_behind_a_list_has_a_line_of_its_own() -> None:
    problem = AcpError("it would do this:\n  login (frame 3)", hint="allow it")
    assert str(problem) == "it would do this:\n  login (frame 3)\nhint: allow it"


def test_recover_refuses_what_is_no_recording(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_text("hello\n")
    done = call("recover", str(file))
    assert done.code == exit_codes.USAGE
    assert done.err.splitlines() == [
        f"error: {file} is not a recording: its first line is not a header"
    ]
    assert call("recover").err.startswith("error: missing FILE\nhint: usage: acp-console recover ")


def test_recover_finds_nothing_in_the_empty_recording_of_a_killed_proxy(
    call: Call, tmp_path: Path
) -> None:
    file = tmp_path / "a.acp.ndjson"
    file.touch()
    done = call("recover", str(file))
    assert (done.code, done.out) == (exit_codes.DONE, "")
    assert done.err == (
        f"note: {file}: nothing to recover; it is empty, no message came before its proxy was "
        "killed\n"
    )


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["agents", "check", "nobody"], "acp-console agents lists "),
        (["agents", "info", "nobody"], "; or give a command of your own after --\n"),
        (["exec", "nobody", "hi"], "after --. If 'nobody' begins the prompt, "),
    ],
)
def test_the_hint_for_an_unknown_agent_fits_the_command(
    call: Call, command: list[str], hint: str
) -> None:
    done = call(*command)
    assert done.code == exit_codes.USAGE
    assert hint in done.err
    assert (" after --" in done.err) is (command[1] != "check")
