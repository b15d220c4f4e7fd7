"""What a tool call is about, taken apart into words that a rule can be held against.

Titles are for people, and decide nothing. A path is its parts below the session's directory, links
resolved; a command is its words as the system gets them, so no shell can hide a second command in
the first one.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final, Literal, TypeAlias

from acp_protocol.host.sanitize import single_line

SubjectType: TypeAlias = Literal["path", "command", "name"]

DISPLAY_WIDTH: Final = 120
"""Characters of a subject that are shown."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that a call touches; without words it is the kind of the call and no more."""

    area: SubjectType
    words: tuple[str, ...]
    directory: str = ""
    """The directory that a command runs in, written like a path; empty for the session's own."""

    def __str__(self) -> str:
        """Spell it out, on one line, with nothing in it that a screen obeys."""
        return single_line(self.full_text(), DISPLAY_WIDTH)

    def full_text(self) -> str:
        """Return it in whole, as it came."""
        if self.area == "path":
            return str(PurePath(*self.words))
        return shlex.join(self.words) if self.area == "command" else " ".join(self.words)


def path_subject(cwd: Path, path: str, *, is_last_followed: bool = True) -> Subject:
    """Return the file that the absolute `path` leads to; this looks at the disk.

    What lies outside of `cwd` keeps its absolute path. `is_last_followed` follows a symbolic link
    in the place of the file, too.
    """
    named = Path(path)
    try:
        if is_last_followed:
            real = Path(os.path.realpath(named))
        else:
            real = Path(os.path.realpath(named.parent)) / named.name
        home = Path(os.path.realpath(cwd))
    except (OSError, ValueError):
        # No file can have this name; reading or writing it fails later.
        return Subject("path", named.parts)
    return Subject(
        "path", real.relative_to(home).parts if real.is_relative_to(home) else real.parts
    )


def real_path(cwd: Path, subject: Subject) -> str:
    """Return the absolute path of a file, its links resolved."""
    return str(Path(os.path.realpath(cwd), *subject.words))


def command_subject(words: Sequence[str], place: str = "") -> Subject:
    """Return a program with its arguments, run in `place`."""
    return Subject("command", tuple(words), place)


def directory_label(cwd: Path, directory: Path) -> str:
    """Return `directory` as a session in `cwd` shows it: like a path, empty for `cwd`."""
    subject = path_subject(cwd, str(directory))
    return subject.full_text() if subject.words else ""


def name_subject(name: str) -> Subject:
    """Return what has a name: a tool of an MCP server, or a host on the network."""
    return Subject("name", (name,) if name else ())
