"""Talks about next edit suggestions, as they were before 2026-11."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

EVENTS = {"didOpen": {}, "didChange": {"syncKind": "full"}, "didClose": {}, "didFocus": {}}
NES: dict[str, Any] = {"events": {"document": EVENTS}, "context": {"recentFiles": {"maxCount": 1}}}
URI = f"file://{CWD}/a.py"
EDIT: dict[str, Any] = {"kind": "edit", "id": "e1", "suggestionId": "e1", "uri": URI, "edits": []}
HERE = {"line": 0, "character": 0}
THERE = {"line": 2, "character": 1}


def opened(talk: Talk, nes: Any = None, client: Any = None, /, **claims: Any) -> None:
    """Begin a session for suggestions."""
    asked = {"terminal": True} if client is None else client
    agent: dict[str, Any] = {"session": {}} if talk.version == 2 else {"loadSession": True}
    talk.initialize(
        asked if talk.version == 1 else {"nes": {}}, agent | {"nes": nes or NES} | claims
    )
    talk.answer(talk.ask("nes/start"), sessionId="n1")


def suggest(talk: Talk, *suggestions: dict[str, Any], session: str = "n1", **members: Any) -> None:
    """Ask for suggestions."""
    asked = {"sessionId": session, "uri": URI, "version": 1, "triggerKind": "manual"}
    call = talk.ask("nes/suggest", asked | {"position": HERE} | members)
    talk.answer(call, suggestions=list(suggestions))


@breaks("ACP-L389", unstable=True)
def suggestions_are_not_claimed(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(talk.ask("nes/start"), -32601)


@keeps("ACP-L389", unstable=True)
def suggestions_are_claimed(talk: Talk) -> None:
    opened(talk)


@breaks("ACP-L391", unstable=True)
def context_is_sent_that_nobody_wants(talk: Talk) -> None:
    opened(talk)
    suggest(talk, context={"openFiles": []})


@breaks("ACP-L391", unstable=True)
def more_context_is_sent_than_is_wanted(talk: Talk) -> None:
    opened(talk)
    suggest(talk, context={"recentFiles": [{}, {}]})


@keeps("ACP-L391", unstable=True)
def just_enough_context_is_sent(talk: Talk) -> None:
    opened(talk)
    suggest(talk, context={"recentFiles": [{}]})


@breaks("ACP-L392", unstable=True)
def a_jump_is_suggested_that_was_not_claimed(talk: Talk) -> None:
    opened(talk)
    suggest(talk, EDIT | {"kind": "jump"})


@keeps("ACP-L392", unstable=True)
def a_jump_is_suggested_that_was_claimed(talk: Talk) -> None:
    opened(talk, None, {"nes": {"jump": {}}})
    suggest(talk, EDIT | {"kind": "jump"})


@breaks("ACP-L393", unstable=True)
def a_chat_session_is_named(talk: Talk) -> None:
    opened(talk)
    talk.new_session()
    suggest(talk, session="s1")


@breaks("ACP-L393", unstable=True)
def a_closed_session_is_named(talk: Talk) -> None:
    opened(talk)
    talk.answer(talk.ask("nes/close", sessionId="n1"))
    suggest(talk)


@keeps("ACP-L393", unstable=True)
def a_session_for_suggestions_is_named(talk: Talk) -> None:
    opened(talk)
    suggest(talk)


@breaks("ACP-L396", unstable=True)
def a_suggestion_is_accepted_twice(talk: Talk) -> None:
    opened(talk)
    suggest(talk, EDIT)
    talk.tell("nes/accept", sessionId="n1", id="e1")
    talk.tell("nes/accept", sessionId="n1", id="e1")


@breaks("ACP-L396", 2, unstable=True)
def version_2_calls_it_suggestion_id(talk: Talk) -> None:
    opened(talk)
    suggest(talk, EDIT)
    talk.tell("nes/reject", sessionId="n1", id="e1")


@keeps("ACP-L396", unstable=True)
def a_suggestion_is_rejected_once(talk: Talk) -> None:
    opened(talk)
    suggest(talk, EDIT)
    talk.tell("nes/reject", sessionId="n1", id="e1")


@breaks("ACP-L397", unstable=True)
def an_encoding_was_not_offered(talk: Talk) -> None:
    opened(talk, None, {"positionEncodings": ["utf-16"]}, positionEncoding="utf-8")


@keeps("ACP-L397", unstable=True)
def an_encoding_was_offered(talk: Talk) -> None:
    opened(talk, None, {"positionEncodings": ["utf-16", "utf-8"]}, positionEncoding="utf-8")


@breaks("ACP-L398", unstable=True)
def a_range_ends_before_it_begins(talk: Talk) -> None:
    opened(talk)
    suggest(talk, EDIT | {"edits": [{"range": {"start": THERE, "end": HERE}, "newText": ""}]})


@breaks("ACP-L398", unstable=True)
def a_position_is_negative(talk: Talk) -> None:
    opened(talk)
    suggest(talk, position={"line": -1, "character": 0})


@keeps("ACP-L398", unstable=True)
def a_range_is_empty(talk: Talk) -> None:
    opened(talk)
    suggest(talk, EDIT | {"edits": [{"range": {"start": HERE, "end": HERE}, "newText": "a"}]})
