"""What an agent wants to run, and what is started for it.

A program with arguments is started as it is. Some agents send a whole line instead, and no
arguments: what names no program and has white space in it is read by `/bin/sh`. That opens no door,
because an agent may start a shell itself.

Nothing here is a fence: a command does what its user may do. The directory that it starts in is
confined so that a mistake is found.

Source: ACP, Terminals, "Executing Commands".
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from acp_protocol.errors import AcpError
from acp_protocol.host.files import FileRefusedError, Roots

_SHELL: Final = "/bin/sh"


class CommandRefusedError(AcpError):
    """A command is not run, and the message says why."""


@dataclass(frozen=True, slots=True)
class Command:
    """What an agent wants to run."""

    program: str
    """A program; without `args` it may be a line for the shell."""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Names and values that are put over our own environment; of two of a name the last counts."""
    cwd: str | None = None
    """An absolute path inside the roots; None for the session's own directory."""
    output_limit: int | None = None
    """Bytes of output to keep; None for as much as a terminal keeps at most."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a command comes to on this machine."""

    words: tuple[str, ...]
    """The program and its arguments."""
    cwd: Path
    env: Mapping[str, str]
    """The whole environment."""


def prepare(command: Command, cwd: Path, roots: Roots) -> Start:
    """Return what is to be started for `command`; this looks at the disk.

    `cwd` is the session's directory, `roots` are those that a command may start in.

    Raises:
        CommandRefusedError: it names no program, a directory outside, or variables that cannot be.
    """
    place = cwd if command.cwd is None else _place(command.cwd, roots)
    env = _environment(command.env)
    return Start(_words(command, place, env), place, env)


def _place(path: str, roots: Roots) -> Path:
    try:
        return roots.directory(path)
    except FileRefusedError as problem:
        raise CommandRefusedError(f"cannot start in {problem}") from None


def _environment(added: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return our own environment with `added` over it."""
    for name, value in added:
        if not name or "=" in name or "\0" in name + value:
            raise CommandRefusedError(f"{name!r} is no environment variable with a value")
        try:
            os.fsencode(name + value)
        except UnicodeEncodeError:
            raise CommandRefusedError(f"{name!r} has no form in an environment") from None
    return {**os.environ, **dict(added)}


def _words(command: Command, cwd: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the program to start and its arguments."""
    program = command.program
    if not program.strip():
        raise CommandRefusedError("no command was given to start")
    is_line = not command.args and len(program.split()) > 1
    if is_line and not _is_program(program, cwd, env):
        return _SHELL, "-c", program
    return program, *command.args


def _is_program(name: str, cwd: Path, env: Mapping[str, str]) -> bool:
    path = str(cwd / name) if os.sep in name else name
    try:
        return shutil.which(path, path=env.get("PATH")) is not None
    except ValueError:
        return False
