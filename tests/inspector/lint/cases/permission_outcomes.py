"""Talks about answers to requests for permission."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Call, Talk, breaks, keeps

CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}


def _begin(talk: Talk) -> Call:
    talk.open()
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    talk.tool()
    return prompt


def _end(talk: Talk, prompt: Call, reason: str = "end_turn") -> None:
    if talk.version == 2:
        talk.state("idle", stopReason=reason)
    else:
        talk.finish(prompt, reason)


def _answer(talk: Talk, result: Any, status: str = "failed") -> None:
    """Have one turn with a request that is answered."""
    prompt = _begin(talk)
    talk.answer(talk.permission(), result)
    talk.update("tool_call_update", toolCallId="t1", status=status)
    _end(talk, prompt)


def _selected(id_: Any = "yes") -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": id_}}


@breaks("option-not-offered")
def an_option_is_selected_by_its_kind(talk: Talk) -> None:
    _answer(talk, _selected("allow_once"))


@breaks("option-not-offered", 2)
def an_option_is_selected_by_its_name(talk: Talk) -> None:
    _answer(talk, _selected("Allow"))


@keeps("option-not-offered")
def an_option_is_selected_by_its_id(talk: Talk) -> None:
    _answer(talk, _selected(), "completed")


@keeps("option-not-offered", 2)
def the_last_option_is_selected(talk: Talk) -> None:
    _answer(talk, _selected("no"))


@breaks("malformed-permission-outcome")
def an_outcome_is_a_string(talk: Talk) -> None:
    _answer(talk, {"outcome": "allow_once"})


@breaks("malformed-permission-outcome", 2)
def an_outcome_is_flat(talk: Talk) -> None:
    _answer(talk, {"outcome": "selected", "optionId": "yes"})


@breaks("malformed-permission-outcome")
def an_outcome_is_wrapped_in_nothing(talk: Talk) -> None:
    _answer(talk, {"optionId": "yes"})


@keeps("malformed-permission-outcome")
def an_outcome_is_nested(talk: Talk) -> None:
    _answer(talk, _selected(), "completed")


@keeps("malformed-permission-outcome", 2)
def an_outcome_of_ones_own_is_nested(talk: Talk) -> None:
    _answer(talk, {"outcome": {"outcome": "_later"}})


@breaks("unknown-permission-outcome")
def an_outcome_is_made_up(talk: Talk) -> None:
    _answer(talk, {"outcome": {"outcome": "rejected"}})


@breaks("unknown-permission-outcome")
def it_is_not_said_which_option_was_selected(talk: Talk) -> None:
    _answer(talk, {"outcome": {"outcome": "selected"}})


@keeps("unknown-permission-outcome")
def an_option_was_selected(talk: Talk) -> None:
    _answer(talk, _selected("no"))


@breaks("reserved-permission-outcome", 2)
def an_outcome_of_ones_own_has_no_underscore(talk: Talk) -> None:
    _answer(talk, {"outcome": {"outcome": "later"}})


@keeps("reserved-permission-outcome", 2)
def an_outcome_of_ones_own_has_an_underscore(talk: Talk) -> None:
    _answer(talk, {"outcome": {"outcome": "_later"}})


@breaks("unknown-outcome-approves", 2)
def an_unknown_outcome_is_taken_for_a_yes(talk: Talk) -> None:
    _answer(talk, {"outcome": {"outcome": "_later"}}, "in_progress")


@keeps("unknown-outcome-approves", 2)
def an_unknown_outcome_is_taken_for_a_no(talk: Talk) -> None:
    _answer(talk, {"outcome": {"outcome": "_later"}}, "cancelled")


@breaks("rejection-as-cancelled")
def a_user_rejects_by_cancelled(talk: Talk) -> None:
    _answer(talk, CANCELLED)


@keeps("rejection-as-cancelled")
def a_turn_is_cancelled(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    talk.answer(asked, CANCELLED)
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    _end(talk, prompt, "cancelled")


@keeps("rejection-as-cancelled")
def an_agent_takes_a_request_back(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.tell("$/cancel_request", side="agent", requestId=asked.id)
    talk.answer(asked, CANCELLED)
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    _end(talk, prompt)


@breaks("permission-outlives-turn")
def a_turn_ends_with_an_open_request(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    _end(talk, prompt)
    talk.choose(asked, "no")


@keeps("permission-outlives-turn")
def a_request_is_answered_as_the_last_of_a_turn(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    talk.choose(asked, "no")
    _end(talk, prompt)


@keeps("permission-outlives-turn")
def a_turn_is_cancelled_with_an_open_request(talk: Talk) -> None:
    prompt = _begin(talk)
    asked = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    talk.answer(asked, CANCELLED)
    talk.permission("t2")
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    _end(talk, prompt, "cancelled")
