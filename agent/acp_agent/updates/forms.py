"""Whether what stands in a form fits what was asked for.

A pattern is not held against it: it may come from a server that nobody trusts, and take for ever.

Source: ACP, Elicitation, "Restricted JSON Schema"; ACP version 2, Elicitation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, cast
from urllib.parse import urlsplit

from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

WIDTH: Final = 80
"""Characters of the name of a field, and of a choice."""
_KINDS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "string": ((str,), "text"),
    "number": ((int, float), "number"),
    "integer": ((int, float), "whole number"),
    "boolean": ((bool,), "yes or no"),
    "array": ((list,), "list of choices"),
}


def form_errors(schema: Mapping[str, Json], content: Mapping[str, Json]) -> Iterator[str]:
    """Yield what does not fit, field by field; `schema` is the restricted one of a form.

    What the form has no field for is passed over, and so are kinds of fields that nobody knows.
    """
    fields = _members(schema.get("properties"))
    required: Json = schema.get("required")
    needed = cast("list[Json]", required) if isinstance(required, list) else []
    for name, field in fields.items():
        shown = single_line(name, WIDTH)
        if name not in content:
            if name in needed:
                yield f"{shown} is missing"
        elif trouble := _trouble(_members(field), content[name]):
            yield f"{shown} {trouble}"


def _trouble(field: Mapping[str, Json], held: Json) -> str | None:
    kind: Json = field.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        return None
    types, word = _KINDS[kind]
    # To Python yes and no are numbers.
    if not isinstance(held, types) or (isinstance(held, bool) and kind != "boolean"):
        return f"is no {word}"
    value = cast("Any", held)
    if kind == "integer" and value != int(value):
        return f"is no {word}"
    match kind:
        case "string":
            return _choice(field, value) or _length(field, value) or _format(field, value)
        case "array":
            return _several(field, value)
        case "number" | "integer":
            return _bounds(field, value, ("minimum", "maximum"), "")
        case _:
            return None


def _several(field: Mapping[str, Json], values: list[Json]) -> str | None:
    items = _members(field.get("items"))
    for value in values:
        if not isinstance(value, str):
            return "holds what is no text"
        if trouble := _choice(items, value):
            return trouble
    return _bounds(field, len(values), ("minItems", "maxItems"), " choices")


def _choice(field: Mapping[str, Json], value: str) -> str | None:
    """Return what is wrong with a choice; nothing where there is none to make."""
    offered: Json = field.get("enum")
    titled: Json = field.get("oneOf") or field.get("anyOf")
    if isinstance(titled, list):
        offered = [_members(each).get("const") for each in cast("list[Json]", titled)]
    if not isinstance(offered, list) or value in offered:
        return None
    return f"offers no {single_line(value, WIDTH)!r}"


def _length(field: Mapping[str, Json], value: str) -> str | None:
    return _bounds(field, len(value), ("minLength", "maxLength"), " characters")


def _format(field: Mapping[str, Json], value: str) -> str | None:
    kind: Json = field.get("format")
    try:
        match kind:
            case "date":
                fits = bool(date.fromisoformat(value))
            case "date-time":
                fits = bool(datetime.fromisoformat(value))
            case "email":
                fits = all(value.rpartition("@"))
            case "uri":
                fits = bool(urlsplit(value).scheme)
            case _:
                fits = True
    except ValueError:
        fits = False
    return None if fits else f"is no {kind}"


def _bounds(
    field: Mapping[str, Json], size: float, names: tuple[str, str], unit: str
) -> str | None:
    least, most = (field.get(name) for name in names)
    if isinstance(least, int | float) and size < least:
        return f"is less than {least}{unit}"
    if isinstance(most, int | float) and size > most:
        return f"is more than {most}{unit}"
    return None


def _members(value: Json) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}
