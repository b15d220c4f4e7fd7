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


@breaks("unknown-config-option")
def an_option_is_set_that_was_not_offered(talk: Talk) -> None:
    opened(talk, option())
    talk.refuse(setting(talk, "fast", "effort"), -32602)


@breaks("unknown-config-option", 2)
def an_option_is_set_in_version_2_that_was_not_offered(talk: Talk) -> None:
    opened(talk, option(2))
    talk.refuse(setting(talk, "fast", "effort"), -32602)


@keeps("unknown-config-option")
def an_option_is_set_that_was_offered_later(talk: Talk) -> None:
    opened(talk)
    told(talk, option())
    talk.answer(setting(talk, "slow"), configOptions=[option(currentValue="slow")])


@breaks("unknown-option-value")
def a_value_is_set_that_was_not_offered(talk: Talk) -> None:
    opened(talk, option())
    talk.refuse(setting(talk, "medium"), -32602)


@keeps("unknown-option-value")
def a_value_of_a_group_is_set(talk: Talk) -> None:
    groups = [{"group": "g", "name": "G", "options": [FAST, SLOW]}]
    opened(talk, option(options=groups))
    talk.answer(setting(talk, "slow"), configOptions=[option(currentValue="slow")])


@breaks("wrong-boolean-value")
def a_boolean_is_set_by_a_word(talk: Talk) -> None:
    opened(talk, flag())
    talk.refuse(setting(talk, "true", "loud"), -32602)


@breaks("wrong-boolean-value", 2)
def a_boolean_is_set_by_a_number(talk: Talk) -> None:
    opened(talk, flag(2))
    talk.refuse(setting(talk, 1, "loud", type="boolean"), -32602)


@keeps("wrong-boolean-value")
def a_boolean_is_set_by_true(talk: Talk) -> None:
    opened(talk, flag())
    call = setting(talk, True, "loud", type="boolean")
    talk.answer(call, configOptions=[flag(currentValue=True)])


@breaks("untyped-option-value", 2)
def a_setting_has_no_type(talk: Talk) -> None:
    opened(talk, option(2))
    call = talk.ask("session/set_config_option", sessionId="s1", configId="model", value="slow")
    talk.refuse(call, -32602)


@keeps("untyped-option-value", 2)
def a_setting_has_a_type(talk: Talk) -> None:
    opened(talk, option(2))
    talk.answer(setting(talk, "slow"), configOptions=[option(2, currentValue="slow")])


@breaks("incomplete-option-result")
def a_setting_is_answered_with_nothing(talk: Talk) -> None:
    opened(talk, option())
    talk.answer(setting(talk, "slow"))


@breaks("incomplete-option-result")
def a_setting_is_answered_without_its_option(talk: Talk) -> None:
    opened(talk, option(), flag())
    talk.answer(setting(talk, "slow"), configOptions=[flag()])


@breaks("incomplete-option-result", 2)
def a_setting_changes_nothing(talk: Talk) -> None:
    opened(talk, option(2))
    talk.answer(setting(talk, "slow"), configOptions=[option(2)])


@keeps("incomplete-option-result")
def a_setting_takes_other_options_away(talk: Talk) -> None:
    opened(talk, option(), flag())
    talk.answer(setting(talk, "slow"), configOptions=[option(currentValue="slow")])


@breaks("config-option-vanishes")
def an_update_tells_the_change_alone(talk: Talk) -> None:
    opened(talk, option(), flag())
    told(talk, flag(currentValue=True))


@keeps("config-option-vanishes")
def an_update_tells_everything(talk: Talk) -> None:
    opened(talk, option(), flag())
    told(talk, flag(currentValue=True), option(), flag(id="quiet"))


@breaks("undeclared-boolean-option")
def a_boolean_is_offered_to_who_does_not_know_it(talk: Talk) -> None:
    talk.initialize({"terminal": True})
    talk.new_session(configOptions=[flag()])


@keeps("undeclared-boolean-option")
def a_boolean_is_offered_to_who_knows_it(talk: Talk) -> None:
    opened(talk, flag())


@breaks("invalid-select-option")
def the_current_value_is_none_of_the_options(talk: Talk) -> None:
    opened(talk, option(currentValue="medium"))


@breaks("invalid-select-option")
def a_select_has_no_options(talk: Talk) -> None:
    select = option()
    del select["options"]
    opened(talk, select)


@breaks("invalid-select-option", 2)
def a_select_offers_nothing(talk: Talk) -> None:
    opened(talk, option(2, options=[]))


@keeps("invalid-select-option", 2)
def the_current_value_is_the_only_option(talk: Talk) -> None:
    opened(talk, option(2, options=[FAST]))


@breaks("invalid-boolean-option")
def a_boolean_is_a_word(talk: Talk) -> None:
    opened(talk, flag(currentValue="false"))


@breaks("invalid-boolean-option", 2)
def a_boolean_has_options(talk: Talk) -> None:
    opened(talk, flag(2, options=[FAST]))


@keeps("invalid-boolean-option")
def a_boolean_is_false(talk: Talk) -> None:
    opened(talk, flag())


@breaks("option-without-value")
def an_option_is_set_to_nothing(talk: Talk) -> None:
    opened(talk, option(currentValue=None))


@breaks("option-without-value", 2)
def an_option_of_version_2_is_set_to_nothing(talk: Talk) -> None:
    plain = option(2)
    del plain["currentValue"]
    opened(talk, plain)


@keeps("option-without-value")
def an_option_is_set_to_an_empty_word(talk: Talk) -> None:
    opened(talk, option(currentValue="", options=[{"value": "", "name": "None"}]))
