"""In which line of a TOML text each key stands, because the library that reads it does not tell.

The text was read before, so it is known to be TOML; only what a place needs is looked at here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys, and numbers of entries, from the top of the file."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY: Final = re.compile(r"""[ \t]*(?:"((?:\\.|[^"\\])*)"|'([^']*)'|([A-Za-z0-9_-]+))[ \t]*""")
_STRING: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' + r"|'''.*?'{3,5}" + r'|"(?:\\.|[^"\\])*"' + r"|'[^']*'", re.DOTALL
)
_SCALAR: Final = re.compile(r"[^,\]}#\n]*")


def key_lines(text: str) -> Mapping[Path, int]:
    """Return the line, from 1 on, of every key and every entry of a list in a TOML text."""
    scanner = _Scanner(text)
    scanner.read()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._tables: dict[Path, int] = {}
        """How many tables each list of tables has so far."""
        self.lines: dict[Path, int] = {}

    def read(self) -> None:
        base: Path = ()
        while self._next():
            if self._next() == "[":
                base = self._header()
            else:
                self._assignment(base)

    def _next(self) -> str:
        """Return the first sign that means something; nothing at the end."""
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def _note(self, path: Path) -> None:
        self.lines.setdefault(path, bisect_right(self._starts, self._at))

    def _header(self) -> Path:
        begin = self._at
        is_list = self._text.startswith("[[", begin)
        self._at += 2 if is_list else 1
        *outer, name = self._key()
        self._at += 2 if is_list else 1
        base: Path = ()
        for part in outer:
            base = self._entered((*base, part))
        base = (*base, name)
        if is_list:
            self._tables[base] = self._tables.get(base, 0) + 1
            base = self._entered(base)
        end, self._at = self._at, begin
        for length in range(1, len(base) + 1):
            self._note(base[:length])
        self._at = end
        return base

    def _entered(self, path: Path) -> Path:
        return (*path, self._tables[path] - 1) if path in self._tables else path

    def _key(self) -> list[str]:
        parts: list[str] = []
        while found := _KEY.match(self._text, self._at):
            parts.append(next(part for part in found.groups() if part is not None))
            self._at = found.end()
            if not self._text.startswith(".", self._at):
                break
            self._at += 1
        return parts

    def _assignment(self, base: Path) -> None:
        begin = self._at
        path = (*base, *self._key())
        end, self._at = self._at, begin
        for length in range(len(base) + 1, len(path) + 1):
            self._note(path[:length])
        self._at = end + 1
        self._value(path)

    def _value(self, path: Path) -> None:
        match self._next():
            case "{":
                self._at += 1
                while (sign := self._next()) not in {"}", ""}:
                    if sign == ",":
                        self._at += 1
                    else:
                        self._assignment(path)
                self._at += 1
            case "[":
                self._entries(path)
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_SCALAR)

    def _entries(self, path: Path) -> None:
        self._at += 1
        number = 0
        while (sign := self._next()) not in {"]", ""}:
            if sign == ",":
                self._at += 1
                continue
            self._note((*path, number))
            self._value((*path, number))
            number += 1
        self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at + 1
