"""Requests that are taken back by `$/cancel_request`, and what work leaves open when cancelled.

Source: ACP, "Cancellation".
"""

from __future__ import annotations

from typing import Final, cast

from acp_inspector.lint.moment import FINE, Ending, Found, Moment, Problem, entries, members, quoted
from acp_inspector.lint.registry import answers, check, check_at_end, failures, tells, updates
from acp_inspector.lint.rules.envelope import Told
from acp_inspector.lint.rules.foreground import foreground
from acp_inspector.lint.rules.turn_cancellation import Cancels
from acp_inspector.lint.state import Ask, other
from acp_protocol.jsonrpc import Json, RequestId, id_key, is_request_id

CANCEL: Final = "$/cancel_request"
CANCELLED: Final = -32800
GRACE: Final = 10.0
"""Seconds in which a cancelled request should be answered."""


@check("ACP-L349", tells(CANCEL), fix="Cancel requests of your own that wait for their answer.")
def what_is_cancelled_is_pending(moment: Moment) -> Found:
    """Tell of cancellations of what nobody asked, or what was answered before."""
    id_: Json = moment.params.get("requestId")
    if id_ is None or not is_request_id(id_):
        return None
    key = (moment.side, *id_key(cast("RequestId", id_)))
    if key in moment.state.asks or _alike(moment, id_) is not None:
        return FINE
    answered = moment.state.answered.get(key)
    if answered is None:
        if moment.state.initialize is None:
            # The recording began in the middle.
            return None
        return moment.problem(
            f"no request with the id {quoted(id_)} waits for an answer", path="params.requestId"
        )
    if answered.answered is not None and not moment.knew(answered.answered):
        # The answer and the cancellation crossed.
        return FINE
    return moment.problem(
        f"{answered.method} with the id {quoted(id_)} was answered before",
        answered,
        answered.answered,
        path="params.requestId",
    )


@check("ACP-L352", tells(CANCEL), fix="Name the request's id as requestId, type and all.")
def what_is_cancelled_is_named(moment: Moment) -> Found:
    """Tell of cancellations without an id, or with one of another type."""
    id_: Json = moment.params.get("requestId")
    if id_ is None or not is_request_id(id_):
        what = f"is {quoted(id_)}" if "requestId" in moment.params else "is missing"
        return moment.problem(f"requestId {what}", path="params.requestId")
    key = (moment.side, *id_key(cast("RequestId", id_)))
    alike = None if key in moment.state.asks else _alike(moment, id_)
    if alike is not None:
        return moment.problem(
            f"requestId {quoted(id_)} is that of the request {quoted(alike.id)} in another type",
            alike,
            path="params.requestId",
        )
    return FINE


def _alike(moment: Moment, id_: Json) -> Ask | None:
    """Return the request that waits with the same id in another type, unless `id_` was used."""
    if (moment.side, *id_key(cast("RequestId", id_))) in moment.state.answered:
        return None
    return moment.state.twin(moment.side, cast("RequestId", id_))


@check("ACP-L350", answers(), fix="Answer cancelled requests, with -32800 if need be.")
def cancelled_requests_get_an_answer(moment: Moment) -> Found:
    """Look at cancelled requests that are answered; those that are not show at the end."""
    return FINE if moment.ask is not None and moment.ask.cancelled is not None else None


@check_at_end("ACP-L350", fix="Answer cancelled requests, with -32800 if need be.")
def cancelled_requests_were_answered(ending: Ending) -> Found:
    """Tell of cancelled requests that got no answer."""
    found: list[Problem] = []
    for ask in ending.state.open():
        if ask.cancelled is not None and ending.point.at - ask.cancelled.at > GRACE:
            text = f"{ask.method} with the id {quoted(ask.id)} was cancelled, but never answered"
            found.append(Problem(text, (ask.n, ask.cancelled.n)))
    return tuple(found) or None


@check("ACP-L351", answers(), exercised_by=tells(CANCEL), fix="Do not answer $/cancel_request.")
def cancellations_are_not_answered(moment: Moment) -> Found:
    """Tell of answers without an id right after a cancellation."""
    told = moment.state.of(Told).last.get(other(moment.side))
    if moment.id is not None or told is None or told.method != CANCEL:
        return None
    if moment.state.last.get(told.side) is not told.frame:
        return None
    return moment.problem(f"{CANCEL} was answered", told.point)


@check("ACP-L353", failures(), fix="Say in data what cancelled the request.")
def nothing_cancels_itself(moment: Moment) -> Found:
    """Tell of requests that were cancelled by nobody on the other side.

    A prompt ends with its session, and with `session/cancel`, too.
    """
    ask = moment.ask
    if ask is None or moment.code != CANCELLED:
        return None
    if ask.cancelled is not None or _ends_with_session(moment, ask):
        return FINE
    return moment.problem(f"{ask.method} says it was cancelled, but nobody did that", ask)


def _ends_with_session(moment: Moment, ask: Ask) -> bool:
    own = moment.state.of(Cancels)
    for points in (own.cancels, own.ends):
        point = points.get(ask.session or "")
        if point is not None and point.n > ask.n:
            return True
    return False


@check("ACP-L354", answers(), fix="Answer a cancelled request at once.")
def cancelled_requests_are_answered_soon(moment: Moment) -> Found:
    """Tell of requests that go on long after they were cancelled."""
    ask = moment.ask
    if ask is None or ask.cancelled is None:
        return None
    took = moment.at - ask.cancelled.at
    if took > GRACE:
        return moment.problem(
            f"{ask.method} is answered {took:.0f} seconds after it was cancelled",
            ask,
            ask.cancelled,
        )
    return FINE


@check("ACP-L355", answers("session/prompt"), fix="Cancel prompts with session/cancel.")
def prompts_are_cancelled_by_session(moment: Moment) -> Found:
    """Tell of prompts that only `$/cancel_request` cancelled, which agents need not know."""
    ask = moment.ask
    if ask is None or ask.cancelled is None:
        return None
    if _ends_with_session(moment, ask):
        return FINE
    return moment.problem(f"the prompt was cancelled by {CANCEL} only", ask, ask.cancelled)


@check(
    "ACP-L356",
    answers("session/prompt"),
    updates("state_update"),
    fix="Take back your own requests before you say that the work was cancelled.",
)
def cancelled_work_leaves_nothing_open(moment: Moment) -> Found:
    """Tell of the agent's requests that are open when it says that their work was cancelled.

    In version 2, work that the agent lists as going on behind may ask on.
    """
    session = moment.session
    if session is None or session.cancel is None:
        return None
    cancel, since = session.cancel, 0
    if moment.version == 2:
        if moment.variant != "state_update" or moment.update.get("state") != "idle":
            return None
        began = foreground(moment).began
        since = 0 if began is None else began.n
    elif moment.ask is None:
        return None
    else:
        since = moment.ask.n
    behind = _behind(moment)
    for ask in moment.state.waiting("agent", session=session.id):
        if since < ask.n < cancel.n and ask.cancelled is None and not _is_of(ask, behind):
            return moment.problem(
                f"the work was cancelled, but {ask.method} is left open", ask, cancel
            )
    return FINE


def _behind(moment: Moment) -> set[str]:
    listed = map(members, entries(moment.update.get("background")))
    return {id_ for each in listed if isinstance(id_ := each.get("toolCallId"), str)}


def _is_of(ask: Ask, behind: set[str]) -> bool:
    subject = members(ask.params.get("subject"))
    tool = members(subject.get("toolCall")) or subject
    id_ = tool.get("toolCallId")
    return isinstance(id_, str) and id_ in behind
