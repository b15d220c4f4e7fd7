"""Records chunks beside the way that they take.

The pumps note each chunk before they forward it; a thread of its own cuts the chunks into frames,
numbers them in the order in which they were noted, and writes them. The queue is bounded: a flood
is held back for a moment, as by any slow reader; when the disk does not come back in that time,
chunks are left out of the recording, counted and told, and the traffic goes on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final, Literal, TypeAlias

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText, split_ending
from acp_inspector.proxy.log import Sink
from acp_protocol.framing import LineFramer, Side
from acp_protocol.jsonrpc import Json

QUEUE_LIMIT: Final = 32 * 2**20
"""Bytes that may wait to be written."""
PATIENCE: Final = 2.0
"""Seconds that a flood is held back for a recording that writes, but not as fast as it comes."""
BATCH_LIMIT: Final = 4 * 2**20
"""Bytes that are written in one go."""
PAUSE: Final = 0.001
"""Seconds for which the first chunk of a batch waits for company.

Writing takes the interpreter's lock, which the pumps need to forward the next chunk: one batch in a
millisecond costs them less than one for each chunk.
"""

Stream: TypeAlias = Literal["client", "agent", "stderr"]


@dataclass(frozen=True, slots=True)
class _Chunk:
    at: float
    stream: Stream
    data: bytes


@dataclass(frozen=True, slots=True)
class _Event:
    at: float
    name: str
    data: dict[str, Json]


@dataclass(frozen=True, slots=True)
class _Gap:
    """`size` bytes of `stream` were not noted here."""

    at: float
    stream: Stream
    size: int


_Note: TypeAlias = _Chunk | _Event | _Gap


class Recorder:
    """Takes notes from several threads and writes them from one."""

    def __init__(self, writer: Sink, clock: Callable[[], float] = time.monotonic) -> None:
        self._writer = writer
        self._clock = clock
        self._began = clock() - writer.time_offset
        self._queue: SimpleQueue[_Note | None] = SimpleQueue()
        self._waiting = 0
        self._room = threading.Condition()
        self._is_behind = False
        self._number = writer.first_number - 1
        self._cutters: dict[Side, _Cutter] = {"client": _Cutter(), "agent": _Cutter()}
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def note(self, stream: Stream, data: bytes) -> None:
        """Note a chunk; to be called before its bytes leave.

        Waits at most `PATIENCE` for room, and not again before there was some.
        """
        at = self._clock() - self._began
        with self._room:
            has_room = self._has_room(len(data))
            if not has_room and not self._is_behind:
                has_room = self._room.wait_for(lambda: self._has_room(len(data)), PATIENCE)
            self._is_behind = not has_room
            self._waiting += len(data) if has_room else 0
        self._queue.put(_Chunk(at, stream, data) if has_room else _Gap(at, stream, len(data)))

    def event(self, name: str, **data: Json) -> None:
        """Note an event."""
        self._queue.put(_Event(self._clock() - self._began, name, data))

    def close(self) -> None:
        """Write what was noted, the cut-off rests of both streams and the footer."""
        self._queue.put(None)
        self._thread.join()

    def _has_room(self, size: int) -> bool:
        return self._waiting == 0 or self._waiting + size <= QUEUE_LIMIT

    def _run(self) -> None:
        is_open = True
        while is_open:
            notes = [self._queue.get()]
            time.sleep(PAUSE)
            size = 0
            while size < BATCH_LIMIT:
                try:
                    note = self._queue.get_nowait()
                except Empty:
                    break
                notes.append(note)
                size += len(note.data) if isinstance(note, _Chunk) else 0
            is_open = None not in notes
            self._writer.write([entry for note in notes if note for entry in self._entries(note)])
            written = sum(len(note.data) for note in notes if isinstance(note, _Chunk))
            with self._room:
                self._waiting -= written
                self._room.notify_all()
        self._writer.write(self._rests())
        self._writer.close()

    def _entries(self, note: _Note) -> list[Entry]:
        match note:
            case _Chunk():
                if note.stream == "stderr":
                    return [StderrText(self._next(), note.at, note.data)]
                return self._frames(note.at, note.stream, note.data)
            case _Event(at=at, name=name, data=data):
                return [JournalEvent(self._next(), at, name, data)]
            case _Gap(at=at, stream=stream, size=size):
                if stream != "stderr":
                    self._cutters[stream].skip()
                told = {"bytes": size, "from": stream, "why": "the recording could not follow"}
                return [JournalEvent(self._next(), at, "dropped", told)]

    def _frames(self, at: float, side: Side, data: bytes) -> list[Entry]:
        lines = self._cutters[side].feed(data)
        number = self._number
        self._number += len(lines)
        return [
            Frame(n, at, side, *split_ending(line))
            for n, line in enumerate(lines, start=number + 1)
        ]

    def _rests(self) -> list[Entry]:
        at = self._clock() - self._began
        rests: list[Entry] = []
        for side, cutter in self._cutters.items():
            if rest := cutter.rest():
                rests.append(Frame(self._next(), at, side, rest, b""))
        return rests

    def _next(self) -> int:
        self._number += 1
        return self._number


class _Cutter:
    """Cuts one stream into lines, and finds its way again after a gap."""

    def __init__(self) -> None:
        self._framer = LineFramer(limit=sys.maxsize)
        self._is_lost = False

    def feed(self, data: bytes) -> list[bytes]:
        if self._is_lost:
            _, newline, data = data.partition(b"\n")
            self._is_lost = not newline
        return self._framer.feed(data)

    def skip(self) -> None:
        """Forget the line that has a hole, and all up to its end."""
        self._framer.rest()
        self._is_lost = True

    def rest(self) -> bytes:
        return self._framer.rest()
