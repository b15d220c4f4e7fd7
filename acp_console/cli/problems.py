"""Errors as sentences: what was tried, on what, and what to do next; never a traceback."""

from __future__ import annotations

import logging
import sys
from typing import Final

import click

from acp_console.cli import exits
from acp_console.client.agents import UnknownAgentError
from acp_inspector.recording.format import RecordingError
from acp_protocol.errors import (
    AgentExitedError,
    AgentStartError,
    ProtocolError,
    RequestFailedError,
    TimeLimitError,
    TransportError,
)
from acp_protocol.host.text import one_line, visible
from acp_protocol.jsonrpc import AUTH_REQUIRED

logger = logging.getLogger(__name__)

_CODES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (RecordingError, exits.USAGE),
    (UnknownAgentError, exits.USAGE),
    (AgentStartError, exits.AGENT),
    (AgentExitedError, exits.AGENT),
    (TimeLimitError, exits.TIME_LIMIT),
    (ProtocolError, exits.PEER),
    (RequestFailedError, exits.PEER),
    (TransportError, exits.AGENT),
)


def report(problem: Exception) -> int:
    """Say what went wrong on stderr, and return the exit code for it."""
    if isinstance(problem, click.exceptions.Exit):
        return problem.exit_code
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
    logger.debug("not foreseen", exc_info=problem)
    say(f"something went wrong that was not foreseen: {problem!r}; run again with --debug first")
    return exits.FOUND


def say(text: str, *, indent: str = "acp-console: ") -> None:
    """Write a line to stderr, made safe to show."""
    sys.stderr.write(f"{indent}{visible(text)}\n")


def _sentence(problem: Exception) -> str:
    match problem:
        case AgentExitedError(stderr_tail=tail, noise=noise):
            said = one_line((noise or b"").decode(errors="replace"), 80)
            heard = f"; on stdout it said what is no message of ACP: {said}" if noise else ""
            return f"{problem}{heard}; its last words:" if tail else f"{problem}{heard}"
        case TimeLimitError(stderr_tail=tail):
            return f"{problem}{'; the agent said last:' if tail else ''}"
        case RequestFailedError(code=code) if code == AUTH_REQUIRED:
            return f"the agent wants to know who you are first: {problem.message}"
        case RequestFailedError():
            return f"the agent refused: {problem}"
        case _:
            return str(problem)
