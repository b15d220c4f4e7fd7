"""Talks whose agent sends a text again after its pieces."""

from __future__ import annotations

from tests.inspector.lint.talk import Talk, breaks, keeps

PIECES = ("The file has ", "two functions, ", "and neither is used.")


def _say(talk: Talk, *pieces: str) -> None:
    """Have a turn with these pieces of the agent's message."""
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    for piece in pieces:
        talk.say(piece)
    if talk.version == 2:
        talk.state("idle", stopReason="end_turn")
    else:
        talk.finish(prompt)


@breaks("repeated-message-text")
def the_whole_reply_follows_its_pieces(talk: Talk) -> None:
    talk.open()
    _say(talk, *PIECES, "".join(PIECES))


@breaks("repeated-message-text")
def what_was_said_since_a_tool_call_is_said_again(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    if talk.version == 2:
        talk.accept(prompt)
    talk.say("Let me look. ")
    talk.tool()
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    for piece in (*PIECES, "".join(PIECES)):
        talk.say(piece)
    if talk.version == 2:
        talk.state("idle", stopReason="end_turn")
    else:
        talk.finish(prompt)


@breaks("repeated-message-text")
def each_chunk_has_all_of_the_text_before_it(talk: Talk) -> None:
    talk.open()
    _say(talk, *("".join(PIECES[:count]) for count in (1, 2, 3)))


@keeps("repeated-message-text")
def each_chunk_is_the_next_piece(talk: Talk) -> None:
    talk.open()
    _say(talk, *PIECES)


@keeps("repeated-message-text")
def a_short_word_is_said_twice(talk: Talk) -> None:
    talk.open()
    _say(talk, "ha", "ha", "haha", "ha", "haha", "hahaha")


@keeps("repeated-message-text")
def the_same_reply_is_given_to_another_prompt(talk: Talk) -> None:
    talk.open()
    _say(talk, *PIECES)
    _say(talk, "".join(PIECES))
