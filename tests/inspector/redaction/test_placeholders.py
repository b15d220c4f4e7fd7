"""Placeholders: the same for the same secret, and a count."""

from __future__ import annotations

from acp_inspector.redaction.detector import SecretDetector, SecretMatch
from acp_inspector.redaction.placeholders import PlaceholderMap, highest_placeholder, redact_text


def hit(value: str, *rules: str) -> SecretMatch:
    return SecretMatch(0, len(value), value, frozenset(rules))


def test_the_same_secret_has_the_same_placeholder() -> None:
    placeholders = PlaceholderMap()
    reported = [placeholders.placeholder(hit(value, "key")) for value in ("a", "b", "a")]
    assert reported == ["«secret:1»", "«secret:2»", "«secret:1»"]
    assert placeholders.replaced == {"key": 3}
    assert placeholders.secrets_by_rule() == {"key": 2}


def test_a_secret_counts_for_the_most_specific_of_its_rules() -> None:
    placeholders = PlaceholderMap()
    placeholders.placeholder(hit("a", "key", "anthropic"))
    assert placeholders.secrets_by_rule() == {"anthropic": 1}
    assert placeholders.matched == {"key", "anthropic"}


def test_numbers_continue_after_existing_placeholders() -> None:
    assert highest_placeholder("«secret:2» and «secret:17»") == 17
    assert highest_placeholder("none") == 0
    assert PlaceholderMap(first=18).placeholder(hit("a", "key")) == "«secret:18»"


def test_what_a_cut_lays_bare_is_cut_too() -> None:
    token = "AKIA" + "IOSFODNN7EXAMPLE"
    detector = SecretDetector(("aws", "github"), {})
    text = f"ghp_{'a1' * 18}é{token}"
    cut, hits = redact_text(text, detector, PlaceholderMap())
    assert (cut, len(hits)) == ("«secret:1»é«secret:2»", 2)
