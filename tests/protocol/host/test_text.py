"""Untrusted text made safe to show."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.host.text import one_line, visible

any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünï 漢字 🙂", "plain ünï 漢字 🙂"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("dos\r\nline", "dos\nline"),
        ("over\rwritten", "over␍written"),
        ("\x1b[31mred\x1b]8;;http://x\x07", "␛[31mred␛]8;;http://x␇"),
        ("\x9b31m", "‹9b›31m"),
        ("\x7f\x00", "␡␀"),
        ("a\u202eb\u2066c\u200bd\ufeff", "a‹202e›b‹2066›c‹200b›d‹feff›"),
        ("tag\U000e0041", "tag‹e0041›"),
        ("lone\ud800", "lone‹d800›"),
    ],
)
def test_what_a_screen_would_obey_or_hide_is_shown_as_a_symbol(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(any_text)
def test_nothing_that_controls_a_screen_is_left(text: str) -> None:
    for character in visible(text):
        if character in "\t\n":
            continue
        assert unicodedata.category(character) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(character) not in {
            "RLO",
            "LRO",
            "RLE",
            "LRE",
            "PDF",
            "RLI",
            "LRI",
        }


@given(any_text)
def test_making_visible_twice_changes_nothing_more(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(any_text, st.integers(min_value=1, max_value=40))
def test_one_line_is_one_line_and_not_too_long(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line


def test_what_was_cut_ends_with_an_ellipsis() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"
    assert one_line("a\nb", 9) == "a⏎b"
