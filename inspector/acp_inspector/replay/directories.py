"""Which directory each recorded one is when a recording is played.

The working directories and additional directories of a recording are places on somebody's machine.
Each gets a place of its own below directories that the user has named or that are new, and all keep
their relation: what was below a directory is below its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from acp_inspector.journal import Frame
from acp_inspector.recording.format import RecordingError
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get, get_list
from acp_protocol.jsonrpc import Json, Request, read_message

_WIDTH: Final = 200
"""Characters of a recorded directory that an error shows."""


@dataclass(frozen=True, slots=True)
class ReplayDirectories:
    """Where a recording is played."""

    cwd: Path
    """The place of the first session's directory; the agent starts in it."""
    places: Mapping[str, Path]
    """The place of each recorded directory, as the recording spells it."""

    def create(self) -> None:
        """Create the places that are not there.

        Raises:
            RecordingError: one cannot be created, or a link leads out of where it should be.
        """
        for recorded, place in self.places.items():
            shown = single_line(recorded, _WIDTH)
            try:
                if place.resolve() != place:
                    raise RecordingError(
                        f"the recorded directory {shown} would be {place}, but a link leads from "
                        "there elsewhere"
                    )
                place.mkdir(parents=True, exist_ok=True)
            except (OSError, ValueError, RuntimeError) as problem:
                reason = problem.strerror if isinstance(problem, OSError) else "invalid name"
                raise RecordingError(
                    f"no directory can be created for the recorded {shown}: {reason}"
                ) from None


def replay_directories(frames: Iterable[Frame], cwd: Path | None, new: Path) -> ReplayDirectories:
    """Return the place of each recorded directory.

    The first session's directory, or the recorded one that is above it, is `cwd`; what is not below
    it has places below `new`, as everything has without `cwd`. Both are without links.
    """
    normal = {
        each: os.path.normpath(each) for each in named_directories(frames) if _is_placed(each)
    }
    paths = [PurePosixPath(each) for each in dict.fromkeys(normal.values())]
    tops = [each for each in paths if not any(above in paths for above in each.parents)]
    homes: dict[PurePosixPath, Path] = {}
    if cwd is not None:
        first = next((each for each in tops if paths[0].is_relative_to(each)), None)
        homes |= {} if first is None else {first: cwd}
    rest = [each for each in tops if each not in homes]
    if len(rest) == 1:
        homes[rest[0]] = new
    elif rest:
        common = os.path.commonpath(rest)
        homes |= {each: new / each.relative_to(common) for each in rest}

    def place(path: PurePosixPath) -> Path:
        top = next(each for each in tops if path.is_relative_to(each))
        return homes[top] / path.relative_to(top)

    # Texts may spell them as the client did, or in the usual way.
    places = {
        spelling: place(PurePosixPath(path))
        for each, path in normal.items()
        for spelling in (each.rstrip("/"), path)
    }
    start = place(paths[0]) if paths else new if cwd is None else cwd
    return ReplayDirectories(start, places)


def unplaced_directories(frames: Iterable[Frame]) -> Sequence[str]:
    """Return the recorded directories that can have no place: the root and relative ones."""
    return [each for each in named_directories(frames) if not _is_placed(each)]


def named_directories(frames: Iterable[Frame]) -> list[str]:
    """Return the directories of all sessions, each once, those of new sessions first."""
    opened: dict[str, None] = {}
    others: dict[str, None] = {}
    for frame in frames:
        if frame.side != "client":
            continue
        match read_message(frame.data):
            case Request(method=method, params=params) if method.startswith("session/"):
                found = opened if method == "session/new" else others
                found |= dict.fromkeys(_directories(params))
            case _:
                pass
    return list(opened | others)


def _directories(params: Json) -> Iterator[str]:
    for value in (get(params, "cwd"), *get_list(params, "additionalDirectories")):
        if isinstance(value, str):
            yield value


def _is_placed(directory: str) -> bool:
    return directory.startswith("/") and os.path.normpath(directory).strip("/") != ""
