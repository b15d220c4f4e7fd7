"""Why a command could not be started, in one sentence, with a hint.

The system reports a missing file for a script whose interpreter is missing too, and for a command
line in one word; it reports a missing permission for a directory.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from acp_protocol.errors import AgentStartError, describe_os_error
from acp_protocol.host.regular_files import open_regular
from acp_protocol.host.sanitize import single_line

FIRST_LINE_BYTES: Final = 256
"""The most of a file that the system reads for the name of its interpreter."""
_WIDTH: Final = 120
_PATH_HINT: Final = (
    "check its spelling and PATH, which is shorter in editors and desktops than in a shell; "
    "a whole path always works"
)


def agent_start_error(program: str, problem: OSError | ValueError) -> AgentStartError:
    """Return the error for a `program`, the first word of a command, that did not start."""
    reason, hint = _reason(program, problem)
    return AgentStartError(f"cannot start {program}: {reason}", hint=hint)


def check_program(program: str) -> None:
    """Check that a program, the first word of a command, is there to be started.

    Raises:
        AgentStartError: it is not, or may not be executed.
    """
    if shutil.which(program) is None:
        is_file = "/" in program and Path(program).exists()
        raise agent_start_error(program, PermissionError() if is_file else FileNotFoundError())


def _reason(program: str, problem: OSError | ValueError) -> tuple[str, str]:
    """Return what is wrong and what to do; the latter may be empty."""
    match problem:
        case FileNotFoundError():
            return _missing(program)
        case PermissionError():
            if Path(program).is_dir():
                return "it is a directory", "name the program in it"
            return "it may not be executed", "check its permissions, or name its interpreter first"
        case OSError(errno=errno.ENOEXEC):
            return _no_format(program)
        case OSError():
            return describe_os_error(problem), ""
        case _:
            return "it is not a valid command", ""


def _missing(program: str) -> tuple[str, str]:
    first = _first_line(program)
    if first is not None and first.startswith(b"#!"):
        interpreter = single_line(first[2:].strip().decode(errors="replace"), _WIDTH)
        if first.endswith(b"\r"):
            return (
                "its first line ends with a carriage return, as on Windows",
                "save the file with the line ends of Unix",
            )
        return (
            f"its interpreter does not exist: {interpreter}",
            "install that, or correct the first line of the file",
        )
    if first is not None:
        return (
            "it needs a loader that does not exist here",
            "it was made for another system; install it for this one",
        )
    word, _, rest = program.partition(" ")
    if rest and (shutil.which(word) or Path(word).is_file()):
        return "there is no such command", f"{word} and its arguments are words of their own"
    return "there is no such command", "check its path" if "/" in program else _PATH_HINT


def _no_format(program: str) -> tuple[str, str]:
    first = _first_line(program)
    if first == b"":
        return "the file is empty", "install it again"
    if first is not None and first.startswith(b"MZ"):
        return "it is a program for Windows", "install it for this system"
    return (
        "it is not a program for this system, and its first line names no interpreter",
        "begin a script with a line such as #!/bin/sh",
    )


def _first_line(program: str) -> bytes | None:
    """Return the beginning of the file that a program is; None if there is none."""
    found = program if "/" in program else shutil.which(program)
    if found is None:
        return None
    with suppress(OSError), open_regular(Path(os.fspath(found)), is_followed=True) as file:
        return file.read(FIRST_LINE_BYTES).partition(b"\n")[0]
    return None
