"""The ordered frames, stderr chunks and events of one connection.

Everything that is shown, checked, recorded or replayed is a fold over a journal. A journal never
awaits: a frame is numbered by a plain append before its bytes are sent, so that a request always
precedes its response.
"""

from __future__ import annotations

import logging
import threading
import time
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any, Final, Protocol, TypeAlias, overload

from acp_inspector.spill import Place, SpillFile
from acp_protocol.framing import Side, WireFrame, split_ending
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json, frozen_dataclass

logger = logging.getLogger(__name__)

IN_MEMORY: Final = 32 << 20
"""Bytes of the newest entries that are kept in memory, about."""
BLOCK: Final = 1 << 20
"""Bytes of entries that are moved to the file at a time, about."""
BLOCKS: Final = 8
"""Blocks of the file that are kept in memory too."""
ENTRY_BYTES: Final = 200
"""Bytes that an entry takes besides its data."""


DIALECT: Final = "dialect"
"""The event that names the dialect of a connection once it is known."""
BEGINNINGS: Final = frozenset({"spawn", "connect"})
"""Events that begin a connection: an agent was started, or was reached at a URL."""

MAX_GAP: Final = 2**40
"""Largest gap between entry numbers, and largest time in seconds; larger ones count as wrong."""


@frozen_dataclass
class Frame:
    """One message on the wire, as bytes."""

    seq: int
    """Its number among all entries, from 1."""
    time: float
    """Seconds since the journal began."""
    side: Side
    """The side that has sent it."""
    data: bytes
    """Its bytes, without the line ending."""
    line_ending: bytes = b"\n"
    r"""The line ending: `\n`, `\r\n`, or nothing after a header, or if the stream was cut."""
    header: bytes = b""
    """The header with its length that precedes it, up to the blank line; empty for a line."""

    @property
    def wire(self) -> bytes:
        """All its bytes on the wire."""
        return self.header + self.data + self.line_ending

    @property
    def is_cut(self) -> bool:
        """Whether the stream ends within it."""
        return not (self.line_ending or self.header)


@dataclass(frozen=True, slots=True)
class StderrChunk:
    """A chunk of the agent's stderr, as received."""

    seq: int
    time: float
    data: bytes


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """An event that is not a frame: spawn, exit, a mark."""

    seq: int
    time: float
    name: str
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def begins_connection(self) -> bool:
        """Whether a new process or a new remote connection starts here, with ids of its own."""
        return self.name in BEGINNINGS

    @property
    def dialect(self) -> str | None:
        """The dialect that it names for the connection, `none` for the published protocol."""
        return get_text(self.data, "dialect") if self.name == DIALECT else None


Entry: TypeAlias = Frame | StderrChunk | JournalEvent


class Sink(Protocol):
    """The destination of a recorder: a file, or memory."""

    first_number: int
    time_offset: float

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries; never raises."""
        ...

    def close(self) -> None: ...


class Entries(Sequence[Entry]):
    """Entries by position: the newest are in memory, the older ones in a temporary file.

    One thread appends; any thread may read.
    """

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        file: SpillFile | None = None,
        in_memory: int = IN_MEMORY,
        block: int = BLOCK,
    ) -> None:
        self._newest: list[Entry] = []
        self._count = 0
        self._size = 0
        self._limit: float = in_memory
        self._block = block
        self._file = file or SpillFile()
        self._places: list[Place] = []
        self._firsts = array("Q")
        """The position of the first entry of each block in the file."""
        self._spilled = 0
        """Entries that are in the file."""
        self._read: OrderedDict[int, list[Entry]] = OrderedDict()
        """The blocks of the file that were read last."""
        self._lock = threading.Lock()
        self.extend(entries)

    def append(self, entry: Entry) -> None:
        self._newest.append(entry)
        self._count += 1
        self._size += ENTRY_BYTES + len(entry.data)
        if self._size > self._limit:
            self._spill()

    def extend(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.append(entry)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        found = range(self._count)[place]
        if isinstance(found, range):
            return [self[each] for each in found] if found.step != 1 else self._between(found)
        with self._lock:
            entries, first = self._around(found)
            return entries[found - first]

    def __iter__(self) -> Iterator[Entry]:
        at = 0
        while at < self._count:
            with self._lock:
                entries, first = self._around(at)
                found = entries[at - first :]
            yield from found
            at += len(found)

    def _between(self, wanted: range) -> list[Entry]:
        found: list[Entry] = []
        while len(found) < len(wanted):
            with self._lock:
                entries, first = self._around(wanted.start + len(found))
                begin = wanted.start + len(found) - first
                found += entries[begin : wanted.stop - first]
        return found

    def _around(self, at: int) -> tuple[list[Entry], int]:
        """Return the entries that are kept together with one, and the position of the first."""
        if at >= self._spilled:
            return self._newest, self._spilled
        block = bisect_right(self._firsts, at) - 1
        if block in self._read:
            self._read.move_to_end(block)
        else:
            rows: list[Any] = self._file.read(self._places[block])
            others = StderrChunk | JournalEvent
            entries = [row if isinstance(row, others) else Frame(*row) for row in rows]
            self._read[block] = entries
            if len(self._read) > BLOCKS:
                self._read.popitem(last=False)
        return self._read[block], self._firsts[block]

    def _spill(self) -> None:
        """Move the oldest entries in memory to the file."""
        count = size = 0
        while size < self._block and count < len(self._newest):
            size += ENTRY_BYTES + len(self._newest[count].data)
            count += 1
        # Tuples are written several times faster than frames.
        rows = [
            (each.seq, each.time, each.side, bytes(each.data), each.line_ending, each.header)
            if isinstance(each, Frame)
            else each
            for each in self._newest[:count]
        ]
        place = self._file.write(rows)
        if place is None:
            self._limit = inf
            return
        with self._lock:
            self._places.append(place)
            self._firsts.append(self._spilled)
            self._spilled += count
            del self._newest[:count]
        self._size -= size


class Journal:
    """Entries in order, and the observers of new ones."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, entries: Entries | None = None
    ) -> None:
        """Begin; `entries` is where they are kept."""
        self._clock = clock
        self._began = clock()
        self._entries = Entries() if entries is None else entries
        self._observers: list[Callable[[Entry], None]] = []
        self._failed: list[Callable[[Entry], None]] = []
        """Observers whose failure was logged."""
        self.missed = 0
        """Entries that an observer could not read, counted for each observer."""
        self.created = datetime.now(UTC)

    @property
    def entries(self) -> Sequence[Entry]:
        """All entries so far, oldest first; it goes on growing."""
        return self._entries

    @property
    def now(self) -> float:
        """Seconds since the journal began, as its entries count them."""
        return self._clock() - self._began

    def __len__(self) -> int:
        return len(self._entries)

    def frame(self, side: Side, raw: bytes, end: bytes = b"\n", header: bytes = b"") -> Frame:
        frame = Frame(len(self._entries) + 1, self.now, side, raw, end, header)
        self._append(frame)
        return frame

    def line(self, side: Side, line: bytes) -> Frame:
        r"""Append the frame of a line that is given without its `\n`, and return it."""
        return self.frame(side, *split_ending(line))

    def wire(self, side: Side, frame: WireFrame) -> Frame:
        """Append a frame with the bytes around it, and return it."""
        return self.frame(side, frame.data, frame.ending, frame.header)

    def stderr(self, text: bytes) -> StderrChunk:
        entry = StderrChunk(len(self._entries) + 1, self.now, text)
        self._append(entry)
        return entry

    def event(self, name: str, **data: Json) -> JournalEvent:
        event = JournalEvent(len(self._entries) + 1, self.now, name, data)
        self._append(event)
        return event

    def subscribe(self, observer: Callable[[Entry], None]) -> Callable[[], None]:
        """Call `observer` with each new entry, immediately; return a function that unsubscribes.

        `observer` must be quick. If it raises, which is a bug of ours, that is logged once, the
        entry is counted in `missed`, and both the traffic and the observer go on with the next one.
        """
        self._observers.append(observer)

        def unsubscribe() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return unsubscribe

    def _append(self, entry: Entry) -> None:
        self._entries.append(entry)
        for observer in tuple(self._observers):
            try:
                observer(entry)
            except Exception as problem:
                # Boundary to an observer, catch everything: it must never stop the traffic.
                self.missed += 1
                if observer not in self._failed:
                    self._failed.append(observer)
                    logger.exception(
                        "acp-console has a bug: an observer failed at entry %d (%s), which it "
                        "misses, and maybe later ones",
                        entry.seq,
                        type(problem).__name__,
                    )
