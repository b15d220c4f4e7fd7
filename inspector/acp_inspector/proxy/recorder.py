"""Records the traffic off the forwarding path.

The forwarders note each chunk before they forward it. A thread of the recorder cuts the chunks into
frames, numbers them in the order in which they were noted, and writes them. So a request always has
a lower number than its response. With a spool, its bytes are on disk before they leave.

The queue is bounded. If the disk is slow, a forwarder waits once, briefly; after that, entries that
find no room are dropped from the recording and counted, and the traffic continues.

An intercepted frame needs its number at once: `line` numbers everything noted so far by itself
instead of waiting for the thread.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from io import BytesIO
from typing import Any, Final, Literal, TypeAlias

from acp_inspector.journal import Frame, JournalEvent, Sink, StderrChunk
from acp_inspector.recording.encoder import (
    LARGE_FRAME,
    BatchItem,
    EntryBatch,
    FrameRun,
    gathered_frame,
)
from acp_inspector.recording.spool import CHUNK_KINDS, FRAME_KINDS, NoteKind, Spool
from acp_protocol.framing import Side
from acp_protocol.json_values import get_int
from acp_protocol.jsonrpc import Json

Stream: TypeAlias = Literal["client", "agent", "stderr"]

MAX_QUEUED_BYTES: Final = 8 * 2**20
"""Bytes that may wait to be written."""
QUEUE_TIMEOUT_S: Final = 2.0
"""Seconds that a forwarder waits for a full queue, once."""
MAX_LINE_BYTES: Final = 512 * 2**20
"""A longer line is not recorded: it may have no end."""
TOO_SLOW: Final = "the recording could not follow"
TOO_LONG: Final = "the line is too long to be recorded"
BATCH_INTERVAL_S: Final = 0.001
"""Seconds for which the first chunk of a batch waits for others.

Writing takes the interpreter's lock, which the forwarders need for the next chunk: one batch in a
millisecond costs them less than one for each chunk.
"""


class ByteBudget:
    """Limits the bytes in a queue.

    A line counts as at most half of the limit, so that any line fits and leaves room for later
    ones. When the budget is used up, a producer waits once: `timeout` seconds for each `limit`
    bytes before it, and at least that long. If there is still no room, producers do not wait again
    until some was free: until then they are refused at once.
    """

    def __init__(self, limit: int, timeout: float) -> None:
        self._limit = limit
        self._max_charge = limit // 2
        self._timeout = timeout
        self._changed = threading.Condition()
        self._used = 0
        self._bytes = 0
        """The bytes in the queue; more than `_used` if there are large lines."""
        self._is_behind = False
        """Whether the last producer has found no room in time."""

    def charge(self, size: int) -> int:
        """Return what `size` bytes count as."""
        return min(size, self._max_charge)

    def take(self, size: int) -> bool:
        """Reserve `size` bytes; wait for them unless the last producer found no room in time."""
        charge = min(size, self._max_charge)
        with self._changed:
            if self._used and self._used + charge > self._limit:
                if not self._is_behind:
                    timeout = self._timeout * max(1.0, self._bytes / self._limit)
                    has_room = self._changed.wait_for(lambda: self._has_room(charge), timeout)
                    self._is_behind = not has_room
                if self._is_behind:
                    return False
            self._is_behind = False
            self._used += charge
            self._bytes += size
        return True

    def take_nowait(self, size: int) -> bool:
        """Reserve `size` bytes at once; fails only while producers find no room."""
        with self._changed:
            if self._is_behind and not self._has_room(self.charge(size)):
                return False
            self._used += self.charge(size)
            self._bytes += size
        return True

    def free(self, size: int, charge: int) -> None:
        """Release what has been written: `size` bytes that counted as `charge`."""
        with self._changed:
            self._bytes -= size
            self._used -= charge
            self._changed.notify_all()

    def add(self, size: int) -> None:
        """Reserve `size` bytes, even beyond the limit."""
        self.free(-size, -self.charge(size))

    def _has_room(self, charge: int) -> bool:
        return not self._used or self._used + charge <= self._limit


class DropCounter:
    """Counts dropped entries between two recorded ones: one event for each stream and reason."""

    def __init__(self) -> None:
        self._events: dict[tuple[Stream | None, str], JournalEvent] = {}

    def __bool__(self) -> bool:
        return bool(self._events)

    def add(
        self, seq: int, at: float, stream: Stream | None, why: str, *, size: int = 0, count: int = 0
    ) -> None:
        """Count that entry `seq` is missing: `count` entries or `size` bytes of `stream`."""
        # Removed and added, because the numbers have to rise.
        before = self._events.pop((stream, why), None)
        if before is not None:
            size += get_int(before.data, "bytes") or 0
            count += get_int(before.data, "count") or 0
        data: dict[str, Json] = {"count": count, "bytes": size, "from": stream, "why": why}
        kept = {name: value for name, value in data.items() if value}
        self._events[stream, why] = JournalEvent(seq, at, "dropped", kept)

    def take(self) -> list[JournalEvent]:
        """Return the events and start anew; each has the number of its last missing entry."""
        events = list(self._events.values())
        self._events.clear()
        return events


class Recorder:
    """Collects entries from several threads and writes them in one."""

    def __init__(
        self,
        writer: Sink,
        clock: Callable[[], float] = time.monotonic,
        *,
        warn: Callable[[str], None] = lambda text: None,
        spool: Spool | None = None,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        queue_timeout: float = QUEUE_TIMEOUT_S,
        max_line_bytes: int = MAX_LINE_BYTES,
        large_frame: int = LARGE_FRAME,
    ) -> None:
        """Write with `writer`; call `warn`, which must not block, once if something is missing."""
        self._writer = writer
        self._clock = clock
        self._warn = warn
        self._spool = spool
        self._began = clock() - writer.time_offset
        self._queue: deque[tuple[int, Callable[..., None] | None, tuple[Any, ...]]] = deque()
        """A queued note: its size, the function that numbers it, and its arguments.

        A chunk is numbered by `_cut`, given as None to save a bound method for each. Tuples are
        made faster than objects.
        """
        self._budget = ByteBudget(max_queued_bytes, queue_timeout)
        self._max_line_bytes = max_line_bytes
        self._numbering = threading.Lock()
        self._ready: list[BatchItem] = []
        """Entries that have their number and are not written yet."""
        self._size = self._charge = 0
        """Their size, and what they count as in the budget."""
        self._drops = DropCounter()
        """Entries that are missing behind them."""
        self._number = writer.first_number - 1
        self._cutters: dict[Side, _LineCutter] = {
            "client": _LineCutter(large_frame),
            "agent": _LineCutter(large_frame),
        }
        self._has_noted = threading.Event()
        self._is_closed = False
        self._has_warned = False
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def note(self, stream: Stream, data: bytes) -> None:
        """Note a chunk; call this before its bytes are forwarded. May wait, see `ByteBudget`."""
        at = self._clock() - self._began
        if not self._budget.take(len(data)):
            gap = f"{stream} {len(data)}".encode()
            self._put(0, self._number_gap, (at, stream, len(data)), b"g", at, gap)
            self._number_now()
        elif stream == "stderr":
            self._put(len(data), self._number_stderr, (at, data), b"e", at, data)
        else:
            self._put(len(data), None, (at, stream, data), CHUNK_KINDS[stream], at, data)

    def frame(self, side: Side, raw: bytes, end: bytes) -> int:
        """Record an injected frame without waiting; return its number."""
        at = self._clock() - self._began
        return self._number_line(at, side, raw, end, self._budget.take_nowait(len(raw))).seq

    def line(self, side: Side, raw: bytes, end: bytes) -> Frame:
        """Record a frame and return it, with its time and its number.

        A frame that finds no room is dropped and counted. May wait, see `ByteBudget`.
        """
        at = self._clock() - self._began
        return self._number_line(at, side, raw, end, self._budget.take(len(raw)))

    def _number_line(self, at: float, side: Side, raw: bytes, end: bytes, has_room: bool) -> Frame:
        numbered: list[Frame] = []

        def number() -> None:
            frame = Frame(self._next(), at, side, raw, end)
            numbered.append(frame)
            if has_room:
                self._keep(frame)
            else:
                self._drop(frame.seq, at, side, TOO_SLOW, size=len(raw), count=1)

        noted = bytes([len(end)]), end, raw
        self._put(len(raw) if has_room else 0, number, (), FRAME_KINDS[side], at, *noted)
        self._number_now()
        return numbered[0]

    def event(self, name: str, **data: Json) -> None:
        """Record an event without waiting; one about a frame is dropped if it finds no room."""
        at = self._clock() - self._began
        size, has_room = 0, True
        if "of" in data:
            size = sum(len(value) for value in data.values() if isinstance(value, str))
            has_room = self._budget.take_nowait(size)
        noted = b"" if self._spool is None else json.dumps([name, data]).encode()
        size = size if has_room else 0
        self._put(size, self._number_event, (at, name, data, has_room), b"!", at, noted)

    def close(self) -> None:
        """Write what was noted, the unfinished lines of both streams, and the footer."""
        self._is_closed = True
        self._has_noted.set()
        self._thread.join()

    def _put(
        self,
        size: int,
        number: Callable[..., None] | None,
        arguments: tuple[Any, ...],
        kind: NoteKind,
        at: float,
        *noted: bytes,
    ) -> None:
        if self._spool is None:
            self._queue.append((size, number, arguments))
        else:
            with self._spool.order:
                self._spool.append(kind, at, *noted)
                self._queue.append((size, number, arguments))
        # Checking first costs the forwarders less than always setting.
        if not self._has_noted.is_set():
            self._has_noted.set()

    def _number_now(self) -> None:
        with self._numbering:
            self._number_all()

    def _run(self) -> None:
        # Once a block of this size was freed, glibc keeps freed memory instead of returning it at
        # once, which would cost a page fault for each page of the next batch.
        bytes(MAX_QUEUED_BYTES)
        is_open = True
        while is_open:
            self._has_noted.wait()
            self._has_noted.clear()
            is_open = not self._is_closed
            if is_open:
                time.sleep(BATCH_INTERVAL_S)
            while self._write_some():
                pass
        at = self._clock() - self._began
        frames: list[BatchItem] = []
        for side, cutter in self._cutters.items():
            if rest := cutter.rest():
                frames.append(Frame(self._next(), at, side, bytes(rest), b""))
        self._writer.write(EntryBatch(frames))
        self._writer.close()
        if self._spool is not None:
            with self._spool.order:
                self._spool.close()

    def _write_some(self) -> bool:
        """Write all that was noted; return whether there was anything.

        All: if the process is killed, nothing forwarded before this write is lost.
        """
        spool = self._spool
        if spool is not None:
            with spool.order:
                if spool.turn(sum(cutter.held for cutter in self._cutters.values())):
                    self._queue.append((0, self._write_head, (spool,)))
        with self._numbering:
            self._number_all()
            can_free = spool is not None and spool.has_head
            if not self._ready:
                # Otherwise drops are written with the first entry behind them.
                self._ready += self._drops.take()
            items, self._ready = self._ready, []
            size, self._size = self._size, 0
            charge, self._charge = self._charge, 0
        if not items and not size:
            return False
        self._writer.write(EntryBatch(items))
        if spool is not None:
            spool.batch_written()
            if can_free:
                spool.free()
        self._budget.free(size, charge)
        return True

    def _write_head(self, spool: Spool) -> None:
        """Write down where the current file of the spool begins."""
        cutters = self._cutters.items()
        spool.write_head(self._number, {side: cutter.state for side, cutter in cutters})

    def _number_all(self) -> None:
        """Cut and number what was noted."""
        for _ in range(len(self._queue)):
            size, number, arguments = self._queue.popleft()
            self._count(size)
            if number is None:
                self._cut(*arguments)
            else:
                number(*arguments)

    def _count(self, size: int) -> None:
        self._size += size
        self._charge += self._budget.charge(size)

    def _number_stderr(self, at: float, data: bytes) -> None:
        self._keep(StderrChunk(self._next(), at, data))

    def _number_event(self, at: float, name: str, data: dict[str, Json], has_room: bool) -> None:
        if has_room:
            self._keep(JournalEvent(self._next(), at, name, data))
        else:
            self._drop(self._next(), at, None, TOO_SLOW, count=1)

    def _number_gap(self, at: float, stream: Stream, missing: int) -> None:
        """Count bytes that found no room."""
        if stream != "stderr":
            self._cutters[stream].skip()
        self._drop(self._next(), at, stream, TOO_SLOW, size=missing)

    def _cut(self, at: float, side: Side, data: bytes) -> None:
        cutter = self._cutters[side]
        long, lines = cutter.feed(data)
        if long is not None:
            self._budget.add(len(long))
            self._count(len(long))
            self._keep(gathered_frame(self._next(), at, side, long))
        if lines:
            self._keep(FrameRun(self._number + 1, at, side, lines))
            self._number += len(lines)
        if cutter.held > self._max_line_bytes:
            self._drop(self._next(), at, side, TOO_LONG, size=cutter.skip())

    def _keep(self, item: BatchItem) -> None:
        if self._drops:
            self._ready += self._drops.take()
        self._ready.append(item)

    def _drop(
        self, seq: int, at: float, stream: Stream | None, why: str, *, size: int = 0, count: int = 0
    ) -> None:
        self._drops.add(seq, at, stream, why, size=size, count=count)
        if not self._has_warned:
            self._has_warned = True
            self._warn(f"{why}; what is missing is counted there, and the traffic goes on")

    def _next(self) -> int:
        self._number += 1
        return self._number


class _LineCutter:
    """Cuts one stream into lines; skips the rest of a line after a gap."""

    def __init__(self, large_frame: int) -> None:
        self._large_frame = large_frame
        self._unfinished = bytearray()
        self._is_lost = False

    def feed(self, data: bytes) -> tuple[bytearray | None, list[bytes]]:
        """Return the large line that ended, without its newline, and the others with theirs."""
        if self._is_lost:
            _, newline, data = data.partition(b"\n")
            self._is_lost = not newline
        long, begun = None, b""
        if self._unfinished:
            end = data.find(b"\n") + 1
            if not end:
                self._unfinished += data
                return None, []
            begun, data = data[:end], data[end:]
            if len(self._unfinished) >= self._large_frame:
                self._unfinished += begun[:-1]
                long, begun = self.rest(), b""
            else:
                begun = bytes(self.rest()) + begun
        if data.find(b"\n") == len(data) - 1 and not begun:
            # A single line, the usual case outside of floods.
            return long, [data] if data else []
        # The fastest way to split at newlines.
        lines = list(BytesIO(data))
        if begun:
            lines.insert(0, begun)
        if lines and not lines[-1].endswith(b"\n"):
            self._unfinished += lines.pop()
        return long, lines

    @property
    def held(self) -> int:
        """Bytes of the unfinished line."""
        return len(self._unfinished)

    @property
    def state(self) -> tuple[bytearray, bool]:
        """The unfinished line, and whether a line is being skipped."""
        return self._unfinished, self._is_lost

    def skip(self) -> int:
        """Skip the unfinished line up to its end; return how many bytes of it are lost."""
        held = self.held
        self._unfinished = bytearray()
        self._is_lost = True
        return held

    def rest(self) -> bytearray:
        """Take out the unfinished line."""
        rest, self._unfinished = self._unfinished, bytearray()
        return rest
