"""Talks about the turns of version 1."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

TEXT = [{"type": "text", "text": "Hello"}]


@breaks("concurrent-prompts")
def a_second_prompt_does_not_wait(talk: Talk) -> None:
    talk.open()
    first = talk.prompt()
    second = talk.prompt("And?")
    talk.finish(first)
    talk.finish(second)


@breaks("concurrent-prompts")
def a_prompt_follows_a_cancel_at_once(talk: Talk) -> None:
    talk.open()
    first = talk.prompt()
    talk.tell("session/cancel", sessionId="s1")
    talk.prompt("Rather this")
    talk.finish(first, "cancelled")


@keeps("concurrent-prompts")
def two_sessions_work_at_once(talk: Talk) -> None:
    talk.open()
    talk.new_session("s2")
    first = talk.prompt()
    second = talk.prompt(session="s2")
    talk.finish(first)
    talk.finish(second)
    talk.finish(talk.prompt())


@breaks("prompt-not-list")
def a_prompt_is_a_string(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", prompt="Hello")


@breaks("prompt-not-list", 2)
def a_prompt_is_called_content(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", content=TEXT)


@keeps("prompt-not-list")
@keeps("prompt-not-list", 2)
def a_prompt_is_an_array_of_one(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", prompt=TEXT)


@breaks("blank-prompt")
def a_prompt_is_empty(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", prompt=[])


@breaks("blank-prompt")
def a_prompt_is_blank(talk: Talk) -> None:
    talk.open()
    talk.prompt(" \n")


@keeps("blank-prompt")
def a_prompt_is_a_link_alone(talk: Talk) -> None:
    talk.open()
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}
    blank = {"type": "text", "text": ""}
    talk.ask("session/prompt", sessionId="s1", prompt=[blank, link])


@breaks("invalid-stop-reason")
def a_turn_ends_without_reason(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.prompt(), {})


@breaks("invalid-stop-reason")
def a_turn_ends_for_a_reason_of_its_own(talk: Talk) -> None:
    talk.open()
    talk.finish(talk.prompt(), "_done")


@keeps("invalid-stop-reason")
def a_turn_ends_with_a_refusal(talk: Talk) -> None:
    talk.open()
    talk.finish(talk.prompt(), "refusal")


@breaks("update-outside-turn")
def an_agent_speaks_after_its_turn(talk: Talk) -> None:
    talk.open()
    talk.turn()
    talk.say("One more thing")


@breaks("update-outside-turn")
def an_agent_greets(talk: Talk) -> None:
    talk.open()
    talk.say("Welcome!")


@breaks("update-outside-turn", unstable=True)
def an_agent_plans_after_its_turn(talk: Talk) -> None:
    talk.initialize({"plan": {}})
    talk.new_session()
    talk.turn()
    talk.update("plan_update", plan={"type": "items", "planId": "p1", "entries": []})


@keeps("update-outside-turn")
def a_history_is_told_before_the_answer(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])
    talk.say("Earlier")
    talk.answer(call, {})
    talk.update("available_commands_update", availableCommands=[])


@breaks("unfinished-tool-call")
def a_turn_ends_within_a_tool_call(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tool(status="in_progress")
    talk.finish(call)


@breaks("unfinished-tool-call")
def a_turn_ends_with_a_tool_call_pending(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.update("tool_call", toolCallId="t1", title="Read")
    talk.finish(call)


@keeps("unfinished-tool-call")
def a_tool_call_fails_before_the_turn_ends(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tool()
    talk.update("tool_call_update", toolCallId="t1", status="failed")
    talk.choose(talk.permission("t2"), "no")
    talk.finish(call)


@keeps("unfinished-tool-call")
def the_tool_call_of_an_earlier_turn_goes_on(talk: Talk) -> None:
    talk.open()
    first = talk.prompt()
    talk.tool()
    talk.finish(first, "max_tokens")
    second = talk.prompt()
    talk.tool("t2")
    talk.update("tool_call_update", toolCallId="t2", status="completed")
    talk.finish(second)


@breaks("request-outlives-turn")
def a_turn_ends_before_the_permission(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    permission = talk.permission()
    talk.finish(call, "max_tokens")
    talk.choose(permission)


@keeps("request-outlives-turn")
def a_turn_ends_right_after_the_permission(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.choose(talk.permission(), "no")
    talk.finish(call)


@breaks("user-message-echo")
def an_agent_echoes_the_user(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.update("user_message_chunk", content=TEXT[0])
    talk.update("user_message_chunk", content=TEXT[0])
    talk.finish(call)


@keeps("user-message-echo")
def an_agent_replays_the_user(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])
    talk.update("user_message_chunk", content=TEXT[0])
    talk.answer(call, {})


@breaks("content-in-prompt-result")
def a_result_holds_the_answer(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.prompt(), stopReason="end_turn", content=TEXT)


@keeps("content-in-prompt-result")
def a_result_holds_something_of_its_own(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.prompt(), stopReason="end_turn", _meta={"content": "x"})


@breaks("foreign-prompt-field")
def a_prompt_names_a_model(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", prompt=TEXT, model="best")


@breaks("foreign-prompt-field", 2)
def a_prompt_names_its_message(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", prompt=TEXT, messageId="m1")


@keeps("foreign-prompt-field")
@keeps("foreign-prompt-field", 2)
def a_prompt_names_a_model_within_meta(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", prompt=TEXT, _meta={"model": "best"})
