r"""Strings in JSON source text, with the position of each of their characters.

A secret is found in the decoded string but cut out of the source text: `\u0041`, `\/` and a pair of
surrogates are one character each, and a cut must not split such an escape. Texts need not be valid
JSON: a truncated line is read as far as possible.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_inspector.redaction.patterns import ParsedCommandLine

_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL
)
_SHORT: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_TOKEN: Final = re.compile(r'"((?:[^"\\]|\\.)*+)("|\\?\Z)|[{}\[\]:,]', re.DOTALL)

Role: TypeAlias = Literal["key", "value", "element"]


class JsonLiteral:
    """A string in JSON source text: its value, and the offset of each character."""

    __slots__ = ("_indexes", "_offsets", "start", "text")

    def __init__(self, source: str, start: int) -> None:
        """Decode `source` (without quotes), which is at offset `start` of its text."""
        self.start = start
        self._indexes = [0]
        self._offsets = [0]
        if "\\" not in source:
            self.text = source
            return
        pieces: list[str] = []
        index = offset = 0
        for found in _ESCAPE.finditer(source):
            plain = source[offset : found.start()]
            index += len(plain)
            pieces += (plain, _character(found[0]))
            self._mark(index, found.start())
            index += 1
            offset = found.end()
            self._mark(index, offset)
        pieces.append(source[offset:])
        self.text = "".join(pieces)

    def offset(self, index: int) -> int:
        """Return the offset in the text of the character at `index` of the value."""
        at = bisect_right(self._indexes, index) - 1
        return self.start + self._offsets[at] + index - self._indexes[at]

    def _mark(self, index: int, offset: int) -> None:
        self._indexes.append(index)
        self._offsets.append(offset)


def _character(escape: str) -> str:
    if len(escape) == 12:
        high, low = int(escape[2:6], 16), int(escape[8:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if len(escape) == 6:
        return chr(int(f"0x{escape[2:]}", 0))
    return _SHORT.get(escape[1], escape[1])


@dataclass(slots=True)
class JsonContainer:
    """An object or array that is being read."""

    is_object: bool
    key: str = ""
    """The current key; in an array, the key of the array."""
    is_key_next: bool = True
    above: str = ""
    """The key whose value the object is."""
    previous: str = ""
    """The previous string, in an array."""
    members: dict[str, JsonLiteral] | None = None
    """The members `value` and those of `NAMING`, in an object."""
    line: ParsedCommandLine | None = None
    """The command line whose words are in the array, or whose command is in the object."""


@dataclass(frozen=True, slots=True)
class JsonString:
    """A string and its context."""

    literal: JsonLiteral
    role: Role
    key: str
    """The key of the value; of an element, the key of its array."""
    above: str = ""
    """The key whose value its object is."""
    previous: str = ""
    """The previous string, in an array."""
    password_at: int | None = None
    """Index at which a password starts, if the string is a word of a command."""


@dataclass(frozen=True, slots=True)
class ClosedObject:
    """An object that ended, with the members that may name a secret."""

    members: dict[str, JsonLiteral]


NAMING: Final = ("name", "key", "header", "variable")
"""Members that may name the member `value` of the same object."""
_PAIRED: Final = frozenset({*NAMING, "value"})
_COMMAND: Final = "command"
_ARGUMENTS: Final = frozenset({"args", "arguments"})


def strings(text: str) -> Iterator[JsonString | ClosedObject]:
    """Yield the strings in `text`, in order; invalid JSON is no error."""
    stack: list[JsonContainer] = []
    for token in _TOKEN.finditer(text):
        mark = token[0][0]
        if mark == '"':
            literal = JsonLiteral(token[1], token.start(1))
            yield _located(literal, stack[-1] if stack else None)
        elif mark in "{[":
            key = stack[-1].key if stack else ""
            is_object = mark == "{"
            above = key if is_object else ""
            is_rest = bool(stack) and not is_object and key in _ARGUMENTS
            line = stack[-1].line if is_rest else None
            stack.append(JsonContainer(is_object, "" if is_object else key, above=above, line=line))
        elif mark in "}]":
            if stack and (members := stack.pop().members):
                yield ClosedObject(members)
        elif stack and stack[-1].is_object:
            stack[-1].is_key_next = mark == ","
    # A truncated object may still have a name and a value.
    for container in reversed(stack):
        if container.members:
            yield ClosedObject(container.members)


def _located(literal: JsonLiteral, container: JsonContainer | None) -> JsonString:
    if container is None:
        return JsonString(literal, "element", "")
    if not container.is_object:
        container.line = container.line or ParsedCommandLine()
        at = container.line.secret_in(literal.text)
        found = JsonString(
            literal, "element", container.key, previous=container.previous, password_at=at
        )
        container.previous = literal.text
        return found
    if container.is_key_next:
        container.key = literal.text
        return JsonString(literal, "key", "")
    if container.key == _COMMAND:
        container.line = ParsedCommandLine()
        container.line.secret_in(literal.text)
    if container.key in _PAIRED:
        container.members = container.members or {}
        container.members[container.key] = literal
    return JsonString(literal, "value", container.key, above=container.above)
