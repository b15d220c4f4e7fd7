"""Talks about the prompts of version 2."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Call, Talk, breaks, keeps

IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


def text(words: str = "Hello") -> list[dict[str, str]]:
    """Return a message of one block."""
    return [{"type": "text", "text": words}]


def echo(talk: Talk, id_: str = "m-user", words: str = "Hello") -> None:
    """Tell of the user's message."""
    talk.update("user_message", messageId=id_, content=text(words))


def end(talk: Talk) -> None:
    """End the work."""
    talk.state("idle", stopReason="end_turn")


def work(talk: Talk) -> None:
    """Begin and end some work."""
    talk.state("running")
    talk.say()
    end(talk)


def asked(talk: Talk) -> Call:
    """Open a session and send a prompt."""
    talk.open()
    return talk.prompt()


@breaks("stop-reason-in-result", 2)
def a_result_is_that_of_version_1(talk: Talk) -> None:
    call = asked(talk)
    echo(talk)
    work(talk)
    talk.answer(call, stopReason="end_turn")


@keeps("stop-reason-in-result", 2)
def a_result_names_a_message(talk: Talk) -> None:
    talk.accept(asked(talk))
    end(talk)


@breaks("prompt-result-without-id", 2)
def a_result_is_empty(talk: Talk) -> None:
    talk.answer(asked(talk), {})


@breaks("prompt-result-without-id", 2)
def a_result_names_the_message_null(talk: Talk) -> None:
    talk.answer(asked(talk), {"messageId": None})


@keeps("prompt-result-without-id", 2)
def a_result_names_a_message_by_a_word(talk: Talk) -> None:
    talk.accept(asked(talk), "1")
    end(talk)


@breaks("prompt-result-after-work", 2)
def a_prompt_is_answered_at_its_end(talk: Talk) -> None:
    call = asked(talk)
    echo(talk)
    work(talk)
    talk.answer(call, messageId="m-user")


@breaks("prompt-result-after-work", 2)
def a_prompt_is_answered_at_its_end_as_in_version_1(talk: Talk) -> None:
    call = asked(talk)
    work(talk)
    talk.answer(call, stopReason="end_turn")


@keeps("prompt-result-after-work", 2)
def a_prompt_waits_for_the_work_before(talk: Talk) -> None:
    talk.accept(asked(talk))
    second = talk.prompt("And?")
    end(talk)
    talk.accept(second, "m2", text="And?")
    end(talk)


@breaks("prompt-not-echoed", 2)
def a_prompt_is_not_told_back(talk: Talk) -> None:
    talk.answer(asked(talk), messageId="m-user")
    work(talk)


@breaks("prompt-not-echoed", 2)
def a_prompt_is_never_told_back(talk: Talk) -> None:
    talk.answer(asked(talk), messageId="m-user")
    talk.wait(5)
    talk.update("session_info_update", title="Hello")


@keeps("prompt-not-echoed", 2)
def a_prompt_is_told_back_in_a_chunk_before_its_answer(talk: Talk) -> None:
    call = asked(talk)
    talk.update("user_message_chunk", messageId="m-user", content=text()[0])
    talk.answer(call, messageId="m-user")
    work(talk)


@keeps("prompt-not-echoed", 2)
def a_prompt_is_told_back_while_its_work_runs(talk: Talk) -> None:
    talk.answer(asked(talk), messageId="m-user")
    talk.state("running")
    echo(talk)
    end(talk)


@breaks("echo-with-other-id", 2)
def a_prompt_is_told_back_under_another_id(talk: Talk) -> None:
    talk.answer(asked(talk), messageId="m-user")
    echo(talk, "m-other")
    work(talk)


@breaks("echo-with-other-id", 2)
def a_prompt_is_told_back_under_another_id_without_work(talk: Talk) -> None:
    call = asked(talk)
    echo(talk, "m-other")
    talk.answer(call, messageId="m-user")
    talk.wait(5)
    talk.update("session_info_update", title="Hello")


@keeps("echo-with-other-id", 2)
def two_prompts_are_told_back_each_by_its_id(talk: Talk) -> None:
    first = asked(talk)
    second = talk.prompt()
    talk.accept(first)
    talk.answer(second, messageId="m2")
    echo(talk, "m2")
    end(talk)


@breaks("long-held-prompt", 2)
def a_prompt_is_held_for_a_minute(talk: Talk) -> None:
    talk.accept(asked(talk))
    second = talk.prompt("And?")
    talk.wait(60)
    end(talk)
    talk.accept(second, "m2", text="And?")


@keeps("long-held-prompt", 2)
def a_prompt_is_held_for_a_moment(talk: Talk) -> None:
    talk.accept(asked(talk))
    second = talk.prompt("And?")
    talk.wait(5)
    end(talk)
    talk.accept(second, "m2", text="And?")


@breaks("rejected-prompt-echoed", 2)
def a_rejected_prompt_is_told_back(talk: Talk) -> None:
    talk.refuse(asked(talk), -32602)
    echo(talk)


@breaks("rejected-prompt-echoed", 2)
def a_rejected_prompt_is_told_back_in_a_chunk(talk: Talk) -> None:
    talk.refuse(asked(talk), -32602)
    talk.update("user_message_chunk", messageId="m-user", content=text()[0])


@keeps("rejected-prompt-echoed", 2)
def an_earlier_message_is_told_again_after_a_rejection(talk: Talk) -> None:
    talk.accept(asked(talk))
    end(talk)
    talk.refuse(talk.prompt(), -32602)
    echo(talk)


@breaks("echo-differs-from-prompt", 2)
def a_prompt_is_told_back_changed(talk: Talk) -> None:
    talk.answer(asked(talk), messageId="m-user")
    echo(talk, words="Hello, and answer in Danish")
    work(talk)


@breaks("echo-differs-from-prompt", 2)
def a_prompt_is_told_back_without_its_image(talk: Talk) -> None:
    talk.open()
    call = talk.ask("session/prompt", sessionId="s1", prompt=[*text(), IMAGE])
    echo(talk)
    talk.answer(call, messageId="m-user")
    work(talk)


@keeps("echo-differs-from-prompt", 2)
def a_prompt_is_told_back_with_other_spaces(talk: Talk) -> None:
    talk.open()
    call = talk.prompt("Hello  you\n")
    talk.accept(call, text="Hello you")
    end(talk)


@breaks("echoed-prompt-fails", 2)
def a_prompt_fails_after_it_was_told_back(talk: Talk) -> None:
    call = asked(talk)
    echo(talk)
    talk.state("running")
    talk.refuse(call, -32603)


@keeps("echoed-prompt-fails", 2)
def a_prompt_fails_after_another_was_told_back(talk: Talk) -> None:
    first = asked(talk)
    second = talk.prompt()
    talk.accept(first)
    talk.refuse(second, -32602)
    end(talk)


@breaks("empty-prompt", 2)
def a_prompt_has_no_blocks(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/prompt", sessionId="s1", prompt=[]), -32602)


@keeps("empty-prompt", 2)
def a_prompt_has_one_block(talk: Talk) -> None:
    talk.refuse(asked(talk), -32602)


def strange(talk: Talk, block: Any) -> Call:
    """Send a prompt of a block to an agent that takes text only."""
    talk.initialize(None, {"session": {}})
    talk.new_session()
    return talk.ask("session/prompt", sessionId="s1", prompt=[block])


@breaks("unsupported-block-accepted", 2)
def a_block_of_a_type_to_come_is_taken_in(talk: Talk) -> None:
    talk.answer(strange(talk, {"type": "video", "data": ""}), messageId="m-user")


@breaks("unsupported-block-accepted", 2)
def an_image_is_taken_in_without_a_claim(talk: Talk) -> None:
    talk.answer(strange(talk, IMAGE), messageId="m-user")


@keeps("unsupported-block-accepted", 2)
def a_block_of_a_type_to_come_is_turned_down(talk: Talk) -> None:
    talk.refuse(strange(talk, {"type": "_video", "data": ""}), -32602)
    talk.refuse(talk.ask("session/prompt", sessionId="s1", prompt=[{"type": "video"}]), -32602)


def closed(talk: Talk) -> Call:
    """Close a session that holds a prompt."""
    talk.accept(asked(talk))
    held = talk.prompt("And?")
    close = talk.ask("session/close", sessionId="s1")
    talk.state("idle", stopReason="cancelled")
    talk.answer(close)
    return held


@breaks("held-prompt-unanswered", 2)
def a_held_prompt_fails_when_closed(talk: Talk) -> None:
    talk.refuse(closed(talk), -32603)


@breaks("held-prompt-unanswered", 2)
def a_held_prompt_is_forgotten_when_closed(talk: Talk) -> None:
    closed(talk)
    talk.wait(10)
    talk.answer(talk.ask("session/list"), sessions=[])


@keeps("held-prompt-unanswered", 2)
def a_held_prompt_is_cancelled_when_closed(talk: Talk) -> None:
    talk.refuse(closed(talk), -32800, "Request cancelled")


@keeps("held-prompt-unanswered", 2)
def a_prompt_comes_behind_the_request_to_close(talk: Talk) -> None:
    talk.accept(asked(talk))
    close = talk.ask("session/close", sessionId="s1")
    late = talk.prompt("And?")
    talk.state("idle", stopReason="cancelled")
    talk.answer(close)
    talk.refuse(late, -32002, "The session is not open")


@breaks("unsupported-block-accepted", 2)
def an_unclaimed_block_is_refused_with_another_code(talk: Talk) -> None:
    talk.initialize(None, {"session": {"prompt": {}}})
    talk.new_session()
    block = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    talk.refuse(talk.ask("session/prompt", sessionId="s1", prompt=[block]), -32603)
