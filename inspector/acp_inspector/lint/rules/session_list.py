"""Session lists: their entries, filters and pages.

Source: ACP, "Session List", "Session Delete"; the RFD about additional directories.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import absolute, claimed, schema, valid
from acp_inspector.lint.context import OK, CheckResult, Context, Problem, quoted
from acp_inspector.lint.on import Triggers
from acp_inspector.lint.registry import LintSubject, checked_by, fix, track
from acp_inspector.lint.state import Point, SentRequest
from acp_inspector.lint.text_checks import is_absolute, is_inside, may_be_same, normalized
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

rule = LintSubject("sessions", page="session-list.mdx")

DATED: Final[Triggers] = (*on.result("session/list"), *on.update("session_info_update"))
"""Messages with the time of a session's last use."""
UPDATED_AT: Final = ("updatedAt", "sessions.*.updatedAt")
_RFC_3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def listed(context: Context) -> list[tuple[str, dict[str, Json]]]:
    """Return each listed session that is an object, with its path."""
    sessions = as_list(context.result_object.get("sessions"))
    return [
        (f"result.sessions.{index}", as_object(each))
        for index, each in enumerate(sessions)
        if isinstance(each, dict)
    ]


@rule.error(120, "implied", "agent", on.result("session/list"), source="session-delete.mdx")
@fix("Leave deleted sessions out of the list.")
def deleted_session_listed(context: Context) -> CheckResult:
    """A deleted session does not show up in later `session/list` results."""
    if context.request is None:
        return None
    problems: list[Problem] = []
    for place, each in listed(context):
        id_ = each.get("sessionId")
        session = context.state.sessions.get(id_) if isinstance(id_, str) else None
        if session is not None and session.deleted and session.deleted.seq < context.request.seq:
            problems += context.problem(
                f"the session {quoted(id_)} is listed though it was deleted",
                session.deleted,
                context.request,
                path=f"{place}.sessionId",
            )
    return tuple(problems)


@rule.error(122, "schema", "agent", on.result("session/list"), source="session-list.mdx")
@fix('Answer with "sessions": [] where there are none.')
@checked_by(schema, at=("", "sessions"), kinds=("missing", "type", "null"))
def sessions_not_list() -> None:
    """`session/list` result has `sessions` as an array (`[]` when nothing matches), never null or
    missing.
    """


@rule.error(123, "schema", "agent", on.result("session/list"), source="session-list.mdx")
@fix("List each session with its id and absolute cwd.")
@checked_by(schema, at="sessions.*.sessionId|cwd")
@checked_by(absolute, at="sessions.*.cwd")
def incomplete_listed_session() -> None:
    """Each listed session has `sessionId` and absolute `cwd`."""


@rule.error(124, "implied", "agent", on.result("session/list"), since="2026-11")
@fix("List only the sessions of the requested directory.")
def session_of_other_directory(context: Context) -> CheckResult:
    """With a `cwd` filter only sessions with that same directory are returned (no subdirectories or
    extra roots; path normalization allowed).

    Another path may be a symbolic link to the same directory. It cannot be if it is below the
    requested directory, or if the page has sessions of two directories: that is an error.
    """
    wanted = context.request.params.get("cwd") if context.request is not None else None
    if not isinstance(wanted, str) or not is_absolute(wanted):
        return None
    places = [
        (cwd, f"{place}.cwd")
        for place, each in listed(context)
        if isinstance(cwd := each.get("cwd"), str) and is_absolute(cwd)
    ]
    if not places:
        return None
    strange = [(cwd, place) for cwd, place in places if not may_be_same(cwd, wanted)]
    is_mixed = len({normalized(cwd) for cwd, _ in places}) > 1
    problems: list[Problem] = []
    for cwd, place in strange:
        problems += context.problem(
            f"a session of {quoted(cwd)} is listed, but those of {quoted(wanted)} were requested",
            context.request,
            path=place,
            severity=None if is_mixed or is_inside(cwd, wanted) else "warning",
        )
    return tuple(problems)


def _is_iso(date: str) -> bool:
    # datetime does not support leap seconds.
    text = date.upper().replace(":60", ":59")
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_rfc3339(date: str) -> bool:
    return _RFC_3339.fullmatch(date) is not None and _is_iso(date)


@rule.warning(128, "implied", "agent", DATED, version=1)
@fix("Write updatedAt as ISO 8601: 2026-11-21T08:00:00Z.")
@checked_by(valid, at=UPDATED_AT, test=_is_iso, what="not ISO 8601")
def updated_at_not_iso() -> None:
    """`updatedAt` is ISO 8601."""


@rule.error(129, "schema", "agent", DATED, version=2, source="v2/session-list.mdx")
@fix("Write updatedAt as RFC 3339: 2026-11-21T08:00:00Z.")
@checked_by(valid, at=UPDATED_AT, test=_is_rfc3339, what="not RFC 3339")
def updated_at_not_rfc3339() -> None:
    """`updatedAt` is RFC 3339."""


@rule.error(130, "must", "agent", on.result("session/list"))
@fix("List absolute additionalDirectories, and only where they are claimed.")
@checked_by(
    claimed,
    v1="sessionCapabilities.additionalDirectories",
    v2="session.additionalDirectories",
    at="sessions.*.additionalDirectories.*",
)
@checked_by(absolute, at="sessions.*.additionalDirectories.*")
def undeclared_listed_directories() -> None:
    """`SessionInfo.additionalDirectories` only with the advertised capability; entries absolute."""


@rule.info(133, "heuristic", "client", on.request("session/list"), since="2026-11")
@fix("Filter what was listed yourself.")
@checked_by(schema, at="*", kinds="member")
def unknown_list_filter() -> None:
    """A client-supplied filter other than `cwd`/`cursor` (and unstable `archived`) is unknown to
    ACP (`search`, `limit`, `createdAfter`).
    """


REMEMBERED: Final = 10_000
"""Cursors that are remembered."""
SESSIONS: Final = 1000
"""Sessions of earlier pages that are remembered with a cursor, about."""


@dataclass(slots=True)
class _Pages:
    """The pages so far."""

    cursors: dict[tuple[str, str], tuple[Point, frozenset[str]]] = field(
        default_factory=dict[tuple[str, str], tuple[Point, frozenset[str]]]
    )
    """By filter and cursor: the frame that returned it, and the sessions listed up to there."""
    last: dict[str, Point] = field(default_factory=dict[str, Point])
    """By filter: the newest page, if it was the last one."""


def _filter(ask: SentRequest | Context) -> str:
    cwd: Json = ask.params.get("cwd")
    return cwd if isinstance(cwd, str) else ""


def _cursor(context: Context) -> str | None:
    cursor: Json = context.params.get("cursor")
    return cursor if isinstance(cursor, str) and context.state.is_ready else None


@rule.error(125, "must", "client", on.request("session/list"), case="list.cursor")
@fix("Send a nextCursor back unchanged, and only on this connection.")
def unknown_list_cursor(context: Context) -> CheckResult:
    """`cursor` equals a `nextCursor` received earlier for the same filter (opaque, not
    constructed).
    """
    cursor = _cursor(context)
    if cursor is None:
        return None
    given = context.state.of(_Pages).cursors
    if (_filter(context), cursor) in given or len(given) >= REMEMBERED:
        return OK
    others = [point for (_, each), (point, _) in given.items() if each == cursor]
    why = "was given for another cwd" if others else "was never given on this connection"
    return context.problem(f"the cursor {quoted(cursor)} {why}", *others[:1], at="cursor")


@rule.warning(126, "implied", "client", on.request("session/list"), since="2026-11")
@fix("Stop at the page without nextCursor.")
def page_after_last(context: Context) -> CheckResult:
    """No further page is requested after a response without `nextCursor` (an empty string is a
    valid v2 cursor).

    A cursor that was returned leads back to an earlier page, which is legal.
    """
    cursor = _cursor(context)
    if cursor is None:
        return None
    pages = context.state.of(_Pages)
    last = pages.last.get(_filter(context))
    if last is None or (_filter(context), cursor) in pages.cursors:
        return OK
    return context.problem("a page after the last one is requested", last, at="cursor")


@rule.warning(127, "heuristic", "agent", on.result("session/list"))
@fix("Go on after the last session of the page before.")
def repeated_page(context: Context) -> CheckResult:
    """Pagination makes progress: a page does not repeat its own cursor or earlier session ids."""
    ask, next_ = context.request, context.result_object.get("nextCursor")
    if ask is None:
        return None
    cursor = ask.params.get("cursor")
    if not isinstance(cursor, str) and next_ is None:
        return None
    if isinstance(next_, str) and next_ == cursor:
        return context.problem(
            f"the page's nextCursor is its own cursor {quoted(cursor)}", ask, at="nextCursor"
        )
    pages = context.state.of(_Pages)
    given = pages.cursors.get((_filter(ask), cursor)) if isinstance(cursor, str) else None
    point, seen = (None, set[str]()) if given is None else (given[0], set(given[1]))
    for place, each in listed(context):
        id_ = each.get("sessionId")
        if not isinstance(id_, str):
            continue
        if id_ in seen:
            return context.problem(
                f"the session {quoted(id_)} was listed already",
                point,
                ask,
                path=f"{place}.sessionId",
            )
        seen.add(id_)
    return OK


@track(on.result("session/list"))
def _keep_page(context: Context) -> None:
    if context.request is None:
        return
    pages, filter_ = context.state.of(_Pages), _filter(context.request)
    next_, cursor = context.result_object.get("nextCursor"), context.request.params.get("cursor")
    if not isinstance(next_, str):
        pages.last[filter_] = context.point
        return
    pages.last.pop(filter_, None)
    before = frozenset[str]()
    if isinstance(cursor, str):
        _, before = pages.cursors.get((filter_, cursor), (None, before))
    ids = [each.get("sessionId") for _, each in listed(context)]
    if len(before) < SESSIONS:
        before |= {each for each in ids if isinstance(each, str)}
    if len(pages.cursors) < REMEMBERED:
        pages.cursors[filter_, next_] = (context.point, before)


@rule.error(105, "must", "client", on.request("session/list"), version=1)
@fix("Call session/list only with sessionCapabilities.list.")
@checked_by(claimed, v1="sessionCapabilities.list")
def undeclared_session_list() -> None:
    """`session/list` only with `sessionCapabilities.list`."""


@rule.error(107, "must", "client", on.request("session/delete"), source="session-delete.mdx")
@fix("Call session/delete only where the agent claimed delete.")
@checked_by(claimed, v1="sessionCapabilities.delete", v2="session.delete")
def undeclared_session_delete() -> None:
    """`session/delete` only with the delete marker (v1 `sessionCapabilities.delete`, v2
    `session.delete`).
    """


@rule.warning(131, "implied", "agent", on.update("session_info_update"))
@fix("Update only title, updatedAt and _meta of a session.")
@checked_by(schema, at="sessionId|cwd|additionalDirectories", kinds="member")
def foreign_session_info_field() -> None:
    """`session_info_update` does not contain `sessionId`, `cwd` or `additionalDirectories`."""
