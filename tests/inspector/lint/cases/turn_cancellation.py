"""Talks in which turns of version 1 are cancelled."""

from __future__ import annotations

from tests.inspector.lint.talk import Call, Talk, breaks, keeps


def cancelled(talk: Talk) -> Call:
    """Send a prompt, cancel it, and let the agent have read that."""
    if not talk.entries:
        talk.open()
    call = talk.prompt()
    talk.tool()
    talk.tell("session/cancel", sessionId="s1")
    talk.wait(3)
    return call


@breaks("cancel-not-confirmed")
def a_cancelled_turn_ends_as_usual(talk: Talk) -> None:
    talk.finish(cancelled(talk))


@breaks("cancel-not-confirmed")
def a_turn_ends_as_usual_after_the_agent_saw_the_cancel(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.answer(talk.ask("session/list"), sessions=[])
    talk.finish(call)


@keeps("cancel-not-confirmed")
def a_cancelled_turn_ends_cancelled(talk: Talk) -> None:
    talk.finish(cancelled(talk), "cancelled")


@keeps("cancel-not-confirmed")
def a_turn_ends_while_the_cancel_is_on_its_way(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.finish(call)
    talk.finish(cancelled(talk), "cancelled")


@breaks("cancel-seems-ignored")
def a_turn_ends_as_usual_a_while_after_the_cancel(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.finish(call)


@keeps("cancel-seems-ignored")
def a_turn_ends_as_cancelled_a_while_after_the_cancel(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.send("agent", {"id": call.id, "result": {"stopReason": "end_turn"}}, after=0.0001)
    talk.finish(cancelled(talk), "cancelled")


@keeps("cancel-seems-ignored")
def a_turn_ends_as_cancelled_at_once(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.finish(call, "cancelled")


@breaks("cancel-seems-ignored", 2)
def work_ends_as_usual_a_while_after_the_cancel(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.state("running")
    talk.tell("session/cancel", sessionId="s1")
    talk.state("idle", stopReason="end_turn")


@keeps("cancel-seems-ignored", 2)
def work_ends_as_usual_in_the_moment_of_the_cancel(talk: Talk) -> None:
    talk.open()
    for reason, after in (("end_turn", 0.0001), ("cancelled", 0.01)):
        talk.accept(talk.prompt())
        talk.state("running")
        talk.tell("session/cancel", sessionId="s1")
        ended = {"sessionUpdate": "state_update", "state": "idle", "stopReason": reason}
        params = {"sessionId": "s1", "update": ended}
        talk.send("agent", {"method": "session/update", "params": params}, after=after)


@keeps("cancel-seems-ignored", 2)
def work_ends_as_cancelled_a_while_after_the_cancel(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.state("running")
    talk.tell("session/cancel", sessionId="s1")
    talk.state("idle", stopReason="cancelled")


@breaks("cancelled-prompt-fails")
def a_cancelled_turn_fails(talk: Talk) -> None:
    talk.refuse(cancelled(talk), -32603, "aborted")


@breaks("cancelled-prompt-fails")
def a_cancelled_turn_says_the_request_was_cancelled(talk: Talk) -> None:
    talk.refuse(cancelled(talk), -32800, "Request cancelled")


@keeps("cancelled-prompt-fails")
def a_turn_is_cancelled_twice_over(talk: Talk) -> None:
    call = cancelled(talk)
    talk.tell("$/cancel_request", requestId=call.id)
    talk.refuse(call, -32800, "Request cancelled")


@breaks("unrequested-cancelled")
def a_turn_is_cancelled_by_nobody(talk: Talk) -> None:
    talk.open()
    talk.finish(talk.prompt(), "cancelled")


@breaks("unrequested-cancelled")
def a_turn_is_cancelled_by_the_cancel_of_another(talk: Talk) -> None:
    talk.finish(cancelled(talk), "cancelled")
    talk.finish(talk.prompt(), "cancelled")


@keeps("unrequested-cancelled")
def a_turn_is_cancelled_by_closing(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    close = talk.ask("session/close", sessionId="s1")
    talk.finish(call, "cancelled")
    talk.answer(close)


@keeps("unrequested-cancelled")
def a_turn_is_cancelled_by_request(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tell("$/cancel_request", requestId=call.id)
    talk.finish(call, "cancelled")


@breaks("update-after-cancelled-turn")
def words_follow_a_cancelled_turn(talk: Talk) -> None:
    talk.finish(cancelled(talk), "cancelled")
    talk.say("I was about to")


@breaks("update-after-cancelled-turn")
def a_tool_call_ends_long_after_its_cancelled_turn(talk: Talk) -> None:
    talk.finish(cancelled(talk), "cancelled")
    talk.wait(60)
    talk.update("tool_call_update", toolCallId="t1", status="failed")


@keeps("update-after-cancelled-turn")
def a_tool_call_fails_before_its_cancelled_turn_ends(talk: Talk) -> None:
    call = cancelled(talk)
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    talk.finish(call, "cancelled")
    talk.turn()


@breaks("work-after-cancel")
def a_tool_call_begins_in_a_cancelled_turn(talk: Talk) -> None:
    call = cancelled(talk)
    talk.tool("t2")
    talk.finish(call, "cancelled")


@breaks("work-after-cancel")
def permission_is_asked_for_in_a_cancelled_turn(talk: Talk) -> None:
    call = cancelled(talk)
    permission = talk.permission()
    talk.answer(permission, outcome={"outcome": "cancelled"})
    talk.finish(call, "cancelled")


@keeps("work-after-cancel")
def a_tool_call_begins_while_the_cancel_is_on_its_way(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.tool("t2", status="failed")
    talk.finish(call, "cancelled")


@breaks("cancel-without-turn")
def a_cancel_comes_after_the_turn(talk: Talk) -> None:
    talk.open()
    talk.turn()
    talk.wait(5)
    talk.tell("session/cancel", sessionId="s1")


@keeps("cancel-without-turn")
def a_cancel_crosses_the_answer(talk: Talk) -> None:
    talk.open()
    talk.turn()
    talk.tell("session/cancel", sessionId="s1")


@breaks("permission-not-cancelled")
def permission_is_given_after_a_cancel(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    permission = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    talk.choose(permission)
    talk.finish(call, "cancelled")


@breaks("permission-not-cancelled")
def a_request_for_permission_fails_after_a_cancel(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    permission = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    talk.refuse(permission, -32800, "Request cancelled")
    talk.finish(call, "cancelled")


@keeps("permission-not-cancelled")
def a_request_for_permission_is_cancelled(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    permission = talk.permission()
    other = talk.permission("t2")
    talk.tell("session/cancel", sessionId="s1")
    talk.tell("$/cancel_request", side="agent", requestId=other.id)
    talk.answer(permission, outcome={"outcome": "cancelled"})
    talk.refuse(other, -32800, "Request cancelled")
    talk.finish(call, "cancelled")


@breaks("cancel-not-confirmed")
def a_turn_ends_as_usual_after_the_permission_behind_the_cancel(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tool()
    asked = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    talk.answer(asked, outcome={"outcome": "cancelled"})
    talk.finish(call)


@breaks("cancelled-prompt-fails")
def a_turn_fails_after_the_file_behind_the_cancel(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    asked = talk.ask("fs/read_text_file", side="agent", sessionId="s1", path="/home/ada/work/a")
    talk.tell("session/cancel", sessionId="s1")
    talk.answer(asked, content="")
    talk.refuse(call, -32603)


@keeps("cancel-not-confirmed")
def a_turn_ends_while_the_permission_behind_the_cancel_is_on_its_way(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tool("t0")
    asked = talk.permission("t0")
    talk.tell("session/cancel", sessionId="s1")
    talk.answer(asked, outcome={"outcome": "cancelled"})
    end = {"id": call.id, "result": {"stopReason": "end_turn"}}
    talk.send("agent", end, after=0.0001)
    talk.finish(cancelled(talk), "cancelled")


@breaks("work-after-cancel")
def a_tool_begins_after_the_agent_ended_the_one_that_was_not_permitted(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tool()
    asked = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    talk.answer(asked, outcome={"outcome": "cancelled"})
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    talk.tool("t2")
    talk.finish(call, "cancelled")
