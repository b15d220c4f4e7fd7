"""Talks about session methods that the agent did not claim."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


@breaks("undeclared-session-load")
def a_session_is_loaded_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": False})
    talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])


@keeps("undeclared-session-load")
def a_session_is_loaded_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": True})
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]))


@breaks("undeclared-session-resume")
def a_session_is_resumed_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": True, "sessionCapabilities": {"resume": None}})
    talk.ask("session/resume", sessionId="s1", cwd=CWD)


@keeps("undeclared-session-resume")
def a_session_is_resumed_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"resume": {}}})
    talk.answer(talk.ask("session/resume", sessionId="s1", cwd=CWD))


@breaks("undeclared-session-list")
def sessions_are_listed_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {}})
    talk.ask("session/list")


@keeps("undeclared-session-list")
def sessions_are_listed_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"list": {}}})
    talk.answer(talk.ask("session/list"), sessions=[])


@breaks("undeclared-session-close")
def a_session_is_closed_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"resume": {}}})
    talk.new_session()
    talk.ask("session/close", sessionId="s1")


@keeps("undeclared-session-close")
def a_session_is_closed_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"close": {}}})
    talk.new_session()
    talk.answer(talk.ask("session/close", sessionId="s1"))


@breaks("undeclared-session-delete")
def a_session_is_deleted_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"list": {}}})
    talk.ask("session/delete", sessionId="s1")


@keeps("undeclared-session-delete")
def a_session_is_deleted_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"delete": {}}})
    talk.answer(talk.ask("session/delete", sessionId="s1"))


@breaks("undeclared-session-delete", 2)
def a_session_is_deleted_though_only_sessions_were_claimed(talk: Talk) -> None:
    talk.initialize({}, {"session": {}})
    talk.ask("session/delete", sessionId="s1")


@keeps("undeclared-session-delete", 2)
def a_session_is_deleted_by_an_agent_that_claims_it(talk: Talk) -> None:
    talk.initialize({}, {"session": {"delete": {}}})
    talk.answer(talk.ask("session/delete", sessionId="s1"))


@breaks("undeclared-session-fork", unstable=True)
def a_session_is_forked_without_the_capability(talk: Talk) -> None:
    talk.open()
    talk.ask("session/fork", sessionId="s1", cwd=CWD, mcpServers=[])


@keeps("undeclared-session-fork", unstable=True)
def a_session_is_forked_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"fork": {}}})
    talk.new_session()
    talk.answer(talk.ask("session/fork", sessionId="s1", cwd=CWD, mcpServers=[]), sessionId="s2")


@breaks("undeclared-session-fork", 2, unstable=True)
def a_session_is_forked_though_only_sessions_were_claimed(talk: Talk) -> None:
    talk.open()
    talk.ask("session/fork", sessionId="s1", cwd=CWD)


@keeps("undeclared-session-fork", 2, unstable=True)
def a_session_is_forked_by_an_agent_that_claims_it(talk: Talk) -> None:
    talk.initialize({}, {"session": {"fork": {}}})
    talk.new_session()
    talk.answer(
        talk.ask("session/fork", sessionId="s1", cwd=CWD),
        sessionId="s2",
        configOptions=[],
        availableCommands=[],
    )


@breaks("undeclared-sessions", 2)
def a_session_is_created_by_an_agent_without_sessions(talk: Talk) -> None:
    talk.initialize({}, {})
    talk.ask("session/new", cwd=CWD)


@breaks("undeclared-sessions", 2)
def sessions_are_listed_though_they_are_null(talk: Talk) -> None:
    talk.initialize({}, {"session": None})
    talk.ask("session/list")


@keeps("undeclared-sessions", 2)
def an_empty_object_claims_sessions(talk: Talk) -> None:
    talk.initialize({}, {"session": {}})
    talk.new_session()
    talk.answer(talk.ask("session/list"), sessions=[])


@breaks("undeclared-session-load")
def a_boolean_is_claimed_by_an_object(talk: Talk) -> None:
    talk.initialize(None, {"loadSession": {}})
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]))


@breaks("undeclared-session-delete", 2)
def a_marker_is_claimed_by_true(talk: Talk) -> None:
    talk.initialize(None, {"session": {"delete": True}})
    talk.answer(talk.ask("session/delete", sessionId="s1"))
