"""How sessions end: closed or deleted, and with them what was under way.

Source: ACP, "Session Setup", "Session Delete".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from acp_inspector.lint.moment import FINE, PATIENCE, Ending, Found, Moment, Problem, quoted
from acp_inspector.lint.registry import (
    answers,
    asks,
    calls,
    check,
    check_at_end,
    learns,
    results,
    updates,
)
from acp_inspector.lint.rules.sessions import REMEMBERED, USES, is_taken_up
from acp_inspector.lint.state import Ask, Point


@check(
    "ACP-L116", asks(*USES), exercised_by=results("session/close"), fix="Load or resume it first."
)
def closed_sessions_are_not_used(moment: Moment) -> Found:
    """Tell of sessions that the client uses though it closed them."""
    session = moment.session
    if session is None or session.is_open or session.closed is None or is_taken_up(moment):
        return None
    return moment.problem(
        f"{moment.method} names the session {quoted(session.id)}, which was closed",
        session.closed,
        path="params.sessionId",
    )


@check(
    "ACP-L117",
    calls("session/update"),
    exercised_by=results("session/close"),
    fix="Send the last updates before the answer that the session is closed.",
)
def closed_sessions_are_silent(moment: Moment) -> Found:
    """Tell of updates of sessions that were closed."""
    session = moment.session
    if session is None or session.is_open or session.closed is None or is_taken_up(moment):
        return None
    return moment.problem(
        f"an update came for the session {quoted(session.id)}, which was closed", session.closed
    )


@dataclass(slots=True)
class Endings:
    """Work that a client ended by closing or archiving its session."""

    prompts: dict[int, Ask] = field(default_factory=dict[int, Ask])
    """By the number of a prompt that was running: what ended its session."""
    running: set[str] = field(default_factory=set[str])
    """Sessions of version 2 that are at work."""
    idle: dict[str, Point] = field(default_factory=dict[str, Point])
    """By session of version 2: where its work ended, if not as cancelled."""


@learns(asks("session/close", "session/archive"))
def _keep_running(moment: Moment) -> None:
    ask = moment.state.newest
    if moment.session is None or moment.key is None or ask is None:
        return
    endings = moment.state.of(Endings).prompts
    for prompt in moment.session.prompts:
        if len(endings) < REMEMBERED:
            endings.setdefault(prompt.n, ask)


@check(
    "ACP-L118",
    answers("session/prompt"),
    fix='End running work first, with the stopReason "cancelled".',
)
def prompts_of_closed_sessions_are_cancelled(moment: Moment) -> Found:
    """Tell of running prompts that end otherwise though their session was closed."""
    return ended_by(moment, "session/close")


@check_at_end("ACP-L118", fix='End running work first, with the stopReason "cancelled".')
def prompts_of_closed_sessions_were_answered(ending: Ending) -> Found:
    """Tell of prompts that got no answer though their session was closed."""
    endings = ending.state.of(Endings).prompts
    found: list[Problem] = []
    for ask in ending.state.waiting("client", "session/prompt"):
        close = endings.get(ask.n)
        if close is None or close.method != "session/close" or close.error is not None:
            continue
        if close.answered is not None and ending.point.at - close.answered.at > PATIENCE:
            text = "the prompt was never answered though its session was closed"
            found += ending.problem(text, ask, close, close.answered)
    return tuple(found) or None


def ended_by(moment: Moment, method: str) -> Found:
    """Return whether a prompt ended as `cancelled`, for one whose session `method` ended.

    An answer that crossed the request is no fault; neither is one where the request failed.
    """
    if moment.ask is None:
        return None
    ending = moment.state.of(Endings).prompts.get(moment.ask.n)
    if ending is None or ending.method != method or ending.error is not None:
        return None
    reason = moment.result_object.get("stopReason")
    if reason == "cancelled" or not (ending.answered or moment.knew(ending)):
        return FINE
    how = f"with {quoted(reason)}" if moment.kind == "result" else "with an error"
    return moment.problem(
        f"the prompt ended {how} though {method} ended it",
        moment.ask,
        ending,
        path="result.stopReason" if moment.kind == "result" else "",
    )


@check(
    "ACP-L119",
    results("session/close"),
    fix='Send idle with the stopReason "cancelled" before the session is closed.',
)
def work_is_ended_before_its_session(moment: Moment) -> Found:
    """Tell of sessions of version 2 that were closed in the midst of foreground work."""
    return idle_before(moment)


def idle_before(moment: Moment) -> Found:
    """Return whether foreground work was told to have ended when its session does."""
    session, ask = moment.session, moment.ask
    if session is None or session.state is None or session.state_at is None or ask is None:
        return None
    if session.state == "idle":
        ended = moment.state.of(Endings).idle.get(session.id)
        # Work may have ended by itself while the request was on its way.
        if ended is None or ended.n < ask.n or ended.at - ask.at <= PATIENCE:
            return FINE
        return moment.problem(f"{moment.method} did not end the work as cancelled", ask, ended)
    return moment.problem(
        f"{moment.method} went well while the session was {quoted(session.state)}",
        session.state_at,
        ask,
    )


@learns(updates("state_update"))
def _keep_idle(moment: Moment) -> None:
    endings, id_ = moment.state.of(Endings), moment.session_id
    if moment.session is None or id_ is None:
        return
    if moment.update.get("state") != "idle":
        endings.idle.pop(id_, None)
        endings.running.add(id_)
    elif id_ in endings.running:
        endings.running.discard(id_)
        if moment.update.get("stopReason") != "cancelled":
            endings.idle[id_] = moment.point


@check(
    "ACP-L121",
    answers("session/delete"),
    fix="Answer {} where there is nothing to delete any more.",
)
def to_delete_what_is_gone_succeeds(moment: Moment) -> Found:
    """Tell of sessions that could not be deleted because there was none."""
    if moment.ask is None:
        return None
    if moment.kind == "result":
        return FINE
    session = moment.session
    deleted = None if session is None else session.deleted
    if moment.code == -32002 or (deleted is not None and moment.code in {-32602, -32603}):
        return moment.problem(
            f"session/delete failed with {moment.code} where there is no such session",
            deleted,
            moment.ask,
        )
    return FINE
