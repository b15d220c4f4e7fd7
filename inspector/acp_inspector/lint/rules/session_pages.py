"""How a client leafs through the list of sessions, and that it gets to an end.

Source: ACP, "Session List".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, quoted
from acp_inspector.lint.registry import asks, check, learns, results
from acp_inspector.lint.rules.session_list import listed
from acp_inspector.lint.state import Ask, Point
from acp_protocol.jsonrpc import Json

REMEMBERED: Final = 10_000
"""Cursors that are remembered."""
SESSIONS: Final = 1000
"""Sessions of earlier pages that are remembered with a cursor, about."""


@dataclass(slots=True)
class _Pages:
    """What was listed so far."""

    cursors: dict[tuple[str, str], tuple[Point, frozenset[str]]] = field(
        default_factory=dict[tuple[str, str], tuple[Point, frozenset[str]]]
    )
    """By filter and cursor: where that was given, and the sessions listed up to there."""
    last: dict[str, Point] = field(default_factory=dict[str, Point])
    """By filter: the newest page, if it was the last one."""


def _filter(ask: Ask | Moment) -> str:
    cwd: Json = ask.params.get("cwd")
    return cwd if isinstance(cwd, str) else ""


def _cursor(moment: Moment) -> str | None:
    cursor: Json = moment.params.get("cursor")
    return cursor if isinstance(cursor, str) and moment.state.is_ready else None


@check("ACP-L125", asks("session/list"), fix="Give back a nextCursor as it came, and only now.")
def cursors_are_given_back(moment: Moment) -> Found:
    """Tell of cursors that the agent did not give on this connection."""
    cursor = _cursor(moment)
    if cursor is None:
        return None
    given = moment.state.of(_Pages).cursors
    if (_filter(moment), cursor) in given or len(given) >= REMEMBERED:
        return FINE
    others = [point for (_, each), (point, _) in given.items() if each == cursor]
    why = "was given for another cwd" if others else "was never given on this connection"
    return moment.problem(f"the cursor {quoted(cursor)} {why}", *others[:1], path="params.cursor")


@check("ACP-L126", asks("session/list"), fix="Stop at the page that comes without nextCursor.")
def nothing_is_asked_for_after_the_last_page(moment: Moment) -> Found:
    """Tell of pages that are asked for after the last one, with a cursor that nobody gave.

    A cursor that was given leads back to an earlier page, which is nobody's fault.
    """
    cursor = _cursor(moment)
    if cursor is None:
        return None
    pages = moment.state.of(_Pages)
    last = pages.last.get(_filter(moment))
    if last is None or (_filter(moment), cursor) in pages.cursors:
        return FINE
    return moment.problem("a page after the last one is asked for", last, path="params.cursor")


@check("ACP-L127", results("session/list"), fix="Go on after the last session of the page before.")
def pages_make_progress(moment: Moment) -> Found:
    """Tell of pages that lead to themselves, or list sessions again."""
    ask, next_ = moment.ask, moment.result_object.get("nextCursor")
    if ask is None:
        return None
    cursor = ask.params.get("cursor")
    if not isinstance(cursor, str) and next_ is None:
        return None
    if isinstance(next_, str) and next_ == cursor:
        return moment.problem(
            f"the page's nextCursor is its own cursor {quoted(cursor)}",
            ask,
            path="result.nextCursor",
        )
    pages = moment.state.of(_Pages)
    given = pages.cursors.get((_filter(ask), cursor)) if isinstance(cursor, str) else None
    point, seen = (None, set[str]()) if given is None else (given[0], set(given[1]))
    for place, each in listed(moment):
        id_ = each.get("sessionId")
        if not isinstance(id_, str):
            continue
        if id_ in seen:
            return moment.problem(
                f"the session {quoted(id_)} was listed already",
                point,
                ask,
                path=f"{place}.sessionId",
            )
        seen.add(id_)
    return FINE


@learns(results("session/list"))
def _keep_page(moment: Moment) -> None:
    if moment.ask is None:
        return
    pages, filter_ = moment.state.of(_Pages), _filter(moment.ask)
    next_, cursor = moment.result_object.get("nextCursor"), moment.ask.params.get("cursor")
    if not isinstance(next_, str):
        pages.last[filter_] = moment.point
        return
    pages.last.pop(filter_, None)
    before = frozenset[str]()
    if isinstance(cursor, str):
        _, before = pages.cursors.get((filter_, cursor), (None, before))
    ids = [each.get("sessionId") for _, each in listed(moment)]
    if len(before) < SESSIONS:
        before |= {each for each in ids if isinstance(each, str)}
    if len(pages.cursors) < REMEMBERED:
        pages.cursors[filter_, next_] = (moment.point, before)
