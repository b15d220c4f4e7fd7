"""Talks about session methods that the agent did not claim."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


@breaks("ACP-L103")
def a_session_is_loaded_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": False})
    talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[])


@keeps("ACP-L103")
def a_session_is_loaded_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": True})
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]))


@breaks("ACP-L104")
def a_session_is_resumed_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"loadSession": True, "sessionCapabilities": {"resume": None}})
    talk.ask("session/resume", sessionId="s1", cwd=CWD)


@keeps("ACP-L104")
def a_session_is_resumed_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"resume": {}}})
    talk.answer(talk.ask("session/resume", sessionId="s1", cwd=CWD))


@breaks("ACP-L105")
def sessions_are_listed_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {}})
    talk.ask("session/list")


@keeps("ACP-L105")
def sessions_are_listed_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"list": {}}})
    talk.answer(talk.ask("session/list"), sessions=[])


@breaks("ACP-L106")
def a_session_is_closed_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"resume": {}}})
    talk.new_session()
    talk.ask("session/close", sessionId="s1")


@keeps("ACP-L106")
def a_session_is_closed_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"close": {}}})
    talk.new_session()
    talk.answer(talk.ask("session/close", sessionId="s1"))


@breaks("ACP-L107")
def a_session_is_deleted_without_the_capability(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"list": {}}})
    talk.ask("session/delete", sessionId="s1")


@keeps("ACP-L107")
def a_session_is_deleted_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"delete": {}}})
    talk.answer(talk.ask("session/delete", sessionId="s1"))


@breaks("ACP-L107", 2)
def a_session_is_deleted_though_only_sessions_were_claimed(talk: Talk) -> None:
    talk.initialize({}, {"session": {}})
    talk.ask("session/delete", sessionId="s1")


@keeps("ACP-L107", 2)
def a_session_is_deleted_by_an_agent_that_claims_it(talk: Talk) -> None:
    talk.initialize({}, {"session": {"delete": {}}})
    talk.answer(talk.ask("session/delete", sessionId="s1"))


@breaks("ACP-L108", unstable=True)
def a_session_is_forked_without_the_capability(talk: Talk) -> None:
    talk.open()
    talk.ask("session/fork", sessionId="s1", cwd=CWD, mcpServers=[])


@keeps("ACP-L108", unstable=True)
def a_session_is_forked_by_an_agent_that_can(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"fork": {}}})
    talk.new_session()
    talk.answer(talk.ask("session/fork", sessionId="s1", cwd=CWD, mcpServers=[]), sessionId="s2")


@breaks("ACP-L108", 2, unstable=True)
def a_session_is_forked_though_only_sessions_were_claimed(talk: Talk) -> None:
    talk.open()
    talk.ask("session/fork", sessionId="s1", cwd=CWD)


@keeps("ACP-L108", 2, unstable=True)
def a_session_is_forked_by_an_agent_that_claims_it(talk: Talk) -> None:
    talk.initialize({}, {"session": {"fork": {}}})
    talk.new_session()
    talk.answer(
        talk.ask("session/fork", sessionId="s1", cwd=CWD),
        sessionId="s2",
        configOptions=[],
        availableCommands=[],
    )


@breaks("ACP-L109", 2)
def a_session_is_created_by_an_agent_without_sessions(talk: Talk) -> None:
    talk.initialize({}, {})
    talk.ask("session/new", cwd=CWD)


@breaks("ACP-L109", 2)
def sessions_are_listed_though_they_are_null(talk: Talk) -> None:
    talk.initialize({}, {"session": None})
    talk.ask("session/list")


@keeps("ACP-L109", 2)
def an_empty_object_claims_sessions(talk: Talk) -> None:
    talk.initialize({}, {"session": {}})
    talk.new_session()
    talk.answer(talk.ask("session/list"), sessions=[])


@breaks("ACP-L103")
def a_boolean_is_claimed_by_an_object(talk: Talk) -> None:
    talk.initialize(None, {"loadSession": {}})
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]))


@breaks("ACP-L107", 2)
def a_marker_is_claimed_by_true(talk: Talk) -> None:
    talk.initialize(None, {"session": {"delete": True}})
    talk.answer(talk.ask("session/delete", sessionId="s1"))
