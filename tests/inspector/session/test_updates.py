"""What each update of version 2 does to a conversation, and those that both versions share."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.session.conversation import Conversation
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import (
    AgentMessage,
    Notice,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from acp_protocol.tool_calls import merge
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

HELLO: tuple[Said, ...] = (
    ask("client", 0, "initialize", protocolVersion=2),
    answer("agent", 0, {"protocolVersion": 2}),
)


def talk(*said: Said) -> Conversation:
    """Return the conversation of session s1 after what was said in version 2."""
    conversations = Conversations()
    for frame in frames(*HELLO, *said):
        conversations.apply(frame)
    return conversations.get("s1")


def text(*words: str) -> list[Any]:
    return [{"type": "text", "text": word} for word in words]


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "title": st.sampled_from(["Read", "Look"]),
    "kind": st.sampled_from(["read", "edit"]),
    "status": st.sampled_from(["in_progress", "completed"]),
    "locations": st.lists(st.just({"path": "/w/a"}), max_size=2),
    "content": st.lists(st.just({"type": "terminal", "terminalId": "t"}), max_size=2),
    "rawInput": st.just({"path": "/w/a"}),
}


@given(
    st.sampled_from([1, 2]),
    st.lists(
        st.fixed_dictionaries({}, optional={name: st.none() | FIELDS[name] for name in FIELDS}),
        min_size=1,
        max_size=4,
    ),
)
@settings(max_examples=50)
def test_a_conversation_has_the_calls_that_their_updates_add_up_to(
    version: int, updates: list[dict[str, Any]]
) -> None:
    conversations, call = Conversations(), dict[str, Any]()
    opening = ask("client", 0, "initialize"), answer("agent", 0, {"protocolVersion": version})
    said = [update("tool_call_update", toolCallId="c", **each) for each in updates]
    for frame in frames(*opening, *said):
        conversations.apply(frame)
    for each in updates:
        call = merge(call, each, version)
    item = call_of(conversations.get("s1"))
    facts = item.facts
    assert (facts.title, facts.kind) == (call.get("title", ""), call.get("kind", "other"))
    assert (facts.status, facts.raw_input) == (call.get("status", "pending"), call.get("rawInput"))
    assert [*facts.locations] == call.get("locations", [])
    assert item.content == call.get("content", [])


def said_by_user(conversation: Conversation) -> list[tuple[str, str | None]]:
    return [
        (item.text, item.message_id) for item in conversation.items if isinstance(item, UserMessage)
    ]


def call_of(conversation: Conversation) -> ToolCallItem:
    (call,) = [item for item in conversation.items if isinstance(item, ToolCallItem)]
    return call


def test_the_echo_of_a_prompt_is_the_prompt_whichever_comes_first() -> None:
    echo = update("user_message", messageId="m1", content=text("hello"))
    answered = answer("agent", 1, {"messageId": "m1"})
    assert said_by_user(talk(prompt(1, "hello"), echo, answered)) == [("hello", "m1")]
    assert said_by_user(talk(prompt(1, "hello"), answered, echo)) == [("hello", "m1")]


def test_an_echo_in_chunks_is_the_prompt_too() -> None:
    pieces = chunk("hello", kind="user_message_chunk", messageId="m1")
    assert said_by_user(talk(prompt(1, "hello"), pieces)) == [("hello", "m1")]


def test_prompts_that_are_held_are_inserted_in_their_order() -> None:
    conversation = talk(
        prompt(1, "first"),
        prompt(2, "second"),
        update("user_message", messageId="a", content=text("first")),
        answer("agent", 1, {"messageId": "a"}),
        update("user_message", messageId="b", content=text("second")),
        answer("agent", 2, {"messageId": "b"}),
    )
    assert said_by_user(conversation) == [("first", "a"), ("second", "b")]


def test_a_refused_prompt_leaves_its_place_to_the_next() -> None:
    conversation = talk(
        prompt(1, "first"),
        prompt(2, "second"),
        ("agent", {"id": 1, "error": {"code": -32800, "message": "Request cancelled"}}),
        update("user_message", messageId="b", content=text("second")),
    )
    assert said_by_user(conversation) == [("first", None), ("second", "b")]


def test_a_message_is_patched_by_its_id_and_replaced_with_its_chunks() -> None:
    conversation = talk(
        chunk("half", messageId="m"),
        update("agent_message", messageId="m", content=text("whole")),
        chunk(" and more", messageId="m"),
        update("agent_message", messageId="m", _meta={"x": 1}),
        update("agent_thought", messageId="m", content=text("another space of ids")),
    )
    message, thought = conversation.items
    assert isinstance(message, AgentMessage)
    assert message.text == "whole and more"
    assert isinstance(thought, Thought)


def test_null_takes_a_messages_words_away() -> None:
    conversation = talk(
        chunk("secret", messageId="m"), update("agent_message", messageId="m", content=None)
    )
    (message,) = conversation.items
    assert isinstance(message, AgentMessage)
    assert message.text == ""


def test_a_turn_lies_between_running_and_idle() -> None:
    running = talk(prompt(1, "go"), update("state_update", state="running"))
    assert running.info.is_busy
    asking = talk(update("state_update", state="requires_action"))
    assert asking.info.is_busy
    ended = talk(
        prompt(1, "go"),
        answer("agent", 1, {"messageId": "m"}),
        update("state_update", state="running"),
        update("state_update", state="idle", stopReason="end_turn"),
    )
    assert not ended.info.is_busy
    assert [item.stop_reason for item in ended.items if isinstance(item, TurnEnd)] == ["end_turn"]


def test_an_inserted_prompt_is_work_even_before_the_state_says_so() -> None:
    assert talk(prompt(1, "go"), answer("agent", 1, {"messageId": "m"})).info.is_busy
    over = talk(
        prompt(1, "go"),
        update("state_update", state="running"),
        update("state_update", state="idle", stopReason="end_turn"),
        answer("agent", 1, {"messageId": "m"}),
    )
    assert not over.info.is_busy


def test_the_same_state_again_ends_no_turn_twice() -> None:
    idle = update("state_update", state="idle", stopReason="end_turn")
    conversation = talk(update("state_update", state="running"), idle, idle)
    assert len([item for item in conversation.items if isinstance(item, TurnEnd)]) == 1


def test_a_turn_that_failed_says_why() -> None:
    conversation = talk(
        update("state_update", state="running"),
        update("state_update", state="idle", stopReason="error", error={"code": 7, "message": "x"}),
    )
    (end,) = conversation.items
    assert isinstance(end, TurnEnd)
    assert end.error == "x (7)"


def test_null_clears_what_a_tool_call_had_and_absence_does_not() -> None:
    conversation = talk(
        update("tool_call_update", toolCallId="c", title="Look", kind="read", status="completed"),
        update("tool_call_update", toolCallId="c", kind=None, rawInput={"a": 1}),
        update("tool_call_update", toolCallId="c", rawInput=None, status=None),
    )
    call = call_of(conversation)
    assert (call.facts.title, call.facts.kind, call.facts.status, call.facts.raw_input) == (
        "Look",
        "other",
        "pending",
        None,
    )


def test_content_grows_by_chunks_until_it_is_replaced() -> None:
    block = {"type": "content", "content": text("a")[0]}
    conversation = talk(
        update("tool_call_content_chunk", toolCallId="c", content=block),
        update("tool_call_content_chunk", toolCallId="c", content=block),
    )
    assert call_of(conversation).content == [block, block]
    replaced = talk(
        update("tool_call_content_chunk", toolCallId="c", content=block),
        update("tool_call_update", toolCallId="c", content=[]),
    )
    assert call_of(replaced).content == []


def data(raw: bytes) -> str:
    return b64encode(raw).decode()


def test_a_terminal_shows_its_output_in_its_tool_call() -> None:
    whole = "grün".encode()
    conversation = talk(
        update("terminal_update", terminalId="t", command="make", output={"data": data(b"old")}),
        update(
            "tool_call_update", toolCallId="c", content=[{"type": "terminal", "terminalId": "t"}]
        ),
        update("terminal_update", terminalId="t", output={"data": data(whole[:3])}),
        update("terminal_output_chunk", terminalId="t", data=data(whole[3:])),
        update("terminal_output_chunk", terminalId="t", data="no base64!"),
        update("terminal_update", terminalId="t", exitStatus={"exitCode": 2}),
    )
    terminal = call_of(conversation).terminals["t"]
    assert (terminal.facts.command, terminal.text, terminal.facts.exit_code) == ("make", "grün", 2)
    assert terminal.facts.is_over


def test_plans_modes_and_commands_of_version_two_are_read() -> None:
    option = {"configId": "m", "category": "mode", "type": "select", "currentValue": "code"}
    conversation = talk(
        update("plan_update", plan={"type": "items", "planId": "p", "entries": [{"content": "a"}]}),
        update("config_option_update", configOptions=[option]),
        update("available_commands_update", availableCommands=[{"type": "command"}]),
    )
    assert conversation.plan is not None
    assert conversation.plan.entries == [{"content": "a"}]
    assert conversation.info.current_mode == "code"
    assert len(conversation.info.commands) == 1


def test_consent_to_a_command_stands_as_a_tool_call() -> None:
    conversation = talk(
        ask(
            "agent",
            5,
            "session/request_permission",
            sessionId="s1",
            title="Run it",
            subject={"type": "command", "command": "make", "cwd": "/"},
            options=[],
        )
    )
    call = call_of(conversation)
    assert (call.facts.title, call.facts.kind) == ("Run it", "execute")
    assert call.permission is not None


def test_what_an_agent_wants_noticed_is_a_line() -> None:
    conversation = talk(update("notice", severity="info", title="Careful", description="hot"))
    (line,) = conversation.items
    assert isinstance(line, Notice)
    assert line.text == "Careful: hot"
