"""Cuts chunks into frames, and numbers everything in the order in which it was noted.

Most streams are lines; the first bytes of a stream show if its frames have headers with their
lengths instead. A stream whose lengths cannot be right is kept as the lines that it has.

The recorder of a proxy does so while the proxy runs, and a recovery with what a killed one left:
both come to the same numbers and the same frames.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Final, Literal, NamedTuple, TypeAlias

from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.encoder import LARGE_FRAME, BatchItem, FrameRun, gathered_frame
from acp_protocol.framing import (
    AutoFramer,
    Framing,
    Side,
    WireFrame,
    split_ending,
    unfinished_frame,
)
from acp_protocol.json_values import get_int
from acp_protocol.jsonrpc import Json

Stream: TypeAlias = Literal["client", "agent", "stderr"]

MAX_LINE_BYTES: Final = 512 * 2**20
"""A longer line is not recorded: it may have no end."""
TOO_SLOW: Final = "the recording could not follow"
TOO_LONG: Final = "the line is too long to be recorded"
_HEADER_BEGIN: Final = re.compile(rb"(?i)content-(?:length|type)[ \t]*:")
_MAX_BEGIN: Final = 32
"""Bytes that may be the beginning of a header."""


class Unfinished(NamedTuple):
    """What a stream has sent of a frame that has no end yet."""

    data: bytes | bytearray = b""
    is_lost: bool = False
    """Whether the rest of the frame is skipped."""
    framing: Framing | None = None


class Numbering:
    """The entries of one connection so far, with their numbers."""

    def __init__(
        self,
        number: int,
        unfinished: Mapping[Side, Unfinished] | None = None,
        *,
        report_drop: Callable[[str], None] = lambda why: None,
        max_line_bytes: int = MAX_LINE_BYTES,
        large_frame: int = LARGE_FRAME,
    ) -> None:
        """Go on after entry `number`; `report_drop` is called with why an entry is missing."""
        self.number = number
        self._report_drop = report_drop
        self._max_line_bytes = max_line_bytes
        begun = unfinished or {}
        self._large_frame = large_frame
        self._cutters: dict[Side, _Cutter] = {
            "client": _Cutter(large_frame, max_line_bytes, begun.get("client", Unfinished())),
            "agent": _Cutter(large_frame, max_line_bytes, begun.get("agent", Unfinished())),
        }
        self._ready: list[BatchItem] = []
        """Entries that have their number and were not taken yet."""
        self._drops = DropCounter()
        """Entries that are missing behind them."""

    @property
    def held(self) -> int:
        """Bytes of the unfinished frames."""
        return sum(cutter.held for cutter in self._cutters.values())

    @property
    def unfinished(self) -> dict[Side, Unfinished]:
        return {side: cutter.state for side, cutter in self._cutters.items()}

    def chunk(self, at: float, side: Side, data: bytes) -> int:
        """Add bytes of a side; return the size of the large frames that ended in them."""
        cutter = self._cutters[side]
        if cutter.framer is not None:
            size = self._frames(at, side, cutter.split(cutter.framer, data))
        else:
            long, lines = cutter.feed(data)
            size = 0 if long is None else len(long)
            if long is not None:
                self._keep(gathered_frame(self._next(), at, side, long))
            if lines:
                self._keep(FrameRun(self.number + 1, at, side, lines))
                self.number += len(lines)
        if len(cutter.unfinished) > self._max_line_bytes:
            self._drop(self._next(), at, side, TOO_LONG, size=cutter.skip())
        return size

    def _frames(self, at: float, side: Side, frames: list[WireFrame]) -> int:
        gathered = 0
        for each in frames:
            self._keep(Frame(self._next(), at, side, each.data, each.ending, each.header))
            gathered += len(each.data) if len(each.data) >= self._large_frame else 0
        return gathered

    def frame(self, at: float, side: Side, sent: WireFrame, *, has_room: bool = True) -> Frame:
        """Add a frame, or count it as missing; return it."""
        cutter = self._cutters[side]
        if cutter.framer is not None and (before := cutter.rest()):
            # Blank lines, which precede a header.
            self._keep(Frame(self._next(), at, side, b"", bytes(before)))
        frame = Frame(self._next(), at, side, sent.data, sent.ending, sent.header)
        if has_room:
            self._keep(frame)
        else:
            self._drop(frame.seq, at, side, TOO_SLOW, size=len(sent.data), count=1)
        return frame

    def stderr(self, at: float, data: bytes) -> None:
        self._keep(StderrChunk(self._next(), at, data))

    def event(self, at: float, name: str, data: dict[str, Json], *, has_room: bool = True) -> None:
        """Add an event, or count it as missing."""
        if has_room:
            self._keep(JournalEvent(self._next(), at, name, data))
        else:
            self._drop(self._next(), at, None, TOO_SLOW, count=1)

    def gap(self, at: float, stream: Stream, missing: int) -> None:
        """Count bytes of a stream that are missing, and skip the rest of their frame."""
        if stream != "stderr":
            self._cutters[stream].skip()
        self._drop(self._next(), at, stream, TOO_SLOW, size=missing)

    def take(self, *, with_drops: bool = False) -> list[BatchItem]:
        """Return the entries since the last call.

        Those that are missing are reported before the next entry; with `with_drops`, now.
        """
        if with_drops or not self._ready:
            self._ready += self._drops.take()
        items, self._ready = self._ready, []
        return items

    def finish(self, at: float) -> list[BatchItem]:
        """Return the entries since the last call, and the unfinished frames."""
        items = self.take(with_drops=True)
        for side, cutter in self._cutters.items():
            if rest := cutter.rest():
                last = unfinished_frame(bytes(rest))
                items.append(Frame(self._next(), at, side, last.data, last.ending))
        return items

    def _keep(self, item: BatchItem) -> None:
        if self._drops:
            self._ready += self._drops.take()
        self._ready.append(item)

    def _drop(
        self, seq: int, at: float, stream: Stream | None, why: str, *, size: int = 0, count: int = 0
    ) -> None:
        self._drops.add(seq, at, stream, why, size=size, count=count)
        self._report_drop(why)

    def _next(self) -> int:
        self.number += 1
        return self.number


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


class _Cutter:
    """Cuts one stream into frames; skips the rest of a frame after a gap."""

    def __init__(self, large_frame: int, limit: int, begun: Unfinished) -> None:
        self._large_frame = large_frame
        self.unfinished = bytearray(begun.data)
        """The line that has no end yet, or what may begin a header after a gap."""
        self._is_lost = begun.is_lost
        self.framer: AutoFramer | None = None
        """Cuts a stream that is not known to be lines."""
        if begun.framing != "lines":
            self.framer = AutoFramer(limit, begun.framing)
            if not self._is_lost:
                self.framer.split(bytes(self._line()))

    def split(self, framer: AutoFramer, data: bytes) -> list[WireFrame]:
        """Return the frames that end in a chunk, while the stream is not known to be lines."""
        if self._is_lost:
            data = self._found(framer, data)
        frames = framer.split(data)
        if framer.problem is not None or framer.framing == "lines":
            self.framer = None
            _, lines = self.feed(framer.rest())
            frames += (WireFrame(b"", *split_ending(line[:-1])) for line in lines)
        return frames

    def _found(self, framer: AutoFramer, data: bytes) -> bytes:
        """Return what follows a gap and the frame that it was in."""
        if framer.framing is None:
            _, newline, data = data.partition(b"\n")
            self._is_lost = not newline
            return data
        data = bytes(self.unfinished) + data
        begin = _HEADER_BEGIN.search(data)
        self._is_lost = begin is None
        self.unfinished = bytearray(data[-_MAX_BEGIN:] if begin is None else b"")
        return b"" if begin is None else data[begin.start() :]

    def feed(self, data: bytes) -> tuple[bytearray | None, list[bytes]]:
        """Return the large line that ended, without its newline, and the others with theirs."""
        if self._is_lost:
            _, newline, data = data.partition(b"\n")
            self._is_lost = not newline
        long, begun = None, b""
        if self.unfinished:
            end = data.find(b"\n") + 1
            if not end:
                self.unfinished += data
                return None, []
            begun, data = data[:end], data[end:]
            if len(self.unfinished) >= self._large_frame:
                self.unfinished += begun[:-1]
                long, begun = self._line(), b""
            else:
                begun = bytes(self._line()) + begun
        if data.find(b"\n") == len(data) - 1 and not begun:
            # A single line, the usual case outside of floods.
            return long, [data] if data else []
        # The fastest way to split at newlines.
        lines = list(BytesIO(data))
        if begun:
            lines.insert(0, begun)
        if lines and not lines[-1].endswith(b"\n"):
            self.unfinished += lines.pop()
        return long, lines

    @property
    def held(self) -> int:
        """Bytes of the unfinished frame."""
        return len(self.unfinished) + (0 if self.framer is None else self.framer.held)

    @property
    def state(self) -> Unfinished:
        if self.framer is None:
            return Unfinished(self.unfinished, self._is_lost, "lines")
        held = self.framer.rest()
        self.framer.split(held)
        return Unfinished(held or self.unfinished, self._is_lost, self.framer.framing)

    def skip(self) -> int:
        """Skip the unfinished frame up to its end; return how many bytes of it are lost."""
        held = len(self.rest())
        self._is_lost = True
        return held

    def rest(self) -> bytes | bytearray:
        """Take out the unfinished frame."""
        if self.framer is not None and not self._is_lost:
            return self.framer.rest()
        return self._line()

    def _line(self) -> bytearray:
        line, self.unfinished = self.unfinished, bytearray()
        return line
