"""What is due once a client cancelled a turn of version 1.

The two sides see the cancellation at different times: an agent is held to it only where it must
have read it.

Source: ACP version 1, "Prompt Turn", Cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, members, quoted
from acp_inspector.lint.registry import answers, asks, check, learns, results, tells, updates
from acp_inspector.lint.rules.prompt_turn import OUTPUT, after_cancelled_turn
from acp_inspector.lint.state import Ask, Point

CANCELLED: Final = -32800
"""The code for: the request was cancelled."""


@dataclass(slots=True)
class Cancels:
    """The newest cancellation of each session, and what else lets a turn end early."""

    cancels: dict[str, Point] = field(default_factory=dict[str, Point])
    ends: dict[str, Point] = field(default_factory=dict[str, Point])
    """The newest `session/close`, or the like, or dismissed permission."""


@learns(tells("session/cancel"))
def _keep_cancel(moment: Moment) -> None:
    if moment.session_id is not None and moment.session is not None:
        moment.state.of(Cancels).cancels[moment.session_id] = moment.point


@learns(asks("session/close", "session/delete", "session/archive"))
def _keep_end(moment: Moment) -> None:
    if moment.session_id is not None and moment.session is not None:
        moment.state.of(Cancels).ends[moment.session_id] = moment.point


@learns(results("session/request_permission", "elicitation/create"))
def _keep_dismissal(moment: Moment) -> None:
    if moment.session_id is None or moment.session is None:
        return
    outcome = members(moment.result_object.get("outcome")).get("outcome")
    if outcome == "cancelled" or moment.result_object.get("action") == "cancel":
        moment.state.of(Cancels).ends[moment.session_id] = moment.point


def _known_cancel(moment: Moment, ask: Ask) -> Point | None:
    """Return the cancellation of a turn, where the agent must have read it."""
    cancel = None if moment.session is None else moment.session.cancel
    if cancel is None or cancel.n < ask.n or not moment.knew(cancel):
        return None
    return cancel


@check(
    "ACP-L145",
    results("session/prompt"),
    fix="Answer a cancelled prompt with the stop reason cancelled.",
)
def cancelled_turns_say_so(moment: Moment) -> Found:
    """Tell of turns that were cancelled and ended as if they had not been."""
    ask = moment.ask
    if ask is None or (cancel := _known_cancel(moment, ask)) is None:
        return None
    reason = moment.result_object.get("stopReason")
    if reason == "cancelled":
        return FINE
    return moment.problem(
        f"the turn was cancelled, but ends with {quoted(reason)}",
        ask,
        cancel,
        path="result.stopReason",
    )


@check(
    "ACP-L146",
    answers("session/prompt"),
    fix="Catch what aborting throws, and answer with the stop reason cancelled.",
)
def cancelled_turns_do_not_fail(moment: Moment) -> Found:
    """Tell of turns that were cancelled and ended with an error."""
    ask = moment.ask
    if ask is None or (cancel := _known_cancel(moment, ask)) is None:
        return None
    if moment.kind == "result" or (moment.code == CANCELLED and ask.cancelled is not None):
        return FINE
    return moment.problem(
        f"the turn was cancelled, but ends with the error {moment.code}", ask, cancel
    )


@check("ACP-L147", results("session/prompt"), fix="Say cancelled only where the client cancelled.")
def turns_are_cancelled_by_clients(moment: Moment) -> Found:
    """Tell of turns that say they were cancelled, though nobody asked for it.

    A permission request that was dismissed passes for asking.
    """
    ask, session = moment.ask, moment.session
    if moment.result_object.get("stopReason") != "cancelled" or ask is None or session is None:
        return None
    own = moment.state.of(Cancels)
    points = (own.cancels.get(session.id), own.ends.get(session.id), ask.cancelled)
    if any(point is not None and point.n > ask.n for point in points):
        return FINE
    return moment.problem(
        "the turn ends as cancelled, but the client did not cancel it",
        ask,
        path="result.stopReason",
    )


@check(
    "ACP-L148",
    updates(*OUTPUT),
    fix="Send what is left before you answer a cancelled prompt.",
)
def nothing_follows_a_cancelled_turn(moment: Moment) -> Found:
    """Tell of output that comes after the answer to the prompt that was cancelled.

    It is told of where it is close behind the answer, or about a tool call of that turn.
    """
    session = moment.session
    if session is None or session.last_prompt is None or session.last_prompt.answered is None:
        return None if session is None or session.cancel is None else FINE
    ask = after_cancelled_turn(moment, session)
    if ask is None:
        return None
    return moment.problem(
        f"{moment.variant} follows the answer to the cancelled prompt", ask, ask.answered
    )


@check(
    "ACP-L151",
    updates("tool_call"),
    asks("session/request_permission"),
    fix="Begin nothing new after session/cancel.",
)
def nothing_begins_after_a_cancel(moment: Moment) -> Found:
    """Tell of tool calls and requests for permission that begin in a cancelled turn."""
    session = moment.session
    if session is None or session.cancel is None:
        return None
    if moment.kind == "notification":
        id_ = moment.update.get("toolCallId")
        if isinstance(id_, str) and id_ in session.tools:
            return FINE
    if not moment.knew(session.cancel):
        return FINE
    what = "a request for permission" if moment.kind == "request" else "a tool call"
    return moment.problem(f"{what} begins after the turn was cancelled", session.cancel)


@check("ACP-L153", tells("session/cancel"), fix="Cancel while a prompt waits for its answer.")
def there_is_something_to_cancel(moment: Moment) -> Found:
    """Tell of cancellations that find nothing to cancel."""
    session = moment.session
    if session is None:
        return None
    last = session.last_prompt
    if session.is_busy:
        return FINE
    if last is not None and last.answered is not None and not moment.knew(last.answered):
        # The answer and the cancellation crossed.
        return FINE
    return moment.problem(
        f"session {quoted(session.id)} works on no prompt that could be cancelled",
        None if last is None else last.answered,
    )


@check(
    "ACP-L157",
    answers("session/request_permission"),
    fix="Answer every open request for permission with the outcome cancelled.",
)
def permissions_end_with_their_turn(moment: Moment) -> Found:
    """Tell of choices that are made for a turn that the client itself has cancelled."""
    ask, session = moment.ask, moment.session
    if ask is None or session is None:
        return None
    cancel = moment.state.of(Cancels).cancels.get(session.id)
    if cancel is None or cancel.n < ask.n:
        return None
    if moment.kind == "failure":
        if moment.code == CANCELLED and ask.cancelled is not None:
            return FINE
        return moment.problem(
            f"after session/cancel the request for permission gets the error {moment.code}",
            ask,
            cancel,
        )
    outcome = members(moment.result_object.get("outcome")).get("outcome")
    if outcome == "cancelled":
        return FINE
    return moment.problem(
        f"after session/cancel the request for permission gets {quoted(outcome)}",
        ask,
        cancel,
        path="result.outcome.outcome",
    )
