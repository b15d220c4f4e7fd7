"""The published schemas, a judge that reads them, and messages to judge.

A test that asks for `version` runs once for each; so does one that asks for what depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from acp_protocol.schema.methods import find_method

WRONG: list[Any] = [
    None, True, 7, -1, 2**70, 1.5, 2.0, "", "x", "end_turn", "\ud800", [], [5], {}, {"type": "x"},
]  # fmt: skip

RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}


@dataclass(frozen=True)
class Seen:
    """A value on the wire, and the definition that it should fit."""

    file: str
    method: str
    definition: str
    value: Any


@pytest.fixture(scope="session", params=[1, 2], ids=["v1", "v2"])
def version(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="session")
def definitions(shared: Path, version: int) -> dict[str, Any]:
    """Return everything that is published for the version, the unstable parts included."""
    folder = shared / f"acp-schema/v{version}"
    return json.loads((folder / "schema.unstable.json").read_text())["$defs"]


@pytest.fixture(scope="session")
def stable(shared: Path, version: int) -> dict[str, Any]:
    return json.loads((shared / f"acp-schema/v{version}/schema.json").read_text())["$defs"]


@pytest.fixture(scope="session")
def fits(definitions: dict[str, Any]) -> Callable[[str, Any], bool]:
    """Tell as a JSON Schema validator does whether a value fits a definition."""
    root = {"$defs": with_ranges(definitions)}
    judges: dict[str, Draft202012Validator] = {}

    def judge(definition: str, value: Any) -> bool:
        if definition not in judges:
            judges[definition] = Draft202012Validator(root | {"$ref": f"#/$defs/{definition}"})
        return judges[definition].is_valid(value)

    return judge


def with_ranges(schema: Any) -> Any:
    """Spell out the ranges of the integer formats, which a validator takes for mere hints."""
    if isinstance(schema, list):
        return [with_ranges(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = {name: with_ranges(part) for name, part in cast("dict[str, Any]", schema).items()}
    format_: Any = members.get("format")
    if isinstance(format_, str) and format_ in RANGES:
        least, greatest = RANGES[format_]
        members = {"minimum": least, "maximum": greatest} | members
    return members


@pytest.fixture(scope="session")
def drawn(definitions: dict[str, Any]) -> Callable[[], st.SearchStrategy[tuple[str, Any]]]:
    """Return what draws a definition's name and a random value that fits it.

    Behind a function, as hypothesis spells out what it gets.
    """
    # Not on import: it reads files, which hypothesis does not let a conftest do.
    from_schema: Any = import_module("hypothesis_jsonschema").from_schema

    ranged = with_ranges(definitions)
    arms = [
        (name, arm)
        for name, schema in ranged.items()
        for arm in arms_alone(inlined(schema, ranged))
    ]
    of: dict[int, st.SearchStrategy[Any]] = {}

    def values(place: int) -> st.SearchStrategy[tuple[str, Any]]:
        name, arm = arms[place]
        if place not in of:
            of[place] = from_schema(arm)
        return of[place].map(lambda value: (name, value))

    return lambda: st.integers(0, len(arms) - 1).flatmap(values)


HEAVY = 20_000
"""Characters of a schema beyond which making a strategy of it takes seconds."""


def inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return `schema` with what it points to in its place, and without what only people read."""
    if isinstance(schema, list):
        return [inlined(part, definitions) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    if "$ref" in members:
        return inlined(definitions[members["$ref"].removeprefix("#/$defs/")], definitions)
    read_by_people = {"description", "title", "examples", "default", "discriminator"}
    return {
        name: {key: inlined(member, definitions) for key, member in part.items()}
        if name == "properties"
        else inlined(part, definitions)
        for name, part in members.items()
        if name not in read_by_people and not name.startswith("x-")
    }


def arms_alone(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the alternatives of `schema` one by one, without those that are heavy still."""
    alone = [
        {key: part for key, part in schema.items() if key != name} | {"allOf": [arm]}
        for name in ("oneOf", "anyOf")
        for arm in schema.get(name, ())
    ]
    return [arm for arm in alone or [schema] if len(json.dumps(arm)) < HEAVY]


@pytest.fixture(scope="session")
def traffic(shared: Path, version: int) -> list[Seen]:
    """Every known message of the version that real agents and clients sent."""
    files = sorted((shared / "traffic").glob("*.ndjson"))
    return [
        seen
        for file in files
        if (".v2" in file.name) == (version == 2)
        for seen in messages(file, version)
    ]


def messages(file: Path, version: int) -> Iterator[Seen]:
    asked: dict[tuple[str, str], str] = {}
    for line in file.read_text(encoding="utf-8").strip().split("\n"):
        entry = json.loads(line)
        message = parsed(entry.get("line"))
        if entry["dir"] == "stderr" or not isinstance(message, dict):
            continue
        message = cast("dict[str, Any]", message)
        method, id_ = message.get("method"), repr(message.get("id"))
        if isinstance(method, str):
            kind = "request" if "id" in message else "notification"
            asked[entry["dir"], id_] = method
            if (row := find_method(method, version, kind=kind)) and row.params:
                yield Seen(file.name, method, row.params, message.get("params", {}))
        elif "result" in message:
            other = "a2c" if entry["dir"] == "c2a" else "c2a"
            method = asked.get((other, id_), "")
            if (row := find_method(method, version, kind="request")) and row.result:
                yield Seen(file.name, method, row.result, message["result"])


def parsed(line: Any) -> Any:
    try:
        return json.loads(line)
    except (TypeError, ValueError):
        return None


@pytest.fixture(scope="session")
def samples(definitions: dict[str, Any]) -> list[tuple[str, Any]]:
    """A definition's name and a whole value of it, for each arm of each definition."""
    return [
        (name, value) for name, schema in definitions.items() for value in made(schema, definitions)
    ]


@pytest.fixture(scope="session")
def corpus(
    samples: list[tuple[str, Any]], traffic: list[Seen]
) -> Callable[[], list[tuple[str, Any]]]:
    """Definitions with values of them; behind a function, as hypothesis spells out what it gets."""
    values = samples + [(seen.definition, seen.value) for seen in traffic]
    return lambda: values


def made(schema: dict[str, Any], definitions: dict[str, Any]) -> list[Any]:
    """Make values that fit `schema`, one for each of its arms, with every member."""
    if "$ref" in schema:
        return made(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if "const" in schema:
        return [schema["const"]]
    own = {
        name: made(member, definitions)[0] for name, member in schema.get("properties", {}).items()
    }
    found: list[Any] = [own] if "properties" in schema else []
    for part in schema.get("allOf", ()):
        found = joined(found, made(part, definitions))
    if arms := schema.get("oneOf") or schema.get("anyOf"):
        found = joined(found, [value for arm in arms for value in made(arm, definitions)])
    return found or [plain(schema, definitions)]


def joined(ours: list[Any], theirs: list[Any]) -> list[Any]:
    return [one | other for one in ours for other in theirs] if ours else theirs


def plain(schema: dict[str, Any], definitions: dict[str, Any]) -> Any:
    kind = schema.get("type", "string")
    if "array" in kind:
        return made(schema["items"], definitions)[:1] if "items" in schema else []
    if isinstance(inner := schema.get("additionalProperties"), dict):
        return {"key": made(cast("dict[str, Any]", inner), definitions)[0]}
    values: dict[str, Any] = {
        "object": {},
        "string": "text",
        "integer": 1,
        "number": 0.5,
        "boolean": True,
        "null": None,
    }
    return values[kind if isinstance(kind, str) else kind[0]]


@pytest.fixture(scope="session")
def changed() -> Callable[[st.DataObject, Any], tuple[tuple[str | int, ...], Any]]:
    """Return what puts something else at a random place of a value, and tells the place."""

    def change(data: st.DataObject, value: Any) -> tuple[tuple[str | int, ...], Any]:
        path = data.draw(st.sampled_from(list(places(value))))
        return path, data.draw(st.sampled_from([*replaced(value, path)]))

    return change


@pytest.fixture(scope="session")
def broken(
    corpus: Callable[[], list[tuple[str, Any]]],
    changed: Callable[[st.DataObject, Any], tuple[tuple[str | int, ...], Any]],
) -> Callable[[st.DataObject], tuple[str, Any]]:
    """Return what draws a definition's name and a value of it with one thing wrong."""

    def draw(data: st.DataObject) -> tuple[str, Any]:
        name, value = data.draw(st.sampled_from(corpus()))
        return name, changed(data, value)[1]

    return draw


def places(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each place in `value`."""
    yield above
    if isinstance(value, dict):
        for name, member in cast("dict[str, Any]", value).items():
            yield from places(member, (*above, name))
    elif isinstance(value, list):
        for place, entry in enumerate(cast("list[Any]", value)):
            yield from places(entry, (*above, place))


def replaced(value: Any, path: tuple[str | int, ...]) -> Iterator[Any]:
    """Yield `value` with what stands at `path` replaced by something else, and without it."""
    if not path:
        yield from WRONG
        return
    first, *rest = path
    if not rest:
        without = copy(value)
        del without[first]
        yield without
    for other in replaced(value[first], tuple(rest)):
        whole = copy(value)
        whole[first] = other
        yield whole
