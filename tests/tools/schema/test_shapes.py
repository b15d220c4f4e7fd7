"""Every definition of the four published schemas, held against its shape member by member.

Both sides are brought into one form, a set of alternatives, each of which is a tuple:

| what             | form                                                                        |
|------------------|-----------------------------------------------------------------------------|
| object           | ("object", {(member, required, tolerance, alternatives), …}, {else tag, …}) |
| map, list        | ("map", alternatives), ("list", alternatives, least length)                 |
| literal          | ("const", value)                                                            |
| text             | ("string", least length)                                                    |
| number           | ("integer" or "number", least, greatest)                                    |
| anything else    | ("boolean",), ("null",), ("any",)                                           |

The published side is read here anew, without the generator that made the shapes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
)

import pytest
from typing_extensions import NoExtraItems, is_typeddict

from acp_protocol.schema.constraints import ELSE, Discriminator, MinLength, OnError, Range

Form: TypeAlias = tuple[Any, ...]
Forms: TypeAlias = frozenset[Form]
Schema: TypeAlias = dict[str, Any]

ANY: Forms = frozenset({("any",)})
RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
KINDS = {str: "string", bool: "boolean", NoneType: "null", int: "integer", float: "number"}


@pytest.mark.parametrize("version", [1, 2])
def test_every_definition_has_its_shape(shared: Path, version: int) -> None:
    published = Reader(definitions(shared, version, "schema.unstable.json"))
    shapes = vars(import_module(f"acp_protocol.schema.v{version}"))
    for name, schema in published.definitions.items():
        assert forms_of(shapes[name]) == published.forms(schema), name
    assert len(published.definitions) > 240


@pytest.mark.parametrize("version", [1, 2])
def test_the_stable_schema_is_what_is_left_without_the_unstable_parts(
    shared: Path, version: int
) -> None:
    stable = Reader(definitions(shared, version, "schema.json"))
    shapes = import_module(f"acp_protocol.schema.v{version}")
    everything = definitions(shared, version, "schema.unstable.json")
    assert everything.keys() - stable.definitions.keys() == shapes.UNSTABLE
    left = Reader(
        {
            name: without(schema, {*shapes.UNSTABLE, *shapes.UNSTABLE_MEMBERS.get(name, ())})
            for name, schema in everything.items()
            if name not in shapes.UNSTABLE
        }
    )
    for name, schema in stable.definitions.items():
        assert left.forms(left.definitions[name]) == stable.forms(schema), name


def definitions(shared: Path, version: int, file: str) -> dict[str, Schema]:
    return json.loads((shared / f"acp-schema/v{version}" / file).read_text())["$defs"]


def without(schema: Any, words: set[str]) -> Any:
    """Return `schema` without the members, the tag values and the references in `words`."""
    if isinstance(schema, list):
        parts = cast("list[Any]", schema)
        return [without(part, words) for part in parts if not said_by(part) & words]
    if not isinstance(schema, dict):
        return schema
    members = cast("Schema", schema)
    left = {name: without(part, words) for name, part in members.items()}
    if "properties" in members:
        left["properties"] = {
            name: without(part, words)
            for name, part in members["properties"].items()
            if name not in words
        }
        left["required"] = [name for name in members.get("required", ()) if name not in words]
    return left


def said_by(schema: Any) -> set[str]:
    """Return the values that a tag has in `schema`, and the definitions that it points to."""
    if not isinstance(schema, dict):
        return set()
    own = cast("Schema", schema)
    members: list[Schema] = [own, *own.get("properties", {}).values()]
    points: list[Schema] = [own, *own.get("allOf", ())]
    tags = {str(member["const"]) for member in members if "const" in member}
    return tags | {part["$ref"].removeprefix("#/$defs/") for part in points if "$ref" in part}


class Reader:
    """Brings published definitions into the common form."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions = definitions
        self._known: dict[str, Forms] = {}

    def forms(self, schema: Schema) -> Forms:
        """Return the alternatives of any schema."""
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            if name not in self._known:
                self._known[name] = self.forms(self.definitions[name])
            return self._known[name]
        if "const" in schema:
            return frozenset({("const", schema["const"])})
        if self._is_object(schema):
            return frozenset(self._object(*arm) for arm in self._arms(schema))
        if parts := schema.get("allOf"):
            return self.forms(parts[0])
        if parts := schema.get("oneOf") or schema.get("anyOf"):
            return joined(self.forms(part) for part in parts)
        return self._plain(schema)

    def _plain(self, schema: Schema) -> Forms:
        kind: Any = schema.get("type")
        if isinstance(kind, list):
            kinds = cast("list[str]", kind)
            return joined(self._plain(schema | {"type": one}) for one in kinds)
        if kind is None:
            return ANY
        if kind == "array":
            items = self.forms(schema.get("items", {}))
            return frozenset({("list", items, schema.get("minItems", 0))})
        if kind == "string":
            return frozenset({("string", schema.get("minLength", 0))})
        if kind in {"integer", "number"}:
            least, greatest = RANGES.get(schema.get("format", ""), (None, None))
            bounds = schema.get("minimum", least), schema.get("maximum", greatest)
            return frozenset({(kind, *bounds)})
        if kind == "object":
            inner: Any = schema.get("additionalProperties")
            of = self.forms(cast("Schema", inner)) if isinstance(inner, dict) else ANY
            return frozenset({("map", of)})
        return frozenset({(kind,)})

    def _is_object(self, schema: Schema) -> bool:
        if "$ref" in schema:
            return self._is_object(self.definitions[schema["$ref"].removeprefix("#/$defs/")])
        if "properties" in schema or "required" in schema:
            return True
        return any(self._is_object(part) for part in schema.get("allOf", ()))

    def _arms(self, schema: Schema) -> Iterator[tuple[Schema, set[str], frozenset[Form]]]:
        """Yield each plain object: its members, the required ones, the tags that it leaves out."""
        if "$ref" in schema:
            yield from self._arms(self.definitions[schema["$ref"].removeprefix("#/$defs/")])
            return
        own = schema.get("properties", {}), set(schema.get("required", ())), left_out(schema)
        choices = [list(self._arms(part)) for part in schema.get("allOf", ())]
        if parts := schema.get("oneOf") or schema.get("anyOf"):
            choices.append([arm for part in parts for arm in self._arms(part)])
        for combination in product([own], *choices):
            members: Schema = {}
            for more, _, _ in combination:
                for name, member in more.items():
                    kept = {
                        key: value
                        for key, value in members.get(name, {}).items()
                        if key.startswith("x-")
                    }
                    members[name] = kept | member
            required = {name for _, names, _ in combination for name in names}
            yield members, required, frozenset().union(*(tags for _, _, tags in combination))

    def _object(self, members: Schema, required: set[str], tags: frozenset[Form]) -> Form:
        everything: dict[str, Schema] = {name: {} for name in required} | members
        found = {
            (name, name in required, tolerance(member), self._member(member))
            for name, member in everything.items()
        }
        return ("object", frozenset(found), tags)

    def _member(self, schema: Schema) -> Forms:
        forms = self.forms(schema)
        is_null = "x-deserialize-default-on-null" in schema
        return forms | {("null",)} if is_null else forms


def left_out(schema: Schema) -> frozenset[Form]:
    excluded = schema.get("not", {}).get("anyOf", ())
    tags = [
        (name, member["const"])
        for part in excluded
        for name, member in part.get("properties", {}).items()
    ]
    return frozenset({(tags[0][0], frozenset(value for _, value in tags))}) if tags else frozenset()


def tolerance(schema: Schema) -> str:
    if "x-deserialize-default-on-null" in schema:
        return "null"
    marks = ("x-deserialize-default-on-error", "x-deserialize-skip-invalid-items")
    return "".join(letter for letter, mark in zip("DS", marks, strict=True) if mark in schema)


def joined(parts: Iterator[Forms]) -> Forms:
    forms = frozenset[Form]().union(*parts)
    return ANY if ("any",) in forms else forms


@cache
def forms_of(shape: Any) -> Forms:
    """Return the alternatives of a shape."""
    marks: tuple[Any, ...] = ()
    if get_origin(shape) is Annotated:
        shape, marks = shape.__origin__, shape.__metadata__
    if shape is Any:
        return ANY
    origin, args = get_origin(shape), get_args(shape)
    if is_typeddict(shape):
        assert shape.__extra_items__ is not NoExtraItems
        return frozenset({object_of(shape)})
    if origin in {Union, UnionType}:
        tagged = next((mark for mark in marks if isinstance(mark, Discriminator)), None)
        return joined(iter([*arms_of(tagged, args)] if tagged else [*map(forms_of, args)]))
    if origin is Literal:
        return frozenset(("const", value) for value in args)
    length = next((mark.length for mark in marks if isinstance(mark, MinLength)), 0)
    if origin is list:
        return frozenset({("list", forms_of(args[0]), length)})
    if origin is dict:
        return frozenset({("map", forms_of(args[1]))})
    if shape is str:
        return frozenset({("string", length)})
    bounds = [mark for mark in marks if isinstance(mark, Range)]
    if shape in {int, float}:
        least = max((b.least for b in bounds if b.least is not None), default=None)
        greatest = min((b.greatest for b in bounds if b.greatest is not None), default=None)
        return frozenset({(KINDS[shape], least, greatest)})
    return frozenset({(KINDS[shape],)})


def arms_of(tagged: Discriminator, arms: tuple[Any, ...]) -> Iterator[Forms]:
    """Yield the alternatives of each arm; that of the other tags knows which they are not."""
    known = frozenset(value for value in tagged.values if value not in {ELSE, None})
    for arm, value in zip(arms, tagged.values, strict=True):
        forms = forms_of(arm)
        for form in forms:
            if value not in {ELSE, None}:
                consts = {m[3] for m in form[1] if m[0] == tagged.tag}
                assert consts == {frozenset({("const", value)})}, (tagged.tag, value)
        if value == ELSE:
            forms = frozenset((*form[:2], form[2] | {(tagged.tag, known)}) for form in forms)
        yield forms


def object_of(shape: Any) -> Form:
    members: set[tuple[str, bool, str, Forms]] = set()
    for name, member in shape.__annotations__.items():
        inner = get_args(member)[0] if get_origin(member) is NotRequired else member
        marks = inner.__metadata__ if get_origin(inner) is Annotated else ()
        borne = next((mark for mark in marks if isinstance(mark, OnError)), OnError())
        letters = "null" if borne.null else "D" * borne.value + "S" * borne.items
        members.add((name, name in shape.__required_keys__, letters, forms_of(inner)))
    # An object of which nothing is known is a map of anything.
    tags = frozenset[Form]()
    return ("object", frozenset(members), tags) if members else ("map", ANY)
