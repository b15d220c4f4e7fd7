"""Places in JSON: `$.params.update.rawInput.path`, `$.a[0]`, `$.a[*].b`, `$..text`, `$["a b"]`.

Source: RFC 9535, JSONPath; of it names, indexes, wildcards and descendants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from acp_protocol.jsonrpc import Json

MAX_VALUES: Final = 100_000
"""Values that one step of a path looks at, at most; what lies beyond is not found."""
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
    """`..`: the value itself and whatever it holds, at any depth."""


Segment: TypeAlias = Member | Index | Wildcard | Descendants


@dataclass(frozen=True, slots=True)
class JSONPath:
    """Where to look in a message."""

    segments: tuple[Segment, ...]

    def __str__(self) -> str:
        """Return the path as it can be written."""
        return "$" + "".join(_spelled(self.segments))


class JSONPathError(ValueError):
    """A path cannot be understood from `position` on."""

    def __init__(self, position: int) -> None:
        super().__init__('a path goes on with `.name`, `..name`, `[0]`, `[*]` or `["name"]`')
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
    """Return the path that `text` spells; it begins with `$`.

    Raises:
        PathError: it is none.
    """
    steps: list[Segment] = []
    at = 1
    while at < len(text):
        found = _PIECE.match(text, at)
        follows_dots = bool(steps) and isinstance(steps[-1], Descendants)
        needs_dot = bool(found and (found["name"] or found["star"]))
        if not found or (needs_dot and (text[at] == ".") == follows_dots):
            raise JSONPathError(at)
        steps.append(_step(found))
        at = found.end()
    if not steps or isinstance(steps[-1], Descendants):
        raise JSONPathError(at)
    return JSONPath(tuple(steps))


def find_all(value: Json, path: JSONPath) -> list[Json]:
    """Return every value at `path`, in the order in which they stand."""
    places: list[Json] = [value]
    for step in path.segments:
        places = list(_limited(_reached(place, step) for place in places))
    return places


def _step(found: re.Match[str]) -> Segment:
    if found["below"]:
        return Descendants()
    if found["every"] or found["star"]:
        return Wildcard()
    if found["index"]:
        return Index(int(found["index"]))
    if found["quoted"] is not None:
        return Member(re.sub(r"\\(.)", r"\1", found["quoted"], flags=re.DOTALL))
    return Member(found["name"])


def _spelled(steps: Iterable[Segment]) -> Iterator[str]:
    dot = "."
    for step in steps:
        match step:
            case Descendants():
                yield ".."
            case Wildcard():
                yield "[*]"
            case Index(number):
                yield f"[{number}]"
            case Member(name) if _PLAIN.fullmatch(name):
                yield dot + name
            case Member(name):
                escaped = name.replace("\\", "\\\\").replace('"', '\\"')
                yield f'["{escaped}"]'
        dot = "" if isinstance(step, Descendants) else "."


def _limited(groups: Iterable[Iterable[Json]]) -> Iterator[Json]:
    left = MAX_VALUES
    for group in groups:
        for place in group:
            if not left:
                return
            left -= 1
            yield place


def _reached(place: Json, step: Segment) -> Iterable[Json]:
    match step:
        case Member(name):
            members = cast("dict[str, Json]", place) if isinstance(place, dict) else {}
            return (members[name],) if name in members else ()
        case Index(number):
            items = cast("list[Json]", place) if isinstance(place, list) else []
            return (items[number],) if -len(items) <= number < len(items) else ()
        case Wildcard():
            return _inside(place)
        case Descendants():
            return _everything(place)


def _inside(place: Json) -> Iterable[Json]:
    if isinstance(place, dict):
        return cast("dict[str, Json]", place).values()
    return cast("list[Json]", place) if isinstance(place, list) else ()


def _everything(place: Json) -> Iterator[Json]:
    # Without recursion: nesting comes from the wire.
    waiting = [place]
    while waiting:
        value = waiting.pop()
        yield value
        waiting.extend(reversed(list(_inside(value))))
