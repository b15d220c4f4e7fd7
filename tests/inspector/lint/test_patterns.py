"""Regular expressions as ECMAScript spells them are taken for some, and what is none is not."""

from __future__ import annotations

import pytest

from acp_inspector.lint.text_checks import is_pattern

SOME = [
    *("", "^a+$", "a|b", "(|a)", "()", "(?:a|b)*?", "^.{1,50}$", "a{2}?", "x{1}y", r"\bfoo\b"),
    *(
        r"^(?<year>\d{4})$",
        r"(?<a>x)|(?<a>y)",
        r"\k<y>(?<y>a)",
        r"(?<!a*)b",
        r"(?<=\w+)b",
        "(?=a)*",
    ),
    *(r"^\p{L}+$", r"\P{Script=Greek}", r"\u{1F600}", r"\u0041", r"\cA", r"\/", r"\\", r"\-"),
    *("[^]", "[]x", r"[a\]b]", "[[]", r"^\[.*\]$", r"[\\/]", r"[z-\d]", r"[\w.+-]+@[\w-]+"),
    *("a{,5}", "a{", "a}", "(?i)a", "(?P<n>a)", "(" * 100 + ")" * 100, "(" * 5000),
]
NONE = [
    *("(", ")", "a)", "[", "[a", "[a\\]", "*a", "+", "a**", "a|*", "(*)", "(?", "(?<", "(?<a"),
    *("[z-a]", "a{3,2}", "\\", "(" * 1500),
]


@pytest.mark.parametrize("text", SOME)
def test_a_regular_expression_is_taken_for_one(text: str) -> None:
    assert is_pattern(text)


@pytest.mark.parametrize("text", NONE)
def test_what_cannot_be_read_is_none(text: str) -> None:
    assert not is_pattern(text)
