"""Talks in which requests are taken back."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Call, Talk, breaks, keeps


def take_back(talk: Talk, call: Call, id_: Any = None) -> None:
    """Cancel a request."""
    talk.tell("$/cancel_request", side=call.side, requestId=call.id if id_ is None else id_)


def listed(talk: Talk) -> Call:
    """Ask for the sessions."""
    talk.open()
    return talk.ask("session/list")


def give(talk: Talk, call: Call) -> None:
    """Answer with no sessions."""
    talk.answer(call, sessions=[])


@breaks("unknown-request-cancelled")
@breaks("unknown-request-cancelled", 2)
def a_request_is_cancelled_that_was_answered(talk: Talk) -> None:
    call = listed(talk)
    give(talk, call)
    talk.wait(5)
    take_back(talk, call)


@breaks("unknown-request-cancelled")
def a_request_of_the_other_side_is_cancelled(talk: Talk) -> None:
    call = listed(talk)
    talk.tell("$/cancel_request", side="agent", requestId=call.id)
    give(talk, call)


@keeps("unknown-request-cancelled")
@keeps("unknown-request-cancelled", 2)
def a_request_is_cancelled_while_its_answer_comes(talk: Talk) -> None:
    call = listed(talk)
    give(talk, call)
    take_back(talk, call)


@breaks("cancelled-request-unanswered")
@breaks("cancelled-request-unanswered", 2)
def a_cancelled_request_is_dropped(talk: Talk) -> None:
    take_back(talk, listed(talk))
    talk.wait(60)
    talk.update("session_info_update", title="Hello")


@keeps("cancelled-request-unanswered")
@keeps("cancelled-request-unanswered", 2)
def a_cancelled_request_gets_its_result(talk: Talk) -> None:
    call = listed(talk)
    take_back(talk, call)
    give(talk, call)


@breaks("cancel-answered")
@breaks("cancel-answered", 2)
def a_cancellation_is_answered(talk: Talk) -> None:
    call = listed(talk)
    take_back(talk, call)
    error = {"code": -32601, "message": "Method not found"}
    talk.send("agent", {"id": None, "error": error})


@keeps("cancel-answered")
@keeps("cancel-answered", 2)
def a_cancellation_is_followed_by_the_answer(talk: Talk) -> None:
    call = listed(talk)
    take_back(talk, call)
    talk.refuse(call, -32800, "Request cancelled")


@breaks("malformed-cancel")
@breaks("malformed-cancel", 2)
def a_cancellation_names_a_string(talk: Talk) -> None:
    call = listed(talk)
    take_back(talk, call, str(call.id))
    give(talk, call)


@breaks("malformed-cancel")
def a_cancellation_names_nothing(talk: Talk) -> None:
    call = listed(talk)
    talk.tell("$/cancel_request", id=call.id)
    give(talk, call)


@keeps("malformed-cancel")
@keeps("malformed-cancel", 2)
def a_cancellation_names_a_string_that_is_an_id(talk: Talk) -> None:
    talk.open()
    call = talk.ask("session/list", id_="7")
    take_back(talk, call)
    give(talk, call)


@breaks("self-cancelled-request")
@breaks("self-cancelled-request", 2)
def a_request_cancels_itself(talk: Talk) -> None:
    talk.refuse(listed(talk), -32800, "Request cancelled")


@keeps("self-cancelled-request")
@keeps("self-cancelled-request", 2)
def a_request_is_cancelled_by_its_asker(talk: Talk) -> None:
    call = listed(talk)
    take_back(talk, call)
    talk.refuse(call, -32800, "Request cancelled")


@breaks("slow-cancel")
@breaks("slow-cancel", 2)
def a_cancelled_request_takes_a_minute(talk: Talk) -> None:
    call = listed(talk)
    take_back(talk, call)
    talk.wait(60)
    give(talk, call)


@keeps("slow-cancel")
@keeps("slow-cancel", 2)
def a_cancelled_request_takes_a_moment(talk: Talk) -> None:
    call = listed(talk)
    talk.wait(60)
    take_back(talk, call)
    talk.wait(3)
    give(talk, call)


@breaks("wrong-prompt-cancel")
def a_prompt_is_cancelled_by_request_only(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    take_back(talk, call)
    talk.finish(call, "cancelled")


@keeps("wrong-prompt-cancel")
def a_prompt_is_cancelled_by_request_and_session(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    take_back(talk, call)
    talk.tell("session/cancel", sessionId="s1")
    talk.finish(call, "cancelled")


def cancelled(talk: Talk) -> tuple[Call, Call]:
    """Cancel work that asks for permission."""
    talk.open()
    call = talk.prompt()
    if talk.version == 2:
        talk.accept(call)
    talk.tool()
    permission = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    return call, permission


@breaks("agent-request-outlives-cancel")
def a_turn_is_confirmed_cancelled_with_a_request_open(talk: Talk) -> None:
    call, permission = cancelled(talk)
    talk.finish(call, "cancelled")
    talk.answer(permission, outcome={"outcome": "cancelled"})


@breaks("agent-request-outlives-cancel", 2)
def work_is_confirmed_cancelled_with_a_request_open(talk: Talk) -> None:
    cancelled(talk)
    talk.state("idle", stopReason="cancelled")


@keeps("agent-request-outlives-cancel")
def a_turn_is_confirmed_cancelled_after_its_requests(talk: Talk) -> None:
    call, permission = cancelled(talk)
    talk.answer(permission, outcome={"outcome": "cancelled"})
    talk.finish(call, "cancelled")


@keeps("agent-request-outlives-cancel", 2)
def work_is_confirmed_cancelled_after_its_requests(talk: Talk) -> None:
    _, permission = cancelled(talk)
    take_back(talk, permission)
    talk.state("idle", stopReason="cancelled")
