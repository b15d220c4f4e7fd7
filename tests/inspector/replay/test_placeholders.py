"""Secrets that a live text has where the recording has placeholders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.replay.placeholders import secrets_told, with_secrets

ONE, TWO = "«secret:1»", "«secret:2»"


@pytest.mark.parametrize(
    ("recorded", "live", "told"),
    [
        (ONE, "abc", [(ONE, "abc")]),
        (f"key={ONE};", "key=abc;", [(ONE, "abc")]),
        (f"{ONE} and {TWO}", "abc and def", [(ONE, "abc"), (TWO, "def")]),
        (f"{ONE} {ONE}", "abc abc", [(ONE, "abc"), (ONE, "abc")]),
        (f"a {ONE} a", f"a {ONE} a", [(ONE, ONE)]),
        (f"key={ONE};", "key=;", []),
        (f"key={ONE};", "key=abc", []),
        (f"key={ONE};", "kez=abc;", []),
        (f"a{ONE}a", "a", []),
        (f"{ONE} and {TWO}", "abc or def", []),
        ("no secret", "no secret", []),
        ("", "", []),
    ],
)
def test_what_stands_in_place_of_a_placeholder(
    recorded: str, live: str, told: list[tuple[str, str]]
) -> None:
    assert secrets_told(recorded, live) == told


@given(st.lists(st.text("ab ", min_size=1)), st.lists(st.text("xyz", min_size=1, max_size=5)))
def test_what_was_put_in_is_found_again(between: list[str], secrets: list[str]) -> None:
    known = {f"«secret:{n}»": secret for n, secret in enumerate(secrets, start=1)}
    recorded = "".join(
        f"{text}{placeholder}" for text, placeholder in zip(between, known, strict=False)
    )
    live = with_secrets(recorded, known)
    told = secrets_told(recorded, live)
    assert told == list(known.items())[: len(between)]


def test_a_long_text_of_many_placeholders_is_read_in_one_go() -> None:
    assert secrets_told(f"a{ONE}" * 10_000, "a" * 100_000 + "b") != []
