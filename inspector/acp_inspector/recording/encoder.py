"""Encodes batches of entries quickly.

The cost is the number of Python steps per frame. The lines of a chunk are therefore validated and
wrapped together; only if one of them is not JSON, or has another line ending, each is handled on
its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias, cast

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.format import are_json, encode_entry, encode_rest, is_json
from acp_protocol.framing import Side, split_ending

MAX_GROUP: Final = 256
"""Lines that are validated together; the parser does not release the GIL."""

SHORT_LINE: Final = 1 << 12
"""Size up to which runs of a single line are grouped."""
LARGE_FRAME: Final = 1 << 20
"""Size from which a frame is encoded in parts, to avoid copies of it."""
SMALL_PART: Final = 1 << 14
"""Size below which parts are joined before they are hashed and written."""
MAX_SMALL_PARTS: Final = 256
"""Small parts that are joined at a time."""
_ENVELOPES: Final[Mapping[Side, bytes]] = {
    "client": b'{"n":%d,"t":%.6f,"from":"client","msg":%.*b}\n',
    "agent": b'{"n":%d,"t":%.6f,"from":"agent","msg":%.*b}\n',
}


class FrameRun:
    """Frames of one side that arrived together and have consecutive numbers."""

    __slots__ = ("lines", "seq", "side", "time")

    def __init__(self, seq: int, time: float, side: Side, lines: Sequence[bytes]) -> None:
        """`seq` is the number of the first frame; `lines` include their newlines."""
        self.seq = seq
        self.time = time
        self.side: Side = side
        self.lines = lines

    @property
    def is_short(self) -> bool:
        return len(self.lines) == 1 and len(self.lines[0]) <= SHORT_LINE

    def parts(self) -> Iterator[FrameRun]:
        """Split the run into runs of at most `MAX_GROUP` frames."""
        for first in range(0, len(self.lines), MAX_GROUP):
            lines = self.lines[first : first + MAX_GROUP]
            yield FrameRun(self.seq + first, self.time, self.side, lines)

    def __iter__(self) -> Iterator[Frame]:
        for seq, line in enumerate(self.lines, start=self.seq):
            yield Frame(seq, self.time, self.side, *split_ending(line[:-1]))


def gathered_frame(seq: int, time: float, side: Side, line: bytearray) -> Frame:
    r"""Return the frame of a line without its `\n`, which must not be changed afterwards.

    The data of the frame is `line` itself, to avoid a copy of a large message.
    """
    line_ending = b"\n"
    if line.endswith(b"\r"):
        line_ending = b"\r\n"
        del line[-1]
    return Frame(seq, time, side, cast("bytes", line), line_ending)


BatchItem: TypeAlias = Entry | FrameRun
Part: TypeAlias = bytes | bytearray


class EntryBatch:
    """Entries in order; runs are expanded only when iterated."""

    def __init__(self, items: Sequence[BatchItem]) -> None:
        self._items = items

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> EntryBatch:
        """Return `entries` as a batch, unchanged if they are one."""
        return entries if isinstance(entries, EntryBatch) else cls(list(entries))

    def __bool__(self) -> bool:
        return bool(self._items)

    def __iter__(self) -> Iterator[Entry]:
        for item in self._items:
            if isinstance(item, FrameRun):
                yield from item
            else:
                yield item

    def events(self) -> list[JournalEvent]:
        return [item for item in self._items if isinstance(item, JournalEvent)]

    def counts(self) -> Counter[type[Entry]]:
        counts: Counter[type[Entry]] = Counter()
        for item in self._items:
            if isinstance(item, FrameRun):
                counts[Frame] += len(item.lines)
            else:
                counts[type(item)] += 1
        return counts

    def last(self) -> tuple[int, float]:
        """Return number and time of the last entry."""
        item = self._items[-1]
        return (
            item.seq + len(item.lines) - 1 if isinstance(item, FrameRun) else item.seq
        ), item.time

    def encoded(self, large_frame: int = LARGE_FRAME) -> Iterator[Part]:
        """Yield the encoded lines in parts, each built on demand.

        The JSON of a frame of `large_frame` bytes or more is a part of its own and is not copied.
        """
        short: list[FrameRun] = []
        for item in self._items:
            if isinstance(item, FrameRun) and item.is_short and len(short) < MAX_GROUP:
                short.append(item)
                continue
            if short:
                yield _encoded_runs(short)
                short = []
            if isinstance(item, FrameRun):
                for part in item.parts():
                    yield _encoded_runs([part])
            elif isinstance(item, Frame) and len(item.data) >= large_frame and is_json(item.data):
                yield b'{"n":%d,"t":%.6f,"from":"%b","msg":' % (
                    item.seq,
                    item.time,
                    item.side.encode(),
                )
                yield item.data
                yield encode_rest(item) + b"}\n"
            else:
                yield encode_entry(item)
        if short:
            yield _encoded_runs(short)


def _encoded_runs(runs: Sequence[FrameRun]) -> bytes:
    lines = [line for run in runs for line in run.lines]
    block = _enveloped(runs)
    if are_json(lines, block):
        return block
    return b"".join(encode_entry(frame) for run in runs for frame in run)


def _enveloped(runs: Sequence[FrameRun]) -> bytes:
    """Return the encoded lines of runs whose frames are all JSON."""
    envelopes: list[bytes] = []
    values: list[int | float | bytes] = []
    # The precision of `%.*b` drops the newline of each line without a copy.
    for run in runs:
        if len(run.lines) == 1:
            (line,) = run.lines
            envelopes.append(_ENVELOPES[run.side])
            values += (run.seq, run.time, len(line) - 1, line)
        else:
            # Time and side are the same for all of a run.
            envelope = b'{"n":%%d,"t":%.6f,"from":"%b","msg":%%.*b}\n'
            envelopes.append(envelope % (run.time, run.side.encode()) * len(run.lines))
            numbers = range(run.seq, run.seq + len(run.lines))
            lengths = [len(line) - 1 for line in run.lines]
            values += chain.from_iterable(zip(numbers, lengths, run.lines, strict=True))
    return b"".join(envelopes) % tuple(values)


def join_small_parts(parts: Iterable[Part], large: int = LARGE_FRAME) -> Iterator[Part]:
    """Yield `parts` with small ones joined, so that there are fewer to hash and write.

    Parts of `large` bytes or more are yielded as they are.
    """
    small: list[Part] = []
    for part in parts:
        is_long = len(part) >= large
        if not is_long:
            small.append(part)
        if small and (is_long or len(part) >= SMALL_PART or len(small) == MAX_SMALL_PARTS):
            yield b"".join(small) if len(small) > 1 else small[0]
            small.clear()
        if is_long:
            yield part
    if small:
        yield b"".join(small)
