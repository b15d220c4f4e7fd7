"""What the proxy has recorded so far, for whoever wants to read it from the beginning on.

With a recording that is the file itself: observers read it at their own pace, and cost nothing.
Without one, lines are kept in memory, and beyond a bound the oldest ones are given up.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

from acp_inspector.journal import Entry
from acp_inspector.recording.encoder import LARGE, Batch, Part, joined
from acp_inspector.recording.format import Header, encode_header

MEMORY: Final = 16 * 2**20
"""Bytes of lines that are kept where nothing is recorded."""
BLOCK: Final = 1 << 16
"""Bytes of lines that are kept, and given up, together."""
CHUNK: Final = 1 << 18
"""Bytes that an observer gets in one go."""


class Sink(Protocol):
    """Where the recorder writes: a file, or the memory."""

    first_number: int
    time_offset: float

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries; never raises."""
        ...

    def close(self) -> None:
        """Write no more."""
        ...


class Log(Protocol):
    """Bytes of a recording by their place in it."""

    def read(self, at: int) -> tuple[bytes, int]:
        """Return bytes from `at` on, and the place behind them; none are there yet if empty.

        A place whose bytes were given up means the oldest that are left.
        """
        ...

    def close(self) -> None:
        """Read no more."""
        ...


class Growth:
    """Tells observers that there is more to read, or that there never will be."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._times = 0
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self._is_over

    def grew(self) -> None:
        """Wake whoever waits."""
        with self._changed:
            self._times += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Wake whoever waits, for the last time."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def times(self) -> int:
        """Return a mark for `wait`."""
        return self._times

    def wait(self, mark: int, limit: float) -> None:
        """Return when there is more than at `mark`, the end has come, or after `limit` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._times != mark, limit)


class FollowedSink:
    """Writes as `inner` does, and tells of it."""

    def __init__(self, inner: Sink, growth: Growth) -> None:
        self._inner = inner
        self._growth = growth
        self.first_number = inner.first_number
        self.time_offset = inner.time_offset

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries."""
        self._inner.write(entries)
        self._growth.grew()

    def close(self) -> None:
        """Close the inner one, and end."""
        self._inner.close()
        self._growth.end()


class DoubleSink:
    """Writes to a first sink, and the same to a second one."""

    def __init__(self, first: Sink, second: Sink) -> None:
        self._first = first
        self._second = second
        self.first_number = first.first_number
        self.time_offset = first.time_offset

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries."""
        batch = Batch.of(entries)
        self._first.write(batch)
        self._second.write(batch)

    def close(self) -> None:
        """Close both."""
        self._first.close()
        self._second.close()


class MemoryLog:
    """Lines in memory: a sink and a log in one."""

    def __init__(self, header: Header, limit: int = MEMORY) -> None:
        self.first_number = 1
        self.time_offset = 0.0
        self._limit = limit
        self._lock = threading.Lock()
        self._header = encode_header(header)
        self._places: deque[int] = deque()
        self._pieces: deque[Part] = deque()
        self._blocks: deque[int] = deque()
        """Of how many pieces each block consists; it holds whole lines and is given up as such."""
        self._begin = self._end = len(self._header)
        self.given_up = 0
        """Bytes that are not there any more."""

    def write(self, entries: Iterable[Entry]) -> None:
        """Keep the lines of `entries`."""
        parts: list[Part] = []
        size = 0
        for part in Batch.of(entries).encoded():
            parts.append(part)
            size += len(part)
            if size >= BLOCK and part.endswith(b"\n"):
                self._keep(parts)
                parts, size = [], 0
        if parts:
            self._keep(parts)

    def _keep(self, parts: list[Part]) -> None:
        # A copy of a large line would be as large.
        is_large = any(len(part) >= LARGE for part in parts)
        pieces = list(joined(parts)) if is_large else [b"".join(parts)]
        with self._lock:
            self._blocks.append(len(pieces))
            for piece in pieces:
                self._places.append(self._end)
                self._pieces.append(piece)
                self._end += len(piece)
            # The newest block stays, however large it is.
            while self._end - self._begin > self._limit and len(self._blocks) > 1:
                for _ in range(self._blocks.popleft()):
                    self._places.popleft()
                    self._begin += len(self._pieces.popleft())
                self.given_up = self._begin - len(self._header)

    def close(self) -> None:
        """Nothing is left to do."""

    def read(self, at: int) -> tuple[bytes, int]:
        """Return bytes from `at` on, and the place behind them."""
        if at < len(self._header):
            return self._header[at:], len(self._header)
        with self._lock:
            at = max(at, self._begin)
            if at >= self._end:
                return b"", at
            index = bisect_right(self._places, at) - 1
            piece, begin = self._pieces[index], at - self._places[index]
            data = bytes(memoryview(piece)[begin : begin + CHUNK])
        return data, at + len(data)


class FileLog:
    """A recording that is still being written."""

    def __init__(self, path: Path, has_begun: Callable[[], bool] = lambda: True) -> None:
        """Open `path` for reading; `has_begun`: whether what stands there is this recording.

        Raises:
            OSError: it cannot be read.
        """
        self._has_begun = has_begun
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, at: int) -> tuple[bytes, int]:
        """Return bytes from `at` on, and the place behind them."""
        data = os.pread(self._descriptor, CHUNK, at) if self._has_begun() else b""
        return data, at + len(data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
