"""The status of sessions, and their titles (unstable).

Source: ACP schema, `session/status`, `session/set_title`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import check, track
from acp_inspector.lint.rules.capability_gates import gated
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


@check("ACP-L477", on.call("session/update"), exercised_by=on.result("session/status"))
def status_changes_nothing(context: Context) -> CheckResult:
    """Flag updates for a session of which only the status was requested.

    Other changes are visible only in sessions that are open here, and may have another reason.
    """
    status_requested = context.state.of(_Known).status_requested
    if not status_requested or context.session_id not in status_requested or _is_open(context):
        return None
    return context.problem(
        "an update came for a session whose status alone was requested",
        status_requested[context.session_id],
    )


@check("ACP-L478", on.call(*USES, "session/cancel"), exercised_by=on.result("session/status"))
def open_elsewhere_is_not_open_on_this_connection(context: Context) -> CheckResult:
    elsewhere, id_ = context.state.of(_Known).elsewhere, context.session_id
    if id_ is None or id_ not in elsewhere or _is_open(context):
        return None
    return context.problem(
        f"{context.method} uses the session {quoted(id_)}, which is open, but not here",
        elsewhere[id_],
        at="sessionId",
    )


@check("ACP-L479", on.response("session/status"))
def unknown_sessions_are_not_found(context: Context) -> CheckResult:
    """Flag wrong errors for the status of an unknown session.

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


@check("ACP-L480", on.request("session/set_title"))
def titles_are_claimed(context: Context) -> CheckResult:
    if not isinstance(context.params.get("title"), str):
        what = "no string" if "title" in context.params else "missing"
        return context.problem(f"the title is {what}", at="title")
    return gated(context, "sessionCapabilities.title", "session.title")


@check("ACP-L481", on.result("session/set_title"))
def the_stored_title_is_returned(context: Context) -> CheckResult:
    if isinstance(context.result_object.get("title"), str):
        return OK
    what = "no string" if "title" in context.result_object else "missing"
    return context.problem(f"the stored title is {what}", context.request, at="title")


@check("ACP-L482", on.update("session_info_update"), on.result("session/list"))
def set_titles_are_kept(context: Context) -> CheckResult:
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


@check("ACP-L483", on.response("session/set_title"))
def bad_titles_get_their_own_error(context: Context) -> CheckResult:
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
