"""Archiving and unarchiving of sessions (unstable).

Source: ACP schema, `session/archive`, `session/unarchive`, `session/list`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.registry import LintSubject, check, checked_by, fix, track
from acp_inspector.lint.rules.errors import OTHER_REASONS
from acp_inspector.lint.rules.session_list import listed
from acp_inspector.lint.rules.session_replay import GENERAL
from acp_inspector.lint.rules.sessions import ended_by, idle_before
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Json,
)
from acp_protocol.schema.vocabulary import RESTORING

rule = LintSubject("session-admin")

FILTERS: Final = frozenset({"exclude", "include", "only"})
ARCHIVE_METHODS: Final = ("session/archive", "session/unarchive")
UNRELATED: Final = OTHER_REASONS | {METHOD_NOT_FOUND}
"""Error codes that are unrelated to repeated archiving."""
REMEMBERED: Final = 10_000
"""Sessions and cursors that are remembered."""


@dataclass(slots=True)
class _Archive:
    """The archive state of sessions."""

    flags: dict[str, tuple[bool, Point]] = field(default_factory=dict[str, tuple[bool, Point]])
    """By session: whether it is archived, and the last frame that reported it."""
    cursors: dict[str, str] = field(default_factory=dict[str, str])
    """By cursor: the filter of its list."""
    quiet: dict[str, Point] = field(default_factory=dict[str, Point])
    """Sessions that were unarchived and are not open on this connection."""


def _filter(params: dict[str, Json]) -> Json:
    wanted: Json = params.get("archived")
    return "exclude" if wanted is None else wanted


@rule.error(466, "schema", "client", on.request(*ARCHIVE_METHODS))
@fix("Archive sessions only where the agent claimed archive.")
@checked_by(claimed, v1="sessionCapabilities.archive", v2="session.archive")
def undeclared_archive() -> None:
    """`session/archive` and `session/unarchive` only with the `archive` capability."""


@rule.error(467, "must", "agent", on.result("initialize"), version=1)
@fix("Claim list together with archive.")
def archive_without_list(context: Context) -> CheckResult:
    """`sessionCapabilities.archive` implies `sessionCapabilities.list`."""
    claims = as_object(context.result_object.get("agentCapabilities"))
    sessions = as_object(claims.get("sessionCapabilities"))
    if sessions.get("archive") is None:
        return None
    if sessions.get("list") is not None:
        return OK
    return context.problem(
        "sessionCapabilities has archive, but no list",
        at="agentCapabilities.sessionCapabilities.list",
    )


@rule.error(468, "must", "agent", on.result("session/list"))
@fix("List every session with archived: true or false.")
def missing_archived_flag(context: Context) -> CheckResult:
    """With `archive` advertised every listed session has a boolean `archived`."""
    if claimed(context, "sessionCapabilities.archive", "session.archive") != OK:
        return None
    return context.problems(
        ("a listed session has no archived field", f"{place}.archived")
        for place, each in listed(context)
        if not isinstance(each.get("archived"), bool)
    )


@rule.error(469, "must", "client", on.request("session/list"))
@fix("Filter by archived only where it is claimed, and the same way on every page.")
def invalid_archived_filter(context: Context) -> CheckResult:
    """The `archived` filter is sent only with the capability and keeps its value while paging."""
    wanted, cursor = context.params.get("archived"), context.params.get("cursor")
    before = context.state.of(_Archive).cursors.get(cursor) if isinstance(cursor, str) else None
    if wanted is None and before is None:
        return None
    if before is not None and _filter(context.params) != before:
        return context.problem(f"archived was {quoted(before)} on the page before", at="archived")
    if wanted is None:
        return OK
    return claimed(context, "sessionCapabilities.archive", "session.archive")


@rule.error(470, "implied", "agent", on.result("session/list"))
@fix("List only sessions that fit the filter.")
def archived_filter_ignored(context: Context) -> CheckResult:
    """List results match the filter (`exclude` default: none archived; `only`: all archived)."""
    if context.request is None:
        return None
    wanted = _filter(context.request.params)
    flagged = [
        (place, each["archived"])
        for place, each in listed(context)
        if isinstance(each.get("archived"), bool)
    ]
    if wanted not in ("exclude", "only") or not flagged:
        return None
    return tuple(
        Problem(
            f"archived is {quoted(flag)}, but {quoted(wanted)} was requested",
            (context.request.seq, context.seq),
            path=f"{place}.archived",
        )
        for place, flag in flagged
        if flag is not (wanted == "only")
    )


@check(
    "archive-leaves-work",
    on.response("session/prompt"),
    fix='End running work first, with the stopReason "cancelled".',
)
def prompts_of_archived_sessions_are_cancelled(context: Context) -> CheckResult:
    return ended_by(context, "session/archive") if context.version == 1 else None


@rule.error(471, "must", "agent", on.result("session/archive"))
@fix('Send idle with the stopReason "cancelled" before the session is archived.')
def archive_leaves_work(context: Context) -> CheckResult:
    """Archiving an active session first ends its work like `session/close` (v1 pending prompt
    `cancelled`; v2 idle `cancelled` before the response).
    """
    return idle_before(context) if context.version == 2 else None


@rule.warning(472, "implied", "agent", on.response(*ARCHIVE_METHODS))
@fix("Succeed where nothing is to be done; -32002 if unknown.")
def repeated_archive_fails(context: Context) -> CheckResult:
    """Repeated archive/unarchive succeeds; an unknown session gets -32002.

    The agent may know a session that is not in the recording: if the error may have another reason,
    the severity is info.
    """
    ask, id_ = context.request, context.session_id
    if ask is None or id_ is None:
        return None
    if context.kind == "result" or context.code in UNRELATED:
        return OK
    flag, point = context.state.of(_Archive).flags.get(id_, (None, None))
    if flag is (ask.method == "session/archive"):
        return context.problem(f"{ask.method} fails although nothing had to be done", point, ask)
    if context.session is not None or context.code not in {INVALID_PARAMS, INTERNAL_ERROR}:
        return OK
    return context.problem(
        f"{ask.method} of an unknown session was answered {context.code}",
        ask,
        severity=None if context.code == INVALID_PARAMS else "info",
    )


@rule.error(473, "must", "agent", on.response("session/list"))
@fix("Respond with -32602 to an unknown archived filter.")
def unknown_filter_accepted(context: Context) -> CheckResult:
    """An unsupported `archived` value is answered -32602, not treated as `exclude`."""
    wanted = context.request.params.get("archived") if context.request is not None else None
    if wanted is None or (isinstance(wanted, str) and (wanted in FILTERS or wanted[:1] == "_")):
        return None
    if context.kind == "result":
        return context.problem(f"archived: {quoted(wanted)} succeeded", context.request)
    if context.code not in GENERAL:
        return OK
    return context.problem(
        f"archived: {quoted(wanted)} was answered {context.code}",
        context.request,
        severity="warning",
    )


@rule.error(
    474, "implied", "agent", on.call("session/update"), exercised_by=on.result("session/unarchive")
)
@fix("Wait for a load or resume before anything is reported.")
def unarchive_loads(context: Context) -> CheckResult:
    """`session/unarchive` loads nothing: no replay, no updates; the session needs load/resume
    before use.
    """
    quiet = context.state.of(_Archive).quiet
    if not quiet or context.session_id not in quiet:
        return None
    return context.problem(
        "an update came for a session that was only unarchived", quiet[context.session_id]
    )


@rule.info(475, "should", "client", on.request(*RESTORING))
@fix("Unarchive the session first.")
def archived_session_loaded(context: Context) -> CheckResult:
    """An archived session is unarchived before load/resume."""
    known = context.state.of(_Archive).flags.get(context.session_id or "")
    if known is None:
        return None
    if not known[0]:
        return OK
    return context.problem(
        f"the session {quoted(context.session_id)} is archived", known[1], at="sessionId"
    )


@track(on.result("session/list"))
def _keep_flags(context: Context) -> None:
    archive = context.state.of(_Archive)
    next_ = context.result_object.get("nextCursor")
    wanted = _filter(context.request.params) if context.request is not None else None
    if isinstance(next_, str) and isinstance(wanted, str) and len(archive.cursors) < REMEMBERED:
        archive.cursors[next_] = wanted
    for _, each in listed(context):
        id_, flag = each.get("sessionId"), each.get("archived")
        if isinstance(id_, str) and isinstance(flag, bool) and len(archive.flags) < REMEMBERED:
            archive.flags[id_] = flag, context.point


@track(on.result(*ARCHIVE_METHODS))
def _keep_put(context: Context) -> None:
    archive, id_ = context.state.of(_Archive), context.session_id
    if id_ is None or len(archive.flags) >= REMEMBERED:
        return
    is_archived = context.method == "session/archive"
    archive.flags[id_] = is_archived, context.point


@track(on.request("session/unarchive"))
def _keep_quiet(context: Context) -> None:
    quiet, id_ = context.state.of(_Archive).quiet, context.session_id
    is_open = context.session is not None and context.session.is_open
    if id_ is not None and not is_open and len(quiet) < REMEMBERED:
        quiet[id_] = context.point


@track(on.request(*RESTORING), on.error(*ARCHIVE_METHODS))
def _keep_noise(context: Context) -> None:
    if quiet := context.state.of(_Archive).quiet:
        quiet.pop(context.session_id or "", None)


@rule.error(476, "schema", "client", on.request("session/status"))
@fix("Request the status only if the agent claimed status.")
@checked_by(claimed, v1="sessionCapabilities.status", v2="session.status")
def undeclared_session_status() -> None:
    """`session/status` only with the `status` capability."""
