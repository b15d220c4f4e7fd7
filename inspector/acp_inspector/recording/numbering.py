"""Cuts chunks into frames, and numbers everything in the order in which it was noted.

The recorder of a proxy does so while the proxy runs, and a recovery with what a killed one left:
both come to the same numbers and the same frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Final, Literal, NamedTuple, TypeAlias

from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.encoder import LARGE_FRAME, BatchItem, FrameRun, gathered_frame
from acp_protocol.framing import Side
from acp_protocol.json_values import get_int
from acp_protocol.jsonrpc import Json

Stream: TypeAlias = Literal["client", "agent", "stderr"]

MAX_LINE_BYTES: Final = 512 * 2**20
"""A longer line is not recorded: it may have no end."""
TOO_SLOW: Final = "the recording could not follow"
TOO_LONG: Final = "the line is too long to be recorded"


class Unfinished(NamedTuple):
    """What a stream has sent of a line that has no end yet."""

    data: bytes | bytearray = b""
    is_lost: bool = False
    """Whether the rest of the line is skipped."""


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
        self._cutters: dict[Side, _LineCutter] = {
            "client": _LineCutter(large_frame, begun.get("client", Unfinished())),
            "agent": _LineCutter(large_frame, begun.get("agent", Unfinished())),
        }
        self._ready: list[BatchItem] = []
        """Entries that have their number and were not taken yet."""
        self._drops = DropCounter()
        """Entries that are missing behind them."""

    @property
    def held(self) -> int:
        """Bytes of the unfinished lines."""
        return sum(len(cutter.unfinished) for cutter in self._cutters.values())

    @property
    def unfinished(self) -> dict[Side, Unfinished]:
        return {side: cutter.state for side, cutter in self._cutters.items()}

    def chunk(self, at: float, side: Side, data: bytes) -> int:
        """Add bytes of a side; return the size of a large line that ended in them."""
        cutter = self._cutters[side]
        long, lines = cutter.feed(data)
        if long is not None:
            self._keep(gathered_frame(self._next(), at, side, long))
        if lines:
            self._keep(FrameRun(self.number + 1, at, side, lines))
            self.number += len(lines)
        if len(cutter.unfinished) > self._max_line_bytes:
            self._drop(self._next(), at, side, TOO_LONG, size=cutter.skip())
        return 0 if long is None else len(long)

    def line(
        self, at: float, side: Side, raw: bytes, end: bytes, *, has_room: bool = True
    ) -> Frame:
        """Add a frame, or count it as missing; return it."""
        frame = Frame(self._next(), at, side, raw, end)
        if has_room:
            self._keep(frame)
        else:
            self._drop(frame.seq, at, side, TOO_SLOW, size=len(raw), count=1)
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
        """Count bytes of a stream that are missing, and skip the rest of their line."""
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
        """Return the entries since the last call, and the unfinished lines."""
        items = self.take(with_drops=True)
        for side, cutter in self._cutters.items():
            if rest := cutter.rest():
                items.append(Frame(self._next(), at, side, bytes(rest), b""))
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


class _LineCutter:
    """Cuts one stream into lines; skips the rest of a line after a gap."""

    def __init__(self, large_frame: int, begun: Unfinished) -> None:
        self._large_frame = large_frame
        self.unfinished = bytearray(begun.data)
        self._is_lost = begun.is_lost

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
            self.unfinished += lines.pop()
        return long, lines

    @property
    def state(self) -> Unfinished:
        return Unfinished(self.unfinished, self._is_lost)

    def skip(self) -> int:
        """Skip the unfinished line up to its end; return how many bytes of it are lost."""
        held = len(self.unfinished)
        self.unfinished = bytearray()
        self._is_lost = True
        return held

    def rest(self) -> bytearray:
        """Take out the unfinished line."""
        rest, self.unfinished = self.unfinished, bytearray()
        return rest
