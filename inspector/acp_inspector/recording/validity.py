"""Whether a line is JSON, told fast enough for a flood.

The standard library reads a value to tell; a faster parser says yes where it can, and where it says
no the standard library has the last word. It takes a while to import, so a few lines go without.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from acp_protocol import jsonrpc

PATIENCE: Final = 200
"""Lines after which the fast parser is worth its import."""
BOM: Final = b"\xef\xbb\xbf"
"""What stands before the text in files of some systems, and in JSON never."""
LARGE: Final = 1 << 20
"""Bytes of a line for which it is worth it at once: it holds the line in memory once less."""

_calls: Final = count()
_fast: Final[list[Callable[[bytes], Any]]] = []
"""The fast parser, once it is there."""


def is_json(raw: bytes) -> bool:
    """Tell whether `raw` is JSON that `jsonrpc.parse` reads; nesting is its caller's business."""
    if not _fast:
        if next(_calls) < PATIENCE and len(raw) < LARGE:
            return jsonrpc.is_json(raw)
        _load()
    try:
        _fast[0](raw)
    except (ValueError, RecursionError):
        return jsonrpc.is_json(raw)
    return True


def are_json(lines: Sequence[bytes]) -> bool:
    """Tell whether each line is JSON without a byte order mark; of those at the edge nobody asks.

    Where it says no, each has to be asked alone. The newline of a line is white space.
    """
    if not _fast:
        return all(is_json(line) and not line.startswith(BOM) for line in lines)
    try:
        deque(map(_fast[0], lines), maxlen=0)
    except (ValueError, RecursionError):
        return False
    return True


def _load() -> None:
    import orjson

    # What it takes and the standard library does not: numbers of thousands of digits are out of its
    # range, as are NaN and broken UTF-8, and it nests only slightly deeper.
    _fast.append(orjson.loads)
