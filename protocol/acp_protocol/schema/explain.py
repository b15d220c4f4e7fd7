"""Finds the errors of a JSON value against a type, and which of them a reader has to tolerate.

This is the slow and exact validation, which `validate` uses only for values that pydantic refuses.
It works on the types themselves, without a framework.
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
"""The JSON kinds of a Python type; an integer is a number too."""

_MISSING: Final = "is missing"
_UNKNOWN: Final = "is none of the known values"


@dataclass(frozen=True, slots=True)
class SchemaError:
    """One value that does not fit its type."""

    path: str
    """Fields and list positions from the outside in, with dots: `params.update.content.0`."""
    reason: str
    """What is wrong there, to be read after the path: "is no string"."""
    is_tolerated: bool = False
    """The sender is wrong, but a reader has to accept the message."""

    def __str__(self) -> str:
        """Return path and reason as one phrase."""
        return f"{self.path or 'the value'} {self.reason}"


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """A type, taken apart."""

    type_: Any
    origin: Any
    """What is left of a generic type without its arguments: `Literal`, `Union`, `list`, `dict`."""
    args: tuple[Any, ...]
    marks: tuple[Any, ...]
    kinds: tuple[str, ...]
    """The JSON kinds that it accepts."""
    is_object: bool


def find_errors(type_: Any, value: Json, path: str = "") -> list[SchemaError]:
    """Return the errors of `value`, which is at `path`, against `type_`."""
    info = type_info(type_)
    found = _type_errors(info, value, path)
    for mark in info.marks:
        if isinstance(mark, Range | MinLength):
            found = found or _range_errors(mark, value, path)
        elif isinstance(mark, OnError):
            found = _with_tolerance(mark, found, value, path)
    return found


def _type_errors(info: TypeInfo, value: Json, path: str) -> list[SchemaError]:
    if _kind(value) not in info.kinds:
        return [SchemaError(path, _wrong_kind(info))]
    if info.is_object:
        return _object_errors(info.type_, value, path)
    if info.origin is Union:
        return _union_errors(info, value, path)
    if info.origin is Literal and value not in info.args:
        return [SchemaError(path, _UNKNOWN)]
    if info.origin is list:
        return _entries_errors(info.args[0], enumerate(cast("list[Json]", value)), path)
    if info.origin is dict:
        return _entries_errors(info.args[1], value.items(), path)
    return []


def _wrong_kind(info: TypeInfo) -> str:
    # That null is accepted too does not help to correct a wrong type.
    hidden = {"null", "integer"} if "number" in info.kinds else {"null"}
    names = [kind for kind in dict.fromkeys(info.kinds) if kind not in hidden]
    return f"is no {' or '.join(names)}" if names else "is not null"


def _object_errors(shape: Any, value: Mapping[str, Json], path: str) -> list[SchemaError]:
    found: list[SchemaError] = []
    for name, member in shape.__annotations__.items():
        if name in value:
            found += find_errors(member, value[name], _below(path, name))
        elif name in shape.__required_keys__:
            found.append(SchemaError(_below(path, name), _MISSING))
    return found


def _entries_errors(
    shape: Any, entries: Iterable[tuple[int | str, Json]], path: str
) -> list[SchemaError]:
    return [
        error
        for place, entry in entries
        for error in find_errors(shape, entry, _below(path, place))
    ]


def _union_errors(info: TypeInfo, value: Json, path: str) -> list[SchemaError]:
    for mark in info.marks:
        if isinstance(mark, Discriminator):
            return _tagged_errors(mark, info.args, value, path)
    kind = _kind(value)
    arms = [arm for arm in info.args if kind in type_info(arm).kinds]
    # If any string is accepted, the literals are not what is missing.
    arms.sort(key=lambda arm: get_origin(arm) is Literal)
    return _closest([find_errors(arm, value, path) for arm in arms], path)


def _tagged_errors(
    tagged: Discriminator, arms: Sequence[Any], value: Mapping[str, Json], path: str
) -> list[SchemaError]:
    key = tagged.branch_key(value.get(tagged.tag))
    found = [find_errors(arms[place], value, path) for place in tagged.branches(key)]
    if not found:
        return [SchemaError(_below(path, tagged.tag), _tag_error(tagged.tag, value))]
    best = _closest(found, path)
    if all(error.is_tolerated for error in best):
        return best
    # An arm without a tag could fit too, but the sender named another one.
    return _closest(found[: tagged.values.count(key)] or found, path)


def _tag_error(tag: str, value: Mapping[str, Json]) -> str:
    if tag not in value:
        return _MISSING
    return _UNKNOWN if isinstance(value[tag], str) else "is no string"


def _range_errors(mark: Range | MinLength, value: Json, path: str) -> list[SchemaError]:
    if isinstance(mark, MinLength):
        return [SchemaError(path, "is too short")] if len(value) < mark.length else []
    if mark.least is not None and value < mark.least:
        return [SchemaError(path, "is too small")]
    if mark.greatest is not None and value > mark.greatest:
        return [SchemaError(path, "is too large")]
    return []


def _with_tolerance(
    tolerance: OnError, found: list[SchemaError], value: Json, path: str
) -> list[SchemaError]:
    """Return `found` with the errors that the tolerance covers marked as tolerated."""
    if tolerance.null and value is None:
        return [SchemaError(path, "is null", is_tolerated=True)]
    return [
        replace(error, is_tolerated=True)
        if tolerance.value or (tolerance.items and error.path != path)
        else error
        for error in found
    ]


def _closest(candidates: Sequence[list[SchemaError]], path: str) -> list[SchemaError]:
    """Return the errors of the arm that the value at `path` was most likely meant for.

    That is one with only tolerated errors, then one with the fewest missing fields of its own.
    """

    def distance(found: list[SchemaError]) -> tuple[bool, int, int, int]:
        hard = [error for error in found if not error.is_tolerated]
        missing = sum(
            error.reason == _MISSING and error.path.rpartition(".")[0] == path for error in hard
        )
        return bool(hard), missing, len(hard), len(found)

    return min(candidates, key=distance)


def _kind(value: Json) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _KINDS.get(type(value), ("nothing of JSON",))[0]


def _below(path: str, part: str | int) -> str:
    return f"{path}.{part}" if path else str(part)


@cache
def type_info(type_: Any) -> TypeInfo:
    """Take a type apart; the result is cached, because the schema has a limited number."""
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
    """Return a copy of `value` without the parts whose errors are tolerated."""
    parts = type_info(shape)
    if parts.is_object and isinstance(value, dict):
        return _object(parts.type_, cast("Mapping[str, Json]", value))
    if parts.origin is list and isinstance(value, list):
        return [drop_invalid(parts.args[0], entry) for entry in cast("list[Json]", value)]
    if parts.origin is dict and isinstance(value, dict):
        entries = cast("Mapping[str, Json]", value)
        return {name: drop_invalid(parts.args[1], entry) for name, entry in entries.items()}
    if parts.origin is Union:
        # The arm that the value was meant for has only tolerated errors, if there is one.
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
            # Readers look up a required field without checking that it is there.
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
    return any(not error.is_tolerated for error in find_errors(shape, value))


def _bare(annotation: Any) -> Any:
    """Return the type of a field without its tolerance."""
    shape = get_args(annotation)[0] if get_origin(annotation) is NotRequired else annotation
    is_tolerant = any(isinstance(mark, OnError) for mark in type_info(shape).marks)
    return shape.__origin__ if is_tolerant else shape


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
    # First arms without any error; then those with the most known fields.
    return sorted(holding, key=lambda arm: (bool(find_errors(arm, value)), -_known(arm, value)))


def _known(arm: Any, value: Json) -> int:
    if is_typeddict(type_ := type_info(arm).type_) and isinstance(value, dict):
        return len(type_.__annotations__.keys() & cast("dict[str, Json]", value).keys())
    return 0


_Kind: TypeAlias = Literal["member", "word"]


def unknown_fields(shape: Any, value: Json, path: str = "") -> list[str]:
    """Return the paths of fields in `value`, which is at `path`, that `shape` does not define.

    An object of an unknown kind has no unknown fields, because its fields are not defined at all.
    """
    return [place for kind, place in _walk(shape, value, path) if kind == "member"]


def extension_values(shape: Any, value: Json, path: str = "") -> list[str]:
    """Return the paths of strings in `value` that `shape` allows but does not define."""
    return [place for kind, place in _walk(shape, value, path) if kind == "word"]


def _walk(shape: Any, value: Json, path: str) -> Iterator[tuple[_Kind, str]]:
    info = type_info(shape)
    if info.is_object and isinstance(value, dict):
        yield from _in_object(info.type_, cast("dict[str, Json]", value), path)
    elif info.origin is list and isinstance(value, list):
        for n, entry in enumerate(cast("list[Json]", value)):
            yield from _walk(info.args[0], entry, _below(path, str(n)))
    elif info.origin is dict and isinstance(value, dict):
        for name, entry in cast("dict[str, Json]", value).items():
            yield from _walk(info.args[1], entry, _below(path, name))
    elif info.origin is Union and isinstance(value, str | dict | list):
        yield from _in_union(info, value, path)


def _in_object(shape: Any, value: dict[str, Json], path: str) -> Iterator[tuple[_Kind, str]]:
    known: dict[str, Any] = shape.__annotations__
    for name, member in value.items():
        if name in known:
            yield from _walk(known[name], member, _below(path, name))
        else:
            yield "member", _below(path, name)


def _in_union(info: TypeInfo, value: Json, path: str) -> Iterator[tuple[_Kind, str]]:
    if isinstance(value, str):
        if _is_own_word(info, value):
            yield "word", path
    elif tag := _own_tag(info, value):
        yield "word", _below(path, tag)
    elif (arm := _arm(info, value)) is not None:
        yield from _walk(arm, value, path)


def _is_own_word(info: TypeInfo, value: str) -> bool:
    """Return whether a union defines some words, allows any, and does not define this one."""
    words = [arm for arm in info.args if get_origin(arm) is Literal]
    is_open = any(type_info(arm).type_ is str for arm in info.args)
    return bool(words) and is_open and all(value not in type_info(arm).args for arm in words)


def _own_tag(info: TypeInfo, value: Json) -> str | None:
    """Return the tag of a union that allows other objects, if the value's tag is unknown."""
    for mark in info.marks:
        if isinstance(mark, Discriminator) and isinstance(value, dict):
            tag = cast("dict[str, Json]", value).get(mark.tag)
            if mark.branch_key(tag) == ELSE and ELSE in mark.values:
                return mark.tag
    return None


def _arm(info: TypeInfo, value: Json) -> Any:
    """Return the arm of a union that a value is meant for; None if no arm accepts it.

    A tag selects its arm, even if its fields are missing or wrong. Without a tag, the arm that
    defines most of the fields is meant.
    """
    arms = tuple(arm for arm in info.args if _takes(arm, value))
    for mark in info.marks:
        if isinstance(mark, Discriminator) and isinstance(value, dict):
            key = mark.branch_key(cast("dict[str, Json]", value).get(mark.tag))
            places = mark.branches(key)
            named = places[: mark.values.count(key)] if key is not None else places
            if key is not None or places:
                arms = tuple(info.args[place] for place in named or places)
    if len(arms) < 2:
        return arms[0] if arms else None
    fitting = [arm for arm in arms if not find_errors(arm, value)]
    # Of several fitting arms, the one that defines most of the fields is meant.
    return min(fitting or arms, key=lambda arm: len(unknown_fields(arm, value)))


def _takes(arm: Any, value: Json) -> bool:
    """Return whether an arm accepts objects or lists, as the value is one."""
    info = type_info(arm)
    if info.origin is Union:
        return any(_takes(each, value) for each in info.args)
    return info.is_object or info.origin is dict if isinstance(value, dict) else info.origin is list
