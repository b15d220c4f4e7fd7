"""Messages of every type of the schema, with a wrong value in each place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
)

from typing_extensions import get_type_hints, is_typeddict

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.method_spec import MethodSpec
from acp_protocol.schema.methods import METHODS
from acp_protocol.schema.validate import schema_type

WRONG: Final[Sequence[Json]] = (
    None,
    True,
    -7,
    0.5,
    10**30,
    "",
    "x",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"x": []},
)
_DEPTH: Final = 7
"""Objects in objects that are made; types refer to themselves."""
_SESSION: Final = "s1"
_NAMED: Final[Mapping[str, Json]] = {
    "sessionId": _SESSION,
    "toolCallId": "call1",
    "terminalId": "term1",
    "messageId": "message1",
    "cwd": "/w",
    "path": "/w/a",
    "protocolVersion": 1,
}
"""Values of fields by which messages refer to each other."""
_TAGS: Final = ("sessionUpdate", "type", "outcome", "mode", "action", "state", "kind")

Place = tuple[str | int, ...]


class Case(NamedTuple):
    """A message of a method, of which one value is wrong."""

    method: MethodSpec
    is_result: bool
    value: Json
    is_minimal: bool
    """Whether it has required fields only."""


class Examples:
    """Makes values of types, with all of their fields or with the required ones and a wrong one."""

    def __init__(self, *, is_minimal: bool) -> None:
        self._is_minimal = is_minimal

    def of(self, kind: Any, depth: int = 0, name: str = "") -> list[Json]:
        """Return values of a type that together have all of its fields and arms."""
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in {Annotated, Required, NotRequired}:
            return self.of(arguments[0], depth, name)
        if origin in {Union, UnionType}:
            found = [each for arm in arguments for each in self.of(arm, depth, name)]
            return [each for each in found if each is not None] or [None]
        if is_typeddict(kind):
            return self._objects(kind, depth)
        if origin is list:
            inner = [] if depth > _DEPTH else self.of(arguments[0], depth + 1)
            return [[each] for each in inner] or [[]]
        if origin is dict:
            return [{"key": each} for each in self.of(arguments[1], depth + 1)]
        return list(arguments) if origin is Literal else _plain(kind, name)

    def _objects(self, kind: Any, depth: int) -> list[Json]:
        if depth > _DEPTH:
            return []
        hints = get_type_hints(kind, include_extras=True)
        optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
        left_out = optional if self._is_minimal else set[str]()
        fields = {
            name: self.of(hint, depth + 1, name)
            for name, hint in hints.items()
            if name not in left_out
        }
        whole: dict[str, Json] = {name: found[0] for name, found in fields.items() if found}
        others = [whole | {name: each} for name, found in fields.items() for each in found[1:]]
        # What an object lacks may be there and wrong, and nothing beside it.
        others += [whole | {name: each} for name in sorted(left_out) for each in WRONG]
        return [whole, *others]


def _plain(kind: Any, name: str) -> list[Json]:
    if name in _NAMED:
        return [_NAMED[name]]
    plain: dict[Any, Json] = {str: "x", int: 1, float: 1.5, bool: True, Any: {"x": "y"}}
    return [plain.get(kind)]


def _places(value: Any, before: Place = (), tags: Place = ()) -> Iterator[tuple[Place, Place]]:
    """Yield each place in a value, and what is the same for places of the same meaning."""
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value)
        kinds = tuple(str(value[tag]) for tag in _TAGS if isinstance(value.get(tag), str))
        for key, each in value.items():
            at = (*tags, *kinds, key)
            yield (*before, key), at
            yield from _places(each, (*before, key), at)
    elif isinstance(value, list):
        for number, each in enumerate(cast("list[Any]", value)):
            yield (*before, number), (*tags, 0)
            yield from _places(each, (*before, number), (*tags, 0))


def _replaced(value: Any, place: Place, wrong: Json) -> Json:
    """Return a value with another one in a place; the rest is shared."""
    if not place:
        return wrong
    changed = value.copy()
    changed[place[0]] = _replaced(value[place[0]], place[1:], wrong)
    return changed


def cases(version: int) -> Iterator[Case]:
    """Yield each message once right, and with each wrong value in each place."""
    for method in METHODS:
        if method.version != version:
            continue
        for is_result, definition in ((False, method.params), (True, method.result)):
            if definition is not None:
                kind = schema_type(definition, method.version)
                for is_minimal in (False, True):
                    for value in _variants(Examples(is_minimal=is_minimal).of(kind)):
                        yield Case(method, is_result, value, is_minimal)


def _variants(found: Sequence[Json]) -> Iterator[Json]:
    seen: set[Place] = set()
    yield from WRONG
    for example in found:
        yield example
        for place, meaning in _places(example):
            if meaning not in seen:
                seen.add(meaning)
                yield from (_replaced(example, place, wrong) for wrong in WRONG)
