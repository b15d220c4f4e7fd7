"""Talks in which version 2 is agreed upon, or not."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import TOOL, Call, Talk, breaks, keeps


def ask(talk: Talk, version: int) -> Call:
    """Ask for a version, in the shape of version 2."""
    return talk.ask("initialize", protocolVersion=version, capabilities={}, info=TOOL)


def agree(talk: Talk, call: Call, version: int) -> None:
    """Answer a version in the shape of version 2."""
    talk.answer(call, protocolVersion=version, capabilities={"session": {}}, info=TOOL)


def refuse(talk: Talk, call: Call, **data: Any) -> None:
    """Refuse a version."""
    talk.refuse(call, -32022, "Unsupported protocol version", data)


@breaks("unusable-request-id", 2)
def a_request_has_no_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", {"id": None, "method": "session/list", "params": {}})


@keeps("unusable-request-id", 2)
def a_request_has_the_id_0(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/list", id_=""), sessions=[])


@breaks("wrong-version-answered", 2)
def a_version_is_rounded_up(talk: Talk) -> None:
    agree(talk, ask(talk, 1), 2)


@breaks("wrong-version-answered", 2)
def a_version_is_rounded_down_too_far(talk: Talk) -> None:
    agree(talk, ask(talk, 3), 3)
    agree(talk, ask(talk, 4), 2)


@keeps("wrong-version-answered", 2)
def a_version_is_rounded_down(talk: Talk) -> None:
    agree(talk, ask(talk, 3), 2)


@breaks("unsupported-version-accepted", 2)
def a_version_is_exchanged_for_another(talk: Talk) -> None:
    agree(talk, ask(talk, 1), 2)


@keeps("unsupported-version-accepted", 2)
def a_version_is_refused(talk: Talk) -> None:
    refuse(talk, ask(talk, 1), requested=1, supported=[2])
    agree(talk, ask(talk, 2), 2)


@breaks("incomplete-version-error", 2)
def a_refusal_says_nothing(talk: Talk) -> None:
    talk.refuse(ask(talk, 1), -32022, "Unsupported protocol version")


@breaks("incomplete-version-error", 2)
def a_refusal_names_another_version(talk: Talk) -> None:
    refuse(talk, ask(talk, 1), requested=2, supported=[2])


@breaks("incomplete-version-error", 2)
def a_refusal_supports_words(talk: Talk) -> None:
    refuse(talk, ask(talk, 1), requested=1, supported="2")


@breaks("incomplete-version-error", 2)
def a_refusal_supports_what_was_asked_for(talk: Talk) -> None:
    refuse(talk, ask(talk, 2), requested=2, supported=[1, 3])


@keeps("incomplete-version-error", 2)
def a_refusal_supports_what_is_newer(talk: Talk) -> None:
    refuse(talk, ask(talk, 1), requested=1, supported=[2, 3])
    agree(talk, ask(talk, 2), 2)


@breaks("late-initialize", 2)
def a_version_is_agreed_upon_after_a_session(talk: Talk) -> None:
    talk.open()
    talk.refuse(ask(talk, 2), -32600)


@breaks("late-initialize", 2)
def a_lower_version_is_asked_for_later(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(ask(talk, 1), -32600)


@keeps("late-initialize", 2)
def a_version_is_agreed_upon_twice(talk: Talk) -> None:
    talk.initialize()
    talk.open()


@breaks("not-found-without-session", 2)
def a_missing_session_is_not_named(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("session/resume", sessionId="s9", cwd="/home/ada/work")
    talk.refuse(call, -32002, "Resource not found")


@breaks("not-found-without-session", 2)
def a_missing_session_is_named_wrongly(talk: Talk) -> None:
    talk.open()
    call = talk.ask("session/delete", sessionId="s9")
    talk.refuse(call, -32002, "Resource not found", {"sessionId": "s1"})


@breaks("not-found-without-session", 2)
def the_missing_session_of_a_prompt_is_not_named(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/close", sessionId="s1"))
    talk.refuse(talk.prompt(), -32002, "Resource not found")


@keeps("not-found-without-session", 2)
def a_missing_session_is_named(talk: Talk) -> None:
    talk.open()
    call = talk.ask("session/resume", sessionId="s9", cwd="/home/ada/work")
    talk.refuse(call, -32002, "Resource not found", {"sessionId": "s9"})
