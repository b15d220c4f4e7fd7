"""What the published schema says of a message, computed once for all rules.

Most messages pass a quick validation as a whole; the path of each error is computed only for the
others.

Source: ACP schema, every definition of params and results; "Extensibility".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from acp_inspector.lint.context import Context, Problem
from acp_inspector.lint.state import opposite
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.explain import SchemaError, extension_values, unknown_fields
from acp_protocol.schema.methods import METHODS
from acp_protocol.schema.newer import feature_of_field, feature_of_value
from acp_protocol.schema.validate import accepts, schema_type
from acp_protocol.schema.validate import validate as schema_errors_of

EMPTY: Final = frozenset({"session/load", "fs/write_text_file", "authenticate"})
"""Methods whose empty result was once null."""


class SchemaSubject:
    """The part of a message that its schema is about."""

    def __init__(self, definition: str, version: int, place: str, value: Json) -> None:
        self.definition = definition
        self.version = version
        self.place = place
        self.value = value
        self.rest: dict[str, list[Problem]] | None = None
        """What no rule about its place has reported, by the general rule about it; None: not
        computed yet."""

    def schema_errors(self) -> tuple[SchemaError, ...]:
        """Return the validation errors."""
        return schema_errors_of(self.definition, self.value, self.version, path=self.place)

    def unknown_members(self) -> list[str]:
        """Return the paths of fields that the schema does not have."""
        return unknown_fields(schema_type(self.definition, self.version), self.value, self.place)

    def custom_values(self) -> list[str]:
        """Return the paths of values that the schema allows as extensions."""
        return extension_values(schema_type(self.definition, self.version), self.value, self.place)

    def at(self, path: str) -> Json:
        """Return the value at a path."""
        value = self.value
        for part in path.split(".")[1:]:
            listed = as_list(value)
            is_place = part.isdigit() and int(part) < len(listed)
            value = listed[int(part)] if is_place else as_object(value).get(part)
        return value


def schema_subject(context: Context) -> SchemaSubject | bool | None:
    """Return the part to validate; False if there is none, None if it is valid.

    None is the result for nearly every message, and is cached for several rules.
    """
    if context.verdict is not NotImplemented:
        return context.verdict
    context.verdict = verdict = _validate(context)
    return verdict


def _validate(context: Context) -> SchemaSubject | bool | None:
    version = context.version or 1
    is_call = context.kind != "result"
    # A message in the wrong direction is not in the schema; other rules report it.
    caller = context.side if is_call else opposite(context.side)
    definition = _definitions(version).get((context.method or "", context.kind, caller))
    if definition is None:
        return False
    value: Json = context.value.get("params") if is_call else context.result
    if value is None and (is_call or context.method in EMPTY):
        value = {}
    if _knows(definition, version)(value):
        return None
    return SchemaSubject(definition, version, "params" if is_call else "result", value)


@cache
def _definitions(version: int) -> dict[tuple[str, str, Side], str]:
    """Return the definitions of calls and results, by method, kind, and caller."""
    table: dict[tuple[str, str, Side], str] = {}
    for row in METHODS:
        callers: tuple[Side, ...] = (
            ("client", "agent") if row.sent_by == "either" else (row.sent_by,)
        )
        for caller in callers:
            if row.version == version and row.params is not None:
                table[row.name, row.kind, caller] = row.params
            if row.version == version and row.result is not None:
                table[row.name, "result", caller] = row.result
    return table


@cache
def _knows(definition: str, version: int) -> Callable[[Json], bool]:
    return accepts(definition, version, known_only=True)


def newer_members(method: str | None, what: SchemaSubject) -> dict[str, str]:
    """Return the features of fields and values that are newer than the schemas, by path."""
    fields = {
        path: feature_of_field(method, path, what.at(path)) for path in what.unknown_members()
    }
    values = {
        path: feature_of_value(what.version, path, what.at(path)) for path in what.custom_values()
    }
    return {path: feature for path, feature in (fields | values).items() if feature}
