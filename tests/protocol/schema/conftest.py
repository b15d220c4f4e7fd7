"""The published schema of version 1, a judge that reads it, and messages to judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from acp_protocol.schema.methods import find_method

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


@pytest.fixture(scope="session")
def definitions(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "acp-schema/v1/schema.unstable.json").read_text())["$defs"]


@pytest.fixture(scope="session")
def stable(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "acp-schema/v1/schema.json").read_text())["$defs"]


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
def traffic(shared: Path) -> list[Seen]:
    """Every known message of version 1 that real agents and clients sent."""
    files = sorted((shared / "traffic").glob("*.ndjson"))
    return [seen for file in files if ".v2" not in file.name for seen in messages(file)]


def messages(file: Path) -> Iterator[Seen]:
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
            if (row := find_method(method, kind=kind)) and row.params:
                yield Seen(file.name, method, row.params, message.get("params", {}))
        elif "result" in message:
            other = "a2c" if entry["dir"] == "c2a" else "c2a"
            method = asked.get((other, id_), "")
            if (row := find_method(method, kind="request")) and row.result:
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
