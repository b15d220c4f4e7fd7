"""Methods: which exist, who sends them, and how they are answered.

Source: ACP, "Extensibility", "Initialization", and the published schemas.
"""

from __future__ import annotations

import re
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import check
from acp_inspector.lint.rules.envelope import LastNotifications, has_other_cause
from acp_inspector.lint.state import LintState, opposite
from acp_protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND
from acp_protocol.schema.method_spec import Kind, MethodSpec
from acp_protocol.schema.methods import METHODS, find_method, is_method
from acp_protocol.schema.newer import METHODS as NEWER
from acp_protocol.schema.validate import accepts
from acp_protocol.schema.vocabulary import UNREADABLE

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
EMPTY: Final = frozenset({"session/load", "fs/write_text_file", "authenticate"})
"""Methods whose empty result was once null."""


@check("ACP-L035", on.call())
def methods_are_known(context: Context) -> CheckResult:
    method = context.method or ""
    if not method or method.startswith(("_", "$/")):
        return None
    row = find_method(context.method or "", context.version or 1)
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


@check("ACP-L036", on.call(), other=1)
@check("ACP-L037", on.call(), other=2)
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


@check("ACP-L038", on.call())
def methods_come_from_the_right_side(context: Context) -> CheckResult:
    rows = _rows(context)
    if not rows:
        return None
    if any(row.sent_by in {context.side, "either"} for row in rows):
        return OK
    return context.problem(f"{context.method} comes from the {context.side}", path="method")


@check("ACP-L039", on.request())
def notifications_have_no_id(context: Context) -> CheckResult:
    kinds = _kinds(context)
    if "request" in kinds:
        return OK
    if not kinds and not RETIRED_NAMES.match(context.method or ""):
        return None
    return context.problem(f"{context.method} is a notification and has an id", path="id")


@check("ACP-L040", on.notification())
def requests_have_ids(context: Context) -> CheckResult:
    kinds = _kinds(context)
    if not kinds:
        return None
    if kinds == {"request"}:
        return context.problem(f"{context.method} is a request and has no id", path="id")
    return OK


@check("ACP-L041", on.response())
def unknown_requests_get_method_not_found(context: Context) -> CheckResult:
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


@check("ACP-L042", on.error(), exercised_by=on.notification())
def unknown_notifications_are_passed_over(context: Context) -> CheckResult:
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


@check("ACP-L043", on.error())
def claimed_methods_are_there(context: Context) -> CheckResult:
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


@check("ACP-L044", on.result())
def empty_results_are_objects(context: Context) -> CheckResult:
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


def _rows(context: Context) -> list[MethodSpec]:
    """Return the rows of the method: as a request, and as a notification."""
    method, version = context.method or "", context.version or 1
    request = find_method(method, version, kind="request")
    notification = find_method(method, version, kind="notification")
    return [row for row in (request, notification) if row]


def _kinds(context: Context) -> set[Kind]:
    return {row.kind for row in _rows(context)}
