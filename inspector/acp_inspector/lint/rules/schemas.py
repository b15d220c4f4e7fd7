"""Validates messages against the published schema, and finds unknown fields.

Most messages pass a quick validation as a whole; the path of each error is computed only for the
others.

Source: ACP schema, every definition of params and results; "Extensibility".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.catalog import Facts
from acp_inspector.lint.context import INITIALIZE, OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import rule, track
from acp_inspector.lint.rules.methods import EMPTY
from acp_inspector.lint.state import SentRequest, opposite
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.explain import SchemaError, extension_values, unknown_fields
from acp_protocol.schema.methods import METHODS, find_method
from acp_protocol.schema.newer import feature_of_field, feature_of_value
from acp_protocol.schema.validate import accepts, schema_type
from acp_protocol.schema.validate import validate as schema_errors_of

NULL_TOLERANT: Final = ("mcpServers", "additionalDirectories", "args", "env")
"""Lists of params that may be null, but must be valid otherwise."""
PLACES: Final = 5
"""Most paths reported for one message; a message in a dialect may have dozens."""
REMEMBERED: Final = 1000
"""Invalid requests that are remembered."""
MISSPELT: Final = frozenset({"meta", "metadata", "extensions"})
OF_BOTH_VERSIONS: Final = frozenset({"params.clientCapabilities", "params.clientInfo"})
"""Fields of version 1 that a client sends besides those of version 2, for older agents."""
UNKNOWN_WORD: Final = "is none of the known values"

_SNAKE: Final = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")
_CAMEL_HUMP: Final = re.compile(r"_([a-z0-9])")


class SchemaSubject:
    """The part of a message that its schema is about."""

    def __init__(self, definition: str, version: int, place: str, value: Json) -> None:
        self.definition = definition
        self.version = version
        self.place = place
        self.value = value

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


def _each(context: Context, find: Callable[[SchemaSubject], list[Problem]]) -> CheckResult:
    what = schema_subject(context)
    if what is None:
        return OK
    if not isinstance(what, SchemaSubject):
        return None
    return tuple(find(what)[:PLACES])


@rule(
    "schema-error",
    Facts(46, "envelope", "error", "schema", "sender", "schema"),
    on.call(),
    on.result(),
    case="methods.schema",
    fix="Send what the schema requires; see the method's page.",
)
def schema_error(context: Context) -> CheckResult:
    """All schema-required params and result fields are present and well-typed; fields without the
    lenient annotation make the message invalid.
    """
    return _each(context, lambda what: _schema_errors(context, what, lenient=False))


class _InvalidRequests(dict[int, tuple[int | None, str]]):
    """Requests of the client with invalid params, by number: their version, and what is wrong."""


@track(on.request())
def _keep_invalid_request(context: Context) -> None:
    what = schema_subject(context) if context.side == "client" else None
    if not isinstance(what, SchemaSubject):
        return
    # An invalid entry of a list that a reader may leave out: `malformed-list-accepted`.
    errors = [
        each
        for each in _schema_errors(context, what, lenient=False)
        if not is_malformed_list(each.path, each.text)
    ]
    invalid = context.state.of(_InvalidRequests)
    if errors and len(invalid) < REMEMBERED:
        invalid[context.seq] = context.version, errors[0].text


def is_malformed_list(path: str | None, text: str) -> bool:
    """Return whether an error is in a list that a reader may drop, and not a missing field."""
    names = (path or "").split(".")
    return names[1:2] != [] and names[1] in NULL_TOLERANT and "is missing" not in text


@rule(
    "invalid-request-accepted",
    Facts(520, "envelope", "info", "json-rpc", "agent", "overview.mdx"),
    on.result(),
    fix="Refuse it with an error: -32602 for invalid params, -32600 before initialize.",
)
def invalid_request_accepted(context: Context) -> CheckResult:
    """A request that must be refused gets an error, not a result: invalid params (no prompt, an
    unknown content block), an unknown method to log in, or anything before `initialize`.
    """
    ask = context.request
    if ask is None or ask.side != "client" or find_method(ask.method, context.version or 1) is None:
        return None
    if why := _why_to_refuse(context, ask):
        return context.problem(f"{ask.method} is accepted, but {why}", ask)
    return OK


def _why_to_refuse(context: Context, ask: SentRequest) -> str:
    initialize = context.state.initialize
    if ask.method not in INITIALIZE and (initialize is None or initialize.seq > ask.seq):
        return "it came before initialize"
    if ask.method in {"authenticate", "auth/login"}:
        key = "id" if ask.method == "authenticate" else "methodId"
        method: Json = ask.params.get("methodId")
        if all(method != each.get(key) for each in context.state.auth_methods):
            return f"no method to log in is {quoted(method)}"
    version, why = context.state.of(_InvalidRequests).get(ask.seq, (None, ""))
    # An agent without the requested version does not know the form of its `initialize`.
    return why if version == context.version else ""


@rule(
    "tolerated-schema-error",
    Facts(47, "envelope", "warning", "schema", "sender", "schema", since="2026-11"),
    on.call(),
    on.result(),
    fix="Send what the schema requires, even if readers tolerate this.",
)
def tolerated_schema_error(context: Context) -> CheckResult:
    """Malformed values in lenient (`x-deserialize-default-on-error`) fields or skipped list items
    are reported although readers survive them. Fields that are only null-tolerant
    (`x-deserialize-default-on-null`: `mcpServers`, `additionalDirectories`, MCP/terminal/auth
    `args`, `env`, `headers`) are not lenient: schema-error applies.
    """
    return _each(context, lambda what: _schema_errors(context, what, lenient=True))


def _schema_errors(context: Context, what: SchemaSubject, *, lenient: bool) -> list[Problem]:
    return [
        Problem(str(each), (context.seq,), None, each.path)
        for each in what.schema_errors()
        if each.is_tolerated is lenient
    ]


@rule(
    "unknown-value",
    Facts(377, "extensibility", "error", "schema", "sender", "schema", version=1),
    on.call(),
    on.result(),
    fix="Use one of the known values; version 1 takes no other.",
)
def unknown_value(context: Context) -> CheckResult:
    """No unknown values in closed v1 enums and unions (including `_x`)."""

    def find(what: SchemaSubject) -> list[Problem]:
        return [
            Problem(str(each), (context.seq,), None, each.path)
            for each in what.schema_errors()
            if each.reason == UNKNOWN_WORD
        ]

    return _each(context, find)


@rule(
    "reserved-value",
    Facts(376, "extensibility", "warning", "must", "sender", "v2/extensibility.mdx", version=2),
    on.call(),
    on.result(),
    fix="Begin values of your own with “_”.",
)
def reserved_value(context: Context) -> CheckResult:
    """Custom enum and union values start with `_`; unknown others are reserved."""

    def find(what: SchemaSubject) -> list[Problem]:
        return [
            Problem(f"{path} is not known and does not begin with “_”", (context.seq,), None, path)
            for path in what.custom_values()
            if not str(what.at(path)).startswith("_")
            and feature_of_value(what.version, path, what.at(path)) is None
        ]

    return _each(context, find)


@rule(
    "unknown-member",
    Facts(371, "extensibility", "warning", "must", "sender", "extensibility.mdx"),
    on.call(),
    on.result(),
    fix="Put custom data into _meta.",
)
def unknown_member(context: Context) -> CheckResult:
    """No unknown members at the root of spec-defined objects; use `_meta`."""

    def find(what: SchemaSubject) -> list[Problem]:
        return [
            Problem(
                f"{path} is not a member of ACP", (context.seq,), None, path, context.topic(path)
            )
            for path in what.unknown_members()
            if not (context.method == "initialize" and path in OF_BOTH_VERSIONS)
            and feature_of_field(context.method, path, what.at(path)) is None
        ]

    return _each(context, find)


@rule(
    "misspelt-meta",
    Facts(373, "extensibility", "warning", "heuristic", "sender", "extensibility.mdx"),
    on.call(),
    on.result(),
    fix="Call it _meta.",
)
def misspelt_meta(context: Context) -> CheckResult:
    """`meta`, `metadata`, `extensions` at the root are misspelt `_meta`."""

    def find(what: SchemaSubject) -> list[Problem]:
        return [
            Problem(
                f"{path} looks like a misspelt _meta",
                (context.seq,),
                None,
                path,
                context.topic(path),
            )
            for path in what.unknown_members()
            if path.rpartition(".")[2] in MISSPELT
        ]

    return _each(context, find)


@rule(
    "wrong-case",
    Facts(378, "extensibility", "warning", "implied", "sender", "overview.mdx"),
    on.call(),
    on.result(),
    fix="Write members in camelCase, values in snake_case.",
)
def wrong_case(context: Context) -> CheckResult:
    """Property keys are camelCase (`session_id`, `tool_call_id` are dialect), discriminator values
    snake_case.
    """

    def find(what: SchemaSubject) -> list[Problem]:
        found: list[Problem] = []
        for path in what.unknown_members():
            name = path.rpartition(".")[2]
            if _SNAKE.fullmatch(name):
                right = _CAMEL_HUMP.sub(lambda hump: hump[1].upper(), name)
                text = f"{path} is in snake_case; it may be meant for {right}"
                found.append(Problem(text, (context.seq,), None, path, context.topic(path)))
        for each in what.schema_errors():
            value = what.at(each.path)
            is_word = each.reason == UNKNOWN_WORD and isinstance(value, str)
            if is_word and any(letter.isupper() for letter in value):
                text = f"{each.path} is in camelCase"
                found.append(Problem(text, (context.seq,), None, each.path))
        return found

    return _each(context, find)
