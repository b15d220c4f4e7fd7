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
        self._label_end = -1
        self.is_cut = False
        """Whether the file ended in the middle of the list."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each element."""
        buffer, at, size = b"", 0, _FIRST_CHUNK
        while chunk := self._file.read(size):
            buffer += chunk
            size *= 2
            for found in _TOKEN.finditer(buffer, at):
                if _is_partial(found):
                    break
                at = found.end()
                if self._takes(found):
                    yield buffer[self._start : at]
                    self._start = -1
            keep = min((mark for mark in (self._start, self._label) if mark >= 0), default=at)
            if keep:
                size = _FIRST_CHUNK
            buffer, at = buffer[keep:], at - keep
            self._start, self._label = self._start - keep, self._label - keep
            self._label_end -= keep
        self.is_cut = bool(self._open) or self._start >= 0

    def _takes(self, found: re.Match[bytes]) -> bool:
        """Follow a token; tell whether an element ends with it."""
        token = found[0]
        if token.startswith(b"#"):
            self._label, self._label_end = found.span()
            return False
        label, self._label = self._label, -1
        if token in (b"(", b"[", b"{"):
            if self._is_at_elements() and token == self._element:
                is_labelled = label >= 0 and self._label_end == found.start()
                self._start = label if is_labelled else found.start()
            self._open.append(token)
        elif token in (b")", b"]", b"}") and self._open:
            self._open.pop()
            return self._start >= 0 and self._is_at_elements()
        return False

    def _is_at_elements(self) -> bool:
        return len(self._open) == self._depth and self._open[-1] == self._container


def _is_partial(found: re.Match[bytes]) -> bool:
    """Tell whether the token may go on in the next chunk."""
    token = found[0]
    if token.startswith(b'"'):
        return found["end"] != b'"'
    return token.startswith(b"#") and not token.endswith(b"=")
