"""Talks about the directories of a session."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

OTHER = "/home/ada/notes"


def _new(talk: Talk, *roots: Any, **members: Any) -> Call:
    if roots:
        members["additionalDirectories"] = list(roots)
    return talk.ask("session/new", {"cwd": CWD, "mcpServers": []} | members)


def _created(talk: Talk, *roots: Any, **members: Any) -> None:
    lists: dict[str, Any] = (
        {"configOptions": [], "availableCommands": []} if talk.version == 2 else {}
    )
    talk.answer(_new(talk, *roots, **members), sessionId="s1", **lists)


@breaks("relative-cwd")
def the_directory_is_relative(talk: Talk) -> None:
    talk.initialize()
    _new(talk, cwd="work")


@breaks("relative-cwd")
def the_directory_is_missing(talk: Talk) -> None:
    talk.initialize()
    talk.ask("session/new", mcpServers=[])


@breaks("relative-cwd", 2)
def the_directory_is_a_uri(talk: Talk) -> None:
    talk.initialize()
    talk.ask("session/resume", sessionId="s1", cwd="file:///home/ada")


@keeps("relative-cwd")
def the_directory_is_on_a_share(talk: Talk) -> None:
    talk.initialize()
    _created(talk, cwd="\\\\server\\ada")


@keeps("relative-cwd", 2)
def the_directory_is_the_root(talk: Talk) -> None:
    talk.initialize()
    _created(talk, cwd="/")


@breaks("undeclared-additional-directories")
def directories_are_added_unclaimed(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {}})
    _new(talk, OTHER)


@breaks("undeclared-additional-directories", 2)
def directories_are_added_unclaimed_in_version_2(talk: Talk) -> None:
    talk.initialize({}, {"session": {}})
    _new(talk, OTHER)


@keeps("undeclared-additional-directories")
def directories_are_added_where_they_are_claimed(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"additionalDirectories": {}}})
    _created(talk, OTHER)


@keeps("undeclared-additional-directories", 2)
def directories_are_added_where_version_2_claims_them(talk: Talk) -> None:
    talk.initialize({}, {"session": {"additionalDirectories": {}}})
    _created(talk, OTHER)


@breaks("invalid-additional-directory")
def a_further_directory_is_relative(talk: Talk) -> None:
    talk.initialize()
    _new(talk, OTHER, "../notes")


@breaks("invalid-additional-directory")
def a_further_directory_is_empty(talk: Talk) -> None:
    talk.initialize()
    _new(talk, "")


@breaks("invalid-additional-directory", 2)
def further_directories_are_null(talk: Talk) -> None:
    talk.initialize()
    _new(talk, additionalDirectories=None)


@keeps("invalid-additional-directory")
def further_directories_are_an_empty_list(talk: Talk) -> None:
    talk.initialize({}, {})
    _created(talk, additionalDirectories=[])


@breaks("duplicate-additional-directory")
def a_directory_is_listed_twice(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, OTHER)


@breaks("duplicate-additional-directory", 2)
def the_cwd_is_listed_again(talk: Talk) -> None:
    talk.initialize()
    _created(talk, CWD)


@keeps("duplicate-additional-directory")
def a_directory_below_the_cwd_is_listed(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, f"{CWD}/below")


@breaks("invalid-directory-ignored")
def a_relative_directory_is_passed_over(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, "notes")


@breaks("invalid-directory-ignored", 2)
def an_empty_directory_is_passed_over(talk: Talk) -> None:
    talk.initialize()
    _created(talk, "")


@keeps("invalid-directory-ignored")
def sound_directories_are_granted(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER)


def _list(talk: Talk, *roots: str) -> None:
    session = {"sessionId": "s1", "cwd": CWD, "additionalDirectories": list(roots)}
    talk.answer(talk.ask("session/list"), sessions=[session])


@breaks("invalid-directory-ignored", 2)
def a_directory_is_left_out(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, "/srv")
    _list(talk, OTHER)


@keeps("invalid-directory-ignored", 2)
def a_directory_is_listed_once(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, OTHER, CWD)
    _list(talk, OTHER)


@breaks("session-cwd-changed")
def a_session_is_loaded_elsewhere(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=OTHER, mcpServers=[]))


@breaks("session-cwd-changed", 2)
def a_listed_session_is_resumed_elsewhere(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s1", "cwd": CWD}])
    talk.refuse(talk.ask("session/resume", sessionId="s1", cwd=OTHER), -32602)


@keeps("session-cwd-changed")
def a_session_is_loaded_where_it_was_with_a_slash(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=f"{CWD}/", mcpServers=[]))


@keeps("session-cwd-changed", 2)
def a_listed_session_is_resumed_through_a_link(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s1", "cwd": "/private/tmp/a"}])
    resume = talk.ask("session/resume", sessionId="s1", cwd="/tmp/a")
    talk.state("idle")
    talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("relative-cwd")
def a_client_goes_on_though_initialize_failed(talk: Talk) -> None:
    talk.refuse(talk.ask("initialize", protocolVersion=1), -32603)
    talk.refuse(talk.ask("session/new", cwd="here", mcpServers=[]), -32602)


@breaks("update-before-session")
def a_session_is_mentioned_before_the_response_that_names_it(talk: Talk) -> None:
    talk.initialize()
    opening = talk.ask("session/new", cwd=CWD, mcpServers=[])
    talk.update("available_commands_update", session="s1", availableCommands=[])
    talk.answer(opening, sessionId="s1")


@keeps("update-before-session")
def a_session_is_mentioned_after_the_response_that_names_it(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/new", cwd=CWD, mcpServers=[]), sessionId="s1")
    talk.update("available_commands_update", session="s1", availableCommands=[])
