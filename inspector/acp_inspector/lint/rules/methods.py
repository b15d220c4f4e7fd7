"""Methods: which exist, who sends them, and how they are answered.

Source: ACP, "Extensibility", "Initialization", and the published schemas.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix
from acp_inspector.lint.rules.envelope import LastNotifications, has_other_cause
from acp_inspector.lint.schema_errors import EMPTY
from acp_inspector.lint.state import LintState, opposite
from acp_protocol.dialects.spellings import OWN_METHODS
from acp_protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND
from acp_protocol.schema.method_spec import Kind, MethodSpec
from acp_protocol.schema.methods import METHODS, find_method, is_method
from acp_protocol.schema.newer import METHODS as NEWER
from acp_protocol.schema.validate import accepts
from acp_protocol.schema.vocabulary import UNREADABLE

rule = LintSubject("envelope", page="extensibility.mdx")

_NAMESPACES: Final = frozenset(
    {row.name.partition("/")[0] for row in METHODS} | {"nes", "document", "mcp"}
)
BASELINE: Final = {
    1: frozenset({"initialize", "session/new", "session/prompt", "session/request_permission"}),
    2: frozenset({"initialize", "session/request_permission"}),
}
"""Methods that every peer of the version must support, whatever it declares."""
RETIRED: Final = re.compile(r"nes/|document/|mcp/(connect|disconnect)$")
"""Methods of unstable schemas before 2026-11."""
RETIRED_NAMES: Final = re.compile(r"nes/(accept|reject)$|document/")
"""Those of them that were notifications."""


@rule.error(35, "must", "sender", on.call(), case="methods.known")
@fix("Use methods of the version, or one that begins with “_”.")
def unknown_method(context: Context) -> CheckResult:
    """A method name is in the negotiated version's method table or starts with `_` (or `$/` for
    protocol notifications). Unstable names are reported as info unless unstable is enabled.
    """
    method = context.method or ""
    if not method or method.startswith(("_", "$/")):
        return None
    row = find_method(context.method or "", context.version or 1)
    if method in OWN_METHODS.get(context.state.dialect or "", ()):
        return OK
    if row is not None:
        if row.is_stable or context.state.unstable:
            return OK
        return context.problem(
            f"{method} is unstable", path="method", severity="info", topic=context.topic()
        )
    if is_method(method) or method in NEWER:
        # A method of the other version, or a newer one: another rule reports it.
        return OK
    if RETIRED.match(method):
        return context.problem(
            f"{method} is of an unstable schema before 2026-11",
            path="method",
            severity="info",
            topic=context.topic(),
        )
    if not is_ours(method):
        # A custom method: another rule reports the missing underscore.
        return OK
    return context.problem(
        f"{quoted(method)} is not a method of ACP", path="method", topic=context.topic()
    )


def is_ours(method: str) -> bool:
    """Return whether a method is in a namespace of the protocol, by the first part of its name."""
    return method.partition("/")[0] in _NAMESPACES


def _of_other_version(context: Context, other: int) -> CheckResult:
    method = context.method or ""
    if context.version is None or context.version == other or not method:
        return None
    if find_method(method, context.version) is None and find_method(method, other) is not None:
        return context.problem(
            f"{method} is version {other}'s; the negotiated version is {context.version}",
            context.state.initialize,
            path="method",
        )
    return OK


@rule.error(36, "must", "sender", on.call(), version=2, case={"agent": "methods.known"})
@details(source="v2/migration.mdx", since="2026-11")
@fix("Use version 2's way, or ask for version 1.")
@checked_by(_of_other_version, other=1)
def v1_method() -> None:
    """v1-only methods (`authenticate`, `logout`, `session/load`, `session/set_mode`, `fs/*`, v1's
    five `terminal/*`; `terminal/cancel` is v2) are not used after negotiating 2.
    """


@rule.error(37, "schema", "sender", on.call(), version=1, case="methods.known")
@details(source="v2/migration.mdx", since="2026-11")
@fix("Use version 1's way, or ask for version 2.")
@checked_by(_of_other_version, other=2)
def v2_method() -> None:
    """v2-only methods (`auth/login`, `auth/logout`, `tool_call/cancel`, `terminal/cancel`) are not
    used after negotiating 1.
    """


@rule.error(38, "schema", "sender", on.call(), case="methods.direction")
@fix("Send only what your side sends.")
def wrong_direction(context: Context) -> CheckResult:
    """Direction is right: agent-side methods only from the Client, client-side methods only from
    the Agent.
    """
    rows = _rows(context)
    if not rows:
        return None
    if any(row.sent_by in {context.side, "either"} for row in rows):
        return OK
    return context.problem(f"{context.method} comes from the {context.side}", path="method")


@rule.error(39, "schema", "sender", on.request(), since="2026-11", case="methods.notifications")
@fix("Send it without an id.")
def notification_with_id(context: Context) -> CheckResult:
    """Notification-only methods carry no `id`: `session/cancel`, `session/update`,
    `elicitation/complete`, `$/cancel_request`, `auth/status_update` (unstable), retired
    `nes/accept`, `nes/reject`, `document/*`; `mcp/message` is a request A→C and a notification C→A.
    """
    kinds = _kinds(context)
    if "request" in kinds:
        return OK
    if not kinds and not RETIRED_NAMES.match(context.method or ""):
        return None
    return context.problem(f"{context.method} is a notification and has an id", path="id")


@rule.error(40, "schema", "sender", on.notification(), case="methods.requests")
@fix("Send it with an id, and wait for the response.")
def request_without_id(context: Context) -> CheckResult:
    """Request-only methods carry an `id` (e.g. `session/request_permission` or `session/prompt`
    sent as a notification).
    """
    kinds = _kinds(context)
    if not kinds:
        return None
    if kinds == {"request"}:
        return context.problem(f"{context.method} is a request and has no id", path="id")
    return OK


@rule.error(41, "json-rpc", "responder", on.response())
@fix("Answer unknown methods with -32601.")
def unknown_method_not_refused(context: Context) -> CheckResult:
    """An unknown request method gets -32601, not silence, not -32603. (-32600 is right if the
    request is invalid in itself, or comes before `initialize`.)
    """
    ask = context.request
    if ask is None or ask.method.startswith("_") or RETIRED.match(ask.method):
        return None
    if ask.method in NEWER:
        # The agent may well know it.
        return None
    if is_method(ask.method):
        return _of_the_other_version(context)
    if context.kind == "result":
        return context.problem(f"the unknown method {ask.method} was answered with a result", ask)
    if context.code == INVALID_REQUEST and ask.is_invalid:
        return OK
    if context.code != METHOD_NOT_FOUND:
        return context.problem(
            f"the unknown method {ask.method} was answered with {context.code}", ask
        )
    return OK


def _of_the_other_version(context: Context) -> CheckResult:
    """Flag a failure on a method of the other version, which a peer may well know."""
    ask, version = context.request, context.version
    if ask is None or version is None or find_method(ask.method, version) is not None:
        return None
    if context.code == INTERNAL_ERROR:
        return context.problem(
            f"{ask.method}, of another version, was answered with {context.code}", ask
        )
    return OK if context.code == METHOD_NOT_FOUND else None


@rule.warning(42, "should", "responder", on.error(), exercised_by=on.notification())
@fix("Pass over notifications that are not known.")
def unknown_notification_has_effect(context: Context) -> CheckResult:
    """An unknown notification has no visible effect (no error response, no disconnect)."""
    notification = context.state.of(LastNotifications).get(opposite(context.side))
    if context.id is not None or notification is None or notification.method is None:
        return OK
    if is_method(notification.method):
        return OK
    if context.code in UNREADABLE and has_other_cause(notification):
        return OK
    return context.problem(
        f"the unknown notification {notification.method} was answered with an error",
        notification.point,
    )


@rule.error(
    43, "must", "responder", on.error(), source="initialization.mdx", case="methods.baseline"
)
@fix("Answer what was claimed, or do not claim it.")
def supported_method_refused(context: Context) -> CheckResult:
    """A baseline method, or one whose capability was advertised, is never answered with -32601."""
    ask = context.request
    if ask is None or context.version is None:
        return None
    row = find_method(ask.method, context.version)
    if row is None or row.sent_by not in {ask.side, "either"}:
        return None
    if not _is_due(context.state, row):
        return None
    if context.code == METHOD_NOT_FOUND:
        why = "is required" if row.gate is None else f"was claimed by {row.gate}"
        return context.problem(
            f"{ask.method} {why}, but is not found", ask, context.state.initialize
        )
    return OK


def _is_due(state: LintState, row: MethodSpec) -> bool:
    if row.name in BASELINE[row.version]:
        return True
    if row.gate is None:
        return False
    whose, _, path = row.gate.partition(".")
    if whose == "authMethods":
        return bool(state.auth_methods)
    return state.claims("client" if whose == "clientCapabilities" else "agent", path)


@rule.warning(44, "schema", "responder", on.result())
@fix("Answer with {} where there is nothing to tell.")
def null_result(context: Context) -> CheckResult:
    """Empty results are `{}`; `result: null` is the older spelling for `session/load`,
    `fs/write_text_file`, `authenticate`.
    """
    if context.request is None:
        return None
    row = find_method(context.request.method, context.version or 1)
    if row is None or row.result is None:
        return None
    if context.result is None:
        if not accepts(row.result, row.version)({}):
            # What is missing has rules of its own.
            return None
        what = "the older spelling of" if context.request.method in EMPTY else "not"
        return context.problem(
            f"the result of {context.request.method} is null, {what} {{}}",
            context.request,
            path="result",
        )
    return OK


def _rows(context: Context) -> tuple[MethodSpec, ...]:
    """Return the rows of the method: as a request, and as a notification."""
    return _rows_of(context.method or "", context.version or 1)


@lru_cache(maxsize=1000)
def _rows_of(method: str, version: int) -> tuple[MethodSpec, ...]:
    request = find_method(method, version, kind="request")
    notification = find_method(method, version, kind="notification")
    return tuple(row for row in (request, notification) if row)


def _kinds(context: Context) -> set[Kind]:
    return {row.kind for row in _rows(context)}
