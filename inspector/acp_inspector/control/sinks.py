"""The sinks of the recorder, which observers read from the beginning.

With a recording, observers read the file at their own pace. Without one, lines are kept in memory;
beyond a limit the oldest are dropped.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from acp_inspector.journal import Entry, Frame, Sink
from acp_inspector.recording.encoder import LARGE_FRAME, EntryBatch, Part, join_small_parts
from acp_inspector.recording.format import Header, decode_line, encode_header
from acp_inspector.recording.lines import SkippedLine, line_blocks

MAX_MEMORY_BYTES: Final = 16 * 2**20
"""Bytes of lines that are kept if nothing is recorded."""
BLOCK_BYTES: Final = 1 << 16
"""Bytes of lines that are dropped together."""
CHUNK_BYTES: Final = 1 << 18
"""Bytes of one read."""


class LogSource(Protocol):
    """The bytes of a recording by their offset."""

    def read(self, at: int) -> tuple[bytes, int]:
        """Return bytes from `at` on, and the offset behind them; no bytes if there are none yet.

        An offset whose bytes were dropped means the oldest that are left.
        """
        ...

    def close(self) -> None:
        """Read no more."""
        ...


def frames_of(log: LogSource, at: int) -> Iterator[Frame]:
    """Yield the frames in a log from an offset on, as far as they are written by now.

    At most `MAX_MEMORY_BYTES` are read.
    """

    def pieces() -> Iterator[bytes]:
        begin, end = at, at + MAX_MEMORY_BYTES
        while begin < end:
            data, begin = log.read(begin)
            if not data:
                return
            yield data

    for block in line_blocks(pieces()):
        for line in () if isinstance(block, SkippedLine) else block.split(b"\n"):
            row = decode_line(line)
            if isinstance(row, Frame):
                yield row


class ChangeNotifier:
    """Wakes observers when there is more to read, or at the end."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self._is_over

    def notify(self) -> None:
        with self._changed:
            self._version += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Wake all observers for the last time."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def version(self) -> int:
        """Return the number of changes so far, for `wait`."""
        return self._version

    def wait(self, version: int, timeout: float) -> None:
        """Wait for a change since `version`, for the end, or for `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._version != version, timeout)


class ObservedSink:
    """Writes to several sinks, and wakes observers."""

    def __init__(self, sinks: Sequence[Sink], notifier: ChangeNotifier) -> None:
        self._sinks = tuple(sinks)
        self._notifier = notifier
        self.first_number = sinks[0].first_number
        self.time_offset = sinks[0].time_offset

    def write(self, entries: Iterable[Entry]) -> None:
        batch = EntryBatch.of(entries)
        for sink in self._sinks:
            sink.write(batch)
        self._notifier.notify()

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()
        self._notifier.end()


class MemoryLog:
    """Lines in memory: a sink and a log in one."""

    def __init__(
        self,
        header: Header,
        limit: int = MAX_MEMORY_BYTES,
        *,
        large_frame: int = LARGE_FRAME,
        max_read: int = CHUNK_BYTES,
    ) -> None:
        """Keep `limit` bytes of lines, and no copy of a frame of `large_frame` bytes or more."""
        self.first_number = 1
        self.time_offset = 0.0
        self._limit = limit
        self._large_frame = large_frame
        self._max_read = max_read
        self._lock = threading.Lock()
        self._header = encode_header(header)
        self._offsets: deque[int] = deque()
        self._pieces: deque[Part] = deque()
        self._blocks: deque[int] = deque()
        """How many pieces each block has; a block holds whole lines and is dropped as one."""
        self._begin = self._end = len(self._header)
        self.dropped = 0
        """Bytes of lines that were dropped."""

    def write(self, entries: Iterable[Entry]) -> None:
        parts: list[Part] = []
        size = 0
        for part in EntryBatch.of(entries).encoded(self._large_frame):
            parts.append(part)
            size += len(part)
            if size >= BLOCK_BYTES and part.endswith(b"\n"):
                self._keep(parts)
                parts, size = [], 0
        if parts:
            self._keep(parts)

    def _keep(self, parts: list[Part]) -> None:
        # A copy of a large line would be as large.
        is_large = any(len(part) >= self._large_frame for part in parts)
        pieces = list(join_small_parts(parts, self._large_frame)) if is_large else [b"".join(parts)]
        with self._lock:
            self._blocks.append(len(pieces))
            for piece in pieces:
                self._offsets.append(self._end)
                self._pieces.append(piece)
                self._end += len(piece)
            # The newest block stays, however large it is.
            while self._end - self._begin > self._limit and len(self._blocks) > 1:
                for _ in range(self._blocks.popleft()):
                    self._offsets.popleft()
                    self._begin += len(self._pieces.popleft())
                self.dropped = self._begin - len(self._header)

    def close(self) -> None:
        """Do nothing: observers may still read."""

    def read(self, at: int) -> tuple[bytes, int]:
        if at < len(self._header):
            return self._header[at:], len(self._header)
        with self._lock:
            at = max(at, self._begin)
            if at >= self._end:
                return b"", at
            index = bisect_right(self._offsets, at) - 1
            piece, begin = self._pieces[index], at - self._offsets[index]
            data = bytes(memoryview(piece)[begin : begin + self._max_read])
        return data, at + len(data)


class FileLog:
    """A recording that is still being written."""

    def __init__(self, path: Path, has_begun: Callable[[], bool] = lambda: True) -> None:
        """Open `path` for reading; `has_begun`: whether the file holds this recording yet.

        Raises:
            OSError: it cannot be read.
        """
        self._has_begun = has_begun
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, at: int) -> tuple[bytes, int]:
        data = os.pread(self._descriptor, CHUNK_BYTES, at) if self._has_begun() else b""
        return data, at + len(data)

    def close(self) -> None:
        os.close(self._descriptor)
