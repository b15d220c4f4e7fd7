"""The rules by name."""

from __future__ import annotations

import pytest

from acp_inspector.redaction.patterns import RULES, UnknownRuleError, chosen_rules


def test_no_name_means_all_rules() -> None:
    assert chosen_rules(()) == tuple(RULES)


def test_rules_are_in_the_order_of_the_table() -> None:
    assert chosen_rules(["key", "jwt", "key"]) == ("jwt", "key")


def test_an_unknown_rule_is_reported_with_the_known_ones() -> None:
    with pytest.raises(UnknownRuleError, match=r"'nope'.*anthropic.*entropy"):
        chosen_rules(["key", "nope"])
