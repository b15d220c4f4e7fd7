"""Records the traffic off the forwarding path.

The forwarders note each chunk before they forward it. A thread of the recorder cuts the chunks into
frames, numbers them in the order in which they were noted, and writes them. So a request always has
a lower number than its response. With a spool, its bytes are on disk before they leave.

The queue is bounded. If the disk is slow, a forwarder waits once, briefly; after that, entries that
find no room are dropped from the recording and counted, and the traffic continues.

An intercepted frame needs its number at once: `frame` numbers everything noted so far by itself
instead of waiting for the thread.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from acp_inspector.journal import DIALECT, Frame, Sink
from acp_inspector.proxy.dialect_watch import DialectWatch
from acp_inspector.recording.encoder import LARGE_FRAME, EntryBatch
from acp_inspector.recording.numbering import MAX_LINE_BYTES, Numbering, Stream
from acp_inspector.recording.spool import CHUNK_KINDS, NoteKind, Spool, frame_note
from acp_protocol.framing import Side, WireFrame
from acp_protocol.jsonrpc import Json

MAX_QUEUED_BYTES: Final = 8 * 2**20
"""Bytes that may wait to be written."""
QUEUE_TIMEOUT_S: Final = 2.0
"""Seconds that a forwarder waits for a full queue, once."""
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

    def take_if_free(self, size: int) -> bool:
        """Reserve `size` bytes if there is room for them now."""
        with self._changed:
            if not self._has_room(self.charge(size)):
                return False
            self._is_behind = False
            self._used += self.charge(size)
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


class Recorder:
    """Collects entries from several threads and writes them in one."""

    def __init__(
        self,
        writer: Sink,
        clock: Callable[[], float] = time.monotonic,
        *,
        warn: Callable[[str], None] = lambda text: None,
        spool: Spool | None = None,
        dialects: DialectWatch | None = None,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        queue_timeout: float = QUEUE_TIMEOUT_S,
        max_line_bytes: int = MAX_LINE_BYTES,
        large_frame: int = LARGE_FRAME,
    ) -> None:
        """Write with `writer`; call `warn`, which must not block, once if something is missing.

        An event names the dialect that `dialects` recognises.
        """
        self._writer = writer
        self._clock = clock
        self._warn = warn
        self._spool = spool
        self._dialects = dialects
        self._began = clock() - writer.time_offset
        self._queue: deque[tuple[int, Callable[..., None] | None, tuple[Any, ...]]] = deque()
        """A queued note: its size, the function that numbers it, and its arguments.

        A chunk is numbered by `_number_chunk`, given as None to save a bound method for each.
        Tuples are made faster than objects.
        """
        self._budget = ByteBudget(max_queued_bytes, queue_timeout)
        self._numbering = threading.Lock()
        self._numbers = Numbering(
            writer.first_number - 1,
            report_drop=self._report_drop,
            max_line_bytes=max_line_bytes,
            large_frame=large_frame,
        )
        self._size = self._charge = 0
        """The size of what was numbered and not written yet, and what it counts as."""
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
            self._put(0, self._numbers.gap, (at, stream, len(data)), b"g", at, gap)
            self._number_now()
        elif stream == "stderr":
            self._put(len(data), self._numbers.stderr, (at, data), b"e", at, data)
        else:
            self._put(len(data), None, (at, stream, data), CHUNK_KINDS[stream], at, data)

    def inject(self, side: Side, frame: WireFrame) -> Frame:
        """Record an injected frame without waiting; return it, with its time and its number."""
        at = self._clock() - self._began
        return self._number_frame(at, side, frame, self._budget.take_nowait(len(frame.data)))

    def frame(self, side: Side, frame: WireFrame) -> Frame:
        """Record a frame and return it, with its time and its number.

        A frame that finds no room is dropped and counted. May wait, see `ByteBudget`.
        """
        at = self._clock() - self._began
        return self._number_frame(at, side, frame, self._budget.take(len(frame.data)))

    def reserve(self, size: int, *, waits: bool = True) -> bool:
        """Reserve room for a frame of `size` bytes, for `carried`; return whether there is any.

        Unless it `waits`, this returns False at once where there is none now.
        """
        return self._budget.take(size) if waits else self._budget.take_if_free(size)

    def carried(
        self,
        name: str,
        data: dict[str, Json],
        side: Side,
        frame: WireFrame,
        *,
        has_room: bool = True,
    ) -> Frame:
        """Record the event of what carries a frame, and right behind it the frame; return that.

        `has_room` is what `reserve` has returned. Never waits.
        """
        at = self._clock() - self._began
        numbered: list[Frame] = []

        def number() -> None:
            self._numbers.event(at, name, data)
            numbered.append(self._numbers.frame(at, side, frame, has_room=has_room))

        size = len(frame.data) if has_room else 0
        if self._spool is None:
            self._queue.append((size, number, ()))
        else:
            kind, noted = frame_note(side, frame)
            with self._spool.order:
                self._spool.append(b"!", at, json.dumps([name, data]).encode())
                self._spool.append(kind, at, *noted)
                self._queue.append((size, number, ()))
        self._has_noted.set()
        self._number_now()
        return numbered[0]

    def _number_frame(self, at: float, side: Side, frame: WireFrame, has_room: bool) -> Frame:
        numbered: list[Frame] = []

        def number() -> None:
            numbered.append(self._numbers.frame(at, side, frame, has_room=has_room))

        kind, noted = frame_note(side, frame)
        self._put(len(frame.data) if has_room else 0, number, (), kind, at, *noted)
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
        number = partial(self._numbers.event, has_room=has_room)
        self._put(size if has_room else 0, number, (at, name, data), b"!", at, noted)

    def close(self) -> None:
        """Write what was noted, the unfinished frames of both streams, and the footer."""
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
        rest = self._numbers.finish(self._clock() - self._began)
        self._writer.write(EntryBatch(rest))
        self._writer.close()
        if self._spool is not None:
            with self._spool.order:
                self._spool.close()

    def _write_some(self) -> bool:
        """Write all that was noted; return whether there was anything.

        All: if the process is killed, nothing forwarded before this write is lost.
        """
        with self._numbering:
            has_turned = self._turn_spool()
            self._number_all()
            items = self._numbers.take(with_drops=has_turned)
            size, self._size = self._size, 0
            charge, self._charge = self._charge, 0
        if items:
            self._writer.write(batch := EntryBatch(items))
            self._recognise(batch)
        if has_turned and self._spool is not None:
            self._spool.free()
        if size:
            self._budget.free(size, charge)
        return bool(items or size)

    def _recognise(self, batch: EntryBatch) -> None:
        """Report the dialect once the frames show it."""
        if (watch := self._dialects) is None:
            return
        name: str | None = None
        try:
            name = watch.look(batch)
        except Exception as problem:  # noqa: BLE001 - boundary: it must never stop the recording
            self._dialects = None
            self._warn(f"acp-console has a bug: no dialect is recognised ({problem!r})")
        if name is not None:
            self.event(DIALECT, dialect=name)
        if watch.is_over:
            self._dialects = None

    def _turn_spool(self) -> bool:
        """Begin the next file of the spool if this one is long; return whether it was."""
        spool = self._spool
        if spool is None or not spool.is_long(self._numbers.held):
            return False
        with spool.order:
            # All that the file has is numbered, and will be written before it is freed.
            self._number_all()
            spool.turn(self._numbers.number, self._numbers.unfinished)
        return True

    def _number_all(self) -> None:
        """Cut and number what was noted."""
        for _ in range(len(self._queue)):
            size, number, arguments = self._queue.popleft()
            self._count(size)
            if number is None:
                self._number_chunk(*arguments)
            else:
                number(*arguments)

    def _count(self, size: int) -> None:
        self._size += size
        self._charge += self._budget.charge(size)

    def _number_chunk(self, at: float, side: Side, data: bytes) -> None:
        if gathered := self._numbers.chunk(at, side, data):
            self._budget.add(gathered)
            self._count(gathered)

    def _report_drop(self, why: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            self._warn(f"{why}; what is missing is counted there, and the traffic goes on")
