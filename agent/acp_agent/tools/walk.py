"""The files below a place, in the order of their paths; what is hidden is passed over.

A link is listed as itself and not followed. For use in a thread: between two directories somebody
looks whether it is still wanted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio.from_thread

FILE_LIMIT: Final = 10_000
"""Files that are looked at."""


def files_below(place: Path) -> Iterator[Path]:
    """Yield the files; `place` itself if it is one."""
    if not place.is_dir():
        yield place
        return
    waiting = [iter(_entries(place))]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif entry.is_dir(follow_symlinks=False):
            waiting.append(iter(_entries(Path(entry.path))))
        else:
            yield Path(entry.path)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    """Return what is seen in a directory, by name; nothing of one that cannot be read."""
    anyio.from_thread.check_cancelled()
    try:
        with os.scandir(directory) as entries:
            seen = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return []
    return sorted(seen, key=lambda entry: entry.name)
