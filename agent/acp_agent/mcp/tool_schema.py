"""The schemas of tools' arguments, as every service takes them that models are reached through.

One schema that a service refuses would fail each request to the model, so a schema that is not
valid is found here. References outside of a schema are never fetched. Keywords that only narrow
the arguments may be dropped: the server checks its arguments itself.

Source: JSON Schema 2020-12; OpenAI, "Function calling"; Anthropic, "Tool use".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from jsonschema import Draft202012Validator, ValidationError, exceptions
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from acp_protocol.jsonrpc import Json

MAX_DEPTH: Final = 64
"""Schemas within schemas."""
_NOT_AT_ROOT: Final = frozenset(
    {"$schema", "$vocabulary", "allOf", "anyOf", "enum", "not", "oneOf"}
)
"""Keywords that services refuse at the root, or read by a version of JSON Schema of their own."""
_PROPERTY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The names of arguments that every service takes."""
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_META: Final = Draft202012Validator(Draft202012Validator.META_SCHEMA)

Schema: TypeAlias = dict[str, Json]


class UnfitToolError(ValueError):
    """A tool cannot be offered to a model; the message fits behind its name."""


def offered_schema(schema: Mapping[str, Json]) -> Schema:
    """Return the schema of an object that every service takes and that accepts no less.

    Schemas inside of `schema` are changed in place.

    Raises:
        UnfitToolError: there is none.
    """
    root = {name: value for name, value in schema.items() if name not in _NOT_AT_ROOT}
    if root.setdefault("type", "object") != "object":
        raise UnfitToolError("its arguments are no object")
    try:
        found = exceptions.best_match(_META.iter_errors(root))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        error = cast("ValidationError | None", found)
        subschemas = list(_subschemas(root))
    except RecursionError:
        raise UnfitToolError("its inputSchema is nested too deeply") from None
    if error is not None:
        path = ".".join(map(str, error.absolute_path)) or "its root"
        raise UnfitToolError(f"its inputSchema is no JSON Schema at {path}")
    for name in cast("Schema", root.get("properties", {})):
        if not _PROPERTY.fullmatch(name):
            raise UnfitToolError(f"no service takes an argument called {name!r}")
    registry: Registry[Any] = Registry[Any]().with_resource("", DRAFT202012.create_resource(root))
    for each in subschemas:
        for keyword in _REFERENCES:
            if keyword in each:
                _check_reference(each[keyword], registry)
        types: Json = each.get("type")
        if types == "array" or (isinstance(types, list) and "array" in types):
            each.setdefault("items", {})
    return root


def _subschemas(schema: Json, depth: int = 0) -> Iterator[Schema]:
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(schema, dict):
        members = cast("Schema", schema)
        yield members
        try:
            inner = list(DRAFT202012.subresources_of(members))
        except (AttributeError, TypeError):
            return  # It is no schema, which the check against the meta-schema finds.
        for each in inner:
            yield from _subschemas(each, depth + 1)


def _check_reference(reference: str, registry: Registry[Any]) -> None:
    if not reference.startswith("#"):
        raise UnfitToolError(f"it refers to {reference}, which is not fetched")
    try:
        found = registry.resolver().lookup(reference).contents
    except (Unresolvable, LookupError, TypeError, ValueError):
        found = None
    if not isinstance(found, dict | bool):
        raise UnfitToolError(f"it refers to {reference}, which is not there")
