"""The files below a place, in the order of their paths; what is hidden is passed over.

A link is listed as itself and not followed, and neither is one that takes a directory's place while
we look: each is opened from the one above it. For use in a thread: between two directories somebody
looks whether it is still wanted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import anyio.from_thread

from acp_agent.workspace import Workspace

FILE_LIMIT: Final = 10_000
"""Files that are looked at."""
DEPTH_LIMIT: Final = 100
"""Directories in one another that are looked into: each of them is held open meanwhile."""
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def files_below(workspace: Workspace, place: Path) -> Iterator[Path]:
    """Yield the files below the directory `place`.

    Raises:
        FileRefusedError: `place` lies outside of the session's directories, or is no directory.
    """
    with workspace.opened(place) as directory:
        yield from _below(directory, place, DEPTH_LIMIT)


def _below(directory: int, place: Path, depth: int) -> Iterator[Path]:
    """Yield the files in the directory that is open as `directory`, and those below it."""
    for name, is_directory in _entries(directory):
        if not is_directory:
            yield place / name
            continue
        if depth == 0:
            continue
        try:
            inner = os.open(name, _OPEN, dir_fd=directory)
        except OSError:
            continue
        with ExitStack() as stack:
            stack.callback(os.close, inner)
            yield from _below(inner, place / name, depth - 1)


def _entries(directory: int) -> list[tuple[str, bool]]:
    """Return what is seen in a directory, by name, and whether it is a directory.

    Nothing of one that cannot be read.
    """
    anyio.from_thread.check_cancelled()
    try:
        with os.scandir(directory) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if not entry.name.startswith(".")
            )
    except OSError:
        return []
