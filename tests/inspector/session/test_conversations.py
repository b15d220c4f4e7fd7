"""What a user sees of a session, in the order in which the talk happens."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.session.conversation import Conversation
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import (
    AgentMessage,
    Notice,
    PlanItem,
    TextItem,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update


def talk(*said: Said) -> Conversation:
    """Return the conversation of session s1 after what was said."""
    conversations = Conversations()
    for frame in frames(*said):
        conversations.apply(frame)
    return conversations.get("s1")


def kinds(conversation: Conversation) -> list[str]:
    return [type(item).__name__ for item in conversation.items]


def test_a_prompt_is_the_users_message_and_makes_the_session_busy() -> None:
    conversation = talk(prompt(1, "hello"))
    (item,) = conversation.items
    assert isinstance(item, UserMessage)
    assert item.text == "hello"
    assert conversation.info.is_busy


def test_options_are_those_of_the_response_that_sets_one() -> None:
    options = [{"id": "model", "currentValue": "b"}]
    params = {"sessionId": "s1", "configId": "model", "value": "b"}
    conversation = talk(
        ask("client", 1, "session/set_config_option", **params),
        answer("agent", 1, {"configOptions": options}),
    )
    assert conversation.info.config_options == options


def test_an_echo_of_the_running_prompt_is_not_shown_twice() -> None:
    assert kinds(talk(prompt(1, "hello"), chunk("hello", kind="user_message_chunk"))) == [
        "UserMessage"
    ]


def echo(text: str, **more: str) -> Said:
    return chunk(text, kind="user_message_chunk", **more)


@pytest.mark.parametrize(
    "echoes",
    [
        [echo("hello you", messageId="m1")],
        [echo("hello"), echo(" you")],
        [echo("hello", messageId="m1"), echo(" you", messageId="m1")],
        [echo(" hello you\n")],
        [chunk("hm", kind="agent_thought_chunk"), echo("hello you", messageId="m1")],
    ],
)
def test_an_echo_is_the_prompt_whatever_its_id_and_its_pieces(echoes: list[Said]) -> None:
    conversation = talk(prompt(1, "hello you"), *echoes)
    texts = [item.text for item in conversation.items if isinstance(item, UserMessage)]
    assert texts == ["hello you"]


def test_a_message_that_only_begins_like_the_prompt_is_shown_whole_and_apart() -> None:
    conversation = talk(prompt(1, "hello you"), echo("hello"), echo(" there"), echo("!"))
    texts = [item.text for item in conversation.items if isinstance(item, UserMessage)]
    assert texts == ["hello you", "hello there!"]


def test_a_message_that_is_the_beginning_of_the_prompt_is_shown_before_the_reply_to_it() -> None:
    """Such as one of the history, which comes late."""
    conversation = talk(prompt(1, "go on with it"), echo("go on"), chunk("I did."), chunk("Now."))
    texts = [item.text for item in conversation.items if isinstance(item, TextItem)]
    assert texts == ["go on with it", "go on", "I did.Now."]


def test_the_first_text_of_a_prompt_alone_is_an_echo() -> None:
    blocks = [{"type": "text", "text": each} for each in ("see", "the file")]
    asking = ask("client", 1, "session/prompt", sessionId="s1", prompt=blocks)
    assert kinds(talk(asking, echo("see"), chunk("yes"))) == ["UserMessage", "AgentMessage"]


def test_words_of_the_prompt_that_come_after_its_echo_are_a_message() -> None:
    conversation = talk(prompt(1, "hello you"), echo("hello you"), echo("you", messageId="m2"))
    texts = [item.text for item in conversation.items if isinstance(item, UserMessage)]
    assert texts == ["hello you", "you"]


def test_an_echo_of_a_file_in_the_prompt_is_not_shown_twice() -> None:
    link = {"type": "resource_link", "name": "n", "uri": "file:///n"}
    blocks = [{"type": "text", "text": "see"}, link]
    conversation = talk(
        ask("client", 1, "session/prompt", sessionId="s1", prompt=blocks),
        echo("see"),
        update("user_message_chunk", content=link),
    )
    assert kinds(conversation) == ["UserMessage"]


def test_chunks_join_to_one_message_until_something_else_comes() -> None:
    conversation = talk(
        chunk("a"), chunk("b"), chunk("hm", kind="agent_thought_chunk"), chunk("c"), chunk("d")
    )
    texts = [item.text for item in conversation.items if isinstance(item, AgentMessage | Thought)]
    assert texts == ["ab", "hm", "cd"]


def test_a_message_id_keeps_messages_apart_and_together() -> None:
    conversation = talk(
        chunk("a", messageId="1"), chunk("b", messageId="2"), chunk("c", messageId="1")
    )
    texts = [item.text for item in conversation.items if isinstance(item, AgentMessage)]
    assert texts == ["ac", "b"]


def test_a_chunk_without_a_message_id_is_no_part_of_a_message_that_has_one() -> None:
    conversation = talk(
        chunk("a", messageId="1"), chunk("b"), chunk("c"), chunk("d", messageId="2")
    )
    texts = [item.text for item in conversation.items if isinstance(item, AgentMessage)]
    assert texts == ["a", "bc", "d"]


def test_a_tool_call_keeps_its_place_and_takes_what_changed() -> None:
    conversation = talk(
        update("tool_call", toolCallId="c", title="Read", kind="read", content=[1]),
        chunk("meanwhile"),
        update("tool_call_update", toolCallId="c", status="completed"),
    )
    call = conversation.items[0]
    assert isinstance(call, ToolCallItem)
    assert (call.facts.title, call.facts.kind, call.facts.status, call.content) == (
        "Read",
        "read",
        "completed",
        [1],
    )


def test_an_update_of_an_unknown_call_makes_the_call() -> None:
    conversation = talk(update("tool_call_update", toolCallId="c", status="failed"))
    assert kinds(conversation) == ["ToolCallItem"]


def test_a_permission_belongs_to_its_call_until_it_is_answered() -> None:
    question = ask(
        "agent", 5, "session/request_permission",
        sessionId="s1", toolCall={"toolCallId": "c", "title": "Edit"}, options=[{"optionId": "a"}],
    )  # fmt: skip
    call = talk(question).items[0]
    assert isinstance(call, ToolCallItem)
    assert call.permission is not None
    assert call.permission.outcome is None
    outcome = {"outcome": "selected", "optionId": "a"}
    call = talk(question, answer("client", 5, {"outcome": outcome})).items[0]
    assert isinstance(call, ToolCallItem)
    assert call.permission is not None
    assert call.permission.outcome == outcome


VERSION_2 = (ask("client", 0, "initialize"), answer("agent", 0, {"protocolVersion": 2}))


def requested(*before: Said, **params: Any) -> ToolCallItem:
    """Return the call that a permission request is about."""
    item = talk(*before, ask("agent", 5, "session/request_permission", sessionId="s1", **params))
    call = item.items[-1]
    assert isinstance(call, ToolCallItem)
    return call


@pytest.mark.parametrize(
    "subject",
    [None, {"type": "tool_call", "toolCall": {"toolCallId": "c", "title": "Edit"}},
     {"type": "command", "command": "ls", "cwd": "/"}],
)  # fmt: skip
def test_title_and_description_of_a_request_belong_to_the_permission(subject: Any) -> None:
    call = requested(*VERSION_2, title="Go on?", description="The tests pass.", subject=subject)
    assert call.permission is not None
    assert (call.permission.title, call.permission.description) == ("Go on?", "The tests pass.")


@pytest.mark.parametrize(
    "subject", [{"type": "_pay", "amount": 9}, {"type": "tool_call", "toolCall": "x"}, ["x"]]
)
def test_a_subject_that_is_not_known_counts_as_input(subject: Any) -> None:
    facts = requested(*VERSION_2, title="Pay", subject=subject).facts
    assert (facts.title, facts.raw_input) == ("Pay", subject)


def test_the_subject_of_a_request_is_the_one_of_its_version() -> None:
    command: Any = {"type": "command", "command": "rm", "cwd": "/"}
    both = {"title": "Run", "subject": command, "toolCall": {"toolCallId": "c", "title": "Read"}}
    assert requested(*VERSION_2, **both).facts.title == "Run"
    assert requested(**both).facts.title == "Read"
    # Without an `initialize`, the version is not known.
    assert requested(title="Run", subject=command).facts.kind == "execute"


def test_a_call_that_fails_because_it_was_rejected_is_rejected() -> None:
    asked = ask(
        "agent", 5, "session/request_permission", sessionId="s1",
        toolCall={"toolCallId": "c", "title": "Edit"},
        options=[{"optionId": "n", "kind": "reject_once"}],
    )  # fmt: skip
    chosen = answer("client", 5, {"outcome": {"outcome": "selected", "optionId": "n"}})
    failed = update("tool_call_update", toolCallId="c", status="failed")
    call = talk(asked, chosen, failed).items[0]
    assert isinstance(call, ToolCallItem)
    assert (call.status, call.facts.status) == ("rejected", "failed")


def test_a_plan_is_replaced_as_a_whole() -> None:
    conversation = talk(update("plan", entries=[1, 2]), chunk("x"), update("plan", entries=[3]))
    assert kinds(conversation) == ["PlanItem", "AgentMessage"]
    assert isinstance(conversation.plan, PlanItem)
    assert conversation.plan.entries == [3]


def test_the_answer_to_a_prompt_ends_the_turn() -> None:
    conversation = talk(prompt(1, "x"), answer("agent", 1, {"stopReason": "end_turn"}))
    end = conversation.items[-1]
    assert isinstance(end, TurnEnd)
    assert end.stop_reason == "end_turn"
    assert not conversation.info.is_busy


def test_a_refused_prompt_ends_the_turn_with_its_error() -> None:
    refused: Said = ("agent", {"id": 1, "error": {"code": -32603, "message": "broken"}})
    end = talk(prompt(1, "x"), refused).items[-1]
    assert isinstance(end, TurnEnd)
    assert end.error == "broken (-32603)"


def test_cancelling_marks_what_was_not_finished() -> None:
    conversation = talk(
        prompt(1, "x"),
        update("tool_call", toolCallId="a", title="A", status="completed"),
        update("tool_call", toolCallId="b", title="B", status="in_progress"),
        answer("agent", 1, {"stopReason": "cancelled"}),
    )
    calls = [item.facts.status for item in conversation.items if isinstance(item, ToolCallItem)]
    assert calls == ["completed", "cancelled"]


def test_what_surrounds_a_conversation_is_kept_beside_it() -> None:
    conversation = talk(
        ask("client", 1, "session/new", cwd="/"),
        answer("agent", 1, {"sessionId": "s1", "modes": {"currentModeId": "ask"}}),
        update("available_commands_update", availableCommands=[{"name": "x"}]),
        update("session_info_update", title="Title"),
        update("usage_update", used=1, size=2),
    )
    assert conversation.items == []
    assert conversation.info.current_mode == "ask"
    assert conversation.info.commands == [{"name": "x"}]
    assert conversation.info.title == "Title"


def test_a_mode_is_called_by_its_name_where_it_has_one() -> None:
    modes = [{"id": "bypassPermissions", "name": "Bypass permissions"}]
    conversation = talk(
        ask("client", 1, "session/new", cwd="/"),
        answer("agent", 1, {"sessionId": "s1", "modes": {"availableModes": modes}}),
        update("current_mode_update", currentModeId="bypassPermissions"),
        update("current_mode_update", currentModeId="other"),
    )
    texts = [item.text for item in conversation.items if isinstance(item, Notice)]
    assert texts == ["mode: Bypass permissions", "mode: other"]


def test_a_mode_that_is_an_option_too_changes_in_both_places() -> None:
    values = [{"value": "ask", "name": "Ask"}, {"value": "yolo", "name": "YOLO"}]
    option = {"id": "mode", "category": "mode", "currentValue": "ask", "options": values}
    conversation = talk(
        ask("client", 1, "session/new", cwd="/"),
        answer("agent", 1, {"sessionId": "s1", "configOptions": [option]}),
        update("current_mode_update", currentModeId="yolo"),
    )
    assert conversation.info.mode_name == "YOLO"
    assert conversation.info.config_options == [{**option, "currentValue": "yolo"}]


def test_an_update_that_nobody_knows_is_told_and_not_lost() -> None:
    (item,) = talk(update("brand_new")).items
    assert isinstance(item, Notice)
    assert "brand_new" in item.text


def test_sessions_do_not_mix() -> None:
    conversations = Conversations()
    for frame in frames(
        chunk("one", session="a"), chunk("two", session="b"), chunk("!", session="a")
    ):
        conversations.apply(frame)
    texts = [
        [item.text for item in c.items if isinstance(item, AgentMessage)]
        for c in conversations.sessions.values()
    ]
    assert texts == [["one!"], ["two"]]


wild = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
update_names = st.sampled_from(
    ["agent_message_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan",
     "current_mode_update", "available_commands_update", "session_info_update", "usage_update", "x"]
)  # fmt: skip
Message: TypeAlias = dict[str, object]


def optional(*members: str) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(members, wild | st.just("s")))


def as_update(name: str, members: dict[str, object]) -> Message:
    params = {"sessionId": "s", "update": {"sessionUpdate": name} | members}
    return {"method": "session/update", "params": params}


def as_call(method: str, params: dict[str, object]) -> Message:
    return {"id": 1, "method": method, "params": params}


def as_answer(result: object) -> Message:
    return {"id": 1, "result": result}


strange_updates = st.builds(
    as_update,
    update_names,
    optional("content", "toolCallId", "entries", "status", "title", "messageId", "locations"),
)
strange_calls = st.builds(
    as_call,
    st.sampled_from(
        ["session/prompt", "session/new", "session/request_permission", "session/set_mode"]
    ),
    optional("sessionId", "prompt", "toolCall", "options", "modeId"),
)
strange_answers = st.builds(as_answer, wild)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["client", "agent"]),
            strange_updates | strange_calls | strange_answers,
        ),
        max_size=8,
    )
)
def test_no_talk_is_too_strange_to_be_folded(said: list[tuple[str, dict[str, object]]]) -> None:
    conversations = Conversations()
    for side, message in said:
        raw = json.dumps({"jsonrpc": "2.0"} | message).encode()
        for frame in frames(("client" if side == "client" else "agent", raw)):
            conversations.apply(frame)
    for conversation in conversations.sessions.values():
        for item in conversation.items:
            if isinstance(item, AgentMessage | UserMessage | Thought):
                assert isinstance(item.text, str)


def test_a_session_is_restored_by_a_result_that_is_null() -> None:
    """Some agents of version 1 have nothing to say in it."""
    load = ask("client", 2, "session/load", sessionId="s1", cwd="/w")
    before = [prompt(1, "old"), answer("agent", 1, {"stopReason": "end_turn"})]
    conversation = talk(*before, load, chunk("again"), answer("agent", 2, None))
    assert (conversation.info.opened_by, conversation.info.cwd) == ("session/load", "/w")
    assert kinds(conversation) == ["AgentMessage"]
