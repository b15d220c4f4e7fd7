"""The files of a project, to be mentioned in prompts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

MAX_FILES: Final = 50_000
GIT: Final = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
GIT_TIMEOUT_S: Final = 5.0
SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})
"""Directories that are not looked into where git does not say what belongs to the project."""


def project_files(folder: Path) -> list[str]:
    """Return the files below a directory that are not ignored, relative to it; takes time."""
    try:
        listed = subprocess.run(
            GIT, cwd=folder, capture_output=True, check=True, timeout=GIT_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return sorted(islice(_walk(folder), MAX_FILES))
    names = listed.stdout.decode(errors="surrogateescape").split("\0")
    return sorted(filter(None, names[:MAX_FILES]))


def _walk(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            each for each in folders if not each.startswith(".") and each not in SKIPPED
        )
        for name in files:
            yield str(Path(place, name).relative_to(folder))


def best_matches(names: Iterable[str], text: str, most: int) -> Sequence[str]:
    """Return the names that have the characters of `text` in this order, the best first."""
    wanted = text.casefold()
    found: list[tuple[int, int, str]] = []
    for name in names:
        folded = name.casefold()
        base = folded.rpartition("/")[2]
        if base.startswith(wanted):
            rank = 0
        elif wanted in base:
            rank = 1
        elif wanted in folded:
            rank = 2
        elif _has_in_order(folded, wanted):
            rank = 3
        else:
            continue
        found.append((rank, len(name), name))
    return [name for _, _, name in sorted(found)[:most]]


def _has_in_order(text: str, wanted: str) -> bool:
    at = -1
    for character in wanted:
        at = text.find(character, at + 1)
        if at < 0:
            return False
    return True
