"""Where a recording that is there already has to be gone on with.

The digest of a footer covers all bytes before it, so all of them are read once. Where the last
footer fits them, they are as our writer left them, and the last entry knows the rest. Only of a
recording that did not end in peace is every line looked at.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from acp_inspector.journal import Frame, JournalEvent, StderrText
from acp_inspector.recording.content import (
    LongSpan,
    Read,
    digest_between,
    ends_line,
    line_begin,
    line_end,
    read_at,
    whole_lines,
)
from acp_inspector.recording.format import Digest, Footer, Header, Line, Unreadable, decode_line
from acp_inspector.recording.lines import LINE_LIMIT
from acp_inspector.recording.outlines import Kind, Methods, outline
from acp_inspector.recording.reader import HEADER_LIMIT

COUNTED: Final[Mapping[int, str]] = {
    Kind.CLIENT: "frames",
    Kind.AGENT: "frames",
    Kind.STDERR: "stderr",
    Kind.EVENT: "events",
}
"""How a footer calls what it counts."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """The state in which a writer goes on."""

    digest: Digest
    """Of all bytes that are there."""
    counts: Counter[str]
    last_number: int
    last_time: float
    is_whole: bool
    """Whether the last line has its newline."""


def read_resumption(descriptor: int) -> Resumption | None:
    """Return how to go on with a file; None if its first line is no header of a recording.

    Holds no more than a line at a time.

    Raises:
        OSError: the file cannot be read.
    """
    read = partial(read_at, descriptor)
    size = os.fstat(descriptor).st_size
    first = read(0, line_end(read, 0, min(size, HEADER_LIMIT)))
    if not isinstance(_decoded(first), Header):
        return None
    return _after_a_clean_end(read, size) or _after_a_sudden_end(read, size)


def _after_a_clean_end(read: Read, size: int) -> Resumption | None:
    """Return what the footer says; None if there is none, or if it does not fit."""
    at = line_begin(read, size)
    # No footer is longer than a header may be.
    line = read(at, min(size - at, HEADER_LIMIT))
    footer = _decoded(line)
    if not (isinstance(footer, Footer) and line.endswith(b"\n")):
        return None
    digest = hashlib.sha256()
    digest_between(read, 0, at, digest)
    if digest.hexdigest() != footer.digest:
        return None
    digest.update(line)
    number, time = _last_entry(read, at)
    return Resumption(digest, Counter(footer.counts), number, time, is_whole=True)


def _last_entry(read: Read, end: int) -> tuple[int, float]:
    """Return number and time of the last entry before `end`; zeros if there is none."""
    while end:
        # Before it may stand footers of runs that wrote nothing.
        begin = line_begin(read, end)
        line = _decoded(read(begin, min(end - begin, LINE_LIMIT)))
        if isinstance(line, Frame | StderrText | JournalEvent):
            return line.n, line.at
        end = begin
    return 0, 0.0


def _after_a_sudden_end(read: Read, size: int) -> Resumption:
    digest = hashlib.sha256()
    counts: Counter[str] = Counter()
    methods = Methods()
    number, time = 0, 0.0
    for block in whole_lines(read, 0, size):
        if isinstance(block, LongSpan):
            digest_between(read, *block, digest)
            continue
        digest.update(block)
        found = outline(_good_lines(block), 0, methods)
        for kind, count in Counter(found.kinds).items():
            if kind in COUNTED:
                counts[COUNTED[kind]] += count
        number = max(number, found.last_number)
        latest = max(found.times, default=0.0)
        time = max(time, latest)
    return Resumption(digest, counts, number, time, ends_line(read, size))


def _good_lines(block: bytes) -> bytes:
    """Return `block` as lines that end in newlines; a last one that was cut off is left out."""
    if block.endswith(b"\n"):
        return block
    begin = block.rfind(b"\n") + 1
    is_cut = isinstance(_decoded(block[begin:]), Unreadable)
    return block[:begin] if is_cut else block + b"\n"


def _decoded(line: bytes) -> Line:
    return decode_line(line.rstrip(b"\n"))
