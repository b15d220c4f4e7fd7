"""Where the entry with a number stands, found by halving: numbers rise from line to line."""

from __future__ import annotations

import re
from typing import Final

from acp_inspector.journal import Frame, JournalEvent, StderrText
from acp_inspector.recording import lines
from acp_inspector.recording.content import Read, line_begin, line_end
from acp_inspector.recording.format import decode_line

_NUMBER: Final = re.compile(rb'\{"n":(0|[1-9]\d{0,17}),')
_START: Final = 32
"""Bytes of a line in which our writer has put its number."""


def place_of(read: Read, begin: int, end: int, n: int) -> int | None:
    """Return where the entry `n` begins, if it is one of the whole lines between two places."""
    low, high = begin, end
    while low < high:
        at = line_begin(read, (low + high) // 2 + 1, low)
        place, number, behind = _next_number(read, at, high)
        if number == n:
            return place
        if number is not None and number < n:
            low = behind
        else:
            high = at
    return None


def _next_number(read: Read, at: int, limit: int) -> tuple[int, int | None, int]:
    """Return place, number and end of the first entry from `at` on, where there is one."""
    while at < limit:
        end = line_end(read, at, limit)
        if found := _NUMBER.match(read(at, _START)):
            return at, int(found[1]), end
        if end - at <= lines.LINE_LIMIT:
            row = decode_line(read(at, end - at).rstrip(b"\n"))
            if isinstance(row, Frame | StderrText | JournalEvent):
                return at, row.n, end
        at = end
    return at, None, at
