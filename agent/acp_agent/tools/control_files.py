"""Files that make harmless commands run programs: `git status` runs what `.git/config` names.

A user who has allowed all edits and `git status` for good has not allowed any program. So changes
of these files are asked about each time. Files of programs that only do what their files say, such
as `Makefile`, are not among them: a user who allows `make test` means whatever they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from acp_protocol.call_rules.subjects import Subject, real_path

_NAMES: Final = {
    ".git": "git",
    ".gitconfig": "git",
    # Git takes a directory with this file for a repository, whatever its name.
    "head": "git",
    # The one hook that runs when git looks; `core.hooksPath` may have it anywhere.
    "post-index-change": "git",
    ".ripgreprc": "rg",
}
_USER_CONFIG: Final = (("git", "config"), (".config", "git"))
"""How the path of a user's own configuration ends, or of the directory with it."""


def controlled_program(cwd: Path, subjects: Sequence[Subject]) -> str | None:
    """Return the program that one of the files `subjects` controls; None if none does.

    Upper and lower case count as equal, as on some disks.
    """
    for subject in subjects:
        parts = [part.casefold() for part in Path(real_path(cwd, subject)).parts]
        if ".git" in parts or tuple(parts[-2:]) in _USER_CONFIG:
            return "git"
        if parts and parts[-1] in _NAMES:
            return _NAMES[parts[-1]]
    return None


def add_warning(title: str, program: str | None) -> str:
    """Return the title of a call that changes what controls `program`."""
    return title if program is None else f"{title} ({program} may run what it says)"
