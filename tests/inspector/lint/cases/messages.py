"""Talks about the ids of messages."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

TEXT: dict[str, Any] = {"type": "text", "text": "Hello"}


def _chunk(talk: Talk, id_: str | None, role: str = "agent_message", text: str = "Hello") -> None:
    members = {} if id_ is None else {"messageId": id_}
    talk.update(f"{role}_chunk", content={"type": "text", "text": text}, **members)


def _chunks(talk: Talk, *ids: str | None) -> None:
    """Have a turn of version 1 with these chunks."""
    prompt = talk.prompt()
    for id_ in ids:
        _chunk(talk, id_)
    talk.finish(prompt)


@breaks("missing-message-id", 2)
def a_chunk_has_no_id(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    _chunk(talk, None)


@breaks("missing-message-id", 2)
def the_id_of_a_message_is_null(talk: Talk) -> None:
    talk.open()
    talk.update("agent_message", messageId=None, content=[TEXT])


@keeps("missing-message-id", 2)
def every_chunk_has_an_id(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("message-id-changes-role")
def a_thought_and_a_message_have_one_id(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    _chunk(talk, "m1", "agent_thought")
    _chunk(talk, "m1")
    talk.finish(prompt)


@keeps("message-id-changes-role")
def a_thought_and_a_message_have_two_ids(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    _chunk(talk, "m1", "agent_thought")
    _chunk(talk, "m2")
    _chunk(talk, "m2")
    talk.finish(prompt)


@breaks("older-message-continued")
def a_message_goes_on_after_another(talk: Talk) -> None:
    talk.open()
    _chunks(talk, "m1", "m2", "m1")


@keeps("older-message-continued")
def a_message_goes_on_after_a_thought(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    _chunk(talk, "m1")
    _chunk(talk, "m2", "agent_thought")
    _chunk(talk, "m1")
    talk.finish(prompt)


@breaks("inconsistent-message-ids")
def an_id_comes_and_goes(talk: Talk) -> None:
    talk.open()
    _chunks(talk, "m1", None, "m1")


@keeps("inconsistent-message-ids")
def only_thoughts_have_ids(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    _chunk(talk, "m1", "agent_thought")
    _chunk(talk, None)
    _chunk(talk, None)
    talk.finish(prompt)


@breaks("client-message-id")
def a_prompt_brings_an_id(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", prompt=[TEXT], messageId="m1")


@breaks("client-message-id", 2)
def a_prompt_of_version_2_brings_an_id(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", sessionId="s1", prompt=[TEXT], messageId="m1")


@keeps("client-message-id")
def a_prompt_brings_an_id_of_its_own_in_meta(talk: Talk) -> None:
    talk.open()
    prompt = talk.ask(
        "session/prompt", sessionId="s1", prompt=[TEXT], _meta={"a.example/messageId": "m1"}
    )
    talk.finish(prompt)


@keeps("client-message-id", 2)
def a_prompt_is_answered_with_an_id(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("reused-message-id")
def an_id_comes_again_in_the_next_turn(talk: Talk) -> None:
    talk.open()
    _chunks(talk, "m1")
    _chunks(talk, "m1")


@breaks("reused-message-id", 2)
def two_prompts_become_one_message(talk: Talk) -> None:
    talk.open()
    talk.turn()
    talk.turn()


@keeps("reused-message-id")
def an_id_comes_again_in_a_replay(talk: Talk) -> None:
    talk.open()
    _chunks(talk, "m1", "m1")
    load = talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])
    _chunk(talk, "u1", "user_message")
    _chunk(talk, "m1")
    talk.answer(load)


@keeps("reused-message-id", 2)
def a_prompt_and_its_answer_have_one_id(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt(), "m1")
    talk.say(messageId="m1")
    talk.state("idle", stopReason="end_turn")


@breaks("reordered-updates", 2)
def a_piece_overtakes_its_message(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    _chunk(talk, "m1", text=" is the answer.")
    talk.update("agent_message", messageId="m1", content=[{"type": "text", "text": "This"}])


@breaks("reordered-updates")
def an_update_overtakes_its_tool_call(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.update("tool_call_update", toolCallId="t1", status="in_progress")
    talk.tool("t1", status="completed")
    talk.finish(prompt)


@keeps("reordered-updates", 2)
def a_message_is_told_again_as_a_whole(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    for text in ("This", " is it."):
        _chunk(talk, "m1", text=text)
    talk.update("agent_message", messageId="m1", content=[{"type": "text", "text": "This is it."}])
    talk.state("idle", stopReason="end_turn")


@keeps("reordered-updates")
def an_update_follows_its_tool_call(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    talk.tool("t1")
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.finish(prompt)
