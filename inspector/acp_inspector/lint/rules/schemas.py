"""Validates messages against the published schema, and finds unknown fields.

Most messages pass a quick validation as a whole; the path of each error is computed only for the
others.

Source: ACP schema, every definition of params and results; "Extensibility".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import MOST_PLACES
from acp_inspector.lint.context import INITIALIZE, OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.rules.authentication import UNLISTED_LOGINS
from acp_inspector.lint.schema_errors import SchemaSubject, schema_subject
from acp_inspector.lint.state import SentRequest
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.explain import UNKNOWN_WORD
from acp_protocol.schema.methods import find_method
from acp_protocol.schema.words import UPDATE_KINDS

rule = LintSubject("extensibility", page="extensibility.mdx")
envelope = LintSubject("envelope", page="overview.mdx")
updates = LintSubject("updates")

NULL_TOLERANT: Final = ("mcpServers", "additionalDirectories", "args", "env")
"""Lists of params that may be null, but must be valid otherwise."""
MESSAGES: Final = (on.call(), on.result())
REMEMBERED: Final = 1000
"""Invalid requests that are remembered."""
MISSPELT: Final = frozenset({"meta", "metadata", "extensions"})
KNOWN: Final = tuple({*UPDATE_KINDS[1], *UPDATE_KINDS[2]})
"""Kinds of updates of either version."""
OF_BOTH_VERSIONS: Final = frozenset({"params.clientCapabilities", "params.clientInfo"})
"""Fields of version 1 that a client sends besides those of version 2, for older agents."""

_SNAKE: Final = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")
_CAMEL_HUMP: Final = re.compile(r"_([a-z0-9])")


def _rest(context: Context, name: str) -> CheckResult:
    """Return what the schema finds, and no rule about its place has reported, under one name."""
    what = schema_subject(context)
    if what is None:
        return OK
    if not isinstance(what, SchemaSubject):
        return None
    if what.rest is None:
        what.rest = {}
        for general, problem in (*_errors(context, what), *_additions(context, what)):
            if problem.path not in context.reported and not _is_of_draft(context, problem.path):
                what.rest.setdefault(general, []).append(problem)
    return tuple(what.rest.get(name, ())[:MOST_PLACES])


def _is_of_draft(context: Context, path: str) -> bool:
    """Return whether the draft with arrays differs from the published schema in a place."""
    is_place = (context.method, path) == ("session/prompt", "result.messageId")
    return is_place and context.state.dialect == BATCHES


def _errors(context: Context, what: SchemaSubject) -> Iterator[tuple[str, Problem]]:
    """Yield each error of a message with the most specific of the general rules."""
    version = context.version
    is_update = version is not None and context.variant in UPDATE_KINDS[version]
    for error in what.schema_errors():
        text, value = str(error), what.at(error.path)
        name = "tolerated-schema-error" if error.is_tolerated else "schema-error"
        if is_update and not error.is_tolerated and error.path.startswith("params.update"):
            name, text = "invalid-update", f"{context.variant}: {error}"
        elif version is not None and error.reason == UNKNOWN_WORD:
            if isinstance(value, str) and any(letter.isupper() for letter in value):
                name, text = "wrong-case", f"{error.path} is in camelCase"
            elif version == 1:
                name = "unknown-value"
        yield name, Problem(text, (context.seq,), path=error.path)


def _additions(context: Context, what: SchemaSubject) -> Iterator[tuple[str, Problem]]:
    """Yield each custom value and unknown member with its rule."""
    if context.version is None:
        return
    for path in what.custom_values():
        if context.version != 1 and not str(what.at(path)).startswith("_"):
            text = f"{path} is not known and does not begin with “_”"
            yield "reserved-value", Problem(text, (context.seq,), path=path)
    for path in what.unknown_members():
        name, text = "unknown-member", f"{path} is not a member of ACP"
        last = path.rpartition(".")[2]
        if _SNAKE.fullmatch(last):
            right = _CAMEL_HUMP.sub(lambda hump: hump[1].upper(), last)
            name, text = "wrong-case", f"{path} is in snake_case; it may be meant for {right}"
        elif context.method == "initialize" and path in OF_BOTH_VERSIONS:
            continue
        yield name, Problem(text, (context.seq,), path=path, topic=context.topic(path))


@envelope.error(46, "schema", "sender", *MESSAGES, last=True, case="methods.schema")
@fix("Send what the schema requires; see the method's page.")
@checked_by(_rest, name="schema-error")
def schema_error() -> None:
    """All schema-required params and result fields are present and well-typed; fields without the
    lenient annotation make the message invalid.
    """


class _InvalidRequests(dict[int, tuple[int | None, str]]):
    """Requests of the client with invalid params, by number: their version, and what is wrong."""


@track(on.request())
def _keep_invalid_request(context: Context) -> None:
    what = schema_subject(context) if context.side == "client" else None
    if not isinstance(what, SchemaSubject):
        return
    # An invalid entry of a list that a reader may leave out: `malformed-list-accepted`.
    errors = [
        str(each)
        for each in what.schema_errors()
        if not each.is_tolerated and not is_malformed_list(each.path, str(each))
    ]
    invalid = context.state.of(_InvalidRequests)
    if errors and len(invalid) < REMEMBERED:
        invalid[context.seq] = context.version, errors[0]


def is_malformed_list(path: str | None, text: str) -> bool:
    """Return whether an error is in a list that a reader may drop, and not a missing field."""
    names = (path or "").split(".")
    return names[1:2] != [] and names[1] in NULL_TOLERANT and "is missing" not in text


@envelope.info(520, "json-rpc", "agent", on.result())
@fix("Refuse it with an error: -32602 for invalid params, -32600 before initialize.")
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


def _is_free_login(context: Context, ask: SentRequest) -> bool:
    """Return whether a dialect accepts every method to log in."""
    return ask.method == "authenticate" and context.state.dialect in UNLISTED_LOGINS


def _why_to_refuse(context: Context, ask: SentRequest) -> str:
    initialize = context.state.initialize
    if ask.method not in INITIALIZE and (initialize is None or initialize.seq > ask.seq):
        return "it came before initialize"
    if ask.method in {"authenticate", "auth/login"} and not _is_free_login(context, ask):
        key = "id" if ask.method == "authenticate" else "methodId"
        method: Json = ask.params.get("methodId")
        if all(method != each.get(key) for each in context.state.auth_methods):
            return f"no method to log in is {quoted(method)}"
    version, why = context.state.of(_InvalidRequests).get(ask.seq, (None, ""))
    # An agent without the requested version does not know the form of its `initialize`.
    return why if version == context.version else ""


@envelope.warning(47, "schema", "sender", *MESSAGES, last=True, since="2026-11")
@fix("Send what the schema requires, even if readers tolerate this.")
@checked_by(_rest, name="tolerated-schema-error")
def tolerated_schema_error() -> None:
    """Malformed values in lenient (`x-deserialize-default-on-error`) fields or skipped list items
    are reported although readers survive them. Fields that are only null-tolerant
    (`x-deserialize-default-on-null`: `mcpServers`, `additionalDirectories`, MCP/terminal/auth
    `args`, `env`, `headers`) are not lenient: schema-error applies.
    """


@updates.error(181, "schema", "agent", on.update(*KNOWN), case="updates.schema")
@details(source="v2/migration.mdx", last=True)
@fix("Send what the schema requires; see the variant's page.")
@checked_by(_rest, name="invalid-update")
def invalid_update() -> None:
    """A known variant matches its schema; malformed known variants are not treated as unknown
    ones.
    """


@rule.error(377, "schema", "sender", *MESSAGES, last=True, version=1)
@fix("Use one of the known values; version 1 takes no other.")
@checked_by(_rest, name="unknown-value")
def unknown_value() -> None:
    """No unknown values in closed v1 enums and unions (including `_x`)."""


@rule.warning(376, "must", "sender", *MESSAGES, last=True, version=2)
@fix("Begin values of your own with “_”.")
@checked_by(_rest, name="reserved-value")
def reserved_value() -> None:
    """Custom enum and union values start with `_`; unknown others are reserved."""


@rule.warning(371, "must", "sender", *MESSAGES, last=True)
@fix("Put custom data into _meta.")
@checked_by(_rest, name="unknown-member")
def unknown_member() -> None:
    """No unknown members at the root of spec-defined objects; use `_meta`."""


@rule.warning(378, "implied", "sender", *MESSAGES, last=True, source="overview.mdx")
@fix("Write members in camelCase, values in snake_case.")
@checked_by(_rest, name="wrong-case")
def wrong_case() -> None:
    """Property keys are camelCase (`session_id`, `tool_call_id` are dialect), discriminator values
    snake_case.
    """


@rule.warning(373, "heuristic", "sender", *MESSAGES)
@fix("Call it _meta.")
def misspelt_meta(context: Context) -> CheckResult:
    """`meta`, `metadata`, `extensions` at the root are misspelt `_meta`."""
    what = schema_subject(context)
    if not isinstance(what, SchemaSubject):
        return OK if what is None else None
    found = [path for path in what.unknown_members() if path.rpartition(".")[2] in MISSPELT]
    return tuple(
        Problem(
            f"{path} looks like a misspelt _meta", (context.seq,), None, path, context.topic(path)
        )
        for path in found[:MOST_PLACES]
    )
