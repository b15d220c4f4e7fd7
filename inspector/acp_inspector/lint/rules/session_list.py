"""What an agent lists of its sessions, and how a client leafs through it.

Source: ACP, "Session List", "Session Delete"; the RFD about additional directories.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, entries, members, quoted
from acp_inspector.lint.paths import is_absolute, is_inside, may_be_same, normalized
from acp_inspector.lint.registry import Trigger, asks, check, results, updates
from acp_inspector.lint.rules.session_gates import gated
from acp_protocol.jsonrpc import Json

FILTERS: Final = frozenset({"cwd", "cursor", "archived", "_meta"})
"""What a list can be asked for."""
FIXED: Final = ("sessionId", "cwd", "additionalDirectories")
"""Members of a listed session that an update of it cannot change."""
DATED: Final[tuple[Trigger, ...]] = (*results("session/list"), *updates("session_info_update"))
"""Messages that say when a session was last used."""
_RFC_3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def listed(moment: Moment) -> list[tuple[str, dict[str, Json]]]:
    """Return each listed session that is an object, with its place."""
    sessions = entries(moment.result_object.get("sessions"))
    return [
        (f"result.sessions.{index}", members(each))
        for index, each in enumerate(sessions)
        if isinstance(each, dict)
    ]


@check("ACP-L120", results("session/list"), fix="Leave deleted sessions out of the list.")
def deleted_sessions_are_not_listed(moment: Moment) -> Found:
    """Tell of sessions that are listed though they were deleted before the list was asked for."""
    if moment.ask is None:
        return None
    problems: list[Problem] = []
    for place, each in listed(moment):
        id_ = each.get("sessionId")
        session = moment.state.sessions.get(id_) if isinstance(id_, str) else None
        if session is not None and session.deleted and session.deleted.n < moment.ask.n:
            problems += moment.problem(
                f"the session {quoted(id_)} is listed though it was deleted",
                session.deleted,
                moment.ask,
                path=f"{place}.sessionId",
            )
    return tuple(problems)


@check("ACP-L122", results("session/list"), fix='Answer with "sessions": [] where there are none.')
def sessions_are_an_array(moment: Moment) -> Found:
    """Tell of lists that are none."""
    sessions: Json = moment.result_object.get("sessions")
    if isinstance(sessions, list):
        return FINE
    what = f"no array: {quoted(sessions)}" if "sessions" in moment.result_object else "missing"
    return moment.problem(f"sessions is {what}", moment.ask, path="result.sessions")


@check("ACP-L123", results("session/list"), fix="List each session with its id and absolute cwd.")
def listed_sessions_are_complete(moment: Moment) -> Found:
    """Tell of listed sessions that cannot be taken up, for want of an id or a directory."""
    if moment.ask is None or not listed(moment):
        return None
    problems: list[Problem] = []
    for place, each in listed(moment):
        if not isinstance(each.get("sessionId"), str):
            text = "a listed session has no sessionId"
            problems += moment.problem(text, moment.ask, path=f"{place}.sessionId")
        if not is_absolute(each.get("cwd")):
            what = f"no absolute path: {quoted(each['cwd'])}" if "cwd" in each else "missing"
            text = f"the cwd of a listed session is {what}"
            problems += moment.problem(text, moment.ask, path=f"{place}.cwd")
    return tuple(problems)


@check(
    "ACP-L124", results("session/list"), fix="List only the sessions of the directory asked for."
)
def lists_keep_to_the_directory(moment: Moment) -> Found:
    """Tell of sessions of other directories than the one asked for.

    Another spelling may be the same place behind a link. It cannot be when it lies below the
    directory, or when the page has sessions of two places: then it is an error.
    """
    wanted = moment.ask.params.get("cwd") if moment.ask is not None else None
    if not isinstance(wanted, str) or not is_absolute(wanted):
        return None
    places = [
        (cwd, f"{place}.cwd")
        for place, each in listed(moment)
        if isinstance(cwd := each.get("cwd"), str) and is_absolute(cwd)
    ]
    if not places:
        return None
    strange = [(cwd, place) for cwd, place in places if not may_be_same(cwd, wanted)]
    is_mixed = len({normalized(cwd) for cwd, _ in places}) > 1
    problems: list[Problem] = []
    for cwd, place in strange:
        problems += moment.problem(
            f"a session of {quoted(cwd)} is listed, asked for were those of {quoted(wanted)}",
            moment.ask,
            path=place,
            severity=None if is_mixed or is_inside(cwd, wanted) else "warning",
        )
    return tuple(problems)


@check("ACP-L128", *DATED, fix="Write updatedAt as ISO 8601: 2026-11-21T08:00:00Z.")
def dates_are_iso_8601(moment: Moment) -> Found:
    """Tell of times in version 1 that no reader of ISO 8601 makes sense of."""
    return _dated(moment, is_strict=False)


@check("ACP-L129", *DATED, fix="Write updatedAt as RFC 3339: 2026-11-21T08:00:00Z.")
def dates_are_rfc_3339(moment: Moment) -> Found:
    """Tell of times in version 2 that are not in the one format of it."""
    return _dated(moment, is_strict=True)


def _dated(moment: Moment, *, is_strict: bool) -> Found:
    told = listed(moment) if moment.kind == "result" else [("params.update", moment.update)]
    dates = [
        (each["updatedAt"], f"{place}.updatedAt")
        for place, each in told
        if each.get("updatedAt") is not None
    ]
    if not dates:
        return None
    name = "RFC 3339" if is_strict else "ISO 8601"
    return tuple(
        Problem(f"updatedAt is not {name}: {quoted(date)}", (moment.n,), path=place)
        for date, place in dates
        if not _is_date(date, is_strict=is_strict)
    )


def _is_date(date: Json, *, is_strict: bool) -> bool:
    if not isinstance(date, str) or (is_strict and not _RFC_3339.fullmatch(date)):
        return False
    # A second may last one longer, which datetime does not know.
    text = date.upper().replace(":60", ":59")
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


@check(
    "ACP-L130",
    results("session/list"),
    fix="List absolute additionalDirectories, and only where they are claimed.",
)
def listed_directories_are_claimed(moment: Moment) -> Found:
    """Tell of further directories that were not claimed, or are none."""
    told = [(place, each) for place, each in listed(moment) if each.get("additionalDirectories")]
    if not told:
        return None
    where = f"{told[0][0]}.additionalDirectories"
    if gated(moment, "sessionCapabilities.additionalDirectories", "session.additionalDirectories"):
        return moment.problem(
            "a session is listed with additionalDirectories though they were not claimed",
            moment.state.initialize,
            path=where,
        )
    problems: list[Problem] = []
    for place, each in told:
        for index, path in enumerate(entries(each["additionalDirectories"])):
            if not is_absolute(path):
                problems += moment.problem(
                    f"the directory {quoted(path)} is no absolute path",
                    moment.ask,
                    path=f"{place}.additionalDirectories.{index}",
                )
    return tuple(problems)


@check(
    "ACP-L131",
    updates("session_info_update"),
    fix="Update only title, updatedAt and _meta of a session.",
)
def updates_change_no_directory(moment: Moment) -> Found:
    """Tell of updates that want to change what is fixed for a session."""
    return tuple(
        Problem(f"session_info_update has {name}", (moment.n,), path=f"params.update.{name}")
        for name in FIXED
        if name in moment.update
    )


@check("ACP-L133", asks("session/list"), fix="Filter what was listed yourself.")
def only_known_filters_are_asked_for(moment: Moment) -> Found:
    """Tell of filters that no agent knows."""
    return tuple(
        Problem(f"session/list has no filter {quoted(name)}", (moment.n,), path=f"params.{name}")
        for name in moment.params
        if name not in FILTERS
    )
