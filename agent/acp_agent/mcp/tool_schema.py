"""The schemas of tools' arguments, as every service takes them that models are reached through.

One schema that a service refuses would fail each request to the model, so what is no JSON Schema is
found here. Nothing outside of a schema is ever fetched. What only narrows the arguments may be left
out: whether they make sense is for the server to say.

Source: JSON Schema 2020-12; OpenAI, "Function calling"; Anthropic, "Tool use".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias, cast
from urllib.parse import unquote

from acp_protocol.jsonrpc import Json

DEPTH: Final = 64
"""Levels of schemas within schemas."""
STEPS: Final = 10_000
"""Places in a schema that each value is held against, at most."""
LARGEST: Final = 2.0**1000
"""A number that is still one wherever it is read."""
_NOT_AT_ROOT: Final = frozenset(
    {"$schema", "$vocabulary", "allOf", "anyOf", "enum", "not", "oneOf"}
)
"""What services refuse at the root, or would have in a version of JSON Schema of their own."""
_PROPERTY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The names of arguments that every service takes."""
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_ANCHORS: Final = frozenset({"$anchor", "$dynamicAnchor"})
_ANCHOR: Final = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
_SLOW: Final = frozenset(
    {"$dynamicRef", "$id", "$recursiveRef", "pattern", "patternProperties", "uniqueItems"}
)
"""Words by which a value can take longer than it is long, or references lead somewhere else."""

Members: TypeAlias = Mapping[str, Json]
Fits: TypeAlias = Callable[[Json], bool]


class UnfitToolError(ValueError):
    """No model can be told of a tool; the message tells why, and fits behind its name."""


def offered_schema(schema: Members) -> dict[str, Json]:
    """Return the schema of an object, such as every service takes it, that lets pass no less.

    Raises:
        UnfitToolError: it cannot be made one.
    """
    reading = _Reading()
    at_root = {name: value for name, value in schema.items() if name not in _NOT_AT_ROOT}
    if at_root.setdefault("type", "object") != "object":
        raise UnfitToolError("its arguments are no object")
    made = reading.members(at_root, ())
    for name in cast("Members", made.get("properties", {})):
        if not _PROPERTY.fullmatch(name):
            raise UnfitToolError(f"no service takes an argument called {name!r}")
    for reference in reading.references:
        reading.check(reference, made)
    return made


def is_quick(schema: Members) -> bool:
    """Return whether values are held against a schema in a time that grows no faster than they do.

    A server could choose a schema by which one small value takes for ever.
    """
    try:
        _Reading().members(schema, ())
        return _steps(schema, schema, ()) <= STEPS
    except (UnfitToolError, RecursionError):
        return False


def _steps(value: Json, root: Json, through: tuple[str, ...]) -> int:
    """Return how many places there are in a schema whose references stand for what they mean."""
    if isinstance(value, list):
        inner: Iterable[Json] = cast("list[Json]", value)
    elif isinstance(value, dict):
        members = cast("Members", value)
        reference: Json = members.get("$ref")
        if not _SLOW.isdisjoint(members) or reference in through or len(through) > DEPTH:
            return STEPS + 1
        inner = members.values()
        if isinstance(reference, str):
            meant = _place(reference, root)
            if not _is_schema(meant):
                return STEPS + 1
            inner = (*inner, meant)
            through = (*through, reference)
    else:
        return 1
    count = 1
    for each in inner:
        count += _steps(each, root, through)
        if count > STEPS:
            break
    return count


def _place(reference: str, root: Json) -> Json:
    """Return what stands where a reference leads to; None where nothing does, or it has a name."""
    start, *steps = unquote(reference).split("/")
    if start != "#":
        return None
    for step in steps:
        root = _below(root, step.replace("~1", "/").replace("~0", "~"))
    return root


def _is_schema(value: Json) -> bool:
    return isinstance(value, dict | bool)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_anchor(value: Json) -> bool:
    return isinstance(value, str) and _ANCHOR.fullmatch(value) is not None


def _is_id(value: Json) -> bool:
    return isinstance(value, str) and "#" not in value[:-1]


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_number(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST


def _is_count(value: Json) -> bool:
    return _is_number(value) and cast("float", value) >= 0 and float(value).is_integer()


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _is_names(value: Json) -> bool:
    names = cast("list[Json]", value) if isinstance(value, list) else [None]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _is_lists_of_names(value: Json) -> bool:
    return isinstance(value, dict) and all(map(_is_names, cast("Members", value).values()))


def _is_type(value: Json) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _is_names(value) and value != [] and _TYPES.issuperset(cast("list[str]", value))


_PLAIN: Final[Mapping[str, Fits]] = {
    **dict.fromkeys(
        (
            *("$comment", "$dynamicRef", "$recursiveRef", "$ref", "$schema"),
            *("contentEncoding", "contentMediaType", "description"),
            *("format", "pattern", "title"),
        ),
        _is_text,
    ),
    **dict.fromkeys(
        ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"),
        _is_number,
    ),
    "multipleOf": lambda value: _is_number(value) and cast("float", value) > 0,
    **dict.fromkeys(
        (
            *("maxContains", "maxItems", "maxLength", "maxProperties"),
            *("minContains", "minItems", "minLength", "minProperties"),
        ),
        _is_count,
    ),
    **dict.fromkeys(("$anchor", "$dynamicAnchor", "$recursiveAnchor"), _is_anchor),
    **dict.fromkeys(("deprecated", "readOnly", "uniqueItems", "writeOnly"), _is_flag),
    "$id": _is_id,
    "dependentRequired": _is_lists_of_names,
    "enum": _is_list,
    "examples": _is_list,
    "required": _is_names,
    "type": _is_type,
}
"""What the words of JSON Schema hold, but for schemas; other words hold what they like."""
_ONE: Final = frozenset(
    {
        *("additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Words that hold a schema."""
_SOME: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Words that hold a list of schemas."""
_NAMED: Final = frozenset(
    {
        *("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"),
        "properties",
    }
)
"""Words that hold schemas by names; in `dependencies`, names can stand for one."""

Path: TypeAlias = tuple[str, ...]


class _Reading:
    """One reading of a schema, and what it refers to."""

    def __init__(self) -> None:
        self.references: list[str] = []
        self._anchors: set[str] = set()

    def schema(self, value: Json, path: Path) -> Json:
        """Return a schema with what services miss.

        Raises:
            UnfitToolError: it is none, or refers to what lies outside of it.
        """
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict) or len(path) > 2 * DEPTH:
            raise _unfit(path)
        return self.members(cast("Members", value), path)

    def members(self, held: Members, path: Path) -> dict[str, Json]:
        """Return the members of a schema, as `schema` does."""
        made = {name: self._word(name, each, (*path, name)) for name, each in held.items()}
        kinds: Json = made.get("type")
        if kinds == "array" or (isinstance(kinds, list) and "array" in kinds):
            made.setdefault("items", {})
        return made

    def _word(self, name: str, value: Json, path: Path) -> Json:
        if name in _ONE:
            return self.schema(value, path)
        if name in _SOME:
            if not isinstance(value, list) or not value:
                raise _unfit(path)
            listed = cast("list[Json]", value)
            return [self.schema(each, (*path, str(at))) for at, each in enumerate(listed)]
        if name in _NAMED:
            if not isinstance(value, dict):
                raise _unfit(path)
            named = cast("Members", value)
            can_be_names = name == "dependencies"
            return {
                key: each if can_be_names and _is_names(each) else self.schema(each, (*path, key))
                for key, each in named.items()
            }
        if (fits := _PLAIN.get(name)) is not None and not fits(value):
            raise _unfit(path)
        if name in _REFERENCES:
            self.references.append(cast("str", value))
        elif name in _ANCHORS:
            self._anchors.add(cast("str", value))
        return value

    def check(self, reference: str, root: Json) -> None:
        """Look whether something stands where a reference leads to.

        Raises:
            UnfitToolError: nothing does, or it leads out of the schema.
        """
        place, has_place, fragment = reference.partition("#")
        if place or not has_place:
            raise UnfitToolError(f"it refers to {reference}, which is not fetched")
        if unquote(fragment) in self._anchors:
            return
        if not _is_schema(_place(reference, root)):
            raise UnfitToolError(f"it refers to {reference}, which is not there")


def _below(value: Json, step: str) -> Json:
    """Return what stands one step further, None where nothing does."""
    if isinstance(value, dict):
        return cast("Members", value).get(step)
    if isinstance(value, list) and step.isdecimal():
        listed = cast("list[Json]", value)
        return listed[int(step)] if len(step) < 10 and int(step) < len(listed) else None
    return None


def _unfit(path: Path) -> UnfitToolError:
    return UnfitToolError(f"its inputSchema is no JSON Schema at {'.'.join(path) or 'its root'}")
