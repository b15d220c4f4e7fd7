"""Texts that terminals and editors are reported to show wrong, retold: how they are shown here.

Each is one public report of somebody who reads what an agent writes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.app import App

from acp_console.home import Entry
from acp_console.traffic.sources import FileSource
from acp_console.tui.home.screen import entry_row
from acp_console.tui.transcript.code import colored_lines
from acp_console.tui.transcript.rows import Look
from acp_protocol.host.sanitize import ProseStream, escape_controls, prose_text, single_line
from tests.console.tui.test_markdown import shown

LOOK = Look.from_theme(App[None]().theme_variables)

MARKDOWN: dict[str, tuple[str, list[str]]] = {
    "a block of four marks quotes one of three": (
        '````markdown\nFirst\n```py\nfoo = "bar"\n```\nSecond\n````\nafter\n',
        ["▏ markdown", "▏ First", "▏ ```py", '▏ foo = "bar"', "▏ ```", "▏ Second", "", "after"],
    ),
    "another kind of mark closes nothing": (
        "before\n```python\ncode 1\n~~~\ncode 2\n```\nafter\n",
        ["before", "", "▏ python", "▏ code 1", "▏ ~~~", "▏ code 2", "", "after"],
    ),
    "a block without an end": ("text\n```py\nx = 1\n", ["text", "", "▏ py", "▏ x = 1"]),
    "a block in an unknown language": ("```nosuch\nx = 1\n```\n", ["▏ nosuch", "▏ x = 1"]),
    "a block that interrupts a numbered list": (
        "1. a\n```sh\nls\n```\n2. b\n",
        ["1. a", "", "▏ sh", "▏ ls", "", "2. b"],
    ),
    "tags of HTML": (
        'Use <input type="text"> and\n\n<button>Click</button>\n',
        ['Use <input type="text"> and', "", "<button>Click</button>"],
    ),
    "tags with escaped brackets": (
        "Nest \\<foo\\> and <bar>; Vec<T>\n",
        ["Nest <foo> and <bar>; Vec<T>"],
    ),
    "tags of a model around its thoughts": (
        "<thinking>\nplan\n</thinking>\nThe answer",
        ["<thinking>", "plan", "</thinking>", "The answer"],
    ),
    "a comment": ("<!-- hidden -->shown", ["<!-- hidden -->shown"]),
    "a comment in the form of a definition": (
        "[//]: # (hidden)\n\n> [a]: b 'c'\n",
        ["[//]: # (hidden)", "", "▎ [a]: b 'c'"],
    ),
    "a character by its number": (
        "a&#x202e;b&shy;c&zwnj;d &lt;b&gt;",
        ["a‹202e›b‹ad›c‹200c›d <b>"],
    ),
    "a link that claims another goal, and its title": (
        '[https://good.example](https://evil.example "rm -rf")',
        ['https://good.example (https://evil.example "rm -rf")'],
    ),
    "an address that is too long for a row": (
        f"see https://example.com/{'a' * 50}",
        ["see", f"https://example.com/{'a' * 40}", "a" * 10],
    ),
    "names with underscores and globs": (
        "call my_func_name(*args, **kwargs); 2 * 3 * 4",
        ["call my_func_name(*args, **kwargs); 2 * 3 * 4"],
    ),
    "marks beside wide punctuation": (
        "**注意：**请 and **bold**text",
        ["**注意：**请 and boldtext"],
    ),
    "prices": ("It costs $5 and $6, and $x_1$", ["It costs $5 and $6, and $x_1$"]),
    "a table with wide characters": (
        "| コード | message |\n|---|---|\n| E001 | ログインに失敗 |\n| 👩‍💻 | x |\n",
        [
            "コード │ message",
            "───────┼───────────────",
            "E001   │ ログインに失敗",
            "👩‍💻     │ x",
        ],
    ),
    "a table with line breaks": (
        "| a | b |\n|---|---|\n| one<br>two | x |\n",
        ["a          │ b", "───────────┼──", "one<br>two │ x"],
    ),
    "a line of letters without spaces": (
        "これは非常に長い日本語の文章で、単語の間に空白がありません。単語の間に空白。",
        ["これは非常に長い日本語の文章で、単語の間に空白がありません。", "単語の間に空白。"],
    ),
    "tabs in code": ("```\na\tb\n\tc\n```\n", ["▏ a   b", "▏     c"]),
    "ends of lines of Windows": ("a\r\nb\r\n\r\n```\r\nx\r\n```\r\n", ["a b", "", "▏ x"]),
}  # fmt: skip


@pytest.mark.parametrize("report", MARKDOWN)
def test_markdown_shows_all_that_it_holds(report: str) -> None:
    text, rows = MARKDOWN[report]
    assert shown(text) == rows
    assert all(cell_len(row) <= 60 for row in rows)


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("\x1b]8;;https://e.com\x1b\\link\x1b]8;;\x07", ["␛]8;;https://e.com␛\\link␛]8;;␇"]),
        ("10%\r50%\r100%\ndone", ["10%␍50%␍100%", "done"]),
        ("load\x1b[2K\x1b[1Gdone", ["load␛[2K␛[1Gdone"]),
        ("N\bNA\bA", ["N␈NA␈A"]),
        ("\x1b[?25l⠋ a\x1b[?25h", ["␛[?25l⠋ a␛[?25h"]),
        ("\x1b[1mab\x1b[0m\tc", ["ab      c"]),
        ("a\r\nb\r\n", ["a", "b", ""]),
        ("\x1b[38;2;1;2;3mx\x1b[0;8my", ["xy"]),
        ("\x9b31mx", ["‹9b›31mx"]),
        ("こんにちは ｶﾞ 🚀", ["こんにちは ｶﾞ 🚀"]),
    ],
)
def test_output_moves_no_cursor_and_loses_nothing(output: str, lines: list[str]) -> None:
    """Links, progress bars, spinners, bold by backspaces: colours are all that is obeyed."""
    assert ["".join(text for text, _ in line) for line in colored_lines(output, LOOK)] == lines


@pytest.mark.parametrize(
    "text",
    [
        "می‌روم",
        "React یک کتابخانه است.",
        "مرحبا gpt-5",
        "ന്\u200d and ക്\u200d.",
        "ಫೇಸ್‌ಬುಕ್ ನ್\u200c.",
        "ක්‍ෂ",
        "👨‍👩‍👧‍👦 🐈‍⬛ 🏳️‍⚧️ 👩‍❤️‍👨",
        "flag \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f of England",
        "🇮🇳 1️⃣ ❤️ e\u0301",
        "한글 漢字 ﷺ",
    ],
)
def test_scripts_and_emoji_are_shown_as_they_are(text: str) -> None:
    """However the text is cut into pieces; a command shows all that it hides."""
    assert prose_text(text) == text
    for cut in range(len(text)):
        stream = ProseStream()
        pieces = stream.feed(text[:cut]), stream.feed(text[cut:]), stream.finish()
        assert "".join(pieces) == text
    joins = any(each in text for each in "\u200c\u200d\U000e007f")
    assert (escape_controls(text) != text) == joins


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("\U0001f3f4\U000e0072\U000e006d\U000e007f", "🏴‹e0072›‹e006d›‹e007f›"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0065", "🏴‹e0067›‹e0062›‹e0065›"),
        ("x\U000e0067\U000e0062", "x‹e0067›‹e0062›"),
        ("ന്\u200d\u200d", "ന്‹200d›‹200d›"),
        ("a\u2066b\u2069", "a‹2066›b‹2069›"),
        ("a\u3164\u180eb", "a‹3164›‹180e›b"),
    ],
)
def test_what_hides_a_text_is_no_script(text: str, visible: str) -> None:
    assert prose_text(text) == visible


def test_what_is_cut_ends_with_a_whole_sign() -> None:
    assert single_line("👨‍👩‍👧 a family", 4, is_prose=True) == "👨‍👩…"


@pytest.mark.parametrize("title", ["plain", "漢字の題名", "👩‍💻 dev", "漢" * 40])
def test_wide_characters_push_nothing_out_of_its_column(title: str) -> None:
    entry = Entry("Agents", "○", title, "詳細 detail", "note", FileSource(Path("a")))
    text = entry_row(entry, 60, 20).plain
    assert cell_len(text[: text.index("詳細")]) == 23
    assert cell_len(text) == 59
