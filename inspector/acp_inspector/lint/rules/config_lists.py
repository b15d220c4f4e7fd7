"""How lists of config options are made up: ids, groups, names of kinds.

Source: ACP, "Session Config Options", and the published schemas.
"""

from __future__ import annotations

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import check
from acp_inspector.lint.rules.config_options import (
    CATEGORIES,
    TELLERS,
    TYPES,
    each_option,
    id_name,
    option_values,
)
from acp_protocol.jsonrpc import Json


@check("ACP-L304", TELLERS, fix="Give each option, and each of its values, an id of its own.")
def options_and_values_are_told_apart(moment: Moment) -> Found:
    """Tell of ids that two options share, and of values that stand twice in one."""
    seen: set[str] = set()
    is_any = False
    for place, option in each_option(moment):
        is_any = True
        id_ = option.get(id_name(moment))
        if isinstance(id_, str):
            if id_ in seen:
                return moment.problem(
                    f"two options have the id {quoted(id_)}", path=f"{place}.{id_name(moment)}"
                )
            seen.add(id_)
        values: set[str] = set()
        for inner, value in option_values(option):
            if isinstance(value, str):
                if value in values:
                    return moment.problem(
                        f"the value {quoted(value)} stands twice", path=f"{place}.{inner}.value"
                    )
                values.add(value)
    return FINE if is_any else None


@check("ACP-L305", TELLERS, fix="Call them id and group; the other names are version 2's.")
def names_are_version_1s(moment: Moment) -> Found:
    """Tell of version 2's names."""
    return _names(moment, ("id", "group"), ("configId", "groupId"))


@check("ACP-L306", TELLERS, fix="Call them configId and groupId; the other names are version 1's.")
def names_are_version_2s(moment: Moment) -> Found:
    """Tell of version 1's names."""
    return _names(moment, ("configId", "groupId"), ("id", "group"))


def _names(moment: Moment, right: tuple[str, str], wrong: tuple[str, str]) -> Found:
    is_any = False
    for place, option in each_option(moment):
        is_any = True
        if right[0] not in option and wrong[0] in option:
            return moment.problem(
                f"the option is named by {wrong[0]} instead of {right[0]}",
                path=f"{place}.{right[0]}",
            )
        for n, group in enumerate(map(members, entries(option.get("options")))):
            if "options" in group and right[1] not in group and wrong[1] in group:
                return moment.problem(
                    f"the group is named by {wrong[1]} instead of {right[1]}",
                    path=f"{place}.options.{n}.{right[1]}",
                )
    return FINE if is_any else None


@check("ACP-L307", TELLERS, fix="Put all values into groups, or none.")
def groups_and_values_are_not_mixed(moment: Moment) -> Found:
    """Tell of lists that are flat and grouped at once."""
    is_any = False
    for place, option in each_option(moment):
        listed = [members(each) for each in entries(option.get("options"))]
        if not listed:
            continue
        is_any = True
        groups = sum("options" in each for each in listed)
        if 0 < groups < len(listed):
            return moment.problem("groups and values stand in one list", path=f"{place}.options")
    return FINE if is_any else None


@check("ACP-L308", TELLERS, fix="Begin categories of your own with “_”.")
def categories_are_known_or_own(moment: Moment) -> Found:
    """Tell of categories that a later version may give another meaning."""
    return _words(moment, "category", CATEGORIES)


@check("ACP-L312", TELLERS, fix="Begin types of your own with “_”.")
def types_are_known_or_own(moment: Moment) -> Found:
    """Tell of types that a later version may give another meaning."""
    return _words(moment, "type", TYPES)


def _words(moment: Moment, name: str, known: frozenset[str]) -> Found:
    is_any = False
    for place, option in each_option(moment):
        word: Json = option.get(name)
        if isinstance(word, str):
            is_any = True
            if word not in known and not word.startswith("_"):
                return moment.problem(
                    f"the {name} {quoted(word)} is not known and does not begin with “_”",
                    path=f"{place}.{name}",
                )
    return FINE if is_any else None
