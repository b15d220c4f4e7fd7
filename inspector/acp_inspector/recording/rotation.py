"""A recording in several files, none of which grows or ages without end.

Each file is a whole recording: a header that names its part and the file before it, and a footer
with a digest. Numbers and times go on. When the next file cannot be opened, the old one is
continued, and one warning says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from acp_inspector.journal import Entry
from acp_inspector.recording.encoder import Batch
from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.recording.names import part_path
from acp_inspector.recording.parts import part_paths, series_of
from acp_inspector.recording.reader import read_header
from acp_inspector.recording.writer import Mode, RecordingWriter
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class Limits:
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
        limits: Limits,
        *,
        mode: Mode = "new",
        warn: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        waits_for_room: bool = False,
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
        self._waits_for_room = waits_for_room
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
        batch = Batch.of(entries)
        if not batch:
            return
        self._remove_replaced()
        # Entries that are missing in a file have to be reported there.
        if self._has_entries and not self._writer.is_behind and self._is_full():
            self._roll_over()
        self._writer.write(batch)
        self._has_entries = True

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._writer.close()

    def has_begun(self) -> bool:
        """Tell whether what stands in the file is this recording."""
        return self._writer.has_begun()

    def withdraw(self) -> None:
        """Let `close` leave everything as it was found, unless there are entries by then."""
        self._writer.withdraw()

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

    def _open(self, part: int, mode: Mode) -> RecordingWriter:
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
            waits_for_room=self._waits_for_room,
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
