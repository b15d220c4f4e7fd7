"""The status of sessions, and their titles (unstable).

Source: ACP schema, `session/status`, `session/set_title`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed, schema
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.rules.session_list import listed
from acp_inspector.lint.rules.session_replay import GENERAL
from acp_inspector.lint.rules.sessions import USES
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Json,
)
from acp_protocol.schema.vocabulary import RESTORING

rule = LintSubject("session-admin")

REMEMBERED: Final = 10_000
"""Sessions that are remembered."""
MISTAKEN: Final = frozenset({INVALID_PARAMS, INTERNAL_ERROR})
"""Error codes that agents often return for an unknown session."""


@dataclass(slots=True)
class _Known:
    """Requests about the status and title of sessions."""

    status_requested: dict[str, Point] = field(default_factory=dict[str, Point])
    """Sessions that are not open here: the frame that requested their status."""
    elsewhere: dict[str, Point] = field(default_factory=dict[str, Point])
    """Sessions that were reported open, but not on this connection."""
    titles: dict[str, tuple[str, Point]] = field(default_factory=dict[str, tuple[str, Point]])
    """Titles as the agent stored them."""


def _is_open(context: Context) -> bool:
    return context.session is not None and context.session.is_open


@rule.error(
    477, "must", "agent", on.call("session/update"), exercised_by=on.result("session/status")
)
@fix("Look, and leave everything as it is.")
def status_has_effect(context: Context) -> CheckResult:
    """`session/status` has no side effect: no attach, load, close, state change or replay follows
    from it.

    Other changes are visible only in sessions that are open here, and may have another reason.
    """
    status_requested = context.state.of(_Known).status_requested
    if not status_requested or context.session_id not in status_requested or _is_open(context):
        return None
    return context.problem(
        "an update came for a session whose status alone was requested",
        status_requested[context.session_id],
    )


@rule.error(478, "must", "client", on.call(*USES, "session/cancel"))
@details(exercised_by=on.result("session/status"))
@fix("Load or resume the session here first.")
def unloaded_session_prompted(context: Context) -> CheckResult:
    """A session only known as `open` through `session/status` is loaded or resumed on this
    connection before it is prompted.
    """
    elsewhere, id_ = context.state.of(_Known).elsewhere, context.session_id
    if id_ is None or id_ not in elsewhere or _is_open(context):
        return None
    return context.problem(
        f"{context.method} uses the session {quoted(id_)}, which is open, but not here",
        elsewhere[id_],
        at="sessionId",
    )


@rule.warning(479, "implied", "agent", on.response("session/status"))
@fix('Answer -32002 with "data": {"sessionId": …} for a session that is not known.')
def wrong_status_error(context: Context) -> CheckResult:
    """`session/status` on an unknown session is answered -32002 with `data.sessionId`.

    The agent may know a session that is not in the recording: if the error may have another reason,
    the severity is info.
    """
    ask, id_ = context.request, context.session_id
    if ask is None:
        return None
    if context.code == RESOURCE_NOT_FOUND:
        named = as_object(context.error.get("data")).get("sessionId")
        if named == id_:
            return OK
        what = f"names {quoted(named)}" if named is not None else "does not name the session"
        return context.problem(f"the error {what}", ask, path="error.data.sessionId")
    if context.kind == "result" or context.session is not None or context.code not in MISTAKEN:
        return OK
    return context.problem(
        f"the status of an unknown session was answered {context.code}",
        ask,
        severity=None if context.code == INVALID_PARAMS else "info",
    )


@rule.error(480, "schema", "client", on.request("session/set_title"))
@fix("Send a string as title, and only where the agent claimed title.")
def undeclared_set_title(context: Context) -> CheckResult:
    """`session/set_title` only with the `title` capability and with a string `title`."""
    if not isinstance(context.params.get("title"), str):
        what = "no string" if "title" in context.params else "missing"
        return context.problem(f"the title is {what}", at="title")
    return claimed(context, "sessionCapabilities.title", "session.title")


@rule.warning(482, "should", "agent", on.update("session_info_update"), on.result("session/list"))
@fix("Do not replace a title that the client has set.")
def title_replaced(context: Context) -> CheckResult:
    """After a successful `session/set_title` the Agent does not replace the title with a generated
    one (`session_info_update`, `session/list`).
    """
    titles = context.state.of(_Known).titles
    if not titles:
        return None
    reported = listed(context) if context.kind == "result" else [("params.update", context.update)]
    problems: list[Problem] = []
    is_reported = False
    for place, each in reported:
        id_ = each.get("sessionId") if context.kind == "result" else context.session_id
        title, point = titles.get(id_, ("", None)) if isinstance(id_, str) else ("", None)
        now: Json = each.get("title")
        if point is None or not isinstance(now, str) or _is_older(context, point):
            continue
        is_reported = True
        if now != title:
            text = f"the title {quoted(title)}, which was set, is {quoted(now)}"
            problems += context.problem(text, point, path=f"{place}.title")
    return tuple(problems) if is_reported else None


def _is_older(context: Context, point: Point) -> bool:
    # A list requested before the change may be older than it.
    return context.request is not None and context.request.seq < point.seq


@rule.warning(483, "implied", "agent", on.response("session/set_title"))
@fix("Respond with -32602 to a bad title, with -32002 to an unknown session.")
def wrong_title_error(context: Context) -> CheckResult:
    """A title that fails validation is answered -32602, an unknown session -32002."""
    if context.request is None:
        return None
    # -32601 means that the method is missing; other rules report that.
    if context.kind == "result" or context.code == METHOD_NOT_FOUND or context.code not in GENERAL:
        return OK
    return context.problem(f"session/set_title was answered {context.code}", context.request)


@track(on.result("session/set_title"))
def _keep_title(context: Context) -> None:
    titles, title = context.state.of(_Known).titles, context.result_object.get("title")
    if context.session_id is not None and isinstance(title, str) and len(titles) < REMEMBERED:
        titles[context.session_id] = title, context.point


@track(on.request("session/status"))
def _keep_request(context: Context) -> None:
    status_requested = context.state.of(_Known).status_requested
    if (
        context.session_id is not None
        and not _is_open(context)
        and len(status_requested) < REMEMBERED
    ):
        status_requested[context.session_id] = context.point


@track(on.result("session/status"))
def _keep_status(context: Context) -> None:
    elsewhere, id_ = context.state.of(_Known).elsewhere, context.session_id
    if id_ is None or _is_open(context):
        return
    elsewhere.pop(id_, None)
    if context.result_object.get("status") == "open" and len(elsewhere) < REMEMBERED:
        elsewhere[id_] = context.point


@track(on.request(*RESTORING))
def _forget(context: Context) -> None:
    known = context.state.of(_Known)
    known.status_requested.pop(context.session_id or "", None)
    known.elsewhere.pop(context.session_id or "", None)


@rule.error(481, "schema", "agent", on.result("session/set_title"))
@fix("Return the title as it was stored.")
@checked_by(schema, at="title")
def missing_stored_title() -> None:
    """The `session/set_title` result has the stored `title`."""
