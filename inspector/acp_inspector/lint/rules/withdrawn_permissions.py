"""Requests for permission that cancelled work no longer needs, and what may follow a refusal.

Source: ACP version 2, schema, CancelSessionNotification, CancelledPermissionOutcome.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.bookkeeping import permission_tool
from acp_inspector.lint.moment import (
    FINE,
    PATIENCE,
    Ending,
    Found,
    Moment,
    Problem,
    members,
    quoted,
)
from acp_inspector.lint.registry import answers, check, check_at_end, learns, tells, updates
from acp_inspector.lint.rules.foreground import background_of, foregrounds_of
from acp_inspector.lint.state import Ask, Point, Session, State
from acp_protocol.jsonrpc import Json

CANCELLED: Final = -32800
WAITING: Final = frozenset({"session/request_permission", "elicitation/create"})
NOT_APPROVED: Final = frozenset({"cancelled", "not offered"})
REMEMBERED: Final = 4096


@dataclass(slots=True)
class _Open:
    """Requests that waited for the user when their session was cancelled, by their frame."""

    requests: dict[int, tuple[Ask, Point]] = field(default_factory=dict[int, tuple[Ask, Point]])


@learns(tells("session/cancel"))
def _keep_open(moment: Moment) -> None:
    session, requests = moment.session, moment.state.of(_Open).requests
    if moment.version != 2 or session is None or session.cancel is None:
        return
    for ask in moment.state.waiting("agent", session=session.id):
        if ask.method in WAITING and len(requests) < REMEMBERED:
            requests.setdefault(ask.n, (ask, moment.point))


@learns(answers(*sorted(WAITING)))
def _drop_open(moment: Moment) -> None:
    if moment.ask is not None:
        moment.state.of(_Open).requests.pop(moment.ask.n, None)


@check("ACP-L459", answers(*sorted(WAITING)), fix="Withdraw what cancelled work asked for.")
def cancelled_work_withdraws_its_questions(moment: Moment) -> Found:
    """Tell of answers to questions of work that ended as cancelled and left them open.

    Clients may answer by themselves; nothing is owed where they do at once.
    """
    if moment.ask is None:
        return None
    ask, cancel = moment.state.of(_Open).requests.get(moment.ask.n, (None, None))
    if ask is None or cancel is None:
        return None
    if _is_left_open(moment.state, moment.session, ask) and moment.at - cancel.at > PATIENCE:
        return moment.problem(
            f"{ask.method} of cancelled work was not withdrawn before its answer", ask, cancel
        )
    return FINE


@check_at_end("ACP-L459", fix="Withdraw what cancelled work asked for with $/cancel_request.")
def cancelled_work_withdrew_its_questions(ending: Ending) -> Found:
    """Tell of questions of cancelled work that are open still."""
    found: list[Problem] = []
    for ask, cancel in ending.state.of(_Open).requests.values():
        session = ending.state.sessions.get(ask.session or "")
        is_late = ending.point.at - cancel.at > PATIENCE
        if is_late and _is_left_open(ending.state, session, ask):
            found.append(
                Problem(f"{ask.method} of cancelled work was never withdrawn", (ask.n, cancel.n))
            )
    return tuple(found) or None


def _is_left_open(state: State, session: Session | None, ask: Ask) -> bool:
    """Tell whether the work that asked has ended, and is not among what goes on behind."""
    if session is None or session.state != "idle" or ask.cancelled is not None:
        return False
    own = foregrounds_of(state).get(session.id)
    behind = [] if own is None else background_of(own.told) or []
    ids = {id_ for each in behind if isinstance(id_ := each.get("toolCallId"), str)}
    terminals = {id_ for each in behind if isinstance(id_ := each.get("terminalId"), str)}
    subject = members(ask.params.get("subject"))
    tool = permission_tool(ask.params).get("toolCallId", subject.get("toolCallId"))
    if _is_in(tool, ids) or _is_in(subject.get("terminalId"), terminals):
        return False
    known = session.tools.get(tool) if isinstance(tool, str) else None
    return known is None or not known.terminals & terminals


def _is_in(id_: Json, ids: set[str]) -> bool:
    return isinstance(id_, str) and id_ in ids


@check(
    "ACP-L460",
    answers("session/request_permission"),
    fix="Answer withdrawn requests for permission with the outcome cancelled.",
)
def withdrawn_requests_are_not_approved(moment: Moment) -> Found:
    """Tell of choices made after the agent no longer asked for them."""
    ask = moment.ask
    if ask is None or ask.cancelled is None or not moment.knew(ask.cancelled):
        return None
    outcome = members(moment.result_object.get("outcome")).get("outcome")
    if outcome == "cancelled" or moment.code == CANCELLED:
        return FINE
    said = f"the error {moment.code}" if moment.kind == "failure" else quoted(outcome)
    return moment.problem(
        f"the withdrawn request for permission gets {said}",
        ask,
        ask.cancelled,
        path="result.outcome.outcome" if moment.kind == "result" else "",
    )


@check(
    "ACP-L461",
    updates("tool_call_update"),
    fix="Take what was cancelled, or was not offered, for a no.",
)
def nothing_runs_without_approval(moment: Moment) -> Found:
    """Tell of tool calls that run after their permission was cancelled, or nothing was chosen.

    One that ran before it asked, and then completes, may have done so without.
    """
    status, id_ = moment.update.get("status"), moment.update.get("toolCallId")
    if moment.session is None or not isinstance(id_, str) or status is None:
        return None
    tool = moment.session.tools.get(id_)
    if tool is None or tool.permission is None or tool.outcome not in NOT_APPROVED:
        return None
    answered = tool.permission.answered
    if answered is None or not moment.knew(answered):
        return None
    is_run = status == "in_progress" or status == "completed"
    if is_run and tool.status in {None, "pending"}:
        return moment.problem(
            f"tool call {quoted(id_)} is {status}, though its permission was {tool.outcome}",
            tool.permission,
            answered,
            path="params.update.status",
        )
    return FINE
