"""Each error has its sentence and its code."""

from __future__ import annotations

import click
import pytest

from acp_console.cli import exit_codes
from acp_console.cli.errors import report, say
from acp_console.client.agents import SignInRequiredError, UnknownAgentError
from acp_inspector.recording.format import RecordingError
from acp_protocol.errors import (
    AgentExitedError,
    AgentStartError,
    ConnectionClosedError,
    FrameTooLongError,
    LocalProtocolError,
    OperationTimeoutError,
    RemoteProtocolError,
    RequestFailedError,
)


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
    say("one\nacp-console: two\r\n\x1b[2Jthree")
    say("four\n  | five", indent="  | ")
    assert capsys.readouterr().err.splitlines() == [
        "acp-console: one",
        "             acp-console: two",
        "             ␛[2Jthree",
        "  | four",
        "      | five",
    ]
