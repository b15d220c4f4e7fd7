"""What commands print on stderr: errors with hints, warnings and notes; no tracebacks."""

from __future__ import annotations

import errno
import logging
import sys
import traceback
from pathlib import Path
from typing import Final

import click

from acp_console.agents.spec import SignInRequiredError, UnknownAgentError
from acp_console.cli import exit_codes
from acp_console.wording.values import stray_line_text
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
from acp_protocol.host.did_you_mean import nearest
from acp_protocol.host.sanitize import error_text, labelled, single_line

_CODES: Final[tuple[tuple[type[AcpError], int], ...]] = (
    (RecordingError, exit_codes.USAGE),
    (UnknownAgentError, exit_codes.USAGE),
    (AgentStartError, exit_codes.AGENT),
    (AgentExitedError, exit_codes.AGENT),
    (OperationTimeoutError, exit_codes.TIME_LIMIT),
    (SignInRequiredError, exit_codes.PEER),
    (ProtocolError, exit_codes.PEER),
    (RequestFailedError, exit_codes.PEER),
    (TransportError, exit_codes.AGENT),
)
"""The exit code for each error, subclasses before base classes; that of others is `USAGE`."""

FULL_HINT: Final = "make room on the disk, or send the output elsewhere"
_SIMILAR: Final = 0.75
"""How similar an option is to the one that was probably meant; 1 is the same."""


class UsageError(click.UsageError):
    """A command is used wrongly; the hint says what to do instead."""

    def __init__(self, message: str, hint: str = "", ctx: click.Context | None = None) -> None:
        super().__init__(message, ctx)
        self.hint = hint


def report(problem: Exception, *, is_debug: bool = False) -> int:
    """Print the error to stderr; return its exit code."""
    if is_debug and not isinstance(problem, click.ClickException):
        traceback.print_exception(problem)
    match problem:
        case click.ClickException():
            fail(*_usage(problem))
            return problem.exit_code
        case click.Abort():
            return exit_codes.INTERRUPTED
        case AcpError():
            fail(_sentence(problem))
            for line in getattr(problem, "stderr_tail", ()):
                sys.stderr.write(f"  | {single_line(line, len(line))}\n")
            if problem.hint:
                say(problem.hint, "hint")
            return exit_code(problem)
        case FileNotFoundError() if not _is_somewhere():
            fail("the current directory does not exist any more", "change to another one")
            return exit_codes.USAGE
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            fail(f"writing failed: {problem.strerror}", FULL_HINT)
            return exit_codes.USAGE
        case _:
            where = "run acp-console --debug … to see where"
            fail(f"unexpected error ({single_line(repr(problem), 200)})", where)
            return exit_codes.FOUND


def _is_somewhere() -> bool:
    """Return whether this process has a directory: others may have removed it."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def exit_code(problem: AcpError) -> int:
    codes = (code for kind, code in _CODES if isinstance(problem, kind))
    return next(codes, exit_codes.USAGE)


def fail(text: str, hint: str = "") -> None:
    """Print what failed and what to do about it."""
    sys.stderr.write(error_text(text, hint))


def warn(text: str) -> None:
    """Print what may not be as the user expects."""
    sys.stderr.write(labelled("warning", text))


def say(text: str, label: str = "note") -> None:
    """Print what is good to know."""
    sys.stderr.write(labelled(label, text))


class Sentences(logging.Handler):
    """Prints log messages without tracebacks."""

    def emit(self, record: logging.LogRecord) -> None:
        label = "error" if record.levelno >= logging.ERROR else "warning"
        sys.stderr.write(labelled(label, record.getMessage()))


def _usage(problem: click.ClickException) -> tuple[str, str]:
    """Return what is wrong in a command line, and what to do."""
    ctx = problem.ctx if isinstance(problem, click.UsageError) else None
    hint = f"{ctx.command_path} --help shows how to use it" if ctx is not None else ""
    match problem:
        case UsageError(message=text):
            # It says by itself how the command is used.
            hint = problem.hint
        case click.NoSuchOption(option_name=name):
            text = f"unknown option {name}"
            if elsewhere := getattr(ctx and ctx.command, "hints", {}).get(name):
                hint = elsewhere
            elif near := nearest(name, problem.possibilities or (), _SIMILAR):
                hint = f"did you mean {near}?"
        case click.BadParameter(param=click.Parameter() as param):
            is_option = isinstance(param, click.Option)
            name = param.opts[-1] if is_option else param.human_readable_name.removesuffix("...")
            is_missing = isinstance(problem, click.MissingParameter)
            text = f"missing {name}" if is_missing else f"{name}: {problem.message}"
            if is_missing and ctx is not None:
                used = " ".join(ctx.command.collect_usage_pieces(ctx))
                hint = f"usage: {ctx.command_path} {used}; --help explains it"
        case _:
            text = problem.format_message()
    return text.removesuffix("."), hint


def _sentence(problem: AcpError) -> str:
    match problem:
        case (
            AgentExitedError(stderr_tail=tail, stray_output=noise)
            | OperationTimeoutError(stderr_tail=tail, stray_output=noise)
        ):
            quoted = stray_line_text(noise or b"")
            output = f"; it wrote invalid output to stdout: {quoted}" if noise else ""
            return f"{problem.summary}{output}{'; the end of its stderr:' if tail else ''}"
        case RequestFailedError():
            return f"the agent refused: {problem.summary}"
        case _:
            return problem.summary
