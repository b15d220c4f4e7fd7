"""Encodes entries as they come: a run of frames in a few steps, whatever their number.

What costs is each step that Python takes for a frame. The lines of a chunk are therefore judged
together and put into their envelopes together; only where one of them is no JSON, or ends in
another way, each is looked at alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias

from acp_inspector.journal import Entry, Frame, split_ending
from acp_inspector.recording.format import FRAME_LINE, are_json, encode_end, encode_entry, is_json
from acp_protocol.framing import Side

MAX_GROUP: Final = 256
"""Lines that are judged together, at most: the interpreter's lock is not free meanwhile."""

SHORT_LINE: Final = 1 << 12
"""Bytes of a single line, up to which it is judged together with others that came alone."""
LARGE_FRAME: Final = 1 << 20
"""Bytes of a frame from which on it is encoded in parts, so that it is not held several times."""
SMALL_PART: Final = 1 << 14
"""Bytes below which a part is not worth a step of its own."""
MAX_SMALL_PARTS: Final = 256
"""Small parts that are joined, at most."""
_ENVELOPES: Final[Mapping[Side, bytes]] = {
    "client": b'{"n":%d,"t":%.6f,"from":"client","msg":%.*b}\n',
    "agent": b'{"n":%d,"t":%.6f,"from":"agent","msg":%.*b}\n',
}


class FrameRun:
    """Frames of one side that came at once, with one number after the other."""

    __slots__ = ("lines", "seq", "side", "time")

    def __init__(self, n: int, at: float, side: Side, lines: Sequence[bytes]) -> None:
        """Take the first number, and the lines, each with its newline."""
        self.seq = n
        self.time = at
        self.side: Side = side
        self.lines = lines

    def parts(self) -> Iterator[FrameRun]:
        """Return the same in runs of which each can be judged in one go."""
        for at in range(0, len(self.lines), MAX_GROUP):
            yield FrameRun(self.seq + at, self.time, self.side, self.lines[at : at + MAX_GROUP])

    def __iter__(self) -> Iterator[Frame]:
        """Return the frames one by one."""
        for n, line in enumerate(self.lines, start=self.seq):
            yield Frame(n, self.time, self.side, *split_ending(line[:-1]))


class LargeFrame:
    """A frame of any size, in the memory in which it was gathered: a copy would be as large."""

    __slots__ = ("data", "line_ending", "seq", "side", "time")

    def __init__(self, n: int, at: float, side: Side, raw: bytearray, end: bytes) -> None:
        """Take the bytes of the frame, which nobody may change any more."""
        self.seq = n
        self.time = at
        self.side: Side = side
        self.data = raw
        self.line_ending = end

    @classmethod
    def of(cls, n: int, at: float, side: Side, line: bytearray) -> LargeFrame:
        """Return the frame of a line that had its newline taken off."""
        end = b"\n"
        if line.endswith(b"\r"):
            end = b"\r\n"
            del line[-1]
        return cls(n, at, side, line, end)

    def frame(self) -> Frame:
        """Return a copy that is like any other frame."""
        return Frame(self.seq, self.time, self.side, bytes(self.data), self.line_ending)


BatchItem: TypeAlias = Entry | FrameRun | LargeFrame
Part: TypeAlias = bytes | bytearray


class EntryBatch:
    """Entries in order; runs are only taken apart when iterated one by one."""

    def __init__(self, items: Sequence[BatchItem]) -> None:
        self._items = items

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> EntryBatch:
        """Return `entries` as a batch, which they may be already."""
        return entries if isinstance(entries, EntryBatch) else cls(list(entries))

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self._items)

    def __iter__(self) -> Iterator[Entry]:
        """Return the entries one by one."""
        for item in self.one_by_one():
            yield item.frame() if isinstance(item, LargeFrame) else item

    def one_by_one(self) -> Iterator[Entry | LargeFrame]:
        """Return the entries one by one, but no copy of any that is long."""
        for item in self._items:
            if isinstance(item, FrameRun):
                yield from item
            else:
                yield item

    def counts(self) -> Counter[type[Entry]]:
        """Return how many there are of each kind."""
        counts: Counter[type[Entry]] = Counter()
        for item in self._items:
            if isinstance(item, FrameRun):
                counts[Frame] += len(item.lines)
            elif isinstance(item, LargeFrame):
                counts[Frame] += 1
            else:
                counts[type(item)] += 1
        return counts

    def last(self) -> tuple[int, float]:
        """Return number and time of the last entry."""
        item = self._items[-1]
        return (
            item.seq + len(item.lines) - 1 if isinstance(item, FrameRun) else item.seq
        ), item.time

    def encoded(self) -> Iterator[Part]:
        """Return what stands in a recording, in parts of which each is made when it is wanted."""
        short: list[FrameRun] = []
        for item in self._items:
            if isinstance(item, FrameRun) and _is_short(item) and len(short) < MAX_GROUP:
                short.append(item)
                continue
            if short:
                yield _encoded_runs(short)
                short = []
            if isinstance(item, FrameRun):
                for part in item.parts():
                    yield _encoded_runs([part])
            elif isinstance(item, Frame | LargeFrame) and len(item.data) >= LARGE_FRAME:
                yield from _encoded_parts(item)
            else:
                yield encode_entry(item.frame() if isinstance(item, LargeFrame) else item)
        if short:
            yield _encoded_runs(short)


def _is_short(run: FrameRun) -> bool:
    return len(run.lines) == 1 and len(run.lines[0]) <= SHORT_LINE


def _encoded_runs(runs: Sequence[FrameRun]) -> bytes:
    lines = [line for run in runs for line in run.lines]
    block = _enveloped(runs)
    if are_json(lines, block):
        return block
    return b"".join(map(_encoded_singly, runs))


def _enveloped(runs: Sequence[FrameRun]) -> bytes:
    """Return the lines of a recording, whose values are all JSON."""
    envelopes: list[bytes] = []
    values: list[int | float | bytes] = []
    # All but the newline of each line; cut off here, it need not be copied twice.
    for run in runs:
        if len(run.lines) == 1:
            (line,) = run.lines
            envelopes.append(_ENVELOPES[run.side])
            values += (run.seq, run.time, len(line) - 1, line)
        else:
            # What is the same in all of a run is written once.
            envelope = b'{"n":%%d,"t":%.6f,"from":"%b","msg":%%.*b}\n'
            envelopes.append(envelope % (run.time, run.side.encode()) * len(run.lines))
            numbers = range(run.seq, run.seq + len(run.lines))
            lengths = [len(line) - 1 for line in run.lines]
            values += chain.from_iterable(zip(numbers, lengths, run.lines, strict=True))
    return b"".join(envelopes) % tuple(values)


def _encoded_singly(run: FrameRun) -> bytes:
    plain, at = FRAME_LINE[run.side], run.time
    encoded: list[bytes] = []
    for n, line in enumerate(run.lines, start=run.seq):
        raw, end = split_ending(line[:-1])
        if end == b"\n" and is_json(raw):
            encoded.append(plain % (n, at, raw))
        else:
            encoded.append(encode_entry(Frame(n, at, run.side, raw, end)))
    return b"".join(encoded)


def _encoded_parts(frame: Frame | LargeFrame) -> Iterator[Part]:
    """Return a large frame's line in parts, so that its JSON is not copied."""
    if not is_json(frame.data):
        yield encode_entry(frame.frame() if isinstance(frame, LargeFrame) else frame)
        return
    yield b'{"n":%d,"t":%.6f,"from":"%b","msg":' % (frame.seq, frame.time, frame.side.encode())
    yield frame.data
    yield encode_end(frame.line_ending) + b"}\n"


def join_small_parts(parts: Iterable[Part]) -> Iterator[Part]:
    """Return `parts`, the small ones joined: each that is hashed and written alone costs steps."""
    small: list[Part] = []
    for part in parts:
        is_long = len(part) >= LARGE_FRAME
        if not is_long:
            small.append(part)
        if small and (is_long or len(part) >= SMALL_PART or len(small) == MAX_SMALL_PARTS):
            yield b"".join(small) if len(small) > 1 else small[0]
            small.clear()
        if is_long:
            # A copy would be as long.
            yield part
    if small:
        yield b"".join(small)
