r"""Strings as they stand in JSON: where each character of a value came from.

A secret is found in what a string says and cut out of how it is spelled: `\u0041`, `\/` and a pair
of surrogates are one character each, and the cut must fall between such spellings, never inside.
Texts need not be valid JSON: a line that was cut off is read as far as it goes.
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
    """A string of JSON: what it says, and where each of its characters is spelled."""

    __slots__ = ("_spelled_at", "_told_at", "start", "text")

    def __init__(self, spelling: str, start: int) -> None:
        """Read `spelling` (without quotes), which stands at `start` of its text."""
        self.start = start
        self._told_at = [0]
        self._spelled_at = [0]
        if "\\" not in spelling:
            self.text = spelling
            return
        pieces: list[str] = []
        told = spelled = 0
        for found in _ESCAPE.finditer(spelling):
            plain = spelling[spelled : found.start()]
            told += len(plain)
            pieces += (plain, _character(found[0]))
            self._mark(told, found.start())
            told += 1
            spelled = found.end()
            self._mark(told, spelled)
        pieces.append(spelling[spelled:])
        self.text = "".join(pieces)

    def place(self, index: int) -> int:
        """Return where the character `index` of the value begins in the text."""
        at = bisect_right(self._told_at, index) - 1
        return self.start + self._spelled_at[at] + index - self._told_at[at]

    def _mark(self, told: int, spelled: int) -> None:
        self._told_at.append(told)
        self._spelled_at.append(spelled)


def _character(escape: str) -> str:
    if len(escape) == 12:
        high, low = int(escape[2:6], 16), int(escape[8:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if len(escape) == 6:
        return chr(int(f"0x{escape[2:]}", 0))
    return _SHORT.get(escape[1], escape[1])


@dataclass(slots=True)
class JsonContainer:
    """An object or an array while it is read."""

    is_object: bool
    key: str = ""
    """The key whose value comes next; in an array, that of the array."""
    is_key_next: bool = True
    above: str = ""
    """The key under which an object stands."""
    previous: str = ""
    """The string before, in an array."""
    members: dict[str, JsonLiteral] | None = None
    """What stood under `value` and the names of `NAMING`, in an object."""
    line: ParsedCommandLine | None = None
    """What the strings are words of, in an array; the command before its words, in an object."""


@dataclass(frozen=True, slots=True)
class JsonString:
    """A string, with what is around it."""

    literal: JsonLiteral
    role: Role
    key: str
    """The key under which it stands; of an element, the key of its array."""
    above: str = ""
    """The key under which its object stands."""
    previous: str = ""
    """The string before it, in an array."""
    password_at: int | None = None
    """Where a password begins that it has as a word of a command."""


@dataclass(frozen=True, slots=True)
class ClosedObject:
    """An object that has ended, with its members that may name a secret."""

    members: dict[str, JsonLiteral]


NAMING: Final = ("name", "key", "header", "variable")
"""Members of an object that may name what its member `value` is."""
_PAIRED: Final = frozenset({*NAMING, "value"})
_COMMAND: Final = "command"
_ARGUMENTS: Final = frozenset({"args", "arguments"})


def strings(text: str) -> Iterator[JsonString | ClosedObject]:
    """Yield the strings of the JSON `text`, in order; never raises, whatever `text` is."""
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
        elif stack:
            _step(stack[-1], mark)
    # What was cut off may still have told name and value.
    for container in reversed(stack):
        if container.members:
            yield ClosedObject(container.members)


def _step(container: JsonContainer, mark: str) -> None:
    if container.is_object:
        container.is_key_next = mark == ","


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
