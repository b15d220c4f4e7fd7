"""Recordings that are split into several files by size or age.

Each file is a complete recording: a header that names its part and the previous file, and a footer
with a digest. Entry numbers and times continue across files. If the next file cannot be opened,
writing continues in the current one after a warning.
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
from acp_inspector.recording.format import Header, RecordingError, marked_path, part_path, series_of
from acp_inspector.recording.reader import read_header
from acp_inspector.recording.recovery import open_writer
from acp_inspector.recording.writer import RecordingWriter, WriteMode
from acp_protocol.dialects.spellings import NO_DIALECT
from acp_protocol.jsonrpc import Json


def part_paths(path: Path) -> list[Path]:
    """Return the existing files of the recording that starts at `path`, in order.

    They end before the first file that is missing or belongs to another recording.

    Raises:
        RecordingError: the first file exists, but it cannot be read or is not a recording.
    """
    if not _is_readable(path):
        return []
    series = series_of(path, read_header(path))
    paths = [path]
    for number in count(2):
        part = part_path(path, number)
        if not _is_readable(part):
            break
        try:
            header = read_header(part)
        except RecordingError:
            break
        if header.meta.get("series") != series or header.meta.get("part") != number:
            break
        paths.append(part)
    return paths


def _is_readable(path: Path) -> bool:
    """Return whether the file exists and reading it does not block, as a pipe would."""
    return path.exists() and not (path.is_fifo() or path.is_char_device())


MAX_AGENT_NAME: Final = 64
"""Characters of an agent's name that are used in a file name."""
STRFTIME_DIRECTIVES: Final = "aAbBdfFGHIjmMpSTuUVwWyYzZ"
"""Allowed directives after `%`: those of strftime whose text contains no slash."""

_FOREIGN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_TEMPLATE_PART: Final = re.compile(
    r"%%|\{\{|\}\}|%(?P<date>.?)|\{(?P<name>[^{}]*)\}|[{}]", re.DOTALL
)


def expand_template(
    pattern: str, *, agent: str, pid: int, at: datetime, connection: int | None = None
) -> Path:
    """Return the path that `pattern` describes.

    `%Y`, `%m` and so on are replaced by the date `at`, `{agent}` by the last path component of the
    agent's name without special characters, `{pid}` by the process id. `%%`, `{{` and `}}` are
    escapes. `{connection}` is replaced by the number of a connection; if the pattern does not have
    it, the number of a later one than the first goes before the suffix.

    Raises:
        RecordingError: the pattern is empty, or has another directive or name.

    Source: docs/recording-format.md.
    """
    name_of_agent = _FOREIGN.sub("-", agent.rstrip("/").rpartition("/")[2])
    names = {"agent": name_of_agent[:MAX_AGENT_NAME].strip("-.") or "agent", "pid": str(pid)}
    if connection is not None:
        names["connection"] = str(connection)

    def fill(part: re.Match[str]) -> str:
        date, name = part["date"], part["name"]
        if date is not None:
            if not date or date not in STRFTIME_DIRECTIVES:
                raise _invalid_template(pattern, f"%{date} is not a date directive")
            return at.strftime(f"%{date}")
        if name is not None:
            if name not in names:
                known = " nor ".join(f"{{{each}}}" for each in names)
                raise _invalid_template(pattern, f"{{{name}}} is neither {known}")
            return names[name]
        if len(part[0]) == 1:
            raise _invalid_template(pattern, f"unmatched {part[0]}")
        return part[0][0]

    text = _TEMPLATE_PART.sub(fill, pattern)
    if not text or "\0" in text:
        raise _invalid_template(pattern, "it is empty or contains a NUL character")
    path = Path(text)
    is_later = connection is not None and connection > 1
    return (
        marked_path(path, f"-{connection}") if is_later and "{connection}" not in pattern else path
    )


def _invalid_template(pattern: str, reason: str) -> RecordingError:
    return RecordingError(f"cannot name a recording by {pattern!r}: {reason}")


@dataclass(frozen=True, slots=True)
class RotationLimits:
    """When to start the next file."""

    size: int | None = None
    """Bytes; no batch is added to a file that has reached them."""
    age: float | None = None
    """Seconds since the file was opened; a file without entries does not age."""


class RotatingWriter:
    """Writes like a `RecordingWriter`, but into one file after the other.

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
        """Open the first file at `path`; with `append`, the last that exists.

        `retry_when_full`: see `RecordingWriter`.

        Raises:
            RecordingError: see `RecordingWriter`.
        """
        self._first = path
        self._header = header
        self._limits = limits
        # Search before the first file is emptied: it identifies the others.
        self._replaced: list[Path] = []
        """Files to remove: further parts of the recording that is replaced."""
        if mode == "overwrite":
            with suppress(RecordingError):
                self._replaced = part_paths(path)[1:]
        self._warn = warn
        self._clock = clock
        self._retry_when_full = retry_when_full
        self._warned: set[str] = set()
        parts = part_paths(path) if mode == "append" else []
        self._series = series_of(path, read_header(path) if parts else header)
        self._part = max(1, len(parts))
        self._writer = self._open(self._part, mode)
        self._began = clock()
        self._size_limit = limits.size
        self._has_entries = self._writer.first_number > 1
        self.first_number = self._writer.first_number
        """Number to give to the first entry."""
        self.time_offset = self._writer.time_offset
        """Seconds to add to the time of each entry."""

    @property
    def path(self) -> Path:
        """The file that is being written."""
        return part_path(self._first, self._part)

    def write(self, entries: Iterable[Entry]) -> None:
        """Write `entries` in one go, into the next file if this one is full or old enough."""
        batch = EntryBatch.of(entries)
        if not batch:
            return
        for path in self._replaced:
            with suppress(OSError):
                path.unlink()
        self._replaced = []
        # Dropped entries must be reported in the file that lacks them.
        if self._has_entries and not self._writer.has_dropped:
            age, size = self._limits.age, self._size_limit
            is_large = size is not None and self._writer.size >= size
            if is_large or (age is not None and self._clock() - self._began >= age):
                self._roll_over()
        self._writer.write(batch)
        self._has_entries = True
        for event in batch.events():
            if event.dialect is not None:
                # The next files do not have the event.
                name = None if event.dialect == NO_DIALECT else event.dialect
                self._header = replace(self._header, dialect=name)

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._writer.close()

    def has_begun(self) -> bool:
        """Return whether the header is in the file."""
        return self._writer.has_begun()

    @property
    def first_line(self) -> bytes:
        """See `RecordingWriter`."""
        return self._writer.first_line

    def discard_if_empty(self) -> None:
        """Make `close` undo the opening of the file, unless entries are written before."""
        self._writer.discard_if_empty()

    def _roll_over(self) -> None:
        """Start the next file, or continue this one if that fails."""
        self._began = self._clock()
        try:
            next_writer = self._open(self._part + 1, "new")
        except RecordingError as problem:
            self._warn_once("turn", f"{problem}; the recording continues in {self.path}")
            if self._limits.size is not None:
                self._size_limit = self._writer.size + self._limits.size
            return
        self._writer.close()
        self._writer = next_writer
        self._part += 1
        self._size_limit = self._limits.size
        self._has_entries = False

    def _open(self, part: int, mode: WriteMode) -> RecordingWriter:
        meta: dict[str, Json] = {"series": self._series, "part": part}
        if part > 1:
            meta["previous"] = part_path(self._first, part - 1).name
        header = replace(self._header, meta={**self._header.meta, **meta})
        path = part_path(self._first, part)
        return open_writer(
            path,
            header,
            mode=mode,
            warn=lambda text: self._warn_once("write", text),
            retry_when_full=self._retry_when_full,
        )

    def _warn_once(self, about: str, text: str) -> None:
        if about not in self._warned:
            self._warned.add(about)
            self._warn(text)
