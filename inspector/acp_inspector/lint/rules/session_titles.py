"""The status of sessions, and their titles (unstable).

Source: ACP schema, `session/status`, `session/set_title`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, members, quoted
from acp_inspector.lint.registry import answers, asks, calls, check, learns, results, updates
from acp_inspector.lint.rules.session_gates import gated
from acp_inspector.lint.rules.session_list import listed
from acp_inspector.lint.rules.session_replay import GENERAL
from acp_inspector.lint.rules.sessions import USES
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

REMEMBERED: Final = 10_000
"""Sessions that are remembered."""
MISTAKEN: Final = frozenset({-32602, -32603})
"""Codes that an unknown session is often answered with."""


@dataclass(slots=True)
class _Known:
    """What was asked about sessions."""

    asked: dict[str, Point] = field(default_factory=dict[str, Point])
    """Sessions that are not open here: where their status was asked for."""
    elsewhere: dict[str, Point] = field(default_factory=dict[str, Point])
    """Sessions that were said to be open, though not here."""
    titles: dict[str, tuple[str, Point]] = field(default_factory=dict[str, tuple[str, Point]])
    """Titles as the agent stored them."""


def _is_open(moment: Moment) -> bool:
    return moment.session is not None and moment.session.is_open


@check("ACP-L476", asks("session/status"), fix="Ask only where the agent claimed status.")
def status_is_claimed(moment: Moment) -> Found:
    """Tell of a status that is asked of an agent that has none."""
    return gated(moment, "sessionCapabilities.status", "session.status")


@check(
    "ACP-L477",
    calls("session/update"),
    exercised_by=results("session/status"),
    fix="Look, and leave everything as it is.",
)
def status_changes_nothing(moment: Moment) -> Found:
    """Tell of updates that come for a session after no more than its status was asked for.

    What else might have changed shows only in sessions that are open here, where it may have had
    another reason.
    """
    asked = moment.state.of(_Known).asked
    if not asked or moment.session_id not in asked or _is_open(moment):
        return None
    return moment.problem(
        "an update came for a session of which only the status was asked for",
        asked[moment.session_id],
    )


@check(
    "ACP-L478",
    calls(*USES, "session/cancel"),
    exercised_by=results("session/status"),
    fix="Load or resume the session here first.",
)
def open_elsewhere_is_not_open_here(moment: Moment) -> Found:
    """Tell of sessions that are used because they were said to be open."""
    elsewhere, id_ = moment.state.of(_Known).elsewhere, moment.session_id
    if id_ is None or id_ not in elsewhere or _is_open(moment):
        return None
    return moment.problem(
        f"{moment.method} uses the session {quoted(id_)}, which is open, but not here",
        elsewhere[id_],
        path="params.sessionId",
    )


@check(
    "ACP-L479",
    answers("session/status"),
    fix='Answer -32002 with "data": {"sessionId": …} for a session that is not known.',
)
def unknown_sessions_are_not_found(moment: Moment) -> Found:
    """Tell of other errors for the status of a session that is not known.

    A session that does not show in the recording may well be known to the agent: what it says then
    is info where it may have had another reason.
    """
    ask, id_ = moment.ask, moment.session_id
    if ask is None:
        return None
    if moment.code == -32002:
        said = members(moment.error.get("data")).get("sessionId")
        if said == id_:
            return FINE
        what = f"names {quoted(said)}" if said is not None else "does not name the session"
        return moment.problem(f"the error {what}", ask, path="error.data.sessionId")
    if moment.kind == "result" or moment.session is not None or moment.code not in MISTAKEN:
        return FINE
    return moment.problem(
        f"the status of an unknown session was answered {moment.code}",
        ask,
        severity=None if moment.code == -32602 else "info",
    )


@check(
    "ACP-L480",
    asks("session/set_title"),
    fix="Send a string as title, and only where the agent claimed title.",
)
def titles_are_claimed(moment: Moment) -> Found:
    """Tell of titles that the agent does not take, or that are none."""
    if not isinstance(moment.params.get("title"), str):
        what = "no string" if "title" in moment.params else "missing"
        return moment.problem(f"the title is {what}", path="params.title")
    return gated(moment, "sessionCapabilities.title", "session.title")


@check("ACP-L481", results("session/set_title"), fix="Answer with the title as it was stored.")
def the_stored_title_is_told(moment: Moment) -> Found:
    """Tell of titles that were set without an answer what they are now."""
    if isinstance(moment.result_object.get("title"), str):
        return FINE
    what = "no string" if "title" in moment.result_object else "missing"
    return moment.problem(f"the stored title is {what}", moment.ask, path="result.title")


@check(
    "ACP-L482",
    updates("session_info_update"),
    results("session/list"),
    fix="Leave a title alone that the client has set.",
)
def set_titles_are_kept(moment: Moment) -> Found:
    """Tell of titles that replace one that the client had set."""
    titles = moment.state.of(_Known).titles
    if not titles:
        return None
    told = listed(moment) if moment.kind == "result" else [("params.update", moment.update)]
    problems: list[Problem] = []
    is_told = False
    for place, each in told:
        id_ = each.get("sessionId") if moment.kind == "result" else moment.session_id
        title, point = titles.get(id_, ("", None)) if isinstance(id_, str) else ("", None)
        now: Json = each.get("title")
        if point is None or not isinstance(now, str) or _is_older(moment, point):
            continue
        is_told = True
        if now != title:
            text = f"the title {quoted(title)}, which was set, is {quoted(now)}"
            problems += moment.problem(text, point, path=f"{place}.title")
    return tuple(problems) if is_told else None


def _is_older(moment: Moment, point: Point) -> bool:
    # A list that was asked for before may have been made up before.
    return moment.ask is not None and moment.ask.n < point.n


@check(
    "ACP-L483",
    answers("session/set_title"),
    fix="Answer -32602 to a bad title, -32002 to an unknown session.",
)
def bad_titles_are_told_apart(moment: Moment) -> Found:
    """Tell of titles that are refused without saying why."""
    if moment.ask is None:
        return None
    # -32601 says that the method is not there, of which other rules speak.
    if moment.kind == "result" or moment.code == -32601 or moment.code not in GENERAL:
        return FINE
    return moment.problem(f"session/set_title was answered {moment.code}", moment.ask)


@learns(results("session/set_title"))
def _keep_title(moment: Moment) -> None:
    titles, title = moment.state.of(_Known).titles, moment.result_object.get("title")
    if moment.session_id is not None and isinstance(title, str) and len(titles) < REMEMBERED:
        titles[moment.session_id] = title, moment.point


@learns(asks("session/status"))
def _keep_question(moment: Moment) -> None:
    asked = moment.state.of(_Known).asked
    if moment.session_id is not None and not _is_open(moment) and len(asked) < REMEMBERED:
        asked[moment.session_id] = moment.point


@learns(results("session/status"))
def _keep_status(moment: Moment) -> None:
    elsewhere, id_ = moment.state.of(_Known).elsewhere, moment.session_id
    if id_ is None or _is_open(moment):
        return
    elsewhere.pop(id_, None)
    if moment.result_object.get("status") == "open" and len(elsewhere) < REMEMBERED:
        elsewhere[id_] = moment.point


@learns(asks("session/load", "session/resume"))
def _forget(moment: Moment) -> None:
    known = moment.state.of(_Known)
    known.asked.pop(moment.session_id or "", None)
    known.elsewhere.pop(moment.session_id or "", None)
