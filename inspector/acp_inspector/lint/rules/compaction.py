"""Compaction of a session's history, and notices.

Source: ACP, "Session updates", compaction and notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import (
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    is_one_of,
    quoted,
)
from acp_inspector.lint.registry import check, check_at_end, track
from acp_inspector.lint.state import Point
from acp_protocol.schema.vocabulary import FINAL_STATUSES

UPDATE: Final = on.update("compaction_update")
CHUNK: Final = on.update("compaction_summary_chunk")
COMPACTIONS: Final = 10_000


@dataclass(slots=True)
class _Compaction:
    first: Point
    ended: Point | None = None
    status: str = "in_progress"


class _Compactions(dict[tuple[str, str], _Compaction]):
    """Every compaction by session and id."""


def _key(context: Context) -> tuple[str, str] | None:
    id_ = context.update.get("compactionId")
    if context.session_id is None or not isinstance(id_, str):
        return None
    return context.session_id, id_


def _known(context: Context) -> _Compaction | None:
    key = _key(context)
    return None if key is None else context.state.of(_Compactions).get(key)


def _is_replaying(context: Context) -> bool:
    return context.session is not None and context.session.is_replaying


@track(UPDATE, CHUNK)
def _keep_compaction(context: Context) -> None:
    key, compactions = _key(context), context.state.of(_Compactions)
    if key is None or (key not in compactions and len(compactions) >= COMPACTIONS):
        return
    if key not in compactions or _is_replaying(context):
        compactions[key] = _Compaction(context.point)
    compaction, status = compactions[key], context.update.get("status")
    if isinstance(status, str):
        compaction.status = status
        if status in FINAL_STATUSES:
            compaction.ended = compaction.ended or context.point


@check("ACP-L404", UPDATE, CHUNK)
def compaction_is_for_who_can_show_it(context: Context) -> CheckResult:
    if context.state.claims("client", "session.compaction"):
        return OK
    return context.problem(
        "the client did not claim session.compaction", context.state.initialize, at="sessionUpdate"
    )


@check("ACP-L405", CHUNK)
def summaries_come_in_between(context: Context) -> CheckResult:
    known = _known(context)
    if known is None or known.ended is None or _is_replaying(context):
        return OK
    return context.problem("the compaction had already ended", known.ended)


@check_at_end("ACP-L406")
def compactions_end(ending: EndContext) -> CheckResult:
    known = ending.state.of(_Compactions)
    if not known or not ending.is_over:
        return None
    return tuple(
        Problem(f"the compaction {quoted(id_)} never ended", (compaction.first.seq,))
        for (_, id_), compaction in known.items()
        if compaction.ended is None
    )


@check("ACP-L406", UPDATE)
def compactions_end_once(context: Context) -> CheckResult:
    known, status = _known(context), context.update.get("status")
    if not is_one_of(status, FINAL_STATUSES):
        return None
    if known is None or known.ended is None or _is_replaying(context) or known.status == status:
        return OK
    return context.problem(
        f"the compaction ended as {known.status} before", known.ended, at="status"
    )


@check("ACP-L407", UPDATE)
def final_compactions_fit_their_status(context: Context) -> CheckResult:
    status = context.update.get("status")
    for name, right in (("summary", "completed"), ("error", "failed")):
        if context.update.get(name) and status != right:
            return context.problem(f"{name} comes with {quoted(status)}", at=name)
    return OK


@check("ACP-L408", UPDATE)
def ids_are_not_reused(context: Context) -> CheckResult:
    known = _known(context)
    if known is None or known.ended is None or _is_replaying(context):
        return OK
    if context.update.get("status") != "in_progress":
        return OK
    return context.problem("another compaction had this id", known.ended, at="compactionId")


@check("ACP-L409", on.update("notice"))
def notices_say_something(context: Context) -> CheckResult:
    if not isinstance(context.update.get("severity"), str):
        return context.problem("severity is missing", at="severity")
    title = context.update.get("title")
    if not isinstance(title, str) or not title:
        return context.problem("the title is missing or empty", at="title")
    return OK


@check("ACP-L410", on.update("notice"))
def notices_are_not_history(context: Context) -> CheckResult:
    if context.session is None or context.session.replay is None:
        return OK
    return context.problem("a notice is part of the replay", context.session.replay)
