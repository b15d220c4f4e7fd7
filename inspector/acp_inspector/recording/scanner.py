"""Whether a very long line is JSON, told without holding what it says.

A parser makes values, which take up to twenty times the room of the text. This makes none: it goes
from one structural character to the next, over many plain members at once, and never for long
without letting go of the interpreter's lock.
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterator
from typing import Final

from acp_protocol import jsonrpc

WINDOW: Final = 1 << 18
"""Bytes that one step looks at, at most."""

_SPACE: Final = rb"[ \t\r]*+"
_PIECES: Final = rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+'
_STRING: Final = rb'"%b"' % _PIECES
_SCALAR: Final = (
    rb"(?>-?+(?:0|[1-9][0-9]{0,17}+)(?:\.[0-9]{1,18}+)?+(?:[eE][+-]?+[0-9]{1,2}+)?+"
    rb"|true|false|null|%b)" % _STRING
)


def _padded(value: bytes) -> bytes:
    return _SPACE + value + _SPACE


def _list(item: bytes) -> bytes:
    return rb"(?>%b(?:,%b)*+|%b)" % (item, item, _SPACE)


def _member(value: bytes) -> bytes:
    return _padded(_STRING) + b":" + _padded(value)


def _containing(value: bytes) -> bytes:
    """Return what matches `value`, and arrays and objects of nothing else."""
    array, members = _list(_padded(value)), _list(_member(value))
    return rb"(?>%b|\[%b\]|\{%b\})" % (value, array, members)


LEVELS: Final = 3
"""Of nesting that one step goes over."""
_NESTED: Final = _containing(_containing(_containing(_SCALAR)))
_BLANK: Final = re.compile(_SPACE)
_WORD: Final = re.compile(rb"true|false|null|-?+[0-9][-+.0-9eE]*+")
_TEXT: Final = re.compile(_PIECES)
_ITEMS: Final = re.compile(rb"(?:%b,)*+" % _padded(_NESTED))
_MEMBERS: Final = re.compile(rb"(?:%b,)*+" % _member(_NESTED))
_QUOTE, _OBJECT, _ARRAY = b'"{['
_CLOSING: Final = {_OBJECT: ord("}"), _ARRAY: ord("]")}


def is_json(raw: bytes | bytearray, depth: int) -> bool:
    """Tell whether `jsonrpc.parse` takes `raw`, and it nests no deeper than `depth` levels.

    `raw` is one line, and none that begins with a byte order mark.
    """
    try:
        return _Scanner(raw, depth).reads_value() and is_text(raw)
    except ValueError:
        return False


def is_text(raw: bytes | bytearray) -> bool:
    """Tell whether `raw` is UTF-8."""
    try:
        deque(text_parts(raw), maxlen=0)
    except UnicodeDecodeError:
        return False
    return True


def text_parts(raw: bytes | bytearray) -> Iterator[str]:
    """Return the text piece by piece.

    Raises:
        UnicodeDecodeError: `raw` is no UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(0, len(raw), WINDOW):
        yield decoder.decode(raw[at : at + WINDOW])
    yield decoder.decode(b"", final=True)


class _Scanner:
    """A place in a line, and the brackets that are open there; what is no JSON is a ValueError."""

    def __init__(self, raw: bytes | bytearray, depth: int) -> None:
        self._raw = raw
        self._depth = depth
        self._at = 0
        self._open = bytearray()

    def reads_value(self) -> bool:
        """Read a value; tell whether it is all that there is."""
        self._skip_blank()
        while not self._read_start() or self._read_end():
            pass
        return self._at == len(self._raw)

    def _read_start(self) -> bool:
        """Read up to where a value may have ended; False where another has to begin."""
        if (first := self._take()) == _QUOTE:
            self._skip_string()
        elif first in _CLOSING:
            self._open.append(first)
            if len(self._open) > self._depth:
                raise ValueError("nested too deeply")
            self._skip_blank()
            if self._peek() != _CLOSING[first]:
                self._begin_next()
                return False
            self._close()
        else:
            self._at -= 1
            self._skip_word()
        return True

    def _read_end(self) -> bool:
        """Read what closes behind a value; tell whether another has to begin."""
        self._skip_blank()
        while self._open:
            sign = self._take()
            if sign == ord(","):
                self._begin_next()
                return True
            if sign != _CLOSING[self._open[-1]]:
                raise ValueError("neither comma nor end")
            self._at -= 1
            self._close()
            self._skip_blank()
        return False

    def _close(self) -> None:
        self._at += 1
        self._open.pop()

    def _begin_next(self) -> None:
        """Go to the next value that is not plain, or the last."""
        is_object = self._open[-1] == _OBJECT
        if len(self._open) + LEVELS <= self._depth:
            self._skip_all(_MEMBERS if is_object else _ITEMS)
        self._skip_blank()
        if is_object:
            if self._take() != _QUOTE:
                raise ValueError("no name")
            self._skip_string()
            self._skip_blank()
            if self._take() != ord(":"):
                raise ValueError("no colon")
            self._skip_blank()

    def _skip_string(self) -> None:
        self._skip_all(_TEXT)
        if self._take() != _QUOTE:
            raise ValueError("no end of a string")

    def _skip_word(self) -> None:
        word = _WORD.match(self._raw, self._at)
        if word is None or not jsonrpc.is_json(word[0]):
            raise ValueError("no value")
        self._at = word.end()

    def _skip_blank(self) -> None:
        self._skip_all(_BLANK)

    def _skip_all(self, pattern: re.Pattern[bytes]) -> None:
        """Skip what `pattern` matches, which matches nothing as well."""
        while (found := pattern.match(self._raw, self._at, self._at + WINDOW)) is not None:
            if found.end() == self._at:
                break
            self._at = found.end()

    def _peek(self) -> int:
        return self._raw[self._at] if self._at < len(self._raw) else -1

    def _take(self) -> int:
        self._at += 1
        return self._raw[self._at - 1] if self._at <= len(self._raw) else -1
