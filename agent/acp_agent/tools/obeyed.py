"""Files that programs obey which are taken for harmless: `git status` runs what `.git/config` says.

Who has allowed all edits and `git status` for good has not allowed any program. So these files are
asked about each time. Files of programs that only do what their files say (`Makefile`) are not
among them: who allows `make test` means whatever stands in it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from acp_agent.tools.subject import Subject, real_path

LOOK_LIMIT: Final = 100_000
"""Entries of a directory that are looked at before it is moved."""
_GIT: Final = "git"
_REPOSITORY: Final = ".git"
"""A repository's own directory, or the file that names it."""
_HEAD: Final = "HEAD"
"""What makes git take a directory for a repository, whatever its name, if there is some more."""
_IN_REPOSITORY: Final = frozenset(
    {"commondir", "config", "config.worktree", "gitdir", "hooks", "modules", "worktrees"}
)
"""What git obeys in such a directory; beside it may stand files of anybody."""
_NAMES: Final = {
    ".gitconfig": _GIT,
    _HEAD.casefold(): _GIT,
    # The one hook that is run by looking; `core.hooksPath` may have it lie anywhere.
    "post-index-change": _GIT,
    ".ripgreprc": "rg",
}
_OWN: Final = ("git", "config")
"""The end of the path of a user's own configuration, below `.config`."""


def obeying(cwd: Path, subjects: Sequence[Subject]) -> str | None:
    """Return the program that obeys one of the files `subjects`, None if none does.

    Capital letters count as small ones, as some disks take them. This looks at the disk.
    """
    return next(filter(None, (_obeying(cwd, each.words) for each in subjects)), None)


def obeying_below(cwd: Path, start: Subject, goal: Subject) -> str | None:
    """Return the program that obeys something in the directory `start`, there or moved to `goal`.

    This looks at the disk. A directory with more than `LOOK_LIMIT` entries counts as obeyed by git.
    """
    top, count = real_path(cwd, start), 0
    for folder, folders, files in os.walk(top):
        below = Path(folder).relative_to(top).parts
        for name in (*folders, *files):
            ends = [Subject("path", (*end.words, *below, name)) for end in (start, goal)]
            if (program := obeying(cwd, ends)) is not None:
                return program
        count += len(folders) + len(files)
        if count > LOOK_LIMIT:
            return _GIT
    return None


def cautious(title: str, program: str | None) -> str:
    """Return the title of a call that changes what `program` obeys."""
    return title if program is None else f"{title} ({program} may run what it says)"


def _obeying(cwd: Path, words: tuple[str, ...]) -> str | None:
    folded = tuple(word.casefold() for word in words)
    is_own = _REPOSITORY in folded or folded[-2:] == _OWN
    if is_own or _is_in_repository(cwd, words, folded):
        return _GIT
    return _NAMES.get(folded[-1]) if folded else None


def _is_in_repository(cwd: Path, words: tuple[str, ...], folded: tuple[str, ...]) -> bool:
    return any(
        word in _IN_REPOSITORY and os.path.lexists(cwd.joinpath(*words[:depth], _HEAD))
        for depth, word in enumerate(folded)
    )
