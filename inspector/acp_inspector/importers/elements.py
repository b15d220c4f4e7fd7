"""The elements of one long list, one at a time: no file is held in memory as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

_FIRST_CHUNK: Final = 1 << 16
"""Bytes that are read at once; twice as many as long as no element ends."""

_TOKEN: Final = re.compile(
    rb'"(?:[^"\\]|\\.)*+(?P<end>"|\\?\Z)|#[0-9]+=|#[0-9]*\Z|[][(){}]', re.DOTALL
)


class Elements:
    """Cuts out the elements that lie so deep, of containers that open so."""

    def __init__(self, file: BinaryIO, *, opens: tuple[bytes, bytes], depth: int) -> None:
        """Read `file`; yield what opens with `opens[1]` in the `depth`-th `opens[0]`."""
        self._file = file
        self._container, self._element = opens
        self._depth = depth
        self._open: list[bytes] = []
        self._start = -1
        self._label = -1
        self.is_cut = False
        """Whether the file ended in the middle of the list."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each element."""
        buffer, at, size = b"", 0, _FIRST_CHUNK
        while chunk := self._file.read(size):
            buffer += chunk
            size *= 2
            for found in _TOKEN.finditer(buffer, at):
                if found.end() == len(buffer) and found["end"] != b'"' and len(found[0]) > 1:
                    # It may go on in the next chunk.
                    break
                at = found.end()
                if self._takes(found):
                    yield buffer[self._start : at]
                    self._start = -1
            keep = next((mark for mark in (self._start, self._label) if mark >= 0), at)
            keep = min(keep, at)
            if keep:
                size = _FIRST_CHUNK
            buffer, at = buffer[keep:], at - keep
            self._start = self._start - keep if self._start >= 0 else -1
            self._label = self._label - keep if self._label >= 0 else -1
        self.is_cut = bool(self._open) or self._start >= 0

    def _takes(self, found: re.Match[bytes]) -> bool:
        """Follow a token; tell whether an element ends with it."""
        token = found[0]
        if token.startswith(b"#"):
            self._label = found.start() if self._start < 0 else -1
            return False
        if token in (b"(", b"[", b"{"):
            if self._is_at_elements() and token == self._element:
                self._start = self._label if self._label >= 0 else found.start()
            self._open.append(token)
        elif token in (b")", b"]", b"}") and self._open:
            self._open.pop()
            self._label = -1
            return self._start >= 0 and self._is_at_elements()
        self._label = -1
        return False

    def _is_at_elements(self) -> bool:
        return len(self._open) == self._depth and self._open[-1] == self._container
