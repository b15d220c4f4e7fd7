"""Says in words what of a JSON value does not fit a shape, and what of that a reader has to bear.

This is the slow and exact look: `validate` comes here only with what does not fit at first sight.
It knows the shapes as Python holds them, and no framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    cast,
    get_args,
    get_origin,
)

from typing_extensions import is_typeddict

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.marks import AtLeast, Bounds, Tagged, Tolerance

_KINDS: Final[dict[Any, tuple[str, ...]]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer",),
    float: ("number", "integer"),
    NoneType: ("null",),
    list: ("array",),
    dict: ("object",),
}
"""What a Python type stands for in JSON; an integer is a number too."""

_MISSING: Final = "is missing"
_UNKNOWN: Final = "is none of the known values"


@dataclass(frozen=True, slots=True)
class Complaint:
    """One place that does not fit its shape."""

    path: str
    """Members and list positions from the outside in, with dots: `params.update.content.0`."""
    reason: str
    """What is wrong there, to be read after the path: "is no string"."""
    lenient: bool = False
    """A reader has to bear it: the message stands, its sender has erred."""

    def __str__(self) -> str:
        """Return path and reason as one phrase."""
        return f"{self.path or 'the value'} {self.reason}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A shape, taken apart."""

    type_: Any
    origin: Any
    """What is left of a generic type without its arguments: `Literal`, `Union`, `list`, `dict`."""
    args: tuple[Any, ...]
    marks: tuple[Any, ...]
    kinds: tuple[str, ...]
    """The kinds of JSON that it takes at all."""
    is_object: bool


def find_complaints(shape: Any, value: Json, path: str = "") -> list[Complaint]:
    """Return what of `value`, which stands at `path`, does not fit `shape`."""
    plan = take_apart(shape)
    found = _judge(plan, value, path)
    for mark in plan.marks:
        if isinstance(mark, Bounds | AtLeast):
            found = found or _judge_extent(mark, value, path)
        elif isinstance(mark, Tolerance):
            found = _judge_tolerance(mark, found, value, path)
    return found


def _judge(plan: Plan, value: Json, path: str) -> list[Complaint]:
    if _kind(value) not in plan.kinds:
        return [Complaint(path, _wrong_kind(plan))]
    if plan.is_object:
        return _judge_object(plan.type_, value, path)
    if plan.origin is Union:
        return _judge_union(plan, value, path)
    if plan.origin is Literal and value not in plan.args:
        return [Complaint(path, _UNKNOWN)]
    if plan.origin is list:
        return _judge_entries(plan.args[0], enumerate(cast("list[Json]", value)), path)
    if plan.origin is dict:
        return _judge_entries(plan.args[1], value.items(), path)
    return []


def _wrong_kind(plan: Plan) -> str:
    # That null would do as well is no help to whoever wrote a wrong type.
    hidden = {"null", "integer"} if "number" in plan.kinds else {"null"}
    names = [kind for kind in dict.fromkeys(plan.kinds) if kind not in hidden]
    return f"is no {' or '.join(names)}" if names else "is not null"


def _judge_object(shape: Any, value: Mapping[str, Json], path: str) -> list[Complaint]:
    found: list[Complaint] = []
    for name, member in shape.__annotations__.items():
        if name in value:
            found += find_complaints(member, value[name], _below(path, name))
        elif name in shape.__required_keys__:
            found.append(Complaint(_below(path, name), _MISSING))
    return found


def _judge_entries(
    shape: Any, entries: Iterable[tuple[int | str, Json]], path: str
) -> list[Complaint]:
    return [
        complaint
        for place, entry in entries
        for complaint in find_complaints(shape, entry, _below(path, place))
    ]


def _judge_union(plan: Plan, value: Json, path: str) -> list[Complaint]:
    for mark in plan.marks:
        if isinstance(mark, Tagged):
            return _judge_tagged(mark, plan.args, value, path)
    kind = _kind(value)
    arms = [arm for arm in plan.args if kind in take_apart(arm).kinds]
    # Where other words than the known ones will do, the known ones are not what is missed.
    arms.sort(key=lambda arm: get_origin(arm) is Literal)
    return _closest([find_complaints(arm, value, path) for arm in arms], path)


def _judge_tagged(
    tagged: Tagged, arms: Sequence[Any], value: Mapping[str, Json], path: str
) -> list[Complaint]:
    key = tagged.key(value.get(tagged.tag))
    found = [find_complaints(arms[place], value, path) for place in tagged.places(key)]
    if not found:
        return [Complaint(_below(path, tagged.tag), _tag_fault(tagged.tag, value))]
    best = _closest(found, path)
    if all(complaint.lenient for complaint in best):
        return best
    # An arm without a tag could have held as well, but the sender meant the one that was named.
    return _closest(found[: tagged.values.count(key)] or found, path)


def _tag_fault(tag: str, value: Mapping[str, Json]) -> str:
    if tag not in value:
        return _MISSING
    return _UNKNOWN if isinstance(value[tag], str) else "is no string"


def _judge_extent(mark: Bounds | AtLeast, value: Json, path: str) -> list[Complaint]:
    if isinstance(mark, AtLeast):
        return [Complaint(path, "is too short")] if len(value) < mark.length else []
    if mark.least is not None and value < mark.least:
        return [Complaint(path, "is too small")]
    if mark.greatest is not None and value > mark.greatest:
        return [Complaint(path, "is too large")]
    return []


def _judge_tolerance(
    tolerance: Tolerance, found: list[Complaint], value: Json, path: str
) -> list[Complaint]:
    """Return what was found of the member at `path`, lenient as far as the tolerance covers it."""
    if tolerance.null and value is None:
        return [Complaint(path, "is null", lenient=True)]
    return [
        replace(complaint, lenient=True)
        if tolerance.value or (tolerance.items and complaint.path != path)
        else complaint
        for complaint in found
    ]


def _closest(verdicts: Sequence[list[Complaint]], path: str) -> list[Complaint]:
    """Return the verdict of the arm that the value at `path` was most likely meant for.

    That is one which a reader can bear, then one of whose own members fewest are missing.
    """

    def distance(found: list[Complaint]) -> tuple[bool, int, int, int]:
        hard = [complaint for complaint in found if not complaint.lenient]
        missing = sum(
            complaint.reason == _MISSING and complaint.path.rpartition(".")[0] == path
            for complaint in hard
        )
        return bool(hard), missing, len(hard), len(found)

    return min(verdicts, key=distance)


def _kind(value: Json) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _KINDS.get(type(value), ("nothing of JSON",))[0]


def _below(path: str, part: str | int) -> str:
    return f"{path}.{part}" if path else str(part)


@cache
def take_apart(shape: Any) -> Plan:
    """Take a shape apart; there are as many as the schema has, so each is kept."""
    marks: tuple[Any, ...] = ()
    if get_origin(shape) is NotRequired:
        (shape,) = get_args(shape)
    if get_origin(shape) is Annotated:
        shape, marks = shape.__origin__, shape.__metadata__
    origin = Union if get_origin(shape) is UnionType else get_origin(shape)
    args = get_args(shape)
    return Plan(shape, origin, args, marks, _kinds(shape, origin, args), is_typeddict(shape))


def _kinds(type_: Any, origin: Any, args: tuple[Any, ...]) -> tuple[str, ...]:
    if type_ is Any:
        return tuple(kind for kinds in _KINDS.values() for kind in kinds)
    if origin is Union:
        return tuple(kind for arm in args for kind in take_apart(arm).kinds)
    if origin is Literal:
        return tuple(kind for word in args for kind in _KINDS[type(word)])
    return _KINDS[dict if is_typeddict(type_) else origin or type_]
