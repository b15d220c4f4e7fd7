r"""Strings in JSON source text, with the position of each of their characters.

A secret is found in the decoded string but cut out of the source text: `\u0041`, `\/` and a pair of
surrogates are one character each, and a cut must not split such an escape. Texts need not be valid
JSON: a truncated line is read as far as possible.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from acp_inspector.redaction.patterns import ParsedCommandLine

_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL
)
_SHORT: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_TOKEN: Final = re.compile(r'"((?:[^"\\]|\\.)*+)("|\\?\Z)|[{}\[\]:,]', re.DOTALL)


class DecodedText:
    """A text whose escapes are decoded, and the offset of each of its characters in the source."""

    __slots__ = ("_indexes", "_offsets", "start", "text")

    def __init__(
        self, source: str, start: int, escape: re.Pattern[str], decode: Callable[[str], str]
    ) -> None:
        """Decode each `escape` in `source`, which is at offset `start` of its text.

        `decode` returns one character, or none.
        """
        self.start = start
        self._indexes = [0]
        self._offsets = [0]
        pieces: list[str] = []
        index = offset = 0
        for found in escape.finditer(source):
            plain = source[offset : found.start()]
            char = decode(found[0])
            index += len(plain)
            pieces += (plain, char)
            self._indexes += (index, index + len(char))
            self._offsets += (found.start(), found.end())
            index += len(char)
            offset = found.end()
        pieces.append(source[offset:])
        self.text = "".join(pieces)

    def offset(self, index: int) -> int:
        """Return the offset in the source of the character at `index`."""
        at = bisect_right(self._indexes, index) - 1
        return self.start + self._offsets[at] + index - self._indexes[at]

    def end_offset(self, index: int) -> int:
        """Return the offset in the source behind the character before `index`."""
        at = bisect_left(self._indexes, index)
        if at == len(self._indexes) or self._indexes[at] > index:
            at -= 1
        return self.start + self._offsets[at] + index - self._indexes[at]


class JsonLiteral(DecodedText):
    """A string in JSON source text."""

    __slots__ = ()

    def __init__(self, source: str, start: int) -> None:
        """Decode `source` (without quotes), which is at offset `start` of its text."""
        if "\\" in source:
            super().__init__(source, start, _ESCAPE, _character)
        else:
            self.start, self.text, self._indexes, self._offsets = start, source, [0], [0]


def _character(escape: str) -> str:
    if len(escape) == 12:
        high, low = int(escape[2:6], 16), int(escape[8:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if len(escape) == 6:
        return chr(int(f"0x{escape[2:]}", 0))
    return _SHORT.get(escape[1], escape[1])


@dataclass(frozen=True, slots=True)
class JsonString:
    """A string and its context."""

    literal: JsonLiteral
    is_key: bool = False
    key: str = ""
    """The key of the value; of an element, the key of its array."""
    above: str = ""
    """The key whose value its object is."""
    previous: str = ""
    """The previous string, in an array."""
    password_at: int | None = None
    """Index at which a password starts, if the string is a word of a command."""


NAMING: Final = ("name", "key", "header", "variable")
"""Members that may name the member `value` of the same object."""
NamedValue: TypeAlias = dict[str, JsonLiteral]
"""The members `value` and those of `NAMING` of one object."""
_COMMAND: Final = "command"
_ARGUMENTS: Final = frozenset({"args", "arguments"})


@dataclass(slots=True)
class _Container:
    """An object or array that is being read."""

    is_object: bool
    key: str = ""
    """The current key; in an array, the key of the array."""
    above: str = ""
    line: ParsedCommandLine | None = None
    """The command line whose words are in the array, or whose command is in the object."""
    is_key_next: bool = True
    previous: str = ""
    members: NamedValue = field(default_factory=NamedValue)

    def string(self, literal: JsonLiteral) -> JsonString:
        """Note the next string, and return it with its context."""
        if not self.is_object:
            self.line = self.line or ParsedCommandLine()
            previous, self.previous = self.previous, literal.text
            at = self.line.secret_in(literal.text)
            return JsonString(literal, key=self.key, previous=previous, password_at=at)
        if self.is_key_next:
            self.key = literal.text
            return JsonString(literal, is_key=True)
        if self.key == _COMMAND:
            self.line = ParsedCommandLine()
            self.line.secret_in(literal.text)
        if self.key == "value" or self.key in NAMING:
            self.members[self.key] = literal
        return JsonString(literal, key=self.key, above=self.above)


def strings(text: str) -> Iterator[JsonString | NamedValue]:
    """Yield the strings in `text`, in order, and at the end of each object its `NamedValue`.

    Invalid JSON is no error.
    """
    stack: list[_Container] = []
    for token in _TOKEN.finditer(text):
        parent = stack[-1] if stack else None
        mark = token[0][0]
        if mark == '"':
            literal = JsonLiteral(token[1], token.start(1))
            yield parent.string(literal) if parent else JsonString(literal)
        elif mark == "{":
            stack.append(_Container(is_object=True, above=parent.key if parent else ""))
        elif mark == "[":
            line = parent.line if parent and parent.key in _ARGUMENTS else None
            stack.append(_Container(is_object=False, key=parent.key if parent else "", line=line))
        elif mark in "}]":
            if stack and (members := stack.pop().members):
                yield members
        elif parent and parent.is_object:
            parent.is_key_next = mark == ","
    # A truncated object may still have a name and a value.
    for container in reversed(stack):
        if container.members:
            yield container.members
