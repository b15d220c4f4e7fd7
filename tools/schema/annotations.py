"""Types and rules of single values, spelled as Python annotations."""

from __future__ import annotations

from typing import Any, Final, cast

from tools.schema.published import Schema, alternatives, reference

META: Final = "Annotated[dict[str, Any] | None, VALUE]"
"""What almost every `_meta` is; written once as `Meta`."""

_INTEGERS: Final = {
    "int32": "I32",
    "int64": "I64",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
}
_LEAST: Final = {"uint16": 0, "uint32": 0, "uint64": 0}
_GREATEST: Final = {"uint16": 2**16 - 1}
"""Bounds that come with a format already."""
_SCALARS: Final = {"string": "str", "boolean": "bool", "null": "None", "number": "float"}
_TOLERANCES: Final = {
    (False, False): None,
    (False, True): "ITEMS",
    (True, False): "VALUE",
    (True, True): "VALUE_AND_ITEMS",
}


def member_annotation(schema: Schema, *, is_required: bool) -> str:
    """Return the annotation of an object's member, with the reader's tolerance."""
    type_, tolerance = annotation(schema), _tolerance(schema)
    if tolerance == "NULL":
        type_ = _union([type_, "None"])
    if tolerance:
        type_ = f"Annotated[{type_}, {tolerance}]"
    if type_ == META:
        type_ = "Meta"
    return type_ if is_required else f"NotRequired[{type_}]"


def annotation(schema: Schema) -> str:
    """Return the annotation of a value."""
    if name := reference(schema):
        return name
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    if parts := alternatives(schema):
        return _union([annotation(part) for part in parts])
    return _plain(schema)


def _plain(schema: Schema) -> str:
    kind: Any = schema.get("type")
    if isinstance(kind, list):
        return _union([_plain(schema | {"type": one}) for one in cast("list[str]", kind)])
    if kind == "object":
        inner: Any = schema.get("additionalProperties")
        values = annotation(cast("Schema", inner)) if isinstance(inner, dict) else "Any"
        return f"dict[str, {values}]"
    if kind == "array":
        return _annotated(f"list[{annotation(schema.get('items', {}))}]", _length(schema, "Items"))
    if kind == "string":
        return _annotated("str", _length(schema, "Length"))
    if kind == "integer":
        return _annotated(_INTEGERS.get(schema.get("format", ""), "int"), _bounds(schema))
    if kind == "number":
        return _annotated("float", _bounds(schema))
    return _SCALARS[kind] if kind else "Any"


def _annotated(type_: str, marks: list[str]) -> str:
    return f"Annotated[{', '.join([type_, *marks])}]" if marks else type_


def _length(schema: Schema, of: str) -> list[str]:
    return [f"MinLength({schema[f'min{of}']})"] if f"min{of}" in schema else []


def _bounds(schema: Schema) -> list[str]:
    format_: str = schema.get("format", "")
    least, greatest = schema.get("minimum"), schema.get("maximum")
    if (least, greatest) == (_LEAST.get(format_), _GREATEST.get(format_)):
        return []
    return [f"Range({least}, {greatest})"]


def _tolerance(schema: Schema) -> str | None:
    if "x-deserialize-default-on-null" in schema:
        return "NULL"
    return _TOLERANCES[
        "x-deserialize-default-on-error" in schema, "x-deserialize-skip-invalid-items" in schema
    ]


def _union(types: list[str]) -> str:
    """Join types: literals become one, doubles fall out, null stands last."""
    if "Any" in types:
        return "Any"
    literals = [type_[len("Literal[") : -1] for type_ in types if type_.startswith("Literal[")]
    joined = [f"Literal[{', '.join(dict.fromkeys(literals))}]"] if literals else []
    joined += [type_ for type_ in dict.fromkeys(types) if not type_.startswith("Literal[")]
    return " | ".join(sorted(joined, key=lambda type_: type_ == "None"))
