"""Forms that an agent lets a user fill in, and what comes back.

Source: ACP, "Elicitation", form mode and restricted JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, is_one_of, members, quoted
from acp_inspector.lint.patterns import is_pattern
from acp_inspector.lint.registry import asks, check, results
from acp_inspector.lint.rules.elicitation import CREATE
from acp_inspector.lint.secret_words import asks_secret, names_secret
from acp_protocol.jsonrpc import Json

PLACE: Final = "params.requestedSchema"
PRIMITIVES: Final = frozenset({"string", "number", "integer", "boolean", "array"})
BEYOND: Final = ("$schema", "$ref", "enumNames", "if", "then", "else", "allOf", "anyOf", "not")
"""Words of JSON Schema that forms do not have."""

_URL: Final = re.compile(r"https?://\S+|\[[^\]]+\]\([^)]+\)", re.IGNORECASE)


def _schema(params: dict[str, Json]) -> dict[str, Json] | None:
    if params.get("mode") != "form":
        return None
    return members(params.get("requestedSchema"))


def _fields(schema: dict[str, Json]) -> dict[str, dict[str, Json]]:
    fields = members(schema.get("properties"))
    return {name: members(field) for name, field in fields.items()}


@check("ACP-L337", asks(CREATE), fix='Ask by {"type": "object", "properties": {…}}, all flat.')
def forms_are_flat_objects(moment: Moment) -> Found:
    """Tell of forms that are no object of primitives."""
    schema = _schema(moment.params)
    if schema is None:
        return None
    if not isinstance(moment.params.get("requestedSchema"), dict):
        return moment.problem("requestedSchema is missing", path=PLACE)
    is_there = "type" in schema or moment.version != 1
    if is_there and schema.get("type") != "object":
        return moment.problem(
            f"the form's type is {quoted(schema.get('type'))}", path=f"{PLACE}.type"
        )
    if not isinstance(schema.get("properties"), dict):
        return moment.problem("the form has no properties", path=f"{PLACE}.properties")
    for name, field in _fields(schema).items():
        kind = field.get("type")
        if is_one_of(kind, PRIMITIVES) or (
            moment.version != 1 and isinstance(kind, str) and kind != "object"
        ):
            continue
        return moment.problem(
            f"the field {quoted(name)} is {quoted(kind)}, no primitive",
            path=f"{PLACE}.properties.{name}.type",
        )
    return FINE


@check("ACP-L338", asks(CREATE), fix="Stay with what the restricted schema has.")
def forms_are_plain(moment: Moment) -> Found:
    """Tell of words of JSON Schema that clients do not read here."""
    schema = _schema(moment.params)
    if not schema:
        return None
    for word in BEYOND:
        if word in schema:
            return moment.problem(f"the form has {word}", path=f"{PLACE}.{word}")
    for name, field in _fields(schema).items():
        for word in (*BEYOND, "properties"):
            # The items of a list may be any of a few titled values.
            if word in field:
                place = f"{PLACE}.properties.{name}.{word}"
                return moment.problem(f"the field {quoted(name)} has {word}", path=place)
    return FINE


@check("ACP-L339", asks(CREATE), fix="Make the form one that can be filled in.")
def forms_make_sense(moment: Moment) -> Found:
    """Tell of forms that contradict themselves."""
    schema = _schema(moment.params)
    if not schema:
        return None
    fields = _fields(schema)
    for name in entries(schema.get("required")):
        if isinstance(name, str) and name not in fields:
            return moment.problem(
                f"the required field {quoted(name)} does not exist", path=f"{PLACE}.required"
            )
    for name, field in fields.items():
        for fault in _contradictions(field):
            return moment.problem(
                f"the field {quoted(name)} {fault}", path=f"{PLACE}.properties.{name}"
            )
    return FINE


def _contradictions(field: dict[str, Json]) -> Iterator[str]:
    for least, most in (
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
    ):
        low, high = field.get(least), field.get(most)
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            yield f"has {least} above {most}"
    pattern = field.get("pattern")
    if isinstance(pattern, str) and not is_pattern(pattern):
        yield "has a pattern that is no regular expression"
    default = field.get("default")
    if default is not None and (fault := _misfit(field, default)):
        yield f"has a default that {fault}"


@check("ACP-L340", asks(CREATE), fix="Ask for secrets on a page, by url mode.")
def forms_ask_for_no_secrets(moment: Moment) -> Found:
    """Tell of forms that ask for passwords, keys, tokens or card numbers."""
    schema = _schema(moment.params)
    if schema is None:
        return None
    # What is chosen from a list is no secret.
    texts = {
        name: field
        for name, field in _fields(schema).items()
        if field.get("type") in ("string", None) and not _offered(field)
    }
    for name, field in texts.items():
        title, description = field.get("title"), field.get("description")
        if (
            names_secret(name)
            or (isinstance(title, str) and (names_secret(title) or asks_secret(title)))
            or (isinstance(description, str) and asks_secret(description))
        ):
            return moment.problem(
                f"the field {quoted(name)} asks for a secret", path=f"{PLACE}.properties.{name}"
            )
    message = moment.params.get("message")
    if texts and isinstance(message, str) and asks_secret(message):
        return moment.problem("the message asks for a secret", path="params.message")
    return FINE


@check("ACP-L341", asks(CREATE), fix="Send the user to a page by url mode.")
def forms_hold_no_links(moment: Moment) -> Found:
    """Tell of links in what a form says."""
    schema = _schema(moment.params)
    if schema is None:
        return None
    said: list[tuple[str, Json]] = [("params.message", moment.params.get("message"))]
    for name, field in _fields(schema).items():
        said += [(f"{PLACE}.properties.{name}.{key}", field.get(key)) for key in _SAYING]
    for place, text in said:
        if isinstance(text, str) and _URL.search(text):
            return moment.problem(f"{place} holds a link", path=place)
    return FINE


_SAYING: Final = ("title", "description")


@check("ACP-L343", results(CREATE), fix="Check what was entered before it is sent.")
def content_fits_the_form(moment: Moment) -> Found:
    """Tell of content that the form does not allow."""
    schema = _schema(moment.ask.params) if moment.ask is not None else None
    if schema is None or moment.result_object.get("action") != "accept":
        return None
    fields, content = _fields(schema), members(moment.result_object.get("content"))
    for name in entries(schema.get("required")):
        if isinstance(name, str) and name not in content:
            return moment.problem(
                f"the required field {quoted(name)} is missing", moment.ask, path="result.content"
            )
    for name, value in content.items():
        place = f"result.content.{name}"
        if name not in fields:
            return moment.problem(f"{quoted(name)} is no field of the form", moment.ask, path=place)
        if fault := _misfit(fields[name], value):
            return moment.problem(f"{quoted(name)} {fault}", moment.ask, path=place)
    return FINE


def _misfit(field: dict[str, Json], value: Json) -> str | None:
    """Return what of a value does not fit a field of a form; None if it fits."""
    match field.get("type"):
        case "string":
            return _misfit_text(field, value)
        case "boolean":
            return None if isinstance(value, bool) else "is no boolean"
        case "integer" | "number" as kind:
            return _misfit_number(field, kind, value)
        case "array":
            return _misfit_list(field, value)
        case _:
            return None


def _misfit_text(field: dict[str, Json], value: Json) -> str | None:
    if not isinstance(value, str):
        return "is no string"
    least, most = field.get("minLength"), field.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        return "is too short"
    if isinstance(most, int) and len(value) > most:
        return "is too long"
    offered = _offered(field)
    return "is none of the values" if offered and value not in offered else None


def _misfit_number(field: dict[str, Json], kind: Json, value: Json) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"is no {kind}"
    if kind == "integer" and isinstance(value, float) and not value.is_integer():
        return "is no integer"
    least, most = field.get("minimum"), field.get("maximum")
    if isinstance(least, int | float) and value < least:
        return "is too small"
    return "is too large" if isinstance(most, int | float) and value > most else None


def _misfit_list(field: dict[str, Json], value: Json) -> str | None:
    if not isinstance(value, list):
        return "is no list"
    chosen = entries(value)
    least, most = field.get("minItems"), field.get("maxItems")
    if isinstance(least, int) and len(chosen) < least:
        return "has too few values"
    if isinstance(most, int) and len(chosen) > most:
        return "has too many values"
    offered = _offered(members(field.get("items")))
    is_alien = bool(offered) and any(each not in offered for each in chosen)
    return "has a value that was not offered" if is_alien else None


def _offered(field: dict[str, Json]) -> list[Json]:
    titled = (*entries(field.get("oneOf")), *entries(field.get("anyOf")))
    return [*entries(field.get("enum")), *(members(each).get("const") for each in titled)]


@check("ACP-L345", results(CREATE), fix="Send strings, numbers, booleans and lists of strings.")
def content_is_flat(moment: Moment) -> Found:
    """Tell of content that is nested."""
    content = moment.result_object.get("content")
    if not isinstance(content, dict):
        return None
    for name, value in members(moment.result_object["content"]).items():
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in entries(value))
        if not is_list and not isinstance(value, str | int | float):
            return moment.problem(
                f"{quoted(name)} is {quoted(value)}", moment.ask, path=f"result.content.{name}"
            )
    return FINE
