"""Talks about sessions that are known or not."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


def _load(talk: Talk) -> None:
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]))


def _resume(talk: Talk) -> None:
    resume = talk.ask("session/resume", sessionId="s1", cwd=CWD)
    talk.state("idle")
    talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("duplicate-session-id")
def two_sessions_have_one_id(talk: Talk) -> None:
    talk.open()
    talk.new_session("s1")


@breaks("duplicate-session-id", 2)
def a_new_session_has_the_id_of_a_listed_one(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s1", "cwd": CWD}])
    talk.new_session("s1")


@keeps("duplicate-session-id")
def a_new_session_is_listed_before_it_is_answered(talk: Talk) -> None:
    talk.initialize()
    new = talk.ask("session/new", cwd=CWD, mcpServers=[])
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s1", "cwd": CWD}])
    talk.answer(new, sessionId="s1")


@keeps("duplicate-session-id", 2)
def two_sessions_have_two_ids(talk: Talk) -> None:
    talk.open("s1")
    talk.new_session("S1")


@breaks("unknown-session")
def a_prompt_names_an_unknown_session(talk: Talk) -> None:
    talk.open("s1")
    talk.prompt(session="s2")


@breaks("unknown-session", 2)
def a_prompt_names_a_session_that_was_only_listed(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s1", "cwd": CWD}])
    talk.prompt()


@keeps("unknown-session")
def a_loaded_session_is_used(talk: Talk) -> None:
    talk.initialize()
    _load(talk)
    talk.turn()


@keeps("unknown-session", 2)
def a_resumed_session_is_used(talk: Talk) -> None:
    talk.initialize()
    _resume(talk)
    talk.turn()


@breaks("agent-names-unknown-session")
def an_update_names_an_unknown_session(talk: Talk) -> None:
    talk.open("s1")
    talk.update("session_info_update", "s2", title="A")


@breaks("agent-names-unknown-session")
def an_early_update_is_about_another_session(talk: Talk) -> None:
    talk.initialize()
    new = talk.ask("session/new", cwd=CWD, mcpServers=[])
    talk.update("session_info_update", "s2", title="A")
    talk.answer(new, sessionId="s1")


@breaks("agent-names-unknown-session", 2)
def permission_is_asked_for_an_unknown_session(talk: Talk) -> None:
    talk.open("s1")
    talk.permission(sessionId="s2")


@keeps("agent-names-unknown-session")
def an_early_update_is_about_the_new_session(talk: Talk) -> None:
    talk.initialize()
    new = talk.ask("session/new", cwd=CWD, mcpServers=[])
    talk.update("session_info_update", "s1", title="A")
    talk.answer(new, sessionId="s1")


@keeps("agent-names-unknown-session", 2)
def two_sessions_are_created_at_once(talk: Talk) -> None:
    talk.initialize()
    lists: dict[str, Any] = {"configOptions": [], "availableCommands": []}
    first, second = talk.ask("session/new", cwd=CWD), talk.ask("session/new", cwd=CWD)
    talk.update("session_info_update", "s2", title="A")
    talk.answer(first, {"sessionId": "s1"} | lists)
    talk.answer(second, {"sessionId": "s2"} | lists)


@breaks("agent-names-unknown-session")
def an_agent_works_in_a_session_that_was_only_listed(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s9", "cwd": "/home/ada"}])
    talk.say(session="s9")


@keeps("agent-names-unknown-session")
def an_agent_tells_of_a_session_that_was_listed(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s9", "cwd": "/home/ada"}])
    talk.update("session_info_update", "s9", title="New")
