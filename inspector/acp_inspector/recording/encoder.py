"""Encodes entries as they come: a run of frames in a few steps, whatever their number.

What costs is each step that Python takes for a frame. The lines of a chunk are therefore judged
together and put into their envelopes together; only where one of them is no JSON, or ends in
another way, each is looked at alone.
"""

from __future__ import annotations

import binascii
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from acp_inspector.journal import Entry, Frame, split_ending
from acp_inspector.recording.format import PLAIN, encode_entry, encoded_end, fits_as_value, is_json
from acp_inspector.recording.validity import are_json
from acp_protocol import jsonrpc
from acp_protocol.framing import Side

GROUP: Final = 256
"""Lines that are judged together, at most: the interpreter's lock is not free meanwhile."""

FEW: Final = 4
"""Lines that are sooner judged one by one than together."""
LARGE: Final = 1 << 20
"""Bytes of a frame from which on it is encoded in parts, so that it is not held several times."""
_B64_PART: Final = 3 << 18
"""Bytes that stand in four thirds as many characters, with nothing to fill the last."""


class Run:
    """Frames of one side that came at once, with one number after the other."""

    __slots__ = ("at", "lines", "n", "side")

    def __init__(self, n: int, at: float, side: Side, lines: Sequence[bytes]) -> None:
        """Take the first number, and the lines, each with its newline."""
        self.n = n
        self.at = at
        self.side: Side = side
        self.lines = lines

    def __iter__(self) -> Iterator[Frame]:
        """Return the frames one by one."""
        for n, line in enumerate(self.lines, start=self.n):
            yield Frame(n, self.at, self.side, *split_ending(line[:-1]))


Item: TypeAlias = Entry | Run


class Batch:
    """Entries in order, of which runs are only taken apart for who wants them one by one."""

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
            else:
                counts[type(item)] += 1
        return counts

    def last(self) -> tuple[int, float]:
        """Return number and time of the last entry."""
        item = self._items[-1]
        return (item.n + len(item.lines) - 1 if isinstance(item, Run) else item.n), item.at

    def encoded(self) -> Iterator[bytes]:
        """Return what stands in a recording, in parts of which each is made when it is wanted."""
        for item in self._items:
            if isinstance(item, Run):
                yield from _encoded_run(item)
            elif isinstance(item, Frame) and len(item.raw) >= LARGE:
                yield from _encoded_parts(item)
            else:
                yield encode_entry(item)


def _encoded_run(run: Run) -> Iterator[bytes]:
    if len(run.lines) < FEW:
        yield _encoded_singly(run)
        return
    start = b'{"n":%%d,"t":%.6f,"from":"%b","msg":%%.*b}\n' % (run.at, run.side.encode())
    for at in range(0, len(run.lines), GROUP):
        lines = run.lines[at : at + GROUP]
        yield _encoded_group(start, run.n + at, lines) or _encoded_singly(
            Run(run.n + at, run.at, run.side, lines)
        )


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


def _encoded_group(start: bytes, n: int, lines: Sequence[bytes]) -> bytes:
    """Return the lines of a recording; nothing where each has to be looked at alone."""
    if not are_json(lines):
        return b""
    count = len(lines)
    values: list[int | bytes] = [b""] * (3 * count)
    values[::3] = range(n, n + count)
    # All but the newline; cut off here, it need not be copied twice.
    values[1::3] = [len(line) - 1 for line in lines]
    values[2::3] = lines
    block = start * count % tuple(values)
    return block if fits_as_value(block, lines) else b""


def _encoded_parts(frame: Frame) -> Iterator[bytes]:
    # Late, because hardly any proxy meets such a frame.
    from acp_inspector.recording.scanner import is_text, text_parts

    raw = frame.raw
    yield b'{"n":%d,"t":%.6f,"from":"%b",' % (frame.n, frame.at, frame.side.encode())
    if is_json(raw):
        yield b'"msg":'
        yield raw
    elif is_text(raw):
        yield b'"text":"'
        for text in text_parts(raw):
            yield jsonrpc.encode(text)[1:-1]
        yield b'"'
    else:
        yield b'"b64":"'
        for at in range(0, len(raw), _B64_PART):
            yield binascii.b2a_base64(raw[at : at + _B64_PART], newline=False)
        yield b'"'
    yield encoded_end(frame) + b"}\n"
