"""Talks about session modes of version 1."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps

ASK = {"id": "ask", "name": "Ask"}
CODE = {"id": "code", "name": "Code"}


def modes(current: str = "ask", *available: dict[str, str]) -> dict[str, Any]:
    """Return the modes of a session."""
    return {"currentModeId": current, "availableModes": list(available or (ASK, CODE))}


def opened(talk: Talk, **result: Any) -> None:
    """Open a session with modes."""
    talk.initialize()
    talk.new_session(**({"modes": modes()} | result))


def set_mode(talk: Talk, mode: str) -> None:
    """Set a mode and answer."""
    talk.answer(talk.ask("session/set_mode", sessionId="s1", modeId=mode))


def option(current: str) -> dict[str, Any]:
    """Return the config option that stands for the modes."""
    values = [{"value": each["id"], "name": each["name"]} for each in (ASK, CODE)]
    return {
        "id": "mode",
        "name": "Mode",
        "category": "mode",
        "type": "select",
        "currentValue": current,
        "options": values,
    }


@breaks("session-without-modes")
def a_mode_is_set_where_there_are_none(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/set_mode", sessionId="s1", modeId="ask"), -32602)


@keeps("session-without-modes")
def a_mode_is_set_where_there_are_some(talk: Talk) -> None:
    opened(talk)
    set_mode(talk, "code")


@breaks("unknown-mode")
def a_mode_is_set_that_was_not_offered(talk: Talk) -> None:
    opened(talk)
    set_mode(talk, "architect")


@keeps("unknown-mode")
def the_current_mode_is_set_again(talk: Talk) -> None:
    opened(talk)
    set_mode(talk, "ask")


@breaks("unknown-current-mode")
def a_session_begins_in_a_mode_it_lacks(talk: Talk) -> None:
    opened(talk, modes=modes("plan"))


@keeps("unknown-current-mode")
def a_session_begins_in_its_last_mode(talk: Talk) -> None:
    opened(talk, modes=modes("code"))


@breaks("misnamed-mode-id")
def an_update_takes_the_requests_name(talk: Talk) -> None:
    opened(talk)
    talk.update("current_mode_update", modeId="code")


@keeps("misnamed-mode-id")
def an_update_has_its_own_name(talk: Talk) -> None:
    opened(talk)
    talk.update("current_mode_update", currentModeId="code")


@breaks("unknown-reported-mode")
def an_update_tells_of_a_mode_that_was_not_offered(talk: Talk) -> None:
    opened(talk)
    talk.update("current_mode_update", currentModeId="Code")


@keeps("unknown-reported-mode")
def an_update_tells_of_an_offered_mode(talk: Talk) -> None:
    opened(talk)
    talk.update("current_mode_update", currentModeId="code")


@breaks("duplicate-mode")
def two_modes_share_an_id(talk: Talk) -> None:
    opened(talk, modes=modes("ask", ASK, ASK))


@keeps("duplicate-mode")
def two_modes_share_a_name(talk: Talk) -> None:
    opened(talk, modes=modes("ask", ASK, {"id": "code", "name": "Ask"}))


@breaks("mode-differs-from-option")
def the_option_stays_behind(talk: Talk) -> None:
    opened(talk, configOptions=[option("ask")])
    set_mode(talk, "code")
    talk.turn()


@keeps("mode-differs-from-option")
def the_option_goes_along(talk: Talk) -> None:
    opened(talk, configOptions=[option("ask")])
    set_mode(talk, "code")
    talk.update("config_option_update", configOptions=[option("code")])
    talk.turn()


@breaks("set-mode-despite-options")
def a_mode_is_set_beside_options(talk: Talk) -> None:
    opened(talk, configOptions=[option("ask")])
    set_mode(talk, "code")


@keeps("set-mode-despite-options")
def a_mode_is_set_without_options(talk: Talk) -> None:
    opened(talk)
    set_mode(talk, "code")


@breaks("modes-in-v2", 2)
def version_2_tells_of_modes(talk: Talk) -> None:
    opened(talk)


@keeps("modes-in-v2", 2)
def version_2_tells_of_none(talk: Talk) -> None:
    talk.open()
