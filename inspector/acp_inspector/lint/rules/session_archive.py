"""Sessions that are put away, and taken out again (unstable).

Source: ACP schema, `session/archive`, `session/unarchive`, `session/list`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, members, quoted
from acp_inspector.lint.registry import answers, asks, calls, check, failures, learns, results
from acp_inspector.lint.rules.session_ends import ended_by, idle_before
from acp_inspector.lint.rules.session_gates import gated
from acp_inspector.lint.rules.session_list import listed
from acp_inspector.lint.rules.session_replay import GENERAL
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

FILTERS: Final = frozenset({"exclude", "include", "only"})
PUTS: Final = ("session/archive", "session/unarchive")
UNRELATED: Final = frozenset({-32000, -32002, -32601, -32800})
"""Codes of failures that have nothing to do with how often something is archived."""
REMEMBERED: Final = 10_000
"""Sessions and cursors that are remembered."""


@dataclass(slots=True)
class _Archive:
    """What is known of the archive."""

    flags: dict[str, tuple[bool, Point]] = field(default_factory=dict[str, tuple[bool, Point]])
    """By session: whether it is archived, and where that was said last."""
    cursors: dict[str, str] = field(default_factory=dict[str, str])
    """By cursor: the filter of the list that it goes on with."""
    quiet: dict[str, Point] = field(default_factory=dict[str, Point])
    """Sessions that were unarchived, and are not open here."""


def _filter(params: dict[str, Json]) -> Json:
    wanted: Json = params.get("archived")
    return "exclude" if wanted is None else wanted


@check("ACP-L466", asks(*PUTS), fix="Archive sessions only where the agent claimed archive.")
def archive_is_claimed(moment: Moment) -> Found:
    """Tell of sessions to be archived by an agent that has no archive."""
    return gated(moment, "sessionCapabilities.archive", "session.archive")


@check("ACP-L467", results("initialize"), fix="Claim list together with archive.")
def archives_can_be_listed(moment: Moment) -> Found:
    """Tell of agents of version 1 that have an archive, but no list."""
    claims = members(moment.result_object.get("agentCapabilities"))
    sessions = members(claims.get("sessionCapabilities"))
    if sessions.get("archive") is None:
        return None
    if sessions.get("list") is not None:
        return FINE
    return moment.problem(
        "sessionCapabilities has archive, but no list",
        path="result.agentCapabilities.sessionCapabilities.list",
    )


@check("ACP-L468", results("session/list"), fix="List every session with archived: true or false.")
def listed_sessions_are_flagged(moment: Moment) -> Found:
    """Tell of listed sessions that do not say whether they are archived."""
    if gated(moment, "sessionCapabilities.archive", "session.archive") != FINE:
        return None
    return tuple(
        Problem("a listed session has no archived", (moment.n,), path=f"{place}.archived")
        for place, each in listed(moment)
        if not isinstance(each.get("archived"), bool)
    )


@check(
    "ACP-L469",
    asks("session/list"),
    fix="Filter by archived only where it is claimed, and the same way on every page.",
)
def the_filter_is_claimed_and_kept(moment: Moment) -> Found:
    """Tell of filters by archived that the agent does not have, or that change between pages."""
    wanted, cursor = moment.params.get("archived"), moment.params.get("cursor")
    before = moment.state.of(_Archive).cursors.get(cursor) if isinstance(cursor, str) else None
    if wanted is None and before is None:
        return None
    if before is not None and _filter(moment.params) != before:
        return moment.problem(
            f"archived was {quoted(before)} on the page before", path="params.archived"
        )
    if wanted is None:
        return FINE
    return gated(moment, "sessionCapabilities.archive", "session.archive")


@check("ACP-L470", results("session/list"), fix="List only sessions that fit the filter.")
def lists_keep_to_the_filter(moment: Moment) -> Found:
    """Tell of archived sessions among the others, and of others among the archived ones."""
    if moment.ask is None:
        return None
    wanted = _filter(moment.ask.params)
    flagged = [
        (place, each["archived"])
        for place, each in listed(moment)
        if isinstance(each.get("archived"), bool)
    ]
    if wanted not in ("exclude", "only") or not flagged:
        return None
    return tuple(
        Problem(
            f"archived is {quoted(flag)}, asked for was {quoted(wanted)}",
            (moment.ask.n, moment.n),
            path=f"{place}.archived",
        )
        for place, flag in flagged
        if flag is not (wanted == "only")
    )


@check(
    "ACP-L471",
    answers("session/prompt"),
    fix='End running work first, with the stopReason "cancelled".',
)
def prompts_of_archived_sessions_are_cancelled(moment: Moment) -> Found:
    """Tell of running prompts of version 1 that outlive the archiving of their session."""
    return ended_by(moment, "session/archive") if moment.version == 1 else None


@check(
    "ACP-L471",
    results("session/archive"),
    fix='Send idle with the stopReason "cancelled" before the session is archived.',
)
def work_is_ended_before_it_is_archived(moment: Moment) -> Found:
    """Tell of sessions of version 2 that were archived in the midst of foreground work."""
    return idle_before(moment) if moment.version == 2 else None


@check("ACP-L472", answers(*PUTS), fix="Succeed where nothing is to be done; -32002 if unknown.")
def archiving_again_succeeds(moment: Moment) -> Found:
    """Tell of sessions that cannot be archived again, and of other errors for unknown ones.

    A session that does not show in the recording may well be known to the agent: what it says then
    is info where it may have had another reason.
    """
    ask, id_ = moment.ask, moment.session_id
    if ask is None or id_ is None:
        return None
    if moment.kind == "result" or moment.code in UNRELATED:
        return FINE
    flag, point = moment.state.of(_Archive).flags.get(id_, (None, None))
    if flag is (ask.method == "session/archive"):
        return moment.problem(f"{ask.method} fails where nothing was to be done", point, ask)
    if moment.session is not None or moment.code not in {-32602, -32603}:
        return FINE
    return moment.problem(
        f"{ask.method} of an unknown session was answered {moment.code}",
        ask,
        severity=None if moment.code == -32602 else "info",
    )


@check("ACP-L473", answers("session/list"), fix="Answer -32602 to an archived that is not known.")
def unknown_filters_are_refused(moment: Moment) -> Found:
    """Tell of lists that went well with a filter by archived that there is not."""
    wanted = moment.ask.params.get("archived") if moment.ask is not None else None
    if wanted is None or (isinstance(wanted, str) and (wanted in FILTERS or wanted[:1] == "_")):
        return None
    if moment.kind == "result":
        return moment.problem(f"archived: {quoted(wanted)} went well", moment.ask)
    if moment.code not in GENERAL:
        return FINE
    return moment.problem(
        f"archived: {quoted(wanted)} was answered {moment.code}", moment.ask, severity="warning"
    )


@check(
    "ACP-L474",
    calls("session/update"),
    exercised_by=results("session/unarchive"),
    fix="Wait for a load or resume before anything is told.",
)
def unarchiving_loads_nothing(moment: Moment) -> Found:
    """Tell of updates for sessions that were only unarchived."""
    quiet = moment.state.of(_Archive).quiet
    if not quiet or moment.session_id not in quiet:
        return None
    return moment.problem(
        "an update came for a session that was only unarchived", quiet[moment.session_id]
    )


@check("ACP-L475", asks("session/load", "session/resume"), fix="Unarchive the session first.")
def archived_sessions_are_taken_out_first(moment: Moment) -> Found:
    """Tell of sessions that are loaded or resumed out of the archive."""
    known = moment.state.of(_Archive).flags.get(moment.session_id or "")
    if known is None:
        return None
    if not known[0]:
        return FINE
    return moment.problem(
        f"the session {quoted(moment.session_id)} is archived", known[1], path="params.sessionId"
    )


@learns(results("session/list"))
def _keep_flags(moment: Moment) -> None:
    archive = moment.state.of(_Archive)
    next_ = moment.result_object.get("nextCursor")
    wanted = _filter(moment.ask.params) if moment.ask is not None else None
    if isinstance(next_, str) and isinstance(wanted, str) and len(archive.cursors) < REMEMBERED:
        archive.cursors[next_] = wanted
    for _, each in listed(moment):
        id_, flag = each.get("sessionId"), each.get("archived")
        if isinstance(id_, str) and isinstance(flag, bool) and len(archive.flags) < REMEMBERED:
            archive.flags[id_] = flag, moment.point


@learns(results(*PUTS))
def _keep_put(moment: Moment) -> None:
    archive, id_ = moment.state.of(_Archive), moment.session_id
    if id_ is None or len(archive.flags) >= REMEMBERED:
        return
    is_archived = moment.method == "session/archive"
    archive.flags[id_] = is_archived, moment.point


@learns(asks("session/unarchive"))
def _keep_quiet(moment: Moment) -> None:
    quiet, id_ = moment.state.of(_Archive).quiet, moment.session_id
    is_open = moment.session is not None and moment.session.is_open
    if id_ is not None and not is_open and len(quiet) < REMEMBERED:
        quiet[id_] = moment.point


@learns(asks("session/load", "session/resume"), failures(*PUTS))
def _keep_noise(moment: Moment) -> None:
    if quiet := moment.state.of(_Archive).quiet:
        quiet.pop(moment.session_id or "", None)
