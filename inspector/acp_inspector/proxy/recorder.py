"""Records chunks beside the way that they take.

The pumps note each chunk before they forward it; a thread of its own cuts the chunks into frames,
numbers them in the order in which they were noted, and writes them. The queue is bounded: a flood
is held back for a moment, as by any slow reader; when the disk does not come back in that time,
chunks are left out of the recording, counted and told, and the traffic goes on.

Whoever interferes with frames has to know their numbers at once: `frame` numbers what was noted so
far itself instead of waiting for the thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from io import BytesIO
from typing import Final, Literal, TypeAlias

from acp_inspector.journal import Frame, JournalEvent, StderrText, split_ending
from acp_inspector.proxy.log import Sink
from acp_inspector.recording.encoder import LARGE, Batch, Item, Run
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

QUEUE_LIMIT: Final = 8 * 2**20
"""Bytes that may wait to be written."""
PATIENCE: Final = 2.0
"""Seconds that a flood is held back for a recording that writes, but not as fast as it comes."""
LONGEST: Final = 512 * 2**20
"""Bytes of a line, beyond which it is not held any longer: it may have no end."""
BEHIND: Final = "the recording could not follow"
ENDLESS: Final = "the line is too long to be recorded"
KEPT: Final = QUEUE_LIMIT
"""Bytes, of which twice as many stay with the process when they are free."""
PAUSE: Final = 0.001
"""Seconds for which the first chunk of a batch waits for company.

Writing takes the interpreter's lock, which the pumps need to forward the next chunk: one batch in a
millisecond costs them less than one for each chunk.
"""

Stream: TypeAlias = Literal["client", "agent", "stderr"]


# Plain classes: an editor waits until these are made, and the pumps until one of them is.


class _Chunk:
    __slots__ = ("at", "data", "stream")

    def __init__(self, at: float, stream: Stream, data: bytes) -> None:
        self.at = at
        self.stream: Stream = stream
        self.data = data


class _Event:
    __slots__ = ("at", "data", "name")

    def __init__(self, at: float, name: str, data: dict[str, Json]) -> None:
        self.at = at
        self.name = name
        self.data = data


class _Gap:
    """`size` bytes of `stream` were not noted here."""

    __slots__ = ("at", "size", "stream")

    def __init__(self, at: float, stream: Stream, size: int) -> None:
        self.at = at
        self.stream: Stream = stream
        self.size = size


class _Line:
    """A frame that is cut already; `n` is its number, once it has one."""

    __slots__ = ("at", "end", "has_room", "n", "raw", "side")

    def __init__(self, at: float, side: Side, raw: bytes, end: bytes, *, has_room: bool) -> None:
        self.at = at
        self.side: Side = side
        self.raw = raw
        self.end = end
        self.has_room = has_room
        self.n = 0


_Note: TypeAlias = _Chunk | _Event | _Gap | _Line


class Recorder:
    """Takes notes from several threads and writes them from one."""

    def __init__(self, writer: Sink, clock: Callable[[], float] = time.monotonic) -> None:
        self._writer = writer
        self._clock = clock
        self._began = clock() - writer.time_offset
        self._queue: deque[_Note] = deque()
        self._waiting = 0
        self._room = threading.Condition()
        self._is_behind = False
        self._numbering = threading.Lock()
        self._ready: list[Item] = []
        """What is numbered and not written yet, with the bytes of `_numbered` waiting."""
        self._numbered = 0
        self._number = writer.first_number - 1
        self._cutters: dict[Side, _Cutter] = {"client": _Cutter(), "agent": _Cutter()}
        self._has_noted = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def note(self, stream: Stream, data: bytes) -> None:
        """Note a chunk; to be called before its bytes leave.

        Waits at most `PATIENCE` for room, and not again before there was some.
        """
        at = self._clock() - self._began
        has_room = self._found_room(len(data))
        self._put(_Chunk(at, stream, data) if has_room else _Gap(at, stream, len(data)))

    def frame(self, side: Side, raw: bytes, end: bytes) -> int:
        """Note a frame and return its number; one that finds no room is told of by that number."""
        return self.line(side, raw, end).n

    def line(self, side: Side, raw: bytes, end: bytes) -> Frame:
        """Note a frame and return it, with its time and its number."""
        at = self._clock() - self._began
        note = _Line(at, side, raw, end, has_room=self._found_room(len(raw)))
        self._put(note)
        with self._numbering:
            self._number_all()
        return Frame(note.n, at, side, raw, end)

    def event(self, name: str, **data: Json) -> None:
        """Note an event."""
        self._put(_Event(self._clock() - self._began, name, data))

    def close(self) -> None:
        """Write what was noted, the cut-off rests of both streams and the footer."""
        self._is_closed = True
        self._has_noted.set()
        self._thread.join()

    def _put(self, note: _Note) -> None:
        self._queue.append(note)
        # Looking costs the pumps less than setting; who is woken already finds this note as well.
        if not self._has_noted.is_set():
            self._has_noted.set()

    def _found_room(self, size: int) -> bool:
        with self._room:
            has_room = self._has_room(size)
            if not has_room and not self._is_behind:
                has_room = self._room.wait_for(lambda: self._has_room(size), PATIENCE)
            self._is_behind = not has_room
            self._waiting += size if has_room else 0
        return has_room

    def _has_room(self, size: int) -> bool:
        return self._waiting == 0 or self._waiting + size <= QUEUE_LIMIT

    def _run(self) -> None:
        _keep_memory()
        is_open = True
        while is_open:
            self._has_noted.wait()
            self._has_noted.clear()
            is_open = not self._is_closed
            if is_open:
                time.sleep(PAUSE)
            while self._write_some():
                pass
        self._writer.write(Batch(self._rests()))
        self._writer.close()

    def _write_some(self) -> bool:
        """Write all that was noted; tell whether there was any.

        All, so that whoever kills us loses nothing that had left before this write began.
        """
        with self._numbering:
            self._number_all()
            items, self._ready = self._ready, []
            size, self._numbered = self._numbered, 0
        if not items and not size:
            return False
        self._writer.write(Batch(items))
        with self._room:
            self._waiting -= size
            self._room.notify_all()
        return True

    def _number_all(self) -> None:
        """Cut and number what was noted."""
        for _ in range(len(self._queue)):
            note = self._queue.popleft()
            self._ready += self._items(note)
            if isinstance(note, _Chunk):
                self._numbered += len(note.data)
            elif isinstance(note, _Line) and note.has_room:
                self._numbered += len(note.raw)

    def _items(self, note: _Note) -> list[Item]:
        match note:
            case _Chunk():
                if note.stream == "stderr":
                    return [StderrText(self._next(), note.at, note.data)]
                return self._frames(note.at, note.stream, note.data)
            case _Line():
                note.n = self._next()
                if note.has_room:
                    return [Frame(note.n, note.at, note.side, note.raw, note.end)]
                return [_dropped(note.n, note.at, note.side, len(note.raw), BEHIND)]
            case _Event():
                return [JournalEvent(self._next(), note.at, note.name, note.data)]
            case _Gap():
                if note.stream != "stderr":
                    self._cutters[note.stream].skip()
                return [_dropped(self._next(), note.at, note.stream, note.size, BEHIND)]

    def _frames(self, at: float, side: Side, data: bytes) -> list[Item]:
        cutter = self._cutters[side]
        long, lines = cutter.feed(data)
        items: list[Item] = []
        if long is not None:
            items.append(Frame(self._next(), at, side, *split_ending(long)))
        if lines:
            items.append(Run(self._number + 1, at, side, lines))
            self._number += len(lines)
        if cutter.held > LONGEST:
            items.append(_dropped(self._next(), at, side, cutter.skip(), ENDLESS))
        return items

    def _rests(self) -> list[Item]:
        at = self._clock() - self._began
        rests: list[Item] = []
        for side, cutter in self._cutters.items():
            if rest := cutter.rest():
                rests.append(Frame(self._next(), at, side, rest, b""))
        return rests

    def _next(self) -> int:
        self._number += 1
        return self._number


def _dropped(n: int, at: float, stream: Stream, size: int, why: str) -> JournalEvent:
    return JournalEvent(n, at, "dropped", {"bytes": size, "from": stream, "why": why})


def _keep_memory() -> None:
    """Let the C library keep some megabytes that become free, for a flood needs them again.

    That of Linux gives back all above 128 KB at once, and takes a page fault for each page that
    comes again. Once a block of its own was freed, it keeps twice as much as that block had.
    """
    bytes(KEPT)


class _Cutter:
    """Cuts one stream into lines, and finds its way again after a gap."""

    def __init__(self) -> None:
        self._unfinished = bytearray()
        self._is_lost = False

    def feed(self, data: bytes) -> tuple[bytes | None, list[bytes]]:
        """Return the large line that ended, without newline, and the others, each with its own."""
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
            if len(self._unfinished) >= LARGE:
                self._unfinished += begun[:-1]
                long, begun = self.rest(), b""
            else:
                begun = self.rest() + begun
        if data.find(b"\n") == len(data) - 1 and not begun:
            # A line that came alone, as most do that are not part of a flood.
            return long, [data] if data else []
        # Of all ways to cut at each newline this looks at the bytes between them fastest.
        lines = list(BytesIO(data))
        if begun:
            lines.insert(0, begun)
        if lines and not lines[-1].endswith(b"\n"):
            self._unfinished += lines.pop()
        return long, lines

    @property
    def held(self) -> int:
        """Bytes of the line that has not ended."""
        return len(self._unfinished)

    def skip(self) -> int:
        """Forget the line that has a hole, and all up to its end; return what was held of it."""
        held = self.held
        self._unfinished = bytearray()
        self._is_lost = True
        return held

    def rest(self) -> bytes:
        """Take out the unfinished line."""
        rest = bytes(self._unfinished)
        # Given back at once: it may have been very long.
        self._unfinished = bytearray()
        return rest
