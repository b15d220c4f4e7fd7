"""Talks about how lists of config options are made up."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.cases.config_options import FAST, SLOW, flag, opened, option
from tests.inspector.lint.talk import Talk, breaks, keeps


def group(version: int = 1, /, name: str = "quick", *options: dict[str, str]) -> dict[str, Any]:
    """Return a group of values."""
    key = "group" if version == 1 else "groupId"
    return {key: name, "name": name.title(), "options": list(options or (FAST,))}


@breaks("duplicate-config-option")
def two_options_share_an_id(talk: Talk) -> None:
    opened(talk, option(), flag(id="model"))


@breaks("duplicate-config-option", 2)
def a_value_stands_in_two_groups(talk: Talk) -> None:
    opened(talk, option(2, options=[group(2), group(2, "slow", SLOW, FAST)]))


@keeps("duplicate-config-option")
def two_options_offer_the_same_values(talk: Talk) -> None:
    opened(talk, option(), option(id="fallback"))


@breaks("misnamed-option-id")
def an_option_has_version_2s_name(talk: Talk) -> None:
    opened(talk, option(2))


@breaks("misnamed-option-id")
def a_group_has_version_2s_name(talk: Talk) -> None:
    opened(talk, option(options=[group(2)]))


@keeps("misnamed-option-id")
def names_are_those_of_version_1(talk: Talk) -> None:
    opened(talk, option(options=[group()]))


@breaks("misnamed-config-id", 2)
def an_option_has_version_1s_name(talk: Talk) -> None:
    opened(talk, option())


@breaks("misnamed-config-id", 2)
def a_group_has_version_1s_name(talk: Talk) -> None:
    opened(talk, option(2, options=[group()]))


@keeps("misnamed-config-id", 2)
def names_are_those_of_version_2(talk: Talk) -> None:
    opened(talk, option(2, options=[group(2)]))


@breaks("mixed-option-groups")
def a_group_stands_among_values(talk: Talk) -> None:
    opened(talk, option(options=[FAST, group(1, "slow", SLOW)]))


@breaks("mixed-option-groups", 2)
def a_group_of_version_2_stands_among_values(talk: Talk) -> None:
    opened(talk, option(2, options=[FAST, group(2, "slow", SLOW)]))


@keeps("mixed-option-groups")
def all_values_stand_in_groups(talk: Talk) -> None:
    opened(talk, option(options=[group(), group(1, "slow", SLOW)]))


@breaks("reserved-option-category")
def a_category_is_made_up(talk: Talk) -> None:
    opened(talk, option(category="colour"))


@keeps("reserved-option-category")
def a_category_is_ones_own(talk: Talk) -> None:
    opened(talk, option(category="_speed"), flag(category="thought_level"))


@breaks("reserved-option-type", 2)
def a_type_is_made_up(talk: Talk) -> None:
    opened(talk, option(2, type="slider"))


@keeps("reserved-option-type", 2)
def a_type_is_ones_own(talk: Talk) -> None:
    opened(talk, option(2, type="_slider"))
