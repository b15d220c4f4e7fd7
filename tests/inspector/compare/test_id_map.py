"""Ids that each run generates anew, and secrets behind placeholders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.compare.id_map import IdMap, secrets_between, with_secrets


def test_a_pair_stays_a_pair_in_both_directions() -> None:
    ids = IdMap()
    assert ids.agree("sessionId", "a", "x")
    assert ids.agree("sessionId", "a", "x")
    assert not ids.agree("sessionId", "a", "y")
    assert not ids.agree("sessionId", "b", "x")


def test_kinds_and_types_do_not_mix() -> None:
    ids = IdMap()
    assert ids.agree("sessionId", "a", "x")
    assert ids.agree("toolCallId", "a", "y")
    assert ids.agree("request", 1, 7)
    assert ids.agree("request", "1", "8")
    assert not ids.agree("request", 1, "8")


def test_what_is_sent_holds_the_live_values() -> None:
    ids = IdMap({"/old": "/new"})
    ids.learn(
        {"sessionId": "a", "list": [{"toolCallId": "c"}]},
        {"sessionId": "x", "list": [{"toolCallId": "d"}]},
    )
    recorded = {
        "sessionId": "a",
        "cwd": "/old/sub",
        "n": 1,
        "inner": [{"toolCallId": "c", "text": "a"}],
    }
    assert ids.to_live(recorded) == {
        "sessionId": "x",
        "cwd": "/new/sub",
        "n": 1,
        "inner": [{"toolCallId": "d", "text": "a"}],
    }


def test_an_unknown_id_is_sent_as_it_was_recorded() -> None:
    ids = IdMap()
    ids.agree("request", 5, 9)
    assert ids.live_id(5) == 9
    assert ids.live_id(6) == 6


def test_a_secret_that_the_agent_told_goes_back_in_place_of_its_placeholder() -> None:
    ids = IdMap(is_redacted=True)
    ids.learn({"login": ["token «secret:1»"]}, {"login": ["token live"]})
    recorded = {"auth": "Bearer «secret:1»", "other": "«secret:2»"}
    assert ids.to_live(recorded) == {"auth": "Bearer live", "other": "«secret:2»"}


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
    assert secrets_between(recorded, live) == told


@given(st.lists(st.text("ab ", min_size=1)), st.lists(st.text("xyz", min_size=1, max_size=5)))
def test_what_was_put_in_is_found_again(between: list[str], secrets: list[str]) -> None:
    known = {f"«secret:{n}»": secret for n, secret in enumerate(secrets, start=1)}
    recorded = "".join(
        f"{text}{placeholder}" for text, placeholder in zip(between, known, strict=False)
    )
    live = with_secrets(recorded, known)
    told = secrets_between(recorded, live)
    assert told == list(known.items())[: len(between)]


def test_a_long_text_of_many_placeholders_is_read_in_one_go() -> None:
    assert secrets_between(f"a{ONE}" * 10_000, "a" * 100_000 + "b") != []
