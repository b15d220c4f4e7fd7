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


@breaks("ACP-L085")
def the_directory_is_relative(talk: Talk) -> None:
    talk.initialize()
    _new(talk, cwd="work")


@breaks("ACP-L085")
def the_directory_is_missing(talk: Talk) -> None:
    talk.initialize()
    talk.ask("session/new", mcpServers=[])


@breaks("ACP-L085", 2)
def the_directory_is_a_uri(talk: Talk) -> None:
    talk.initialize()
    talk.ask("session/resume", sessionId="s1", cwd="file:///home/ada")


@keeps("ACP-L085")
def the_directory_is_on_a_share(talk: Talk) -> None:
    talk.initialize()
    _created(talk, cwd="\\\\server\\ada")


@keeps("ACP-L085", 2)
def the_directory_is_the_root(talk: Talk) -> None:
    talk.initialize()
    _created(talk, cwd="/")


@breaks("ACP-L096")
def directories_are_added_unclaimed(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {}})
    _new(talk, OTHER)


@breaks("ACP-L096", 2)
def directories_are_added_unclaimed_in_version_2(talk: Talk) -> None:
    talk.initialize({}, {"session": {}})
    _new(talk, OTHER)


@keeps("ACP-L096")
def directories_are_added_where_they_are_claimed(talk: Talk) -> None:
    talk.initialize({}, {"sessionCapabilities": {"additionalDirectories": {}}})
    _created(talk, OTHER)


@keeps("ACP-L096", 2)
def directories_are_added_where_version_2_claims_them(talk: Talk) -> None:
    talk.initialize({}, {"session": {"additionalDirectories": {}}})
    _created(talk, OTHER)


@breaks("ACP-L097")
def a_further_directory_is_relative(talk: Talk) -> None:
    talk.initialize()
    _new(talk, OTHER, "../notes")


@breaks("ACP-L097")
def a_further_directory_is_empty(talk: Talk) -> None:
    talk.initialize()
    _new(talk, "")


@breaks("ACP-L097", 2)
def further_directories_are_null(talk: Talk) -> None:
    talk.initialize()
    _new(talk, additionalDirectories=None)


@keeps("ACP-L097")
def further_directories_are_an_empty_list(talk: Talk) -> None:
    talk.initialize({}, {})
    _created(talk, additionalDirectories=[])


@breaks("ACP-L098")
def a_directory_is_listed_twice(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, OTHER)


@breaks("ACP-L098", 2)
def the_cwd_is_listed_again(talk: Talk) -> None:
    talk.initialize()
    _created(talk, CWD)


@keeps("ACP-L098")
def a_directory_below_the_cwd_is_listed(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, f"{CWD}/below")


@breaks("ACP-L099")
def a_relative_directory_is_passed_over(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, "notes")


@breaks("ACP-L099", 2)
def an_empty_directory_is_passed_over(talk: Talk) -> None:
    talk.initialize()
    _created(talk, "")


@keeps("ACP-L099")
def sound_directories_are_granted(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER)


def _list(talk: Talk, *roots: str) -> None:
    session = {"sessionId": "s1", "cwd": CWD, "additionalDirectories": list(roots)}
    talk.answer(talk.ask("session/list"), sessions=[session])


@breaks("ACP-L099", 2)
def a_directory_is_left_out(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, "/srv")
    _list(talk, OTHER)


@keeps("ACP-L099", 2)
def a_directory_is_listed_once(talk: Talk) -> None:
    talk.initialize()
    _created(talk, OTHER, OTHER, CWD)
    _list(talk, OTHER)


@breaks("ACP-L132")
def a_session_is_loaded_elsewhere(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=OTHER, mcpServers=[]))


@breaks("ACP-L132", 2)
def a_listed_session_is_resumed_elsewhere(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s1", "cwd": CWD}])
    talk.refuse(talk.ask("session/resume", sessionId="s1", cwd=OTHER), -32602)


@keeps("ACP-L132")
def a_session_is_loaded_where_it_was_with_a_slash(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/load", sessionId="s1", cwd=f"{CWD}/", mcpServers=[]))


@keeps("ACP-L132", 2)
def a_listed_session_is_resumed_through_a_link(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/list"), sessions=[{"sessionId": "s1", "cwd": "/private/tmp/a"}])
    resume = talk.ask("session/resume", sessionId="s1", cwd="/tmp/a")
    talk.state("idle")
    talk.answer(resume, configOptions=[], availableCommands=[])


@breaks("ACP-L085")
def a_client_goes_on_though_initialize_failed(talk: Talk) -> None:
    talk.refuse(talk.ask("initialize", protocolVersion=1), -32603)
    talk.refuse(talk.ask("session/new", cwd="here", mcpServers=[]), -32602)


@breaks("ACP-L524")
def a_session_is_mentioned_before_the_response_that_names_it(talk: Talk) -> None:
    talk.initialize()
    opening = talk.ask("session/new", cwd=CWD, mcpServers=[])
    talk.update("available_commands_update", session="s1", availableCommands=[])
    talk.answer(opening, sessionId="s1")


@keeps("ACP-L524")
def a_session_is_mentioned_after_the_response_that_names_it(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("session/new", cwd=CWD, mcpServers=[]), sessionId="s1")
    talk.update("available_commands_update", session="s1", availableCommands=[])
