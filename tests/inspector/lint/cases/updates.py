"""Talks about session updates: which there are, and what belongs to them."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps

TEXT: dict[str, Any] = {"type": "text", "text": "Hello"}


def _tell(talk: Talk, **params: Any) -> None:
    talk.tell("session/update", side="agent", sessionId="s1", **params)


@breaks("malformed-update")
def an_update_is_an_array(talk: Talk) -> None:
    talk.open()
    _tell(talk, update=[])


@breaks("malformed-update", 2)
def an_update_lies_in_params(talk: Talk) -> None:
    talk.open()
    _tell(talk, sessionUpdate="session_info_update")


@breaks("malformed-update")
def a_variant_is_a_number(talk: Talk) -> None:
    talk.open()
    _tell(talk, update={"sessionUpdate": 7})


@keeps("malformed-update")
def an_update_is_tagged(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update")


@keeps("malformed-update", 2)
def an_update_of_version_2_is_tagged(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update")


@breaks("wrong-update-discriminator")
def an_update_is_tagged_by_type(talk: Talk) -> None:
    talk.open()
    _tell(talk, update={"type": "agent_message_chunk", "content": TEXT})


@breaks("wrong-update-discriminator")
def a_tool_call_is_wrapped(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call", content={"toolCallId": "t1", "title": "Read"})


@breaks("wrong-update-discriminator", 2)
def a_chunk_is_wrapped(talk: Talk) -> None:
    talk.open()
    talk.update("agent_message_chunk", messageId="m1", content={"content": TEXT})


@keeps("wrong-update-discriminator")
def a_tool_call_has_a_kind(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tool(kind="read", status="completed")
    talk.finish(prompt)


@keeps("wrong-update-discriminator", 2)
def a_chunk_has_a_type(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("unknown-update")
def a_variant_is_made_up(talk: Talk) -> None:
    talk.open()
    talk.update("_progress", percent=5)


@breaks("unknown-update")
def a_variant_is_unstable(talk: Talk) -> None:
    talk.open()
    talk.update("plan_removed", planId="p1")


@keeps("unknown-update")
def a_variant_is_one_of_version_1(talk: Talk) -> None:
    talk.open()
    talk.update("current_mode_update", currentModeId="ask")


@breaks("removed-update", 2)
def a_tool_call_is_announced_as_in_version_1(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call", toolCallId="t1", title="Read")


@keeps("removed-update", 2)
def a_tool_call_is_announced_by_an_update(talk: Talk) -> None:
    talk.open()
    talk.tool(status="completed")


@breaks("v2-update")
def a_state_is_told_in_version_1(talk: Talk) -> None:
    talk.open()
    talk.state("running")


@breaks("v2-update")
def a_message_is_told_as_a_whole_in_version_1(talk: Talk) -> None:
    talk.open()
    talk.update("agent_message", messageId="m1", content=[TEXT])


@keeps("v2-update")
def a_message_is_told_in_chunks(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("reserved-update", 2)
def a_variant_of_ones_own_has_no_underscore(talk: Talk) -> None:
    talk.open()
    talk.update("progress", percent=5)


@keeps("reserved-update", 2)
def a_variant_of_ones_own_has_an_underscore(talk: Talk) -> None:
    talk.open()
    talk.update("_progress", percent=5)


@breaks("invalid-update")
def a_current_mode_has_no_id(talk: Talk) -> None:
    talk.open()
    talk.update("current_mode_update")


@breaks("invalid-update", 2)
def a_known_state_lacks_what_belongs_to_it(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call_update", title="Read")


@keeps("invalid-update")
def a_usage_has_size_and_cost(talk: Talk) -> None:
    talk.open()
    talk.update("usage_update", used=10, size=100, cost={"amount": 0.1, "currency": "EUR"})


@keeps("invalid-update", 2)
def a_state_of_ones_own_is_allowed(talk: Talk) -> None:
    talk.open()
    talk.update("_terminal_output", terminalId="t1")
    talk.update("session_info_update", title="A")


@breaks("chunk-content-list")
def a_chunk_is_a_list(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.update("agent_message_chunk", content=[TEXT])
    talk.finish(prompt)


@breaks("chunk-content-list", 2)
def a_chunk_of_version_2_is_a_list(talk: Talk) -> None:
    talk.open()
    talk.update("agent_thought_chunk", messageId="m1", content=[TEXT])


@keeps("chunk-content-list")
def a_chunk_is_one_block(talk: Talk) -> None:
    talk.open()
    talk.turn()


@keeps("chunk-content-list", 2)
def a_chunk_of_version_2_is_one_block(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("message-content-not-list", 2)
def a_whole_message_is_one_block(talk: Talk) -> None:
    talk.open()
    talk.update("agent_message", messageId="m1", content=TEXT)


@breaks("message-content-not-list", 2)
def a_whole_message_is_a_string(talk: Talk) -> None:
    talk.open()
    talk.update("agent_thought", messageId="m1", content="Hello")


@keeps("message-content-not-list", 2)
def a_whole_message_is_cleared(talk: Talk) -> None:
    talk.open()
    talk.update("agent_message", messageId="m1", content=None)
    talk.update("agent_message", messageId="m1", content=[])


@breaks("empty-chunk")
def a_chunk_has_no_text(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.say("")
    talk.finish(prompt)


@breaks("empty-chunk", 2)
def a_chunk_of_version_2_has_no_text(talk: Talk) -> None:
    talk.open()
    talk.say("")


@keeps("empty-chunk")
def a_chunk_is_a_space(talk: Talk) -> None:
    talk.open()
    talk.turn()
    prompt = talk.prompt()
    talk.say(" ")
    talk.finish(prompt)


@keeps("empty-chunk", 2)
def a_chunk_is_a_line_feed(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.say("\n")
    talk.state("idle", stopReason="end_turn")
