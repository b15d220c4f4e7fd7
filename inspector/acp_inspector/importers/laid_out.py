"""JSON that a log lays out over several lines, joined to one line again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

MAX_LINES: Final = 20_000
MAX_BYTES: Final = 1 << 24
"""An object with more of either is not joined."""
_MAX_TRIES: Final = 5
"""How often a line may be looked at: objects within one that does not end are joined, too."""
_OPENS: Final = re.compile(rb"\{\s*$")
_CONTINUES: Final = re.compile(rb'\s*(?:["{}\[\]]|-?\d|true\b|false\b|null\b)')
_TEXT: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')


def join_laid_out(lines: Iterable[bytes], tries: int = _MAX_TRIES) -> Iterator[list[bytes]]:
    """Yield the lines, those of one JSON object together.

    An object begins at the end of a line, behind any text, and ends where its braces are closed.

    Args:
        lines: the lines of a log.
        tries: how many objects around a line may be without an end, before it stays alone.
    """
    held: list[bytes] = []
    size = depth = 0
    for line in lines:
        if held and not (_CONTINUES.match(line) and len(held) < MAX_LINES and size < MAX_BYTES):
            yield from _unfinished(held, tries)
            held, size, depth = [], 0, 0
        if not held and not (tries and _OPENS.search(line)):
            yield [line]
            continue
        # The text before the object in its first line says nothing about its end.
        depth += _depth(line) if held else 1
        held.append(line)
        size += len(line)
        if depth <= 0:
            yield held
            held, size, depth = [], 0, 0
    yield from _unfinished(held, tries)


def _unfinished(held: list[bytes], tries: int) -> Iterator[list[bytes]]:
    return chain([held[:1]], join_laid_out(held[1:], tries - 1)) if held else iter(())


def _depth(line: bytes) -> int:
    bare = _TEXT.sub(b"", line)
    return len(re.findall(rb"[{\[]", bare)) - len(re.findall(rb"[}\]]", bare))
