"""What is wrong with a text that is no TOML."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scenario.reading.mistakes import explain


def explained(text: str) -> tuple[int, str]:
    with pytest.raises((tomllib.TOMLDecodeError, RecursionError)) as caught:
        tomllib.loads(text)
    return explain(text, caught.value)


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("[[prompt]]\nsteps = [{ text = 'a',\n}]", 2, "a table in braces stands on one line"),
        ("a = { b = 1\n}", 1, "a table in braces stands on one line"),
        ("\na = { b = 1, }", 2, "no comma may stand before `}`"),
        ("prompt:\n  - steps: []", 1, "`key: value` is another language"),
        ("[[prompt]]\nsteps = [{ text: 'a' }]", 2, "`key: value` is another language"),
        ("- text: hello", 1, "`key: value` is another language"),
        ('{"prompt": []}', 1, "this looks like JSON"),
        ("a = hello", 1, "a text stands in quotes"),
        ("a = True", 1, "`true` and `false` are written small"),
        ("a = null", 1, "TOML has no null"),
        ("a = 1\n\na = 2", 3, "the key stands there twice"),
        ("a = [1 2]", 1, "a comma is missing"),
        ("a = [1,\n2", 2, "a comma is missing"),
        ("a = 'b\nc'", 1, 'or stands in `"""`'),
        ("a = " + "[" * 10_000, 1, "too deep"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_was_meant(
    text: str, line: int, hint: str
) -> None:
    told, sentence = explained(text)
    assert (told, hint in sentence) == (line, True), sentence


@given(st.text("[]{}=:,.'\"ab \n-#1", max_size=20))
def test_whatever_is_wrong_stands_in_a_line_of_the_text(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        line, sentence = explain(text, problem)
        assert 1 <= line <= text.count("\n") + 1
        assert sentence.startswith("no TOML, at column ")
