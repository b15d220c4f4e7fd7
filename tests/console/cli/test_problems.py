"""Each error has its sentence and its code."""

from __future__ import annotations

import click
import pytest

from acp_console.cli import exits
from acp_console.cli.problems import report, say
from acp_console.client.agents import UnknownAgentError
from acp_console.client.errors import SignInRequiredError
from acp_inspector.recording.format import RecordingError
from acp_protocol.errors import (
    AgentExitedError,
    AgentStartError,
    ConnectionClosedError,
    FrameTooLongError,
    LocalProtocolError,
    RemoteProtocolError,
    RequestFailedError,
    TimeLimitError,
)


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (RecordingError("no recording"), exits.USAGE),
        (UnknownAgentError("no such agent"), exits.USAGE),
        (AgentStartError("cannot start"), exits.AGENT),
        (AgentExitedError(-9, ("last words",)), exits.AGENT),
        (ConnectionClosedError(), exits.AGENT),
        (FrameTooLongError(10), exits.AGENT),
        (TimeLimitError("the turn", 3), exits.TIME_LIMIT),
        (RemoteProtocolError("nonsense"), exits.PEER),
        (LocalProtocolError("nonsense"), exits.PEER),
        (RequestFailedError(-32603, "no"), exits.PEER),
        (SignInRequiredError(RequestFailedError(-32000, "who?"), ()), exits.PEER),
        (click.UsageError("wrong"), exits.USAGE),
        (click.Abort(), exits.INTERRUPTED),
        (ZeroDivisionError(), exits.FOUND),
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
