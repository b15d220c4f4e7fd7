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
from acp_inspector.recording.format import PLAIN, are_json, encode_entry, encoded_end, is_json
from acp_protocol.framing import Side

GROUP: Final = 256
"""Lines that are judged together, at most: the interpreter's lock is not free meanwhile."""

SHORT: Final = 1 << 12
"""Bytes of a single line, up to which it is judged together with others that came alone."""
LARGE: Final = 1 << 20
"""Bytes of a frame from which on it is encoded in parts, so that it is not held several times."""
SMALL: Final = 1 << 14
"""Bytes below which a part is not worth a step of its own."""
MANY: Final = 256
"""Small parts that are joined, at most."""
_ENVELOPES: Final[Mapping[Side, bytes]] = {
    "client": b'{"n":%d,"t":%.6f,"from":"client","msg":%.*b}\n',
    "agent": b'{"n":%d,"t":%.6f,"from":"agent","msg":%.*b}\n',
}


class Run:
    """Frames of one side that came at once, with one number after the other."""

    __slots__ = ("at", "lines", "n", "side")

    def __init__(self, n: int, at: float, side: Side, lines: Sequence[bytes]) -> None:
        """Take the first number, and the lines, each with its newline."""
        self.n = n
        self.at = at
        self.side: Side = side
        self.lines = lines

    def parts(self) -> Iterator[Run]:
        """Return the same in runs of which each can be judged in one go."""
        for at in range(0, len(self.lines), GROUP):
            yield Run(self.n + at, self.at, self.side, self.lines[at : at + GROUP])

    def __iter__(self) -> Iterator[Frame]:
        """Return the frames one by one."""
        for n, line in enumerate(self.lines, start=self.n):
            yield Frame(n, self.at, self.side, *split_ending(line[:-1]))


class LongLine:
    """A frame of any size, in the memory in which it was gathered: a copy would be as large."""

    __slots__ = ("at", "end", "n", "raw", "side")

    def __init__(self, n: int, at: float, side: Side, raw: bytearray, end: bytes) -> None:
        """Take the bytes of the frame, which nobody may change any more."""
        self.n = n
        self.at = at
        self.side: Side = side
        self.raw = raw
        self.end = end

    @classmethod
    def of(cls, n: int, at: float, side: Side, line: bytearray) -> LongLine:
        """Return the frame of a line that had its newline taken off."""
        end = b"\n"
        if line.endswith(b"\r"):
            end = b"\r\n"
            del line[-1]
        return cls(n, at, side, line, end)

    def frame(self) -> Frame:
        """Return a copy that is like any other frame."""
        return Frame(self.n, self.at, self.side, bytes(self.raw), self.end)


Item: TypeAlias = Entry | Run | LongLine
Part: TypeAlias = bytes | bytearray


class Batch:
    """Entries in order; runs are only taken apart when iterated one by one."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Batch:
        """Return `entries` as a batch, which they may be already."""
        return entries if isinstance(entries, Batch) else cls(list(entries))

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self._items)

    def __iter__(self) -> Iterator[Entry]:
        """Return the entries one by one."""
        for item in self.singly():
            yield item.frame() if isinstance(item, LongLine) else item

    def singly(self) -> Iterator[Entry | LongLine]:
        """Return the entries one by one, but no copy of any that is long."""
        for item in self._items:
            if isinstance(item, Run):
                yield from item
            else:
                yield item

    def counts(self) -> Counter[type[Entry]]:
        """Return how many there are of each kind."""
        counts: Counter[type[Entry]] = Counter()
        for item in self._items:
            if isinstance(item, Run):
                counts[Frame] += len(item.lines)
            elif isinstance(item, LongLine):
                counts[Frame] += 1
            else:
                counts[type(item)] += 1
        return counts

    def last(self) -> tuple[int, float]:
        """Return number and time of the last entry."""
        item = self._items[-1]
        return (item.n + len(item.lines) - 1 if isinstance(item, Run) else item.n), item.at

    def encoded(self) -> Iterator[Part]:
        """Return what stands in a recording, in parts of which each is made when it is wanted."""
        short: list[Run] = []
        for item in self._items:
            if isinstance(item, Run) and _is_short(item) and len(short) < GROUP:
                short.append(item)
                continue
            if short:
                yield _encoded_runs(short)
                short = []
            if isinstance(item, Run):
                for part in item.parts():
                    yield _encoded_runs([part])
            elif isinstance(item, Frame | LongLine) and len(item.raw) >= LARGE:
                yield from _encoded_parts(item)
            else:
                yield encode_entry(item.frame() if isinstance(item, LongLine) else item)
        if short:
            yield _encoded_runs(short)


def _is_short(run: Run) -> bool:
    return len(run.lines) == 1 and len(run.lines[0]) <= SHORT


def _encoded_runs(runs: Sequence[Run]) -> bytes:
    lines = [line for run in runs for line in run.lines]
    block = _enveloped(runs)
    if are_json(lines, block):
        return block
    return b"".join(map(_encoded_singly, runs))


def _enveloped(runs: Sequence[Run]) -> bytes:
    """Return the lines of a recording, whose values are all JSON."""
    envelopes: list[bytes] = []
    values: list[int | float | bytes] = []
    # All but the newline of each line; cut off here, it need not be copied twice.
    for run in runs:
        if len(run.lines) == 1:
            (line,) = run.lines
            envelopes.append(_ENVELOPES[run.side])
            values += (run.n, run.at, len(line) - 1, line)
        else:
            # What is the same in all of a run is written once.
            envelope = b'{"n":%%d,"t":%.6f,"from":"%b","msg":%%.*b}\n'
            envelopes.append(envelope % (run.at, run.side.encode()) * len(run.lines))
            numbers = range(run.n, run.n + len(run.lines))
            lengths = [len(line) - 1 for line in run.lines]
            values += chain.from_iterable(zip(numbers, lengths, run.lines, strict=True))
    return b"".join(envelopes) % tuple(values)


def _encoded_singly(run: Run) -> bytes:
    plain, at = PLAIN[run.side], run.at
    encoded: list[bytes] = []
    for n, line in enumerate(run.lines, start=run.n):
        raw, end = split_ending(line[:-1])
        if end == b"\n" and is_json(raw):
            encoded.append(plain % (n, at, raw))
        else:
            encoded.append(encode_entry(Frame(n, at, run.side, raw, end)))
    return b"".join(encoded)


def _encoded_parts(frame: Frame | LongLine) -> Iterator[Part]:
    """Return a large frame's line in parts, so that its JSON is not copied."""
    if not is_json(frame.raw):
        yield encode_entry(frame.frame() if isinstance(frame, LongLine) else frame)
        return
    yield b'{"n":%d,"t":%.6f,"from":"%b","msg":' % (frame.n, frame.at, frame.side.encode())
    yield frame.raw
    yield encoded_end(frame.end) + b"}\n"


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Return `parts`, the small ones joined: each that is hashed and written alone costs steps."""
    small: list[Part] = []
    for part in parts:
        is_long = len(part) >= LARGE
        if not is_long:
            small.append(part)
        if small and (is_long or len(part) >= SMALL or len(small) == MANY):
            yield b"".join(small) if len(small) > 1 else small[0]
            small.clear()
        if is_long:
            # A copy would be as long.
            yield part
    if small:
        yield b"".join(small)
