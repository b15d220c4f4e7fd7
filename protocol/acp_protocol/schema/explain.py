"""Compares a JSON value with a type: errors, which of them to tolerate, unknown fields.

This is the slow and exact validation, which `validate` uses only for values that pydantic refuses.
It works on the types themselves, without a framework.
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

_ABSENT: Final[Json] = object()
"""Read in place of a field whose error is tolerated."""
_MISSING: Final = "is missing"
UNKNOWN_WORD: Final = "is none of the known values"


@dataclass(frozen=True, slots=True)
class SchemaError:
    """One value that does not fit its type."""

    path: str
    """Fields and list positions from the outside in, with dots: `params.update.content.0`."""
    reason: str
    """What is wrong there, to be read after the path: "is not a string"."""
    is_tolerated: bool = False
    """The sender is wrong, but a reader has to accept the message."""

    def __str__(self) -> str:
        return f"{self.path or 'the value'} {self.reason}"


@dataclass(frozen=True, slots=True)
class TypeInfo:
    type_: Any
    origin: Any
    """What is left of a generic type without its arguments: `Literal`, `Union`, `list`, `dict`."""
    args: tuple[Any, ...]
    marks: tuple[Any, ...]
    kinds: tuple[str, ...]
    """The JSON kinds that it accepts."""
    is_object: bool


Unknown: TypeAlias = tuple[Literal["field", "word"], str]
"""The path of a field or string that a type allows but does not define."""


@dataclass(slots=True)
class CheckedValue:
    value: Json
    """The value as a reader has to take it: without the parts whose errors are tolerated."""
    errors: tuple[SchemaError, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    @property
    def is_broken(self) -> bool:
        return any(not error.is_tolerated for error in self.errors)


def unknown_fields(type_: Any, value: Json, path: str = "") -> list[str]:
    """Return the paths of fields in `value`, which is at `path`, that `type_` does not define.

    An object of an unknown kind has no unknown fields, because its fields are not defined at all.
    """
    return [place for kind, place in check(type_, value, path).unknown if kind == "field"]


def extension_values(type_: Any, value: Json, path: str = "") -> list[str]:
    """Return the paths of strings in `value` that `type_` allows but does not define."""
    return [place for kind, place in check(type_, value, path).unknown if kind == "word"]


def check(type_: Any, value: Json, path: str = "") -> CheckedValue:
    """Compare `value`, which is at `path`, with `type_`."""
    info = type_info(type_)
    found = _check_unmarked(info, value, path)
    for mark in info.marks:
        if isinstance(mark, OnError):
            found = _tolerate(mark, info, found, value, path)
        elif isinstance(mark, Range | MinLength) and not found.errors:
            reason = _out_of_range(mark, value)
            found = _wrong(value, path, reason) if reason else found
    return found


def _check_unmarked(info: TypeInfo, value: Json, path: str) -> CheckedValue:
    if _kind(value) not in info.kinds:
        # That null is accepted too does not help to correct a wrong type.
        hidden = {"null", "integer"} if "number" in info.kinds else {"null"}
        names = [kind for kind in dict.fromkeys(info.kinds) if kind not in hidden]
        return _wrong(value, path, f"is not {_named(names)}" if names else "is not null")
    if info.is_object:
        return _check_object(info.type_, value, path)
    if info.origin is Union:
        return _check_union(info, value, path)
    if info.origin is list:
        found = _check_entries(info.args[0], enumerate(cast("list[Json]", value)), path)
        return replace(found, value=list(found.value.values()))
    if info.origin is dict:
        return _check_entries(info.args[1], value.items(), path)
    if info.origin is Literal and value not in info.args:
        return _wrong(value, path, UNKNOWN_WORD)
    return CheckedValue(value)


def _wrong(value: Json, path: str, reason: str) -> CheckedValue:
    return CheckedValue(value, (SchemaError(path, reason),))


def _out_of_range(mark: Range | MinLength, value: Json) -> str | None:
    if isinstance(mark, MinLength):
        return "is too short" if len(value) < mark.length else None
    if mark.least is not None and value < mark.least:
        return "is too small"
    return "is too large" if mark.greatest is not None and value > mark.greatest else None


def _check_object(type_: Any, value: Mapping[str, Json], path: str) -> CheckedValue:
    types: dict[str, Any] = type_.__annotations__
    required: frozenset[str] = type_.__required_keys__
    errors: list[SchemaError] = []
    checked: dict[str, CheckedValue] = {}
    for name, field in types.items():
        if name in value:
            checked[name] = check(field, value[name], _below(path, name))
            errors += checked[name].errors
        elif name in required:
            errors.append(SchemaError(_below(path, name), _MISSING))
    read: dict[str, Json] = {}
    unknown: list[Unknown] = []
    for name, field in value.items():
        found = checked.get(name)
        if found is None:
            read[name] = field
            unknown.append(("field", _below(path, name)))
            continue
        if found.unknown:
            unknown += found.unknown
        if found.value is not _ABSENT:
            read[name] = found.value
        elif name in required:
            # Readers look up a required field without checking that it is there.
            read[name] = _nothing(type_info(types[name]))
    return CheckedValue(read, tuple(errors), tuple(unknown))


def _check_entries(
    type_: Any, entries: Iterable[tuple[int | str, Json]], path: str
) -> CheckedValue:
    read: dict[int | str, Json] = {}
    errors: tuple[SchemaError, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    for place, entry in entries:
        found = check(type_, entry, _below(path, place))
        read[place] = found.value
        errors += found.errors
        unknown += found.unknown
    return CheckedValue(read, errors, unknown)


def _check_union(info: TypeInfo, value: Json, path: str) -> CheckedValue:
    for mark in info.marks:
        if isinstance(mark, Discriminator):
            return _check_tagged(mark, info.args, value, path)
    kind = _kind(value)
    arms = [arm for arm in info.args if kind in type_info(arm).kinds]
    # If any string is accepted, the literals are not what is missing.
    if len(arms) > 1:
        arms.sort(key=lambda arm: get_origin(arm) is Literal)
    best = _closest([check(arm, value, path) for arm in arms], path)
    words = [type_info(arm).args for arm in arms if get_origin(arm) is Literal]
    is_own = bool(words) and not best.errors and all(value not in known for known in words)
    return replace(best, unknown=(("word", path),)) if is_own and kind == "string" else best


def _named(kinds: Sequence[str]) -> str:
    """Return kinds of values with an article: "an integer or string"."""
    return f"{'an' if kinds[0][0] in 'aeio' else 'a'} {' or '.join(kinds)}"


def _check_tagged(
    tagged: Discriminator, arms: Sequence[Any], value: Mapping[str, Json], path: str
) -> CheckedValue:
    tag = value.get(tagged.tag)
    key = tagged.branch_key(tag)
    found = [check(arms[place], value, path) for place in tagged.branches(key)]
    if not found:
        reason = UNKNOWN_WORD if isinstance(tag, str) else "is not a string"
        error = SchemaError(_below(path, tagged.tag), reason if tagged.tag in value else _MISSING)
        guesses = [check(arm, value, path).unknown for arm in arms] if key is None else []
        return CheckedValue(value, (error,), min(guesses, key=len, default=()))
    best = _closest(found, path)
    if best.is_broken:
        # An arm without a tag could fit too, but the sender named another one.
        best = _closest(found[: tagged.values.count(key)] or found, path)
    if key == ELSE and ELSE in tagged.values:
        return replace(best, unknown=(("word", _below(path, tagged.tag)),))
    return best


def _closest(candidates: Sequence[CheckedValue], path: str) -> CheckedValue:
    """Return the arm that the value at `path` was most likely meant for.

    That is one with only tolerated errors, then one with the fewest missing fields of its own.
    """

    def distance(found: CheckedValue) -> tuple[bool, int, int, int, int]:
        hard = [error for error in found.errors if not error.is_tolerated]
        missing = sum(
            error.reason == _MISSING and error.path.rpartition(".")[0] == path for error in hard
        )
        return bool(hard), missing, len(hard), len(found.errors), len(found.unknown)

    return candidates[0] if len(candidates) == 1 else min(candidates, key=distance)


def _tolerate(
    tolerance: OnError, info: TypeInfo, found: CheckedValue, value: Json, path: str
) -> CheckedValue:
    """Mark the errors that the tolerance covers, and read what it says in their place."""
    if tolerance.null and value is None:
        return CheckedValue(_nothing(info), (SchemaError(path, "is null", is_tolerated=True),))
    if not found.errors:
        return found
    read = found
    if found.is_broken and tolerance.items and isinstance(value, list):
        entries = cast("list[Json]", value)
        kept = [entry for entry in entries if not check(info.type_, [entry]).is_broken]
        read = check(info.type_, kept)
    errors = tuple(
        replace(error, is_tolerated=True)
        if tolerance.value or (tolerance.items and error.path != path)
        else error
        for error in found.errors
    )
    is_absent = tolerance.value and read.is_broken
    return CheckedValue(_ABSENT if is_absent else read.value, errors, found.unknown)


def _nothing(info: TypeInfo) -> Json:
    if "array" in info.kinds:
        return []
    return {} if "object" in info.kinds else None


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
    is_object = is_typeddict(type_)
    if type_ is Any:
        kinds = tuple(kind for each in _KINDS.values() for kind in each)
    elif origin is Union:
        kinds = tuple(kind for arm in args for kind in type_info(arm).kinds)
    elif origin is Literal:
        kinds = tuple(kind for word in args for kind in _KINDS[type(word)])
    else:
        kinds = _KINDS[dict if is_object else origin or type_]
    return TypeInfo(type_, origin, args, marks, kinds, is_object)
