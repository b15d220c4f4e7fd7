"""Texts of tools, made fit to be shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.markdown import fence
from acp_agent.tools.call import (
    MAX_TEXT_CHARS,
    fenced,
    shorten,
)


@given(text=st.text(alphabet="`a\n"))
def test_no_text_closes_its_own_fence(text: str) -> None:
    lines = fence(text).splitlines()
    assert lines[0] == lines[-1]
    assert not any(line.startswith(lines[0]) for line in lines[1:-1])


def test_no_text_is_no_content() -> None:
    assert fenced("") == []


def test_a_long_text_is_cut_and_says_so() -> None:
    text = shorten("x" * (MAX_TEXT_CHARS + 5))
    assert text == "x" * MAX_TEXT_CHARS + "\n… 5 more characters"
    assert shorten("x" * MAX_TEXT_CHARS) == "x" * MAX_TEXT_CHARS
