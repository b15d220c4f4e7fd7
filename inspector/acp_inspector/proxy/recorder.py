"""Records chunks beside the way that they take.

The pumps note each chunk before they forward it; a thread of its own cuts the chunks into frames,
numbers them in the order in which they were noted, and writes them. The queue is bounded: a flood
is held back for a moment, as by any slow reader; when the disk does not come back in that time,
what comes is left out of the recording, counted and told, and the traffic goes on.

Whoever interferes with frames has to know their numbers at once: `frame` numbers what was noted so
far itself instead of waiting for the thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from io import BytesIO
from typing import Final, TypeAlias

from acp_inspector.journal import Frame, JournalEvent, StderrText
from acp_inspector.proxy.gaps import Gaps, Stream
from acp_inspector.proxy.log import Sink
from acp_inspector.proxy.room import Load, Room
from acp_inspector.recording.encoder import LARGE, Batch, Item, LongLine, Run
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

QUEUE_LIMIT: Final = 8 * 2**20
"""Bytes that may wait to be written."""
PATIENCE: Final = 2.0
"""Seconds that a flood is held back for each `QUEUE_LIMIT` bytes that are written before it."""
LONGEST: Final = 512 * 2**20
"""Bytes of a line, beyond which it is not held any longer: it may have no end."""
BEHIND: Final = "the recording could not follow"
ENDLESS: Final = "the line is too long to be recorded"
KEPT: Final = QUEUE_LIMIT
"""Bytes, of which twice as many stay with the process when they are free."""
WARNING: Final = 1.0
"""Seconds that the end waits for a warning to be read."""
PAUSE: Final = 0.001
"""Seconds for which the first chunk of a batch waits for company.

Writing takes the interpreter's lock, which the pumps need to forward the next chunk: one batch in a
millisecond costs them less than one for each chunk.
"""

# Plain classes: an editor waits until these are made, and the pumps until one of them is.


class _Chunk:
    __slots__ = ("at", "data", "stream")

    def __init__(self, at: float, stream: Stream, data: bytes) -> None:
        self.at = at
        self.stream: Stream = stream
        self.data = data

    @property
    def size(self) -> int:
        return len(self.data)


class _Event:
    """Something that happened; `size` bytes of it had to find room."""

    __slots__ = ("at", "data", "has_room", "name", "size")

    def __init__(self, at: float, name: str, data: dict[str, Json], size: int) -> None:
        self.at = at
        self.name = name
        self.data = data
        self.size = size
        self.has_room = True


class _Gap:
    """`missing` bytes of `stream` were not noted here."""

    __slots__ = ("at", "missing", "stream")

    size: Final = 0

    def __init__(self, at: float, stream: Stream, missing: int) -> None:
        self.at = at
        self.stream: Stream = stream
        self.missing = missing


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

    @property
    def size(self) -> int:
        return len(self.raw) if self.has_room else 0


_Note: TypeAlias = _Chunk | _Event | _Gap | _Line


class Recorder:
    """Takes notes from several threads and writes them from one."""

    def __init__(
        self,
        writer: Sink,
        clock: Callable[[], float] = time.monotonic,
        *,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Write with `writer`; `warn` is told once why something is missing, in its own thread."""
        self._writer = writer
        self._clock = clock
        self._warn = warn
        self._began = clock() - writer.time_offset
        self._queue: deque[_Note] = deque()
        self._room = Room(QUEUE_LIMIT, PATIENCE)
        self._numbering = threading.Lock()
        self._ready: list[Item] = []
        """What is numbered and not written yet, with the room that it takes."""
        self._load = Load()
        self._gaps = Gaps()
        """What is missing behind that."""
        self._number = writer.first_number - 1
        self._cutters: dict[Side, _Cutter] = {"client": _Cutter(), "agent": _Cutter()}
        self._has_noted = threading.Event()
        self._is_closed = False
        self._warning: threading.Thread | None = None
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def note(self, stream: Stream, data: bytes) -> None:
        """Note a chunk; to be called before its bytes leave.

        Waits for room as long as `Room` says, and not again before there was some.
        """
        at = self._clock() - self._began
        if self._room.take(len(data)):
            self._put(_Chunk(at, stream, data))
        else:
            self._put(_Gap(at, stream, len(data)))
            self._number_now()

    def frame(self, side: Side, raw: bytes, end: bytes) -> int:
        """Note a frame and return its number; it may come to be missing, see `line`."""
        return self.line(side, raw, end).n

    def line(self, side: Side, raw: bytes, end: bytes) -> Frame:
        """Note a frame and return it, with its time and its number.

        One that finds no room is missing, and told of together with those around it.
        """
        at = self._clock() - self._began
        note = _Line(at, side, raw, end, has_room=self._room.take(len(raw)))
        self._put(note)
        self._number_now()
        return Frame(note.n, at, side, raw, end)

    def event(self, name: str, **data: Json) -> None:
        """Note an event; one about a frame may be missing as frames may, but nobody waits."""
        size = sum(len(value) for value in data.values() if isinstance(value, str))
        note = _Event(self._clock() - self._began, name, data, size)
        if "of" in data and not self._room.take_at_once(size):
            note.size, note.has_room = 0, False
        elif "of" not in data:
            note.size = 0
        self._put(note)

    def close(self) -> None:
        """Write what was noted, the cut-off rests of both streams and the footer."""
        self._is_closed = True
        self._has_noted.set()
        self._thread.join()
        if self._warning is not None:
            self._warning.join(WARNING)

    def _put(self, note: _Note) -> None:
        self._queue.append(note)
        # Looking costs the pumps less than setting; who is woken already finds this note as well.
        if not self._has_noted.is_set():
            self._has_noted.set()

    def _number_now(self) -> None:
        with self._numbering:
            self._number_all()

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
            if not self._ready:
                # Otherwise a run of gaps is told when it is over.
                self._ready += self._gaps.told()
            items, self._ready = self._ready, []
            load, self._load = self._load, Load()
        if not items and not load:
            return False
        self._writer.write(Batch(items))
        self._room.free(load)
        return True

    def _number_all(self) -> None:
        """Cut and number what was noted."""
        for _ in range(len(self._queue)):
            note = self._queue.popleft()
            self._load.add(note.size)
            self._number_one(note)

    def _number_one(self, note: _Note) -> None:
        match note:
            case _Chunk():
                if note.stream == "stderr":
                    self._keep(StderrText(self._next(), note.at, note.data))
                else:
                    self._cut(note.at, note.stream, note.data)
            case _Line():
                note.n = self._next()
                if note.has_room:
                    self._keep(Frame(note.n, note.at, note.side, note.raw, note.end))
                else:
                    self._miss(note.n, note.at, note.side, BEHIND, size=len(note.raw), count=1)
            case _Event():
                if note.has_room:
                    self._keep(JournalEvent(self._next(), note.at, note.name, note.data))
                else:
                    self._miss(self._next(), note.at, None, BEHIND, count=1)
            case _Gap():
                if note.stream != "stderr":
                    self._cutters[note.stream].skip()
                self._miss(self._next(), note.at, note.stream, BEHIND, size=note.missing)

    def _cut(self, at: float, side: Side, data: bytes) -> None:
        cutter = self._cutters[side]
        long, lines = cutter.feed(data)
        if long is not None:
            self._room.hold(len(long))
            self._load.large += len(long)
            self._keep(LongLine.of(self._next(), at, side, long))
        if lines:
            self._keep(Run(self._number + 1, at, side, lines))
            self._number += len(lines)
        if cutter.held > LONGEST:
            self._miss(self._next(), at, side, ENDLESS, size=cutter.skip())

    def _keep(self, item: Item) -> None:
        if self._gaps:
            self._ready += self._gaps.told()
        self._ready.append(item)

    def _miss(
        self, n: int, at: float, stream: Stream | None, why: str, *, size: int = 0, count: int = 0
    ) -> None:
        self._gaps.add(n, at, stream, why, size=size, count=count)
        if self._warning is None:
            told = f"{why}; what is missing is counted there, and the traffic goes on"
            # Whoever comes here must not wait for a stderr that nobody reads.
            warning = threading.Thread(target=self._warn, args=(told,), daemon=True)
            warning.start()
            self._warning = warning

    def _rests(self) -> list[Item]:
        at = self._clock() - self._began
        rests: list[Item] = []
        for side, cutter in self._cutters.items():
            if rest := cutter.rest():
                rests.append(LongLine(self._next(), at, side, rest, b""))
        return rests

    def _next(self) -> int:
        self._number += 1
        return self._number


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

    def feed(self, data: bytes) -> tuple[bytearray | None, list[bytes]]:
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
                begun = bytes(self.rest()) + begun
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

    def rest(self) -> bytearray:
        """Take out the unfinished line."""
        rest, self._unfinished = self._unfinished, bytearray()
        return rest
