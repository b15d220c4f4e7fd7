"""Placeholders: the same for the same secret, and a count."""

from __future__ import annotations

from acp_inspector.redaction.detector import SecretDetector, SecretMatch
from acp_inspector.redaction.placeholders import PlaceholderMap, highest_placeholder, redact_text


def hit(value: str, *rules: str) -> SecretMatch:
    return SecretMatch(0, len(value), value, frozenset(rules))


def test_the_same_secret_has_the_same_placeholder() -> None:
    ledger = PlaceholderMap()
    told = [ledger.placeholder(hit(value, "key")) for value in ("a", "b", "a")]
    assert told == ["«secret:1»", "«secret:2»", "«secret:1»"]
    assert ledger.replaced == {"key": 3}
    assert ledger.secrets_by_rule() == {"key": 2}


def test_a_secret_counts_for_the_most_telling_of_its_rules() -> None:
    ledger = PlaceholderMap()
    ledger.placeholder(hit("a", "key", "anthropic"))
    assert ledger.secrets_by_rule() == {"anthropic": 1}
    assert ledger.matched == {"key", "anthropic"}


def test_numbers_go_on_behind_those_that_are_there() -> None:
    assert highest_placeholder("«secret:2» and «secret:17»") == 17
    assert highest_placeholder("none") == 0
    assert PlaceholderMap(first=18).placeholder(hit("a", "key")) == "«secret:18»"


def test_what_a_cut_lays_bare_is_cut_too() -> None:
    token = "AKIA" + "IOSFODNN7EXAMPLE"
    finder = SecretDetector(("aws", "github"), {})
    text = f"ghp_{'a1' * 18}é{token}"
    cut, hits = redact_text(text, finder, PlaceholderMap())
    assert (cut, len(hits)) == ("«secret:1»é«secret:2»", 2)
