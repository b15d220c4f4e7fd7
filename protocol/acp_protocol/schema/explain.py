"""Says in words what of a JSON value does not fit a shape, and what of that a reader has to bear.

This is the slow and exact look: `validate` comes here only with what does not fit at first sight.
It knows the shapes as Python holds them, and no framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
)

from typing_extensions import is_typeddict

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.constraints import ELSE, Discriminator, MinLength, OnError, Range

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
class SchemaError:
    """One place that does not fit its shape."""

    path: str
    """Members and list positions from the outside in, with dots: `params.update.content.0`."""
    reason: str
    """What is wrong there, to be read after the path: "is no string"."""
    is_tolerated: bool = False
    """A reader has to bear it: the message stands, its sender has erred."""

    def __str__(self) -> str:
        """Return path and reason as one phrase."""
        return f"{self.path or 'the value'} {self.reason}"


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """A shape, taken apart."""

    type_: Any
    origin: Any
    """What is left of a generic type without its arguments: `Literal`, `Union`, `list`, `dict`."""
    args: tuple[Any, ...]
    marks: tuple[Any, ...]
    kinds: tuple[str, ...]
    """The kinds of JSON that it takes at all."""
    is_object: bool


def find_errors(type_: Any, value: Json, path: str = "") -> list[SchemaError]:
    """Return what of `value`, which stands at `path`, does not fit `shape`."""
    plan = type_info(type_)
    found = _judge(plan, value, path)
    for mark in plan.marks:
        if isinstance(mark, Range | MinLength):
            found = found or _judge_extent(mark, value, path)
        elif isinstance(mark, OnError):
            found = _judge_tolerance(mark, found, value, path)
    return found


def _judge(plan: TypeInfo, value: Json, path: str) -> list[SchemaError]:
    if _kind(value) not in plan.kinds:
        return [SchemaError(path, _wrong_kind(plan))]
    if plan.is_object:
        return _judge_object(plan.type_, value, path)
    if plan.origin is Union:
        return _judge_union(plan, value, path)
    if plan.origin is Literal and value not in plan.args:
        return [SchemaError(path, _UNKNOWN)]
    if plan.origin is list:
        return _judge_entries(plan.args[0], enumerate(cast("list[Json]", value)), path)
    if plan.origin is dict:
        return _judge_entries(plan.args[1], value.items(), path)
    return []


def _wrong_kind(plan: TypeInfo) -> str:
    # That null would do as well is no help to whoever wrote a wrong type.
    hidden = {"null", "integer"} if "number" in plan.kinds else {"null"}
    names = [kind for kind in dict.fromkeys(plan.kinds) if kind not in hidden]
    return f"is no {' or '.join(names)}" if names else "is not null"


def _judge_object(shape: Any, value: Mapping[str, Json], path: str) -> list[SchemaError]:
    found: list[SchemaError] = []
    for name, member in shape.__annotations__.items():
        if name in value:
            found += find_errors(member, value[name], _below(path, name))
        elif name in shape.__required_keys__:
            found.append(SchemaError(_below(path, name), _MISSING))
    return found


def _judge_entries(
    shape: Any, entries: Iterable[tuple[int | str, Json]], path: str
) -> list[SchemaError]:
    return [
        complaint
        for place, entry in entries
        for complaint in find_errors(shape, entry, _below(path, place))
    ]


def _judge_union(plan: TypeInfo, value: Json, path: str) -> list[SchemaError]:
    for mark in plan.marks:
        if isinstance(mark, Discriminator):
            return _judge_tagged(mark, plan.args, value, path)
    kind = _kind(value)
    arms = [arm for arm in plan.args if kind in type_info(arm).kinds]
    # Where other words than the known ones will do, the known ones are not what is missed.
    arms.sort(key=lambda arm: get_origin(arm) is Literal)
    return _closest([find_errors(arm, value, path) for arm in arms], path)


def _judge_tagged(
    tagged: Discriminator, arms: Sequence[Any], value: Mapping[str, Json], path: str
) -> list[SchemaError]:
    key = tagged.branch_key(value.get(tagged.tag))
    found = [find_errors(arms[place], value, path) for place in tagged.branches(key)]
    if not found:
        return [SchemaError(_below(path, tagged.tag), _tag_fault(tagged.tag, value))]
    best = _closest(found, path)
    if all(complaint.is_tolerated for complaint in best):
        return best
    # An arm without a tag could have held as well, but the sender meant the one that was named.
    return _closest(found[: tagged.values.count(key)] or found, path)


def _tag_fault(tag: str, value: Mapping[str, Json]) -> str:
    if tag not in value:
        return _MISSING
    return _UNKNOWN if isinstance(value[tag], str) else "is no string"


def _judge_extent(mark: Range | MinLength, value: Json, path: str) -> list[SchemaError]:
    if isinstance(mark, MinLength):
        return [SchemaError(path, "is too short")] if len(value) < mark.length else []
    if mark.least is not None and value < mark.least:
        return [SchemaError(path, "is too small")]
    if mark.greatest is not None and value > mark.greatest:
        return [SchemaError(path, "is too large")]
    return []


def _judge_tolerance(
    tolerance: OnError, found: list[SchemaError], value: Json, path: str
) -> list[SchemaError]:
    """Return what was found of the member at `path`, lenient as far as the tolerance covers it."""
    if tolerance.null and value is None:
        return [SchemaError(path, "is null", is_tolerated=True)]
    return [
        replace(complaint, is_tolerated=True)
        if tolerance.value or (tolerance.items and complaint.path != path)
        else complaint
        for complaint in found
    ]


def _closest(verdicts: Sequence[list[SchemaError]], path: str) -> list[SchemaError]:
    """Return the verdict of the arm that the value at `path` was most likely meant for.

    That is one which a reader can bear, then one of whose own members fewest are missing.
    """

    def distance(found: list[SchemaError]) -> tuple[bool, int, int, int]:
        hard = [complaint for complaint in found if not complaint.is_tolerated]
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
def type_info(type_: Any) -> TypeInfo:
    """Take a shape apart; there are as many as the schema has, so each is kept."""
    marks: tuple[Any, ...] = ()
    if get_origin(type_) is NotRequired:
        (type_,) = get_args(type_)
    if get_origin(type_) is Annotated:
        type_, marks = type_.__origin__, type_.__metadata__
    origin = Union if get_origin(type_) is UnionType else get_origin(type_)
    args = get_args(type_)
    return TypeInfo(type_, origin, args, marks, _kinds(type_, origin, args), is_typeddict(type_))


def _kinds(type_: Any, origin: Any, args: tuple[Any, ...]) -> tuple[str, ...]:
    if type_ is Any:
        return tuple(kind for kinds in _KINDS.values() for kind in kinds)
    if origin is Union:
        return tuple(kind for arm in args for kind in type_info(arm).kinds)
    if origin is Literal:
        return tuple(kind for word in args for kind in _KINDS[type(word)])
    return _KINDS[dict if is_typeddict(type_) else origin or type_]


_ABSENT: Final = object()


def drop_invalid(shape: Any, value: Json) -> Json:
    """Return `value` without what `shape` lets a reader bear; `value` itself is not changed."""
    parts = type_info(shape)
    if parts.is_object and isinstance(value, dict):
        return _object(parts.type_, cast("Mapping[str, Json]", value))
    if parts.origin is list and isinstance(value, list):
        return [drop_invalid(parts.args[0], entry) for entry in cast("list[Json]", value)]
    if parts.origin is dict and isinstance(value, dict):
        entries = cast("Mapping[str, Json]", value)
        return {name: drop_invalid(parts.args[1], entry) for name, entry in entries.items()}
    if parts.origin is Union:
        # The arm that the value was meant for is one without hard complaints, if there is any.
        for arm in _arms(parts, value):
            return drop_invalid(arm, value)
    return value


def _object(shape: Any, value: Mapping[str, Json]) -> dict[str, Json]:
    read: dict[str, Json] = {}
    for name, member in value.items():
        annotation = shape.__annotations__.get(name)
        kept = member if annotation is None else _member(annotation, member)
        if kept is not _ABSENT:
            read[name] = kept
        elif name in shape.__required_keys__:
            # Whoever reads a required member looks it up without asking whether it is there.
            read[name] = _nothing(_bare(annotation))
    return read


def _member(annotation: Any, value: Json) -> Json:
    bare = _bare(annotation)
    for mark in type_info(annotation).marks:
        if not isinstance(mark, OnError):
            continue
        if mark.null and value is None:
            return _nothing(bare)
        if mark.items and isinstance(value, list):
            value = [entry for entry in cast("list[Json]", value) if not _is_broken(bare, [entry])]
        if mark.value and _is_broken(bare, value):
            return _ABSENT
    return drop_invalid(bare, value)


def _is_broken(shape: Any, value: Json) -> bool:
    return any(not complaint.is_tolerated for complaint in find_errors(shape, value))


def _bare(annotation: Any) -> Any:
    """Return the shape of a member without what is said of reading it."""
    shape = get_args(annotation)[0] if get_origin(annotation) is NotRequired else annotation
    is_borne = any(isinstance(mark, OnError) for mark in type_info(shape).marks)
    return shape.__origin__ if is_borne else shape


def _nothing(shape: Any) -> Json:
    kinds = type_info(shape).kinds
    if "array" in kinds:
        return []
    return {} if "object" in kinds else None


def _arms(parts: TypeInfo, value: Json) -> list[Any]:
    arms: Sequence[Any] = parts.args
    for mark in parts.marks:
        if isinstance(mark, Discriminator) and isinstance(value, dict):
            tag: Json = cast("dict[str, Json]", value).get(mark.tag)
            arms = [parts.args[place] for place in mark.branches(mark.branch_key(tag))]
    holding = [arm for arm in arms if not _is_broken(arm, value)]
    # First one that has nothing to bear; then an object whose own members are there.
    return sorted(holding, key=lambda arm: (bool(find_errors(arm, value)), -_known(arm, value)))


def _known(arm: Any, value: Json) -> int:
    if is_typeddict(type_ := type_info(arm).type_) and isinstance(value, dict):
        return len(type_.__annotations__.keys() & cast("dict[str, Json]", value).keys())
    return 0


_Kind: TypeAlias = Literal["member", "word"]


def unknown_fields(shape: Any, value: Json, path: str = "") -> list[str]:
    """Return the places of members that `shape` does not know in `value`, which stands at `path`.

    What is of a kind that the shape does not know either has no strangers: nobody can say what
    belongs to it.
    """
    return [place for kind, place in _walk(shape, value, path) if kind == "member"]


def extension_values(shape: Any, value: Json, path: str = "") -> list[str]:
    """Return the places of words that `shape` lets be in `value` without knowing them."""
    return [place for kind, place in _walk(shape, value, path) if kind == "word"]


def _walk(shape: Any, value: Json, path: str) -> Iterator[tuple[_Kind, str]]:
    plan = type_info(shape)
    if plan.is_object and isinstance(value, dict):
        yield from _in_object(plan.type_, cast("dict[str, Json]", value), path)
    elif plan.origin is list and isinstance(value, list):
        for n, entry in enumerate(cast("list[Json]", value)):
            yield from _walk(plan.args[0], entry, _child_path(path, str(n)))
    elif plan.origin is dict and isinstance(value, dict):
        for name, entry in cast("dict[str, Json]", value).items():
            yield from _walk(plan.args[1], entry, _child_path(path, name))
    elif plan.origin is Union and isinstance(value, str | dict | list):
        yield from _in_union(plan, value, path)


def _in_object(shape: Any, value: dict[str, Json], path: str) -> Iterator[tuple[_Kind, str]]:
    known: dict[str, Any] = shape.__annotations__
    for name, member in value.items():
        if name in known:
            yield from _walk(known[name], member, _child_path(path, name))
        else:
            yield "member", _child_path(path, name)


def _in_union(plan: TypeInfo, value: Json, path: str) -> Iterator[tuple[_Kind, str]]:
    if isinstance(value, str):
        if _is_own_word(plan, value):
            yield "word", path
    elif tag := _own_tag(plan, value):
        yield "word", _child_path(path, tag)
    elif (arm := _arm(plan, value)) is not None:
        yield from _walk(arm, value, path)


def _is_own_word(plan: TypeInfo, value: str) -> bool:
    """Tell whether a union knows some words, takes any, and does not know this one."""
    words = [arm for arm in plan.args if get_origin(arm) is Literal]
    is_open = any(type_info(arm).type_ is str for arm in plan.args)
    return bool(words) and is_open and all(value not in type_info(arm).args for arm in words)


def _own_tag(plan: TypeInfo, value: Json) -> str | None:
    """Return the tag of a union that takes objects of any kind, where this one's is not known."""
    for mark in plan.marks:
        if isinstance(mark, Discriminator) and isinstance(value, dict):
            tag = cast("dict[str, Json]", value).get(mark.tag)
            if mark.branch_key(tag) == ELSE and ELSE in mark.values:
                return mark.tag
    return None


def _arm(plan: TypeInfo, value: Json) -> Any:
    """Return the arm of a union that a value is meant for; None for what no arm takes.

    A tag names its arm, even where what belongs there is missing or wrong. Where the tag is missing
    itself, the arm that knows most is meant.
    """
    arms = tuple(arm for arm in plan.args if _takes(arm, value))
    for mark in plan.marks:
        if isinstance(mark, Discriminator) and isinstance(value, dict):
            key = mark.branch_key(cast("dict[str, Json]", value).get(mark.tag))
            places = mark.branches(key)
            named = places[: mark.values.count(key)] if key is not None else places
            if key is not None or places:
                arms = tuple(plan.args[place] for place in named or places)
    if len(arms) < 2:
        return arms[0] if arms else None
    fitting = [arm for arm in arms if not find_errors(arm, value)]
    # Of arms that hold alike, the one that knows most of the members is meant.
    return min(fitting or arms, key=lambda arm: len(unknown_fields(arm, value)))


def _takes(arm: Any, value: Json) -> bool:
    """Tell whether an arm is one for objects, or lists, as the value is one."""
    plan = type_info(arm)
    if plan.origin is Union:
        return any(_takes(each, value) for each in plan.args)
    return plan.is_object or plan.origin is dict if isinstance(value, dict) else plan.origin is list


def _child_path(path: str, part: str) -> str:
    return f"{path}.{part}" if path else part
