"""Finds recordings by what a person writes: files, folders and patterns."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from acp_inspector.recording.format import SUFFIX, RecordingError

SUFFIXES: Final = (SUFFIX, f"{SUFFIX}.gz", f"{SUFFIX}.zst")
"""The names of recordings in folders, compressed ones too."""
_MAGIC: Final = frozenset("*?[")


class FoundFile(NamedTuple):
    """A file, and its name within the folder in which it was found."""

    path: Path
    name: Path


def find_recordings(paths: Iterable[Path]) -> list[Path]:
    """Return the files among `paths`, and the recordings in folders and below, each once.

    A path that does not exist may be a pattern with `*`, `?`, `[…]` and `**`. What is hidden is
    found only by its name.

    Raises:
        RecordingError: there is no such file or folder, or no recording in one.
    """
    return [each.path for each in find_files(paths)]


def find_files(paths: Iterable[Path], suffixes: tuple[str, ...] = SUFFIXES) -> list[FoundFile]:
    """Return what `find_recordings` does, with names; in folders, files with other suffixes.

    Raises:
        RecordingError: there is no such file or folder, or nothing in one.
    """
    found: dict[Path, FoundFile] = {}
    for path in paths:
        for each in _found_by(path, suffixes):
            found.setdefault(each.path, each)
    return list(found.values())


def _found_by(path: Path, suffixes: tuple[str, ...]) -> list[FoundFile]:
    if not path.is_dir():
        if os.path.lexists(path):
            return [FoundFile(path, Path(path.name))]
        return _matching(path, suffixes)
    found = _below(path, suffixes)
    if not found:
        names = f" named {' or '.join(f'*{each}' for each in suffixes)}" if any(suffixes) else ""
        raise RecordingError(f"no file{names} is in {path} or in folders below it")
    return found


def _below(folder: Path, suffixes: tuple[str, ...]) -> list[FoundFile]:
    named = (FoundFile(path, path.relative_to(folder)) for path in sorted(folder.rglob("*")))
    return [
        each
        for each in named
        if each.path.name.endswith(suffixes)
        and not any(part.startswith(".") for part in each.name.parts)
        # A pipe with the name of a recording is reported by who reads it.
        and (not each.path.is_dir() if any(suffixes) else each.path.is_file())
    ]


def _matching(pattern: Path, suffixes: tuple[str, ...]) -> list[FoundFile]:
    """Return the files that a pattern matches, and those below folders that it matches.

    Raises:
        RecordingError: there is none, or it is no pattern.
    """
    if not _MAGIC.intersection(str(pattern)):
        raise RecordingError(f"cannot read {pattern}: no such file or directory")
    root = Path(pattern.anchor)
    found: list[FoundFile] = []
    try:
        paths = sorted(root.glob(str(pattern.relative_to(root))))
    except ValueError as problem:
        raise RecordingError(f"cannot read {pattern}: {problem}") from None
    for path in paths:
        if any(part.startswith(".") and part not in pattern.parts for part in path.parts):
            continue
        found += _below(path, suffixes) if path.is_dir() else [FoundFile(path, Path(path.name))]
    if not found:
        raise RecordingError(f"no file matches {pattern}")
    return found
