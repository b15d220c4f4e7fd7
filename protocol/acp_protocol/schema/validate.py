"""Holds JSON against the shapes, and says in our own words what does not fit.

The only room that knows pydantic. Adapters are built on first use, under a lock. What the schema
lets a reader bear is a `Complaint` too, marked lenient: the message is good, its sender is not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, core_schema

from acp_protocol.jsonrpc import Json
from acp_protocol.schema import v1
from acp_protocol.schema.marks import AtLeast, Bounds, Tagged, Tolerance
from acp_protocol.schema.methods import find_method

_WORDS: Final = {
    "missing": "is missing",
    "string_type": "is no string",
    "bool_type": "is no boolean",
    "int_type": "is no integer",
    "int_from_float": "is no integer",
    "float_type": "is no number",
    "dict_type": "is no object",
    "list_type": "is no array",
    "none_required": "is not null",
    "greater_than_equal": "is too small",
    "less_than_equal": "is too large",
    "too_short": "is too short",
    "string_too_short": "is too short",
    "literal_error": "is none of the known values",
}

_adapters: dict[str, TypeAdapter[Any]] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Complaint:
    """One place that does not fit its shape."""

    path: str
    """Member names and list positions from the outside in, joined by dots; empty for the whole."""
    reason: str
    """What is wrong there, to be read after the path: "is no string"."""
    lenient: bool = False
    """A reader has to bear it."""

    def __str__(self) -> str:
        """Return path and reason as one phrase."""
        return f"{self.path or 'the value'} {self.reason}"


def check_params(method: str, params: Json, version: int = 1) -> tuple[Complaint, ...]:
    """Return what is wrong with the params of `method`; nothing for a method that is not known."""
    row = find_method(method, version)
    if row is None or row.params is None:
        return ()
    # Absent params stand for an empty object: it is the members that are required.
    return check(row.params, {} if params is None else params)


def check_result(method: str, result: Json, version: int = 1) -> tuple[Complaint, ...]:
    """Return what is wrong with the result of `method`; nothing for a method that is not known."""
    row = find_method(method, version)
    if row is None or row.result is None:
        return ()
    return check(row.result, result)


def check(definition: str, value: Json) -> tuple[Complaint, ...]:
    """Return what is wrong with `value` as the definition of that name.

    Raises:
        KeyError: there is no such definition.
    """
    borne: list[Complaint] = []
    try:
        _adapter(definition).validate_python(value, strict=True, context={"borne": borne})
    except ValidationError as problem:
        borne += _complaints(problem)
    return tuple(dict.fromkeys(borne))


def _adapter(definition: str) -> TypeAdapter[Any]:
    with _lock:
        if definition not in _adapters:
            _adapters[definition] = TypeAdapter(vars(v1)[definition])
        return _adapters[definition]


def _complaints(problem: ValidationError, before: str = "") -> Iterator[Complaint]:
    for error in problem.errors(include_url=False, include_input=False):
        yield Complaint(_path(error, before), _reason(error))


def _path(error: ErrorDetails, before: str) -> str:
    # Between the members stand the names of union arms, which are nothing on the wire.
    parts = [str(part) for part in error["loc"] if isinstance(part, int) or _is_member(part)]
    return ".".join([before, *parts] if before else parts)


def _is_member(part: str) -> bool:
    is_arm = part.startswith(_ARM) or part[:1].isupper() or "[" in part
    return not is_arm and part not in _TYPE_WORDS


_ARM: Final = "\0"
_TYPE_WORDS: Final = frozenset({"str", "int", "float", "bool", "none"})


def _reason(error: ErrorDetails) -> str:
    if error["type"] == "tag":
        return f"has no known {error['msg']}"
    return _WORDS.get(error["type"], "does not fit its shape")


def tolerant_schema(tolerance: Tolerance, inner: core_schema.CoreSchema) -> core_schema.CoreSchema:
    """Return `inner` with the schema's tolerance around it; what was borne goes to the context."""

    def bear(value: Any, check: Any, info: core_schema.ValidationInfo[Any]) -> Any:
        if tolerance.null:
            return value if value is None else check(value)
        try:
            return check(value)
        except ValidationError as problem:
            if not (tolerance.value or (tolerance.items and isinstance(value, list))):
                raise
            borne: list[Complaint] = info.context["borne"]
            place = info.field_name or ""
            borne += [
                Complaint(found.path, found.reason, lenient=True)
                for found in _complaints(problem, place)
            ]
            return None

    return core_schema.with_info_wrap_validator_function(bear, inner)


def tagged_schema(tagged: Tagged, union: Any) -> core_schema.CoreSchema:
    """Return `union` with its arm chosen by the tag, so that complaints speak of that arm alone."""

    def choose(value: Json) -> str | None:
        if not isinstance(value, dict):
            return _ARM
        tag = cast("dict[str, Json]", value).get(tagged.tag)
        if isinstance(tag, str) and tag in tagged.values:
            return _ARM + tag
        return _ARM if None in tagged.values else None

    arms = {
        _ARM + (value or ""): arm
        for value, arm in zip(tagged.values, union["choices"], strict=True)
    }
    return core_schema.tagged_union_schema(
        arms,
        choose,
        custom_error_type="tag",
        custom_error_message=f"{tagged.tag}",
    )


def bounded_schema(bounds: Bounds, inner: Any) -> core_schema.CoreSchema:
    """Return the number schema `inner` with its bounds."""
    return inner | {"ge": bounds.least, "le": bounds.greatest}


def filled_schema(filled: AtLeast, inner: Any) -> core_schema.CoreSchema:
    """Return the schema `inner` of a string or a list with its least length."""
    return inner | {"min_length": filled.length}
