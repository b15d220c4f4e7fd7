"""Prints errors as sentences: the action, its object, and what to do next; no tracebacks."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Final

import click

from acp_console.cli import exit_codes
from acp_console.client.agents import SignInRequiredError, UnknownAgentError
from acp_inspector.recording.format import RecordingError
from acp_protocol.errors import (
    AcpError,
    AgentExitedError,
    AgentStartError,
    OperationTimeoutError,
    ProtocolError,
    RequestFailedError,
    TransportError,
)
from acp_protocol.host.sanitize import escape_controls, single_line

_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (RecordingError, exit_codes.USAGE),
    (UnknownAgentError, exit_codes.USAGE),
    (AgentStartError, exit_codes.AGENT),
    (AgentExitedError, exit_codes.AGENT),
    (OperationTimeoutError, exit_codes.TIME_LIMIT),
    (SignInRequiredError, exit_codes.PEER),
    (ProtocolError, exit_codes.PEER),
    (RequestFailedError, exit_codes.PEER),
    (TransportError, exit_codes.AGENT),
    (AcpError, exit_codes.USAGE),
)
"""The exit code for each error, subclasses before base classes."""


def report(problem: Exception, *, is_debug: bool = False) -> int:
    """Print the error to stderr; return its exit code."""
    if is_debug and not isinstance(problem, click.ClickException):
        traceback.print_exception(problem)
    if isinstance(problem, click.ClickException):
        problem.show()
        return problem.exit_code
    if isinstance(problem, click.Abort):
        return exit_codes.INTERRUPTED
    for kind, code in _CODES:
        if isinstance(problem, kind):
            say(_sentence(problem))
            for line in getattr(problem, "stderr_tail", ()):
                say(line, indent="  | ")
            return code
    say(
        f"unexpected error ({single_line(repr(problem), 200)}); "
        "run acp-console --debug … to see where"
    )
    return exit_codes.FOUND


def say(text: str, *, indent: str = "acp-console: ") -> None:
    """Write to stderr, made safe to show.

    Further lines are indented, so that untrusted text cannot imitate a line of acp-console.
    """
    shown = escape_controls(text).replace("\n", "\n" + " " * len(indent))
    sys.stderr.write(f"{indent}{shown}\n")


class Sentences(logging.Handler):
    """Prints log messages without tracebacks."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def _sentence(problem: Exception) -> str:
    match problem:
        case (
            AgentExitedError(stderr_tail=tail, stray_output=noise)
            | OperationTimeoutError(stderr_tail=tail, stray_output=noise)
        ):
            quoted = single_line((noise or b"").decode(errors="replace"), 80)
            output = f"; it wrote invalid output to stdout: {quoted}" if noise else ""
            return f"{problem}{output}{'; the end of its stderr:' if tail else ''}"
        case RequestFailedError():
            return f"the agent refused: {problem}"
        case _:
            return str(problem)
