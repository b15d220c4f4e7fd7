"""Untrusted text made safe to show."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_protocol.host.sanitize import ProseStream, escape_controls, prose_text, single_line

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
        ("\x1b]52;c;c2VjcmV0\x1b\\", "␛]52;c;c2VjcmV0␛\\"),
        ("\x1bP+q544e\x1b\\ \x1b_G\x1b^x", "␛P+q544e␛\\ ␛_G␛^x"),
        ("\x9d52;c;x\x9c\x90q\x9c", "‹9d›52;c;x‹9c›‹90›q‹9c›"),
        ("\x1b[?1049h\x1bc\x0e\x08", "␛[?1049h␛c␎␈"),
        ("\u200e\u200f\u202a\u202c\u2067\u2069", "‹200e›‹200f›‹202a›‹202c›‹2067›‹2069›"),
        ("\u2028\u2029\x85\x0b\x0c", "‹2028›‹2029›‹85›␋␌"),
        ("a\u034fb\u3164c\U000e0101", "a‹34f›b‹3164›c‹e0101›"),
        ("\U0010eeee\u0305\u030d", "‹10eeee›\u0305\u030d"),
        ("❤\ufe0f e\u0301", "❤\ufe0f e\u0301"),
        ("\r\r\n\r", "␍\n␍"),
    ],
)
def test_what_a_screen_would_obey_or_hide_is_shown_as_a_symbol(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


SHOWN_FORMATS = (
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Characters of the category Cf that have a look of their own."""
IGNORABLE = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0xE0000, 0xE1000)}
"""Other code points of which a screen shows nothing; those of emoji are meant to be there."""
IMAGE = "\U0010eeee"
"""What kitty draws a part of an image for."""


def is_harmless(character: str) -> bool:
    if character in f"\t\n{SHOWN_FORMATS}" or 0x13430 <= ord(character) <= 0x1345F:
        return True
    is_hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return not is_hidden and ord(character) not in IGNORABLE and character != IMAGE


def test_every_character_there_is_is_harmless_when_it_is_shown() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    assert [
        hex(ord(sign)) for sign in every if not all(map(is_harmless, escape_controls(sign)))
    ] == []


def test_only_what_harms_is_changed() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    changed = {sign for sign in every if escape_controls(sign) != sign}
    assert {unicodedata.category(sign) for sign in changed if is_harmless(sign)} <= {"Cn", "Mn"}


@given(any_text)
def test_nothing_that_controls_a_screen_is_left(text: str) -> None:
    assert all(map(is_harmless, escape_controls(text)))
    assert all(map(is_harmless, single_line(text, 20)))


markup = st.sampled_from(
    ["[", "[/]", "[@click=app.quit]", "[bold]", "\\[", "<b>", "&amp;", "\x1b["]
)


@given(st.lists(markup | any_text).map("".join))
def test_what_some_screen_takes_for_markup_survives_unchanged(text: str) -> None:
    """It must not be lost here; it is never given to anything that reads markup."""
    signs = "[]@=()\\<>&;"
    assert [sign for sign in escape_controls(text) if sign in signs] == [
        sign for sign in text if sign in signs
    ]


@given(st.text(st.characters(max_codepoint=0x7E, min_codepoint=0x20)))
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert escape_controls(text) == text


@given(any_text)
def test_making_visible_twice_changes_nothing_more(text: str) -> None:
    assert escape_controls(escape_controls(text)) == escape_controls(text)


@given(any_text, st.integers(min_value=1, max_value=40))
def test_one_line_is_one_line_and_not_too_long(text: str, width: int) -> None:
    line = single_line(text, width)
    assert len(line) <= width
    assert "\n" not in line


def test_what_was_cut_ends_with_an_ellipsis() -> None:
    assert single_line("abcdef", 4) == "abc…"
    assert single_line("abcd", 4) == "abcd"
    assert single_line("a\nb", 9) == "a⏎b"


JOINED = (
    "dev 👩‍💻 ok, flag 🏳️‍🌈, heart ❤️‍🔥, skin 👩🏽‍🚀, nod 🙂‍↕️",
    "Persian: می‌خواهم",
    "Hindi: क्‍ष and क्‌ष",
    "Malayalam: ന്‍റെ",
)
"""Prose with joiners that belong to it."""


@pytest.mark.parametrize("text", JOINED)
def test_joiners_of_letters_and_emoji_are_text_in_prose(text: str) -> None:
    assert prose_text(text) == text
    assert single_line(text, 200, is_prose=True) == text
    assert "‹200" in escape_controls(text)
    assert "‹200" in single_line(text, 200)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm\u200d -rf", "rm‹200d› -rf"),
        ("a\u200db", "a‹200d›b"),
        ("漢\u200d字", "漢‹200d›字"),
        ("\u200c", "‹200c›"),
        ("م\u200c", "م‹200c›"),
        ("م\u200c\u200cخ", "م‹200c›‹200c›خ"),
        ("م\u200c\u202eخ", "م‹200c›‹202e›خ"),
        ("م\u200bخ", "م‹200b›خ"),
        ("👩\u200c💻", "👩‹200c›💻"),
        ("👩\u200dx", "👩‹200d›x"),
        ("\ufe0f\u200d💻", "\ufe0f‹200d›💻"),
        ("\x1bم\u200cخ\x1b", "␛م\u200cخ␛"),
    ],
)
def test_joiners_that_join_nothing_are_visible_in_prose_too(text: str, shown: str) -> None:
    assert prose_text(text) == shown


@given(any_text | st.text("م\u200c\u200d👩💻x\ufe0f\r\n"), st.lists(st.integers(0, 30)))
@example("a\r\nb\r", [2])
def test_prose_in_pieces_is_the_prose(text: str, cuts: list[int]) -> None:
    stream, places = ProseStream(), sorted(min(cut, len(text)) for cut in cuts)
    ends = zip([0, *places], [*places, len(text)], strict=True)
    shown = "".join(stream.feed(text[begin:end]) for begin, end in ends) + stream.finish()
    assert shown == prose_text(text)


@given(any_text)
def test_prose_is_harmless_but_for_joiners(text: str) -> None:
    shown = prose_text(text)
    assert escape_controls(shown.replace("\u200c", "").replace("\u200d", "")) == shown.replace(
        "\u200c", ""
    ).replace("\u200d", "")


def test_variation_selectors_stay_only_where_an_emoji_may_need_one() -> None:
    for kept in ("☁\ufe0f", "1\ufe0f\u20e3", "✔\ufe0e done", "\ufe0f"):
        assert escape_controls(kept) == kept
    assert escape_controls("ls\ufe0f") == "ls‹fe0f›"
    assert escape_controls("☁\ufe0f\ufe0e") == "☁\ufe0f‹fe0e›"
    assert escape_controls("☁\ufe01") == "☁‹fe01›"
