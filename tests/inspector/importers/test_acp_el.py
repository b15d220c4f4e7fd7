"""Data as Emacs prints it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.importers.acp_el import LispReader, LispSymbol, lisp_member, to_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None),
        ("t", True),
        (":false", False),
        (":null", None),
        ("-12", -12),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ('"a\\nb\\"\\\\ \\x41 \\101"', 'a\nb"\\ A A'),
        ("[]", []),
        ('[1 "a" [nil]]', [1, "a", [None]]),
        ("((a . 1) (b . nil) (c))", {"a": 1, "b": None, "c": None}),
        ("((a (b . 1)) (c . [((d . t))]))", {"a": {"b": 1}, "c": [{"d": True}]}),
        ("(1 2)", [1, 2]),
        ('((a . #1="x") (b . #1#))', {"a": "x", "b": "x"}),
        ("((foo\\ bar . 1))", {"foo bar": 1}),
    ],
)
def test_what_json_was_parsed_into_is_that_json_again(text: str, value: Any) -> None:
    assert to_json(LispReader().read(text)) == value


@pytest.mark.parametrize("text", ["", "(", "[1", '"a', ")", "#1#", "oops", "(a . 1)", "((a . b))"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        to_json(LispReader().read(text))


@given(st.text(alphabet='()[]"\\#1=. at\n'))
def test_whatever_it_is_given_it_returns_or_says_why(text: str) -> None:
    with suppress(ValueError):
        to_json(LispReader().read(text))


def test_nesting_beyond_the_stack_is_refused() -> None:
    with pytest.raises(ValueError, match="too deeply"):
        LispReader().read("(" * 100_000)


def test_a_member_is_found_by_its_name() -> None:
    told = LispReader().read("((:a . out) (:b (c . 1)))")
    assert lisp_member(told, ":a") == LispSymbol("out")
    assert to_json(lisp_member(told, ":b")) == {"c": 1}
    assert to_json(lisp_member(told, ":x")) is None
