"""The words of a command that was typed in one directory and starts in another."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def resolved_command(command: Sequence[str] | str, folder: Path) -> tuple[str, ...]:
    """Return a command whose words name files of `folder` by absolute paths.

    Agents start in the working directory of a session, or in a temporary one. Words that name no
    file stay as they are, as do options; of `--option=FILE` the file is resolved.
    """
    words = shlex.split(command) if isinstance(command, str) else command
    if not words:
        return ()
    program, *arguments = words
    # A program without a slash is looked for in PATH.
    program = str(folder / program) if "/" in program else program
    return (program, *(_resolved(word, folder) for word in arguments))


def _resolved(word: str, folder: Path) -> str:
    option, equals, value = word.partition("=")
    if option.startswith("-") and equals:
        return f"{option}={_resolved(value, folder)}"
    try:
        is_file = bool(word) and (folder / word).is_file()
    except (OSError, ValueError):
        # Too long for a name, or with a NUL.
        is_file = False
    return str(folder / word) if is_file else word
