"""Talks about config options."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps

FAST = {"value": "fast", "name": "Fast"}
SLOW = {"value": "slow", "name": "Slow"}


def option(version: int = 1, /, **members: Any) -> dict[str, Any]:
    """Return a select."""
    name = "id" if version == 1 else "configId"
    plain = {name: "model", "name": "Model", "type": "select", "currentValue": "fast"}
    return plain | {"options": [FAST, SLOW]} | members


def flag(version: int = 1, /, **members: Any) -> dict[str, Any]:
    """Return a boolean."""
    name = "id" if version == 1 else "configId"
    return {name: "loud", "name": "Loud", "type": "boolean", "currentValue": False} | members


def opened(talk: Talk, *options: dict[str, Any]) -> None:
    """Open a session with these options."""
    talk.initialize()
    talk.new_session(configOptions=list(options))


def told(talk: Talk, *options: dict[str, Any]) -> None:
    """Tell of options in an update."""
    talk.update("config_option_update", configOptions=list(options))


def setting(talk: Talk, value: Any, config: str = "model", /, **members: Any) -> Any:
    """Set an option."""
    if talk.version == 2:
        members = {"type": "id"} | members
    asked = {"sessionId": "s1", "configId": config, "value": value} | members
    return talk.ask("session/set_config_option", asked)


@breaks("ACP-L294")
def an_option_is_set_that_was_not_offered(talk: Talk) -> None:
    opened(talk, option())
    talk.refuse(setting(talk, "fast", "effort"), -32602)


@breaks("ACP-L294", 2)
def an_option_is_set_in_version_2_that_was_not_offered(talk: Talk) -> None:
    opened(talk, option(2))
    talk.refuse(setting(talk, "fast", "effort"), -32602)


@keeps("ACP-L294")
def an_option_is_set_that_was_offered_later(talk: Talk) -> None:
    opened(talk)
    told(talk, option())
    talk.answer(setting(talk, "slow"), configOptions=[option(currentValue="slow")])


@breaks("ACP-L295")
def a_value_is_set_that_was_not_offered(talk: Talk) -> None:
    opened(talk, option())
    talk.refuse(setting(talk, "medium"), -32602)


@keeps("ACP-L295")
def a_value_of_a_group_is_set(talk: Talk) -> None:
    groups = [{"group": "g", "name": "G", "options": [FAST, SLOW]}]
    opened(talk, option(options=groups))
    talk.answer(setting(talk, "slow"), configOptions=[option(currentValue="slow")])


@breaks("ACP-L296")
def a_boolean_is_set_by_a_word(talk: Talk) -> None:
    opened(talk, flag())
    talk.refuse(setting(talk, "true", "loud"), -32602)


@breaks("ACP-L296", 2)
def a_boolean_is_set_by_a_number(talk: Talk) -> None:
    opened(talk, flag(2))
    talk.refuse(setting(talk, 1, "loud", type="boolean"), -32602)


@keeps("ACP-L296")
def a_boolean_is_set_by_true(talk: Talk) -> None:
    opened(talk, flag())
    call = setting(talk, True, "loud", type="boolean")
    talk.answer(call, configOptions=[flag(currentValue=True)])


@breaks("ACP-L297", 2)
def a_setting_has_no_type(talk: Talk) -> None:
    opened(talk, option(2))
    call = talk.ask("session/set_config_option", sessionId="s1", configId="model", value="slow")
    talk.refuse(call, -32602)


@keeps("ACP-L297", 2)
def a_setting_has_a_type(talk: Talk) -> None:
    opened(talk, option(2))
    talk.answer(setting(talk, "slow"), configOptions=[option(2, currentValue="slow")])


@breaks("ACP-L298")
def a_setting_is_answered_with_nothing(talk: Talk) -> None:
    opened(talk, option())
    talk.answer(setting(talk, "slow"))


@breaks("ACP-L298")
def a_setting_is_answered_without_its_option(talk: Talk) -> None:
    opened(talk, option(), flag())
    talk.answer(setting(talk, "slow"), configOptions=[flag()])


@breaks("ACP-L298", 2)
def a_setting_changes_nothing(talk: Talk) -> None:
    opened(talk, option(2))
    talk.answer(setting(talk, "slow"), configOptions=[option(2)])


@keeps("ACP-L298")
def a_setting_takes_other_options_away(talk: Talk) -> None:
    opened(talk, option(), flag())
    talk.answer(setting(talk, "slow"), configOptions=[option(currentValue="slow")])


@breaks("ACP-L299")
def an_update_tells_the_change_alone(talk: Talk) -> None:
    opened(talk, option(), flag())
    told(talk, flag(currentValue=True))


@keeps("ACP-L299")
def an_update_tells_everything(talk: Talk) -> None:
    opened(talk, option(), flag())
    told(talk, flag(currentValue=True), option(), flag(id="quiet"))


@breaks("ACP-L300")
def a_boolean_is_offered_to_who_does_not_know_it(talk: Talk) -> None:
    talk.initialize({"terminal": True})
    talk.new_session(configOptions=[flag()])


@keeps("ACP-L300")
def a_boolean_is_offered_to_who_knows_it(talk: Talk) -> None:
    opened(talk, flag())


@breaks("ACP-L301")
def the_current_value_is_none_of_the_options(talk: Talk) -> None:
    opened(talk, option(currentValue="medium"))


@breaks("ACP-L301")
def a_select_has_no_options(talk: Talk) -> None:
    select = option()
    del select["options"]
    opened(talk, select)


@breaks("ACP-L301", 2)
def a_select_offers_nothing(talk: Talk) -> None:
    opened(talk, option(2, options=[]))


@keeps("ACP-L301", 2)
def the_current_value_is_the_only_option(talk: Talk) -> None:
    opened(talk, option(2, options=[FAST]))


@breaks("ACP-L302")
def a_boolean_is_a_word(talk: Talk) -> None:
    opened(talk, flag(currentValue="false"))


@breaks("ACP-L302", 2)
def a_boolean_has_options(talk: Talk) -> None:
    opened(talk, flag(2, options=[FAST]))


@keeps("ACP-L302")
def a_boolean_is_false(talk: Talk) -> None:
    opened(talk, flag())


@breaks("ACP-L303")
def an_option_is_set_to_nothing(talk: Talk) -> None:
    opened(talk, option(currentValue=None))


@breaks("ACP-L303", 2)
def an_option_of_version_2_is_set_to_nothing(talk: Talk) -> None:
    plain = option(2)
    del plain["currentValue"]
    opened(talk, plain)


@keeps("ACP-L303")
def an_option_is_set_to_an_empty_word(talk: Talk) -> None:
    opened(talk, option(currentValue="", options=[{"value": "", "name": "None"}]))
