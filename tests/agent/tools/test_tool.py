"""Texts of tools, made fit to be shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.tools.tool import (
    TEXT_LIMIT,
    fence,
    fenced,
    shortened,
)


@given(text=st.text(alphabet="`a\n"))
def test_no_text_closes_its_own_fence(text: str) -> None:
    lines = fence(text).splitlines()
    assert lines[0] == lines[-1]
    assert not any(line.startswith(lines[0]) for line in lines[1:-1])


def test_no_text_is_no_content() -> None:
    assert fenced("") == []


def test_a_long_text_is_cut_and_says_so() -> None:
    text = shortened("x" * (TEXT_LIMIT + 5))
    assert text == "x" * TEXT_LIMIT + "\n… 5 more characters"
    assert shortened("x" * TEXT_LIMIT) == "x" * TEXT_LIMIT
