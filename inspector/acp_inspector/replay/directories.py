"""Which directory each recorded one is when a recording is played.

The working directories and additional directories of a recording are places on somebody's machine.
Each gets a place of its own below directories that the user has named or that are new, and all keep
their relation: what was below a directory is below its place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

from acp_inspector.compare.likeness import DIRECTORY_NAMES
from acp_inspector.journal import Frame
from acp_inspector.recording.format import RecordingError
from acp_protocol.host.sanitize import single_line

_MAX_NAME: Final = 200
"""Characters of the name of a directory; systems allow at least 255 bytes."""
_WIDTH: Final = 200
"""Characters of a recorded directory that an error shows."""


@dataclass(frozen=True, slots=True)
class ReplayDirectories:
    """Where a recording is played."""

    cwd: Path
    """The place of the first session's directory; the agent starts in it."""
    places: Mapping[str, Path]
    """The place of each recorded directory, as the recording spells it."""

    def without_place(self, frames: Iterable[Frame]) -> list[str]:
        """Return the recorded directories of which an agent would get the name itself."""
        return [each for each in named_directories(frames) if each.rstrip("/") not in self.places]

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


def replay_directories(
    frames: Iterable[Frame], cwd: Path | None, new: Path, *, recorded_cwd: str
) -> ReplayDirectories:
    """Return the place of each recorded directory.

    Where the client names none, as in some dialects, that is `recorded_cwd`, in which the agent
    was started.

    The first session's directory, or the recorded one that is above it, is `cwd`; what is not below
    it has places below `new`, as everything has without `cwd`. Both are without links.
    """
    named = named_directories(frames) or [recorded_cwd]
    normal = {each: os.path.normpath(each) for each in named if is_placed(each)}
    paths = [PurePosixPath(each) for each in dict.fromkeys(normal.values())]
    tops = [each for each in paths if not any(above in paths for above in each.parents)]
    homes: dict[PurePosixPath, Path] = {}
    if cwd is not None:
        first = next((each for each in tops if paths[0].is_relative_to(each)), None)
        homes |= {} if first is None else {first: cwd}
    rest = [each for each in tops if each not in homes]
    if rest:
        common = os.path.commonpath(rest)
        base = _of_length(new, len(common))
        homes |= {each: base / each.relative_to(common) for each in rest}

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


def unnamed_place(frames: Iterable[Frame], recorded_cwd: str, cwd: Path) -> dict[str, str]:
    """Return the place of the directory in which an agent works whose client names none.

    That is `recorded_cwd`, in which the recorded agent was started; the live one works in `cwd`.
    """
    has_none = is_placed(recorded_cwd) and not named_directories(frames)
    return {recorded_cwd.rstrip("/"): str(cwd)} if has_none else {}


def _of_length(directory: Path, length: int) -> Path:
    """Return a directory below `directory` whose path has `length` characters, if possible.

    Agents cut texts that have paths, such as titles, by their length.
    """
    missing = length - len(str(directory)) - 1
    return directory / ("_" * missing) if 0 < missing <= _MAX_NAME else directory


def named_directories(frames: Iterable[Frame]) -> list[str]:
    """Return the directories of all sessions, each once, those of new sessions first."""
    opened: dict[str, None] = {}
    others: dict[str, None] = {}
    for frame in frames:
        if frame.side == "client":
            for message in lenient_messages(frame.data):
                found = opened if ("method", "session/new") in message.pairs else others
                found |= dict.fromkeys(_directories(message))
    return list(opened | others)


def _directories(message: Members) -> Iterator[str]:
    for name, value in all_members(message):
        if name in DIRECTORY_NAMES:
            yield from (each for each in listed(value) if isinstance(each, str))


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a JSON object, repeated names included."""

    pairs: list[tuple[str, Any]]


def lenient_messages(line: bytes) -> list[Members]:
    """Return the objects of a line as the most tolerant agent may read them, also in a batch.

    Nothing here looks at methods, ids or versions: an agent may not do so either.
    """
    try:
        value = json.loads(line, object_pairs_hook=Members)
    except (ValueError, RecursionError):
        return []
    return [each for each in listed(value) if isinstance(each, Members)]


def listed(value: Any) -> list[Any]:
    """Return the items of a list, and anything else as the only one."""
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def read_members(line: bytes) -> Any:
    """Return the value of a line, with every member of its objects, also those with one name.

    Raises:
        ValueError: it is no JSON in UTF-8.
        RecursionError: it is nested too deeply.
    """
    return json.loads(line.decode("utf-8-sig"), object_pairs_hook=Members)


def all_members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every member of a value, at any depth."""
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, Members):
            yield from each.pairs
            stack += [inner for _, inner in each.pairs]
        elif isinstance(each, list):
            stack += cast("list[Any]", each)


def is_placed(directory: str) -> bool:
    """Return whether a recorded directory can have a place: not the root nor a relative one."""
    is_absolute = directory.startswith("/") and not directory.startswith("//")
    return is_absolute and os.path.normpath(directory).strip("/") != ""
