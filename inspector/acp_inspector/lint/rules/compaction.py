"""Compaction of a session's history, and notices.

Source: ACP, "Session updates", compaction and notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed, schema
from acp_inspector.lint.context import (
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    is_one_of,
    quoted,
)
from acp_inspector.lint.registry import LintSubject, check, checked_by, fix, track
from acp_inspector.lint.state import Point
from acp_protocol.schema.vocabulary import FINAL_STATUSES

rule = LintSubject("notices")
version_2 = LintSubject("version-2", version=1)

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


@rule.error(404, "must", "agent", UPDATE, CHUNK, version=1, since="2026-11")
@fix("Compact in silence where the client cannot show it.")
@checked_by(claimed, v1="session.compaction", by="client")
def undeclared_compaction() -> None:
    """`compaction_update` and `compaction_summary_chunk` (stable now) only with client
    `session.compaction`.
    """


@rule.info(405, "heuristic", "agent", CHUNK, since="2026-11")
@fix("Send the summary while the compaction is in progress.")
def stray_compaction_chunk(context: Context) -> CheckResult:
    """Summary chunks come between `in_progress` and the terminal update of the same id; a
    first-seen id in a chunk is legal and creates an in-progress compaction.
    """
    known = _known(context)
    if known is None or known.ended is None or _is_replaying(context):
        return OK
    return context.problem("the compaction had already ended", known.ended)


@check("compaction-without-end", on.END)
def compactions_end(ending: EndContext) -> CheckResult:
    known = ending.state.of(_Compactions)
    if not known or not ending.is_over:
        return None
    return tuple(
        Problem(f"the compaction {quoted(id_)} never ended", (compaction.first.seq,))
        for (_, id_), compaction in known.items()
        if compaction.ended is None
    )


@rule.warning(406, "must", "agent", UPDATE, source="rfds/session-compaction.mdx")
@fix("End each compaction with one final status.")
def compaction_without_end(context: Context) -> CheckResult:
    """`in_progress` is followed by exactly one terminal status."""
    known, status = _known(context), context.update.get("status")
    if not is_one_of(status, FINAL_STATUSES):
        return None
    if known is None or known.ended is None or _is_replaying(context) or known.status == status:
        return OK
    return context.problem(
        f"the compaction ended as {known.status} before", known.ended, at="status"
    )


@rule.info(407, "heuristic", "agent", UPDATE, since="2026-11")
@fix("Send a summary with completed, an error with failed.")
def misplaced_compaction_field(context: Context) -> CheckResult:
    """Non-empty `summary` only with `completed`, `error` only with `failed` (rule no longer in the
    schema).
    """
    status = context.update.get("status")
    for name, right in (("summary", "completed"), ("error", "failed")):
        if context.update.get(name) and status != right:
            return context.problem(f"{name} comes with {quoted(status)}", at=name)
    return OK


@rule.error(408, "must", "agent", UPDATE, source="rfds/session-compaction.mdx")
@fix("Give each compaction an id of its own.")
def reused_compaction_id(context: Context) -> CheckResult:
    """`compactionId` is not reused."""
    known = _known(context)
    if known is None or known.ended is None or _is_replaying(context):
        return OK
    if context.update.get("status") != "in_progress":
        return OK
    return context.problem("another compaction had this id", known.ended, at="compactionId")


@rule.warning(410, "should", "agent", on.update("notice"), source="rfds/session-notices.mdx")
@fix("Do not replay notices.")
def replayed_notice(context: Context) -> CheckResult:
    """Notices are not part of a load/resume replay."""
    if context.session is None or context.session.replay is None:
        return OK
    return context.problem("a notice is part of the replay", context.session.replay)


@version_2.error(465, "must", "agent", on.update("notice"))
@fix("Send an agent message if the text matters.")
@checked_by(claimed, v1="session.notices", by="client")
def undeclared_notice() -> None:
    """`notice` is sent only with client `session.notices`."""


@rule.error(409, "schema", "agent", on.update("notice"), since="2026-11")
@fix("Give a severity and a title.")
@checked_by(schema, at="severity|title", kinds=("missing", "type", "range"))
def incomplete_notice() -> None:
    """`notice` (stable now) has `severity` and a non-empty `title`."""
