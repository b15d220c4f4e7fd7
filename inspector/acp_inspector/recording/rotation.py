"""A recording in several files, none of which grows or ages without end.

Each file is a whole recording: a header that names its part and the file before it, and a footer
with a digest. Numbers and times go on. When the next file cannot be opened, the old one is
continued, and one warning says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

from acp_inspector.journal import Entry
from acp_inspector.recording.encoder import EntryBatch
from acp_inspector.recording.format import SUFFIX, Header, RecordingError
from acp_inspector.recording.reader import read_header
from acp_inspector.recording.writer import RecordingWriter, WriteMode
from acp_protocol.jsonrpc import Json


def part_paths(path: Path) -> list[Path]:
    """Return the files of the recording whose first is `path`, in order, as far as they are there.

    What bears the name of a part but belongs to another recording ends them.

    Raises:
        RecordingError: the first file is there, but it cannot be read or is no recording.
    """
    if not _may_be_read(path):
        return []
    series = series_of(path, read_header(path))
    paths = [path]
    for number in count(2):
        part = part_path(path, number)
        if not _may_be_read(part):
            break
        try:
            header = read_header(part)
        except RecordingError:
            break
        if header.meta.get("series") != series or header.meta.get("part") != number:
            break
        paths.append(part)
    return paths


def _may_be_read(path: Path) -> bool:
    """Tell whether there is anything that nobody would have to wait for, as for a pipe."""
    return path.exists() and not (path.is_fifo() or path.is_char_device())


def series_of(path: Path, header: Header) -> str:
    """Return what all parts of the recording whose first file is `path` say alike."""
    series = header.meta.get("series")
    return series if isinstance(series, str) else f"{path.name} of {header.created}"


MAX_AGENT_NAME: Final = 64
"""Characters of an agent's name that go into a file's name."""
STRFTIME_DIRECTIVES: Final = "aAbBdfFGHIjmMpSTuUVwWyYzZ"
"""What may stand behind `%`: the directives of strftime whose text has no slash in it."""

_FOREIGN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_PLACE: Final = re.compile(r"%%|\{\{|\}\}|%(?P<date>.?)|\{(?P<name>[^{}]*)\}|[{}]", re.DOTALL)


def expand_template(pattern: str, *, agent: str, pid: int, at: datetime) -> Path:
    """Return the path that `pattern` spells.

    `%Y`, `%m` and the like stand for the date `at`, `{agent}` for the last part of the agent's
    name as far as files may bear it, `{pid}` for the process. `%%`, `{{` and `}}` stand for one.

    Raises:
        RecordingError: the pattern holds something else behind `%` or between braces, or is empty.

    Source: docs/recording-format.md.
    """
    names = {"agent": _file_name(agent), "pid": str(pid)}

    def fill(place: re.Match[str]) -> str:
        date, name = place["date"], place["name"]
        if date is not None:
            if not date or date not in STRFTIME_DIRECTIVES:
                raise _broken(pattern, f"%{date} is no part of a date")
            return at.strftime(f"%{date}")
        if name is not None:
            if name not in names:
                raise _broken(pattern, f"{{{name}}} is neither {{agent}} nor {{pid}}")
            return names[name]
        if len(place[0]) == 1:
            raise _broken(pattern, f"a {place[0]} stands alone")
        return place[0][0]

    path = _PLACE.sub(fill, pattern)
    if not path or "\0" in path:
        raise _broken(pattern, "it spells no name")
    return Path(path)


def part_path(path: Path, number: int) -> Path:
    """Return where part `number` of the recording at `path` is; the first is `path` itself."""
    if number == 1:
        return path
    suffix = SUFFIX if path.name.endswith(SUFFIX) else path.suffix
    stem = path.name[: len(path.name) - len(suffix)]
    return path.with_name(f"{stem}.{number}{suffix}")


def _file_name(agent: str) -> str:
    last = agent.rstrip("/").rpartition("/")[2]
    return _FOREIGN.sub("-", last)[:MAX_AGENT_NAME].strip("-.") or "agent"


def _broken(pattern: str, reason: str) -> RecordingError:
    return RecordingError(f"cannot name a recording by {pattern!r}: {reason}")


@dataclass(frozen=True, slots=True)
class RotationLimits:
    """When the next file is begun."""

    size: int | None = None
    """Bytes; a file that has reached them gets no further batch."""
    age: float | None = None
    """Seconds since the file was opened; one without entries does not age."""


class RotatingWriter:
    """Writes as a `RecordingWriter` does, into one file after the other.

    Source: docs/recording-format.md, "Rotation".
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        limits: RotationLimits,
        *,
        mode: WriteMode = "new",
        warn: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        retry_when_full: bool = False,
    ) -> None:
        """Open the first file at `path`; with `append`, the last that is there.

        `waits_for_room`: see `RecordingWriter`; what cannot be begun is then begun later.

        Raises:
            RecordingError: see `RecordingWriter`.
        """
        self._first = path
        self._header = header
        self._limits = limits
        # Looked for before the first of them is emptied: their names alone make no file ours.
        self._replaced = _parts_there(path)[1:] if mode == "overwrite" else []
        """Files to be removed: further parts of the recording that is replaced."""
        self._warn = warn
        self._clock = clock
        self._waits_for_room = retry_when_full
        self._warned: set[str] = set()
        parts = part_paths(path) if mode == "append" else []
        self._series = series_of(path, read_header(path) if parts else header)
        self._part = max(1, len(parts))
        self._writer = self._open(self._part, mode)
        self._began = clock()
        self._size_limit = limits.size
        self._has_entries = self._writer.first_number > 1
        self.first_number = self._writer.first_number
        """Number that the first entry should get."""
        self.time_offset = self._writer.time_offset
        """Seconds to add to the time of each entry."""

    @property
    def path(self) -> Path:
        """The file that is being written."""
        return part_path(self._first, self._part)

    def write(self, entries: Iterable[Entry]) -> None:
        """Write `entries` in one go, into the next file if this one is old or large enough."""
        batch = EntryBatch.of(entries)
        if not batch:
            return
        self._remove_replaced()
        # Entries that are missing in a file have to be reported there.
        if self._has_entries and not self._writer.has_dropped and self._is_full():
            self._roll_over()
        self._writer.write(batch)
        self._has_entries = True

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._writer.close()

    def has_begun(self) -> bool:
        """Tell whether what stands in the file is this recording."""
        return self._writer.has_begun()

    def discard_if_empty(self) -> None:
        """Let `close` leave everything as it was found, unless there are entries by then."""
        self._writer.discard_if_empty()

    def _remove_replaced(self) -> None:
        """Remove files that bear the names of parts of this recording."""
        for path in self._replaced:
            with suppress(OSError):
                path.unlink()
        self._replaced = []

    def _is_full(self) -> bool:
        is_large = self._size_limit is not None and self._writer.size >= self._size_limit
        age = self._limits.age
        return is_large or (age is not None and self._clock() - self._began >= age)

    def _roll_over(self) -> None:
        """Begin the next file, or let this one grow and age once more."""
        self._began = self._clock()
        try:
            following = self._open(self._part + 1, "new")
        except RecordingError as problem:
            self._warn_once("turn", f"{problem}; the recording goes on in {self.path}")
            if self._limits.size is not None:
                self._size_limit = self._writer.size + self._limits.size
            return
        self._writer.close()
        self._writer = following
        self._part += 1
        self._size_limit = self._limits.size
        self._has_entries = False

    def _open(self, part: int, mode: WriteMode) -> RecordingWriter:
        meta: dict[str, Json] = {"series": self._series, "part": part}
        if part > 1:
            meta["previous"] = part_path(self._first, part - 1).name
        header = replace(self._header, meta={**self._header.meta, **meta})
        path = part_path(self._first, part)
        return RecordingWriter(
            path,
            header,
            mode=mode,
            warn=lambda text: self._warn_once("write", text),
            retry_when_full=self._waits_for_room,
        )

    def _warn_once(self, about: str, text: str) -> None:
        if about not in self._warned:
            self._warned.add(about)
            self._warn(text)


def _parts_there(path: Path) -> list[Path]:
    try:
        return part_paths(path)
    except RecordingError:
        # What is no recording has no parts.
        return []
