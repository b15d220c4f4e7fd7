"""Encodes entries one after the other, at less cost where they resemble those before.

Most of the cost of a frame is to find out whether it is JSON. In a flood each differs from the one
before in a single string, mostly. When all around the string is as it was in a frame that was JSON,
and the string is one, then the frame is JSON too: nothing else has to be read.
"""

from __future__ import annotations

import json.decoder
import re
from collections.abc import Callable
from typing import Final, TypeAlias

from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.format import encode_entry, is_json

MOLDS: Final = 3
"""How many are tried; each costs a little where it does not fit."""
LENGTH: Final = 1 << 16
"""Bytes of the longest frame that is looked at for one."""
REST: Final = 16
"""Of so many frames that fit none, one is looked at to find another."""

_AGENT: Final = b'{"n":%d,"t":%.6f,"from":"agent","msg":%b}\n'
_CLIENT: Final = _AGENT.replace(b"agent", b"client")
_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


_scan_string: Final[Callable[[str, int], tuple[str, int]]] = vars(json.decoder)["scanstring"]
"""Returns the string whose content begins at a place, and the place behind its closing quote."""
_Mold: TypeAlias = tuple[str, str]
"""What stands around the string in which frames differ: up to its opening quote, and from its
closing quote on."""


class EntryEncoder:
    """Returns what `encode_entry` returns; keeps what recent frames have in common."""

    def __init__(self) -> None:
        self._molds: list[_Mold] = []
        self._missed = 0
        self._last = ""

    def encode(self, entry: Entry) -> bytes:
        """Return the entry's line, with its newline."""
        if isinstance(entry, Frame) and entry.end == b"\n" and self._is_json(entry.raw):
            start = _AGENT if entry.side == "agent" else _CLIENT
            return start % (entry.n, entry.at, entry.raw)
        return encode_entry(entry)

    def _is_json(self, raw: bytes) -> bool:
        try:
            text = raw.decode()
            for before, behind in self._molds:
                if text.startswith(before) and text.endswith(behind):
                    end = _scan_string(text, len(before))[1]
                    # The string may end early, or begin in what should be behind it.
                    return end == len(text) - len(behind) + 1 or self._looks_like_json(raw, text)
        except ValueError:
            # No UTF-8, or no string there.
            return False
        return self._looks_like_json(raw, text)

    def _looks_like_json(self, raw: bytes, text: str) -> bool:
        if not is_json(raw):
            return False
        self._missed += 1
        if self._missed % REST < 2 and len(raw) <= LENGTH:
            self._learn(text)
        return True

    def _learn(self, text: str) -> None:
        """Find the string in which `text` differs from the frame that was looked at before."""
        last, self._last = self._last, text
        common = _common(last, text)
        strings = (found.span() for found in _STRING.finditer(text))
        if common == len(text):
            # Nothing differs yet; what is longest is the likeliest to.
            start, end = max(strings, key=lambda span: span[1] - span[0], default=(0, 0))
        else:
            start, end = next((span for span in strings if span[0] < common < span[1]), (0, 0))
        if end and last.endswith(text[end - 1 :]):
            self._molds = [(text[: start + 1], text[end - 1 :]), *self._molds][:MOLDS]


def _common(one: str, other: str) -> int:
    """Return how many characters are the same at the beginning of both."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
