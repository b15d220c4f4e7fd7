"""Talks about how lists of config options are made up."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.cases.config_options import FAST, SLOW, flag, opened, option
from tests.inspector.lint.talk import Talk, breaks, keeps


def group(version: int = 1, /, name: str = "quick", *options: dict[str, str]) -> dict[str, Any]:
    """Return a group of values."""
    key = "group" if version == 1 else "groupId"
    return {key: name, "name": name.title(), "options": list(options or (FAST,))}


@breaks("ACP-L304")
def two_options_share_an_id(talk: Talk) -> None:
    opened(talk, option(), flag(id="model"))


@breaks("ACP-L304", 2)
def a_value_stands_in_two_groups(talk: Talk) -> None:
    opened(talk, option(2, options=[group(2), group(2, "slow", SLOW, FAST)]))


@keeps("ACP-L304")
def two_options_offer_the_same_values(talk: Talk) -> None:
    opened(talk, option(), option(id="fallback"))


@breaks("ACP-L305")
def an_option_has_version_2s_name(talk: Talk) -> None:
    opened(talk, option(2))


@breaks("ACP-L305")
def a_group_has_version_2s_name(talk: Talk) -> None:
    opened(talk, option(options=[group(2)]))


@keeps("ACP-L305")
def names_are_those_of_version_1(talk: Talk) -> None:
    opened(talk, option(options=[group()]))


@breaks("ACP-L306", 2)
def an_option_has_version_1s_name(talk: Talk) -> None:
    opened(talk, option())


@breaks("ACP-L306", 2)
def a_group_has_version_1s_name(talk: Talk) -> None:
    opened(talk, option(2, options=[group()]))


@keeps("ACP-L306", 2)
def names_are_those_of_version_2(talk: Talk) -> None:
    opened(talk, option(2, options=[group(2)]))


@breaks("ACP-L307")
def a_group_stands_among_values(talk: Talk) -> None:
    opened(talk, option(options=[FAST, group(1, "slow", SLOW)]))


@breaks("ACP-L307", 2)
def a_group_of_version_2_stands_among_values(talk: Talk) -> None:
    opened(talk, option(2, options=[FAST, group(2, "slow", SLOW)]))


@keeps("ACP-L307")
def all_values_stand_in_groups(talk: Talk) -> None:
    opened(talk, option(options=[group(), group(1, "slow", SLOW)]))


@breaks("ACP-L308")
def a_category_is_made_up(talk: Talk) -> None:
    opened(talk, option(category="colour"))


@keeps("ACP-L308")
def a_category_is_ones_own(talk: Talk) -> None:
    opened(talk, option(category="_speed"), flag(category="thought_level"))


@breaks("ACP-L312", 2)
def a_type_is_made_up(talk: Talk) -> None:
    opened(talk, option(2, type="slider"))


@keeps("ACP-L312", 2)
def a_type_is_ones_own(talk: Talk) -> None:
    opened(talk, option(2, type="_slider"))
