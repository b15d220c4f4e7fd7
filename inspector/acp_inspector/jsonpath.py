"""Paths in JSON: `$.params.update.rawInput.path`, `$.a[0]`, `$.a[*].b`, `$..text`, `$["a b"]`.

Source: RFC 9535, JSONPath; only names, indexes, wildcards and descendants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final, TypeAlias, cast

from acp_protocol.json_values import children, descendants
from acp_protocol.jsonrpc import Json

MAX_VALUES: Final = 100_000
"""Most values that one segment of a path yields; further ones are not found."""
_INDEX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Member:
    """`.name`: the member of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """`[n]`: the n-th item from 0; from the end when negative."""

    number: int


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`[*]`: every item or member."""


@dataclass(frozen=True, slots=True)
class Descendants:
    """`..`: the value itself and all values in it, at any depth."""


Segment: TypeAlias = Member | Index | Wildcard | Descendants


@dataclass(frozen=True, slots=True)
class JSONPath:
    """A parsed path."""

    segments: tuple[Segment, ...]

    def __str__(self) -> str:
        return "$" + "".join(_formatted(self.segments))

    def covers(self, place: JSONPath) -> bool:
        """Return whether this path selects the value at `place`, which selects only one."""
        return _covers(self.segments, place.segments)


class JSONPathError(ValueError):
    """A path has a syntax error at `position`."""

    def __init__(self, position: int) -> None:
        super().__init__('a path continues with `.name`, `..name`, `[0]`, `[*]` or `["name"]`')
        self.position = position


_NAME: Final = r"[^\W\d][\w-]*"
_PIECE: Final = re.compile(
    rf"(?P<below>\.\.)(?=[\w*\[])|(?P<every>\[\*\])|\.?(?P<star>\*)"
    rf'|\[(?P<index>-?\d{{1,{_INDEX_DIGITS}}})\]|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]'
    rf"|\.?(?P<name>{_NAME})",
    re.DOTALL,
)
_PLAIN: Final = re.compile(_NAME)


def parse_path(text: str) -> JSONPath:
    """Parse a path, which begins with `$`.

    Raises:
        JSONPathError: `text` is not a path.
    """
    segments: list[Segment] = []
    at = 1
    while at < len(text):
        found = _PIECE.match(text, at)
        follows_dots = bool(segments) and isinstance(segments[-1], Descendants)
        needs_dot = bool(found and (found["name"] or found["star"]))
        if not found or (needs_dot and (text[at] == ".") == follows_dots):
            raise JSONPathError(at)
        segments.append(_segment(found))
        at = found.end()
    if not segments or isinstance(segments[-1], Descendants):
        raise JSONPathError(at)
    return JSONPath(tuple(segments))


def find_all(value: Json, path: JSONPath) -> list[Json]:
    """Return every value at `path`, in document order."""
    values: list[Json] = [value]
    for segment in path.segments:
        found = chain.from_iterable(_select(value, segment) for value in values)
        values = list(islice(found, MAX_VALUES))
    return values


def set_at(value: Json, path: JSONPath, new: Json) -> bool:
    """Set `new` wherever `path` matches; return whether it matches anything.

    A missing key is added if the path can match only one value and the object around it exists; a
    list is never made longer.
    """
    names_one = all(isinstance(step, Member | Index) for step in path.segments)
    places = _places(value, path, adds_keys=names_one)
    for holder, key in places:
        holder[key] = new
    return bool(places)


def delete_at(value: Json, path: JSONPath) -> int:
    """Delete every value that `path` matches; return their number."""
    places = _places(value, path, adds_keys=False)
    for holder, key in reversed(places):
        # With `..` a value may lie inside another that was just deleted, which does no harm.
        del holder[key]
    return len(places)


def _covers(pattern: tuple[Segment, ...], place: tuple[Segment, ...]) -> bool:
    if not pattern:
        return not place
    first, rest = pattern[0], pattern[1:]
    if isinstance(first, Descendants):
        return any(_covers(rest, place[at:]) for at in range(len(place) + 1))
    is_covered = bool(place) and (isinstance(first, Wildcard) or first == place[0])
    return is_covered and _covers(rest, place[1:])


def _places(value: Json, path: JSONPath, *, adds_keys: bool) -> list[tuple[Any, str | int]]:
    """Return the container and the key of each value that `path` matches."""
    *before, last = path.segments
    found: list[tuple[Any, str | int]] = []
    for holder in find_all(value, JSONPath(tuple(before))):
        size = len(cast("list[Json]", holder)) if isinstance(holder, list) else 0
        match last:
            case Member(name) if isinstance(holder, dict):
                keys: Iterable[str | int] = [name] if adds_keys or name in holder else []
            case Index(number):
                keys = [number % size] if -size <= number < size else []
            case Wildcard():
                keys = (
                    list(cast("dict[str, Json]", holder))
                    if isinstance(holder, dict)
                    else range(size)
                )
            case _:
                keys = []
        found += ((holder, key) for key in keys)
    return found


def _segment(found: re.Match[str]) -> Segment:
    if found["below"]:
        return Descendants()
    if found["every"] or found["star"]:
        return Wildcard()
    if found["index"]:
        return Index(int(found["index"]))
    if found["quoted"] is not None:
        return Member(re.sub(r"\\(.)", r"\1", found["quoted"], flags=re.DOTALL))
    return Member(found["name"])


def formatted_member(name: str, dot: str = ".") -> str:
    """Return the segment that selects the member of this name."""
    if _PLAIN.fullmatch(name):
        return dot + name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{escaped}"]'


def _formatted(segments: Iterable[Segment]) -> Iterator[str]:
    dot = "."
    for segment in segments:
        match segment:
            case Descendants():
                yield ".."
            case Wildcard():
                yield "[*]"
            case Index(number):
                yield f"[{number}]"
            case Member(name):
                yield formatted_member(name, dot)
        dot = "" if isinstance(segment, Descendants) else "."


def _select(value: Json, segment: Segment) -> Iterable[Json]:
    match segment:
        case Member(name):
            members = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
            return (members[name],) if name in members else ()
        case Index(number):
            items = cast("list[Json]", value) if isinstance(value, list) else []
            return (items[number],) if -len(items) <= number < len(items) else ()
        case Wildcard():
            return children(value)
        case Descendants():
            return descendants(value)
