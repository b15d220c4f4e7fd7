"""The published schemas as they are read: definitions, which of them are stable, their identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

Schema: TypeAlias = dict[str, Any]

_PREFIX = "#/$defs/"


@dataclass(frozen=True)
class Published:
    """What is published for one protocol version."""

    version: int
    definitions: dict[str, Schema]
    """Everything, the unstable parts included."""
    stable: dict[str, Schema]
    digest: str
    """First twelve signs of the SHA-256 of the schema with the unstable parts."""

    @property
    def identity(self) -> str:
        """The version and the digest as one word."""
        return f"v{self.version}+{self.digest}"


def read_published(directory: Path, version: int) -> Published:
    """Read `v<version>/schema.unstable.json` and `v<version>/schema.json` below `directory`."""
    folder = directory / f"v{version}"
    raw = (folder / "schema.unstable.json").read_bytes()
    stable = (folder / "schema.json").read_bytes()
    return Published(
        version,
        json.loads(raw)["$defs"],
        json.loads(stable)["$defs"],
        hashlib.sha256(raw).hexdigest()[:12],
    )


def reference(schema: Schema) -> str | None:
    """Return the definition that `schema` points to, directly or as the only part of an `allOf`."""
    if "$ref" in schema:
        return schema["$ref"].removeprefix(_PREFIX)
    parts: list[Schema] = schema.get("allOf", [])
    return reference(parts[0]) if len(parts) == 1 else None


def references(schema: object) -> Iterator[str]:
    """Yield all definitions that `schema` points to, at any depth."""
    if isinstance(schema, dict):
        members = cast("Schema", schema)
        if "$ref" in members:
            yield members["$ref"].removeprefix(_PREFIX)
        for part in members.values():
            yield from references(part)
    elif isinstance(schema, list):
        for part in cast("list[object]", schema):
            yield from references(part)


def alternatives(schema: Schema) -> list[Schema]:
    """Return the parts of which one has to fit."""
    return schema.get("oneOf") or schema.get("anyOf") or []
