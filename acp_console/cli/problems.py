"""Errors as sentences: what was tried, on what, and what to do next; never a traceback."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Final

import click

from acp_console.cli import exits
from acp_console.client.agents import UnknownAgentError
from acp_console.client.errors import SignInRequiredError
from acp_inspector.recording.format import RecordingError
from acp_protocol.errors import (
    AcpError,
    AgentExitedError,
    AgentStartError,
    ProtocolError,
    RequestFailedError,
    TimeLimitError,
    TransportError,
)
from acp_protocol.host.text import one_line, visible

_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (RecordingError, exits.USAGE),
    (UnknownAgentError, exits.USAGE),
    (AgentStartError, exits.AGENT),
    (AgentExitedError, exits.AGENT),
    (TimeLimitError, exits.TIME_LIMIT),
    (SignInRequiredError, exits.PEER),
    (ProtocolError, exits.PEER),
    (RequestFailedError, exits.PEER),
    (TransportError, exits.AGENT),
    (AcpError, exits.USAGE),
)
"""What each error is to the caller, the special ones before the general."""


def report(problem: Exception, *, is_debug: bool = False) -> int:
    """Say what went wrong on stderr, and return the exit code for it."""
    if is_debug and not isinstance(problem, click.ClickException):
        traceback.print_exception(problem)
    if isinstance(problem, click.ClickException):
        problem.show()
        return problem.exit_code
    if isinstance(problem, click.Abort):
        return exits.INTERRUPTED
    for kind, code in _CODES:
        if isinstance(problem, kind):
            say(_sentence(problem))
            for line in getattr(problem, "stderr_tail", ()):
                say(line, indent="  | ")
            return code
    say(
        f"something went wrong that was not foreseen ({one_line(repr(problem), 200)}); "
        "acp-console --debug … shows where"
    )
    return exits.FOUND


def say(text: str, *, indent: str = "acp-console: ") -> None:
    """Write to stderr, made safe to show.

    Further lines stand further in, so that no text from the wire can pass for a line of ours.
    """
    shown = visible(text).replace("\n", "\n" + " " * len(indent))
    sys.stderr.write(f"{indent}{shown}\n")


class Sentences(logging.Handler):
    """Says what is logged, without its traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say the message of a record."""
        say(record.getMessage())


def _sentence(problem: Exception) -> str:
    match problem:
        case (
            AgentExitedError(stderr_tail=tail, noise=noise)
            | TimeLimitError(stderr_tail=tail, noise=noise)
        ):
            said = one_line((noise or b"").decode(errors="replace"), 80)
            heard = f"; on stdout it said what is no message of ACP: {said}" if noise else ""
            return f"{problem}{heard}{'; its last words on stderr:' if tail else ''}"
        case RequestFailedError():
            return f"the agent refused: {problem}"
        case _:
            return str(problem)
