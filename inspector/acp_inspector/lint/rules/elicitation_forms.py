"""Elicitation forms, and the values that users submit.

Source: ACP, "Elicitation", form mode and restricted JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import OK, CheckResult, Context, is_one_of, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix
from acp_inspector.lint.rules.elicitation import CREATE
from acp_inspector.lint.text_checks import asks_secret, is_pattern, names_secret
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

rule = LintSubject("elicitation", page="rfds/elicitation.mdx")

PLACE: Final = "params.requestedSchema"
PRIMITIVES: Final = frozenset({"string", "number", "integer", "boolean", "array"})
_URL: Final = re.compile(r"https?://\S+|\[[^\]]+\]\([^)]+\)", re.IGNORECASE)


def _schema(params: dict[str, Json]) -> dict[str, Json] | None:
    if params.get("mode") != "form":
        return None
    return as_object(params.get("requestedSchema"))


def _fields(schema: dict[str, Json]) -> dict[str, dict[str, Json]]:
    fields = as_object(schema.get("properties"))
    return {name: as_object(field) for name, field in fields.items()}


@rule.error(337, "schema", "agent", on.request(CREATE), case="elicitation.schema")
@details(source="rfds/elicitation.mdx", since="2026-11")
@fix('Ask by {"type": "object", "properties": {…}}, all flat.')
def invalid_form_schema(context: Context) -> CheckResult:
    """Form mode has `requestedSchema` of type object with `properties` (v2: both keys required,
    `type` exactly `"object"`); properties are flat primitives.
    """
    schema = _schema(context.params)
    if schema is None:
        return None
    if not isinstance(context.params.get("requestedSchema"), dict):
        return context.problem("requestedSchema is missing", path=PLACE)
    is_there = "type" in schema or context.version != 1
    if is_there and schema.get("type") != "object":
        return context.problem(
            f"the form's type is {quoted(schema.get('type'))}", path=f"{PLACE}.type"
        )
    if not isinstance(schema.get("properties"), dict):
        return context.problem("the form has no properties", path=f"{PLACE}.properties")
    for name, field in _fields(schema).items():
        kind = field.get("type")
        if is_one_of(kind, PRIMITIVES) or (
            context.version != 1 and isinstance(kind, str) and kind != "object"
        ):
            continue
        return context.problem(
            f"the field {quoted(name)} is {quoted(kind)}, no primitive",
            path=f"{PLACE}.properties.{name}.type",
        )
    return OK


@rule.warning(338, "implied", "agent", on.request(CREATE))
@fix("Stay with what the restricted schema has.")
@checked_by(schema, at=("requestedSchema.*", "requestedSchema.properties.*.*"), kinds="member")
def unsupported_schema_keyword() -> None:
    """No `$schema`, `enumNames`, nested objects, conditionals."""


@rule.warning(339, "heuristic", "agent", on.request(CREATE))
@fix("Make the form one that can be filled in.")
def inconsistent_form_schema(context: Context) -> CheckResult:
    """Schema is self-consistent: `required` names exist, min ≤ max, default satisfies the schema,
    `pattern` compiles.
    """
    schema = _schema(context.params)
    if not schema:
        return None
    fields = _fields(schema)
    for name in as_list(schema.get("required")):
        if isinstance(name, str) and name not in fields:
            return context.problem(
                f"the required field {quoted(name)} does not exist", path=f"{PLACE}.required"
            )
    for name, field in fields.items():
        for fault in _contradictions(field):
            return context.problem(
                f"the field {quoted(name)} {fault}", path=f"{PLACE}.properties.{name}"
            )
    return OK


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
        yield "has a pattern that is not a regular expression"
    default = field.get("default")
    if default is not None and (fault := _value_error(field, default)):
        yield f"has a default that {fault}"


@rule.error(340, "must", "agent", on.request(CREATE), source="elicitation.mdx")
@fix("Ask for secrets on a page, by url mode.")
def form_asks_secret(context: Context) -> CheckResult:
    """A form does not ask for secrets (property names/titles/messages about passwords, API keys,
    tokens, private keys, card numbers).
    """
    schema = _schema(context.params)
    if schema is None:
        return None
    # A value chosen from a list is not a secret.
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
            return context.problem(
                f"the field {quoted(name)} asks for a secret", path=f"{PLACE}.properties.{name}"
            )
    message = context.params.get("message")
    if texts and isinstance(message, str) and asks_secret(message):
        return context.problem("the message asks for a secret", at="message")
    return OK


@rule.warning(341, "should", "agent", on.request(CREATE), source="elicitation.mdx")
@fix("Send the user to a page by url mode.")
def url_in_form(context: Context) -> CheckResult:
    """No clickable URLs in form fields."""
    schema = _schema(context.params)
    if schema is None:
        return None
    shown_texts: list[tuple[str, Json]] = [("params.message", context.params.get("message"))]
    for name, field in _fields(schema).items():
        shown_texts += [(f"{PLACE}.properties.{name}.{key}", field.get(key)) for key in TEXT_KEYS]
    for place, text in shown_texts:
        if isinstance(text, str) and _URL.search(text):
            return context.problem(f"{place} holds a link", path=place)
    return OK


TEXT_KEYS: Final = ("title", "description")


@rule.warning(343, "should", "client", on.result(CREATE), source="elicitation.mdx")
@fix("Check what was entered before it is sent.")
def invalid_form_answer(context: Context) -> CheckResult:
    """Accepted form content satisfies the requested schema (types, required, enum, bounds)."""
    schema = _schema(context.request.params) if context.request is not None else None
    if schema is None or context.result_object.get("action") != "accept":
        return None
    fields, content = _fields(schema), as_object(context.result_object.get("content"))
    for name in as_list(schema.get("required")):
        if isinstance(name, str) and name not in content:
            return context.problem(
                f"the required field {quoted(name)} is missing", context.request, at="content"
            )
    for name, value in content.items():
        place = f"result.content.{name}"
        if name not in fields:
            return context.problem(
                f"{quoted(name)} is not a field of the form", context.request, path=place
            )
        if fault := _value_error(fields[name], value):
            return context.problem(f"{quoted(name)} {fault}", context.request, path=place)
    return OK


def _value_error(field: dict[str, Json], value: Json) -> str | None:
    """Return why a value does not fit a field of a form; None if it fits."""
    match field.get("type"):
        case "string":
            return _text_error(field, value)
        case "boolean":
            return None if isinstance(value, bool) else "is not a boolean"
        case "integer" | "number" as kind:
            return _number_error(field, kind, value)
        case "array":
            return _list_error(field, value)
        case _:
            return None


def _text_error(field: dict[str, Json], value: Json) -> str | None:
    if not isinstance(value, str):
        return "is not a string"
    least, most = field.get("minLength"), field.get("maxLength")
    if isinstance(least, int) and len(value) < least:
        return "is too short"
    if isinstance(most, int) and len(value) > most:
        return "is too long"
    offered = _offered(field)
    return "is none of the values" if offered and value not in offered else None


def _number_error(field: dict[str, Json], kind: Json, value: Json) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "is not an integer" if kind == "integer" else "is not a number"
    if kind == "integer" and isinstance(value, float) and not value.is_integer():
        return "is not an integer"
    least, most = field.get("minimum"), field.get("maximum")
    if isinstance(least, int | float) and value < least:
        return "is too small"
    return "is too large" if isinstance(most, int | float) and value > most else None


def _list_error(field: dict[str, Json], value: Json) -> str | None:
    if not isinstance(value, list):
        return "is not a list"
    chosen = as_list(value)
    least, most = field.get("minItems"), field.get("maxItems")
    if isinstance(least, int) and len(chosen) < least:
        return "has too few values"
    if isinstance(most, int) and len(chosen) > most:
        return "has too many values"
    offered = _offered(as_object(field.get("items")))
    is_alien = bool(offered) and any(each not in offered for each in chosen)
    return "has a value that was not offered" if is_alien else None


def _offered(field: dict[str, Json]) -> list[Json]:
    titled = (*as_list(field.get("oneOf")), *as_list(field.get("anyOf")))
    return [*as_list(field.get("enum")), *(as_object(each).get("const") for each in titled)]


@rule.error(345, "schema", "client", on.result(CREATE), version=1, since="2026-11")
@fix("Send strings, numbers, booleans and lists of strings.")
@checked_by(schema, at="content.*", kinds="type")
def nested_form_value() -> None:
    """`content` values are string, number, boolean or string array (no nesting). v2 admits any JSON
    for custom property types.
    """
