"""Talks about the states that sessions of version 2 tell."""

from __future__ import annotations

from tests.inspector.lint.talk import Talk, breaks, keeps


def running(talk: Talk) -> None:
    """Open a session, and have a prompt worked on."""
    talk.open()
    talk.accept(talk.prompt())


def cancelled(talk: Talk) -> None:
    """Have work cancelled, and let the agent have read that."""
    running(talk)
    talk.say()
    talk.tool()
    talk.tell("session/cancel", sessionId="s1")
    talk.wait(3)


def taken_in(talk: Talk, message: str = "m-user") -> None:
    """Have a prompt taken in without a state."""
    talk.answer(talk.prompt(), messageId=message)
    content = [{"type": "text", "text": "Hello"}]
    talk.update("user_message", messageId=message, content=content)


@breaks("output-before-running", 2)
def an_agent_answers_before_it_runs(talk: Talk) -> None:
    talk.open()
    taken_in(talk)
    talk.say()
    talk.state("running")
    talk.state("idle", stopReason="end_turn")


@breaks("output-before-running", 2)
def an_agent_answers_and_never_runs(talk: Talk) -> None:
    talk.open()
    taken_in(talk)
    talk.say()
    talk.state("idle", stopReason="end_turn")


@keeps("output-before-running", 2)
def an_agent_begins_by_asking(talk: Talk) -> None:
    talk.open()
    talk.say("Something in between")
    taken_in(talk)
    talk.state("requires_action")
    talk.choose(talk.permission())
    talk.state("running")
    talk.say(messageId="m2")
    talk.state("idle", stopReason="end_turn")


@breaks("work-not-ended", 2)
def an_agent_goes_while_it_runs(talk: Talk) -> None:
    running(talk)
    talk.event("eof", **{"from": "agent"})
    talk.event("exit", code=0)


@keeps("work-not-ended", 2)
def a_client_goes_while_the_agent_runs(talk: Talk) -> None:
    running(talk)
    talk.state("idle", stopReason="end_turn")
    talk.accept(talk.prompt(), "m2")
    talk.end()


@breaks("idle-without-stop-reason", 2)
def work_ends_for_no_reason(talk: Talk) -> None:
    running(talk)
    talk.state("idle")


@keeps("idle-without-stop-reason", 2)
def idle_is_told_again_without_a_reason(talk: Talk) -> None:
    talk.open()
    talk.state("idle")
    talk.accept(talk.prompt())
    talk.state("idle", stopReason="_enough")
    talk.state("idle")


@breaks("stop-reason-outside-idle", 2)
def running_has_a_stop_reason(talk: Talk) -> None:
    talk.open()
    taken_in(talk)
    talk.state("running", stopReason="end_turn")


@breaks("stop-reason-outside-idle", 2)
def waiting_has_a_usage(talk: Talk) -> None:
    running(talk)
    talk.state("requires_action", usage={"totalTokens": 1, "inputTokens": 1, "outputTokens": 0})


@keeps("stop-reason-outside-idle", 2)
def running_has_the_stop_reason_null(talk: Talk) -> None:
    talk.open()
    taken_in(talk)
    talk.state("running", stopReason=None)
    talk.state("idle", stopReason="end_turn")


@breaks("idle-without-cancelled", 2)
def cancelled_work_ends_as_usual(talk: Talk) -> None:
    cancelled(talk)
    talk.state("idle", stopReason="end_turn")


@breaks("idle-without-cancelled", 2)
def cancelled_work_ends_with_an_error(talk: Talk) -> None:
    cancelled(talk)
    talk.state("idle", stopReason="error", error={"code": -32603, "message": "Aborted"})


@keeps("idle-without-cancelled", 2)
def cancelled_work_ends_cancelled(talk: Talk) -> None:
    cancelled(talk)
    talk.state("idle", stopReason="cancelled")


@keeps("idle-without-cancelled", 2)
def work_ends_while_the_cancel_is_on_its_way(talk: Talk) -> None:
    running(talk)
    talk.tell("session/cancel", sessionId="s1")
    talk.state("idle", stopReason="end_turn")
    talk.accept(talk.prompt(), "m2")
    talk.tell("session/cancel", sessionId="s1")
    talk.wait(3)
    talk.state("idle", stopReason="cancelled")


@breaks("update-after-cancelled-work", 2)
def words_follow_their_cancelled_work(talk: Talk) -> None:
    cancelled(talk)
    talk.state("idle", stopReason="cancelled")
    talk.say("there")


@breaks("update-after-cancelled-work", 2)
def a_tool_call_follows_its_cancelled_work(talk: Talk) -> None:
    cancelled(talk)
    talk.state("idle", stopReason="cancelled", background=[])
    talk.update("tool_call_update", toolCallId="t1", status="cancelled")


@keeps("update-after-cancelled-work", 2)
def a_tool_call_goes_on_behind_cancelled_work(talk: Talk) -> None:
    cancelled(talk)
    behind = [{"type": "tool_call", "toolCallId": "t1"}]
    talk.state("idle", stopReason="cancelled", background=behind)
    talk.update("tool_call_update", toolCallId="t1", status="completed")


@breaks("misused-requires-action", 2)
def an_agent_speaks_while_it_waits(talk: Talk) -> None:
    running(talk)
    talk.state("requires_action")
    talk.permission()
    talk.say("Meanwhile")
    talk.say("and so on")


@keeps("misused-requires-action", 2)
def an_agent_speaks_after_it_waited(talk: Talk) -> None:
    running(talk)
    call = talk.permission()
    talk.state("requires_action")
    talk.choose(call, "no")
    talk.state("running")
    talk.say("Then not")
    talk.state("idle", stopReason="end_turn")


@breaks("reserved-session-state", 2)
def a_state_is_made_up(talk: Talk) -> None:
    running(talk)
    talk.state("thinking")


@breaks("reserved-session-state", 2)
def a_stop_reason_is_made_up(talk: Talk) -> None:
    running(talk)
    talk.state("idle", stopReason="tool_use")


@keeps("reserved-session-state", 2)
def a_stop_reason_of_its_own_is_marked(talk: Talk) -> None:
    running(talk)
    talk.state("_thinking")
    talk.state("idle", stopReason="_tool_use")


@breaks("repeated-snapshot", 2)
def a_state_is_told_five_times(talk: Talk) -> None:
    running(talk)
    for _ in range(5):
        talk.state("running")


@keeps("repeated-snapshot", 2)
def a_state_is_told_again_between_words(talk: Talk) -> None:
    running(talk)
    for _ in range(9):
        talk.say()
        talk.state("running")
    talk.state("running", background=[])
    talk.state("idle", stopReason="end_turn", background=[])


@breaks("output-while-idle", 2)
def an_idle_agent_answers(talk: Talk) -> None:
    talk.open()
    taken_in(talk)
    talk.say()
    talk.say()


@keeps("output-while-idle", 2)
def an_idle_agent_tells_of_something_else(talk: Talk) -> None:
    running(talk)
    talk.state("idle", stopReason="end_turn")
    talk.say("The build is done.", messageId="m2")


@breaks("requires-action-without-end", 2)
def an_agent_waits_for_a_user_who_acted(talk: Talk) -> None:
    running(talk)
    call = talk.permission()
    talk.state("requires_action")
    talk.choose(call)
    talk.wait(60)
    talk.update("session_info_update", title="Hello")


@keeps("requires-action-without-end", 2)
def an_agent_waits_for_a_user_who_is_away(talk: Talk) -> None:
    running(talk)
    talk.choose(talk.permission())
    talk.permission("t2")
    talk.state("requires_action")
    talk.wait(60)
    talk.update("session_info_update", title="Hello")


@breaks("cancelled-without-cause", 2)
def work_is_cancelled_by_nobody(talk: Talk) -> None:
    running(talk)
    talk.state("idle", stopReason="cancelled")


@breaks("cancelled-without-cause", 2)
def work_is_cancelled_by_the_cancel_before(talk: Talk) -> None:
    cancelled(talk)
    talk.state("idle", stopReason="cancelled")
    talk.accept(talk.prompt(), "m2")
    talk.state("idle", stopReason="cancelled")


@keeps("cancelled-without-cause", 2)
def work_is_cancelled_by_the_choice_of_the_user(talk: Talk) -> None:
    running(talk)
    talk.choose(talk.permission(), "no")
    talk.state("idle", stopReason="cancelled")


@keeps("cancelled-without-cause", 2)
def work_is_cancelled_by_closing_the_session(talk: Talk) -> None:
    running(talk)
    call = talk.ask("session/close", sessionId="s1")
    talk.state("idle", stopReason="cancelled")
    talk.answer(call)


@breaks("error-without-details", 2)
def work_fails_without_an_error(talk: Talk) -> None:
    running(talk)
    talk.state("idle", stopReason="error")


@breaks("error-without-details", 2)
def work_fails_with_words_for_an_error(talk: Talk) -> None:
    running(talk)
    talk.state("idle", stopReason="error", error="out of money")


@keeps("error-without-details", 2)
def work_fails_with_an_error(talk: Talk) -> None:
    running(talk)
    talk.state("idle", stopReason="error", error={"code": 402, "message": "Out of money"})


@breaks("custom-state-without-standard", 2)
def a_session_tells_states_of_its_own_only(talk: Talk) -> None:
    talk.open()
    taken_in(talk)
    talk.state("_thinking")
    talk.state("idle", stopReason="end_turn")


@keeps("custom-state-without-standard", 2)
def a_session_tells_states_of_its_own_beside(talk: Talk) -> None:
    running(talk)
    talk.state("_thinking")
    talk.state("idle", stopReason="end_turn")


@breaks("output-before-running", 2)
def a_session_never_tells_of_its_work(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.answer(prompt, messageId="m-user")
    talk.update("user_message", messageId="m-user", content=[{"type": "text", "text": "Hello"}])
    talk.say()
    talk.end()


@breaks("output-before-running", 2)
def a_tool_runs_before_its_session(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.answer(prompt, messageId="m-user")
    talk.update("user_message", messageId="m-user", content=[{"type": "text", "text": "Hello"}])
    talk.tool(status="completed")
    talk.state("running")
    talk.state("idle", stopReason="end_turn")


@keeps("output-before-running", 2)
def a_known_tool_goes_on_before_the_session_runs(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.accept(prompt)
    talk.tool(status="in_progress")
    talk.state("idle", stopReason="end_turn")
    again = talk.prompt()
    talk.answer(again, messageId="m-2")
    talk.update("user_message", messageId="m-2", content=[{"type": "text", "text": "Hello"}])
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.state("running")
    talk.state("idle", stopReason="end_turn")
    talk.end()


@breaks("idle-without-cancelled", 2)
def work_ends_as_usual_after_the_permission_behind_the_cancel(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.tool()
    asked = talk.permission()
    talk.tell("session/cancel", sessionId="s1")
    talk.answer(asked, outcome={"outcome": "cancelled"})
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    talk.state("idle", stopReason="end_turn")
