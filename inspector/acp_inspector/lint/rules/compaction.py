"""Compaction of a session's history, and notices.

Source: ACP, "Session updates", compaction and notices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Ending, Found, Moment, Problem, is_one_of, quoted
from acp_inspector.lint.registry import check, check_at_end, learns, updates
from acp_inspector.lint.state import Point

UPDATE: Final = updates("compaction_update")
CHUNK: Final = updates("compaction_summary_chunk")
FINAL: Final = frozenset({"completed", "failed", "cancelled"})
COMPACTIONS: Final = 10_000


@dataclass(slots=True)
class _Compaction:
    first: Point
    ended: Point | None = None
    status: str = "in_progress"


@dataclass(slots=True)
class _Compactions:
    """Every compaction by session and id."""

    of: dict[tuple[str, str], _Compaction] = field(
        default_factory=dict[tuple[str, str], _Compaction]
    )


def _key(moment: Moment) -> tuple[str, str] | None:
    id_ = moment.update.get("compactionId")
    if moment.session_id is None or not isinstance(id_, str):
        return None
    return moment.session_id, id_


def _known(moment: Moment) -> _Compaction | None:
    key = _key(moment)
    return None if key is None else moment.state.of(_Compactions).of.get(key)


def _is_replaying(moment: Moment) -> bool:
    return moment.session is not None and moment.session.is_replaying


@learns(UPDATE, CHUNK)
def _keep_compaction(moment: Moment) -> None:
    key, compactions = _key(moment), moment.state.of(_Compactions)
    if key is None or (key not in compactions.of and len(compactions.of) >= COMPACTIONS):
        return
    if key not in compactions.of or _is_replaying(moment):
        compactions.of[key] = _Compaction(moment.point)
    compaction, status = compactions.of[key], moment.update.get("status")
    if isinstance(status, str):
        compaction.status = status
        if status in FINAL:
            compaction.ended = compaction.ended or moment.point


@check("ACP-L404", UPDATE, CHUNK, fix="Compact in silence where the client cannot show it.")
def compaction_is_for_who_can_show_it(moment: Moment) -> Found:
    """Tell of compaction for a client that did not claim it."""
    if moment.state.claims("client", "session.compaction"):
        return FINE
    return moment.problem(
        "the client did not claim session.compaction",
        moment.state.initialize,
        path="params.update.sessionUpdate",
    )


@check("ACP-L405", CHUNK, fix="Send the summary while the compaction is in progress.")
def summaries_come_in_between(moment: Moment) -> Found:
    """Tell of a piece of a summary after the compaction was over."""
    known = _known(moment)
    if known is None or known.ended is None or _is_replaying(moment):
        return FINE
    return moment.problem("the compaction was over before", known.ended)


@check_at_end("ACP-L406", fix="End each compaction with one final status.")
def compactions_end(ending: Ending) -> Found:
    """Tell of compactions that never ended."""
    known = ending.state.of(_Compactions).of
    if not known or not ending.is_over:
        return None
    return tuple(
        Problem(f"the compaction {quoted(id_)} never ended", (compaction.first.n,))
        for (_, id_), compaction in known.items()
        if compaction.ended is None
    )


@check("ACP-L406", UPDATE, fix="End each compaction with one final status.")
def compactions_end_once(moment: Moment) -> Found:
    """Tell of a compaction that ends in two ways."""
    known, status = _known(moment), moment.update.get("status")
    if not is_one_of(status, FINAL):
        return None
    if known is None or known.ended is None or _is_replaying(moment) or known.status == status:
        return FINE
    return moment.problem(
        f"the compaction ended as {known.status} before", known.ended, path="params.update.status"
    )


@check("ACP-L407", UPDATE, fix="Send a summary with completed, an error with failed.")
def ends_fit_what_they_tell(moment: Moment) -> Found:
    """Tell of a summary or an error that does not belong to the status."""
    status = moment.update.get("status")
    for name, right in (("summary", "completed"), ("error", "failed")):
        if moment.update.get(name) and status != right:
            return moment.problem(
                f"{name} comes with {quoted(status)}", path=f"params.update.{name}"
            )
    return FINE


@check("ACP-L408", UPDATE, fix="Give each compaction an id of its own.")
def ids_are_not_reused(moment: Moment) -> Found:
    """Tell of a compaction that begins with the id of one that is over."""
    known = _known(moment)
    if known is None or known.ended is None or _is_replaying(moment):
        return FINE
    if moment.update.get("status") != "in_progress":
        return FINE
    return moment.problem(
        "another compaction had this id", known.ended, path="params.update.compactionId"
    )


@check("ACP-L409", updates("notice"), fix="Give a severity and a title.")
def notices_say_something(moment: Moment) -> Found:
    """Tell of notices without severity or title."""
    if not isinstance(moment.update.get("severity"), str):
        return moment.problem("severity is missing", path="params.update.severity")
    title = moment.update.get("title")
    if not isinstance(title, str) or not title:
        return moment.problem("the title is missing or empty", path="params.update.title")
    return FINE


@check("ACP-L410", updates("notice"), fix="Leave notices away when history is told again.")
def notices_are_not_history(moment: Moment) -> Found:
    """Tell of notices in a replay."""
    if moment.session is None or moment.session.replay is None:
        return FINE
    return moment.problem("a notice is part of the replay", moment.session.replay)
