"""Markdown that comes in pieces looks the same however it was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App

from acp_console.tui.transcript.markdown import (
    CODE_CUT,
    MAX_BLOCK,
    BlockScanner,
    MarkdownRenderer,
    Part,
)
from acp_console.tui.transcript.rows import Heights, Look, wrap

LOOK = Look.from_theme(App[None]().theme_variables)
DOCUMENT = """\
# Title

A paragraph with **strong**, *emphasized* and `code` words
over two lines.
## Next
- one
- two

  with a paragraph

  ```py
  x = 1
  ```
1. first
2. second

> quoted
> text

| a | b |
|---|--:|
| 1 | 2 |

```python
def f():

    return "x"
```
<!-- a comment

over lines -->

---

The [end](https://example.org) and [named][ref].

[ref]: https://example.com
"""


def parts_of(text: str, cuts: list[int]) -> tuple[BlockScanner, list[Part]]:
    scanner = BlockScanner()
    for cut in sorted(cuts):
        scanner.feed(text[:cut])
    scanner.feed(text)
    tail = scanner.tail(text)
    return scanner, [*scanner.parts, *([tail] if tail else [])]


def shown(text: str, cuts: list[int] | None = None, width: int = 60) -> list[str]:
    scanner, parts = parts_of(text, cuts or [])
    renderer = MarkdownRenderer(LOOK)
    for part in scanner.references:
        renderer.define(text[part.begin : part.end])
    found: list[str] = []
    for part in parts:
        rows = renderer.rows(text, part, width)
        if found and rows and not part.goes_on:
            found.append("")
        found += [("".join(text for text, _ in row.lead) + row.text).rstrip() for row in rows]
    return found


def test_every_kind_of_block_is_shown() -> None:
    assert shown(DOCUMENT) == [
        "Title",
        "",
        "A paragraph with strong, emphasized and code words over two",
        "lines.",
        "",
        "Next",
        "",
        "• one",
        "",
        "• two",
        "",
        "  with a paragraph",
        "",
        "  ▏ py",
        "  ▏ x = 1",
        "",
        "1. first",
        "2. second",
        "",
        "▎ quoted text",
        "",
        "a │ b",
        "──┼──",
        "1 │ 2",
        "",
        "▏ python",
        "▏ def f():",
        "▏",
        '▏     return "x"',
        "",
        "<!-- a comment",
        "",
        "over lines -->",
        "",
        "─" * 40,
        "",
        "The end (https://example.org) and named",
        "(https://example.com).",
        "",
        "[ref]: https://example.com",
    ]


@given(st.lists(st.integers(0, len(DOCUMENT)), max_size=30))
def test_it_makes_no_difference_where_the_text_was_cut(cuts: list[int]) -> None:
    assert shown(DOCUMENT, cuts) == shown(DOCUMENT)


@given(st.text(alphabet="ab `*_#->|\n1.\t~[]()<!\\x1b漢", max_size=200), st.integers(1, 40))
def test_any_text_is_rendered_within_its_width_and_cut_into_neighbours(
    text: str, width: int
) -> None:
    _, parts = parts_of(text, list(range(0, len(text), 7)))
    renderer = MarkdownRenderer(LOOK)
    end = 0
    for part in parts:
        # What lies between two parts is blank, or the fence of a code block.
        between = text[end : part.begin].strip()
        assert not between or set(between[:1]) <= {"`", "~"}
        assert part.begin >= end
        end = part.end
        renderer.rows(text, part, width)


@pytest.mark.parametrize(
    "text",
    ["word " * 20_000, "x" * 100_000, "- item\n" * 20_000, "```\n" + "code\n" * 20_000,
     "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 10_000, "> " * 5_000, "* " * 5_000,
     "[a](" * 5_000, "|" * 50_000 + "\n" + "|-" * 25_000],
    ids=["prose", "word", "list", "code", "table", "quotes", "bullets", "links", "wide table"],
)  # fmt: skip
def test_a_part_is_bounded_however_long_a_block_is(text: str) -> None:
    _, parts = parts_of(text, list(range(0, len(text), 4096)))
    assert all(part.end - part.begin <= MAX_BLOCK + 8192 for part in parts)
    assert all(
        text.count("\n", part.begin, part.end) <= CODE_CUT for part in parts if part.kind == "code"
    )
    renderer = MarkdownRenderer(LOOK)
    for part in parts[:2] + parts[-2:]:
        assert renderer.rows(text, part, 60)


@pytest.mark.parametrize("line", ["words of prose\n", "this | or that\n"])
def test_long_prose_does_not_go_on_as_a_table(line: str) -> None:
    _, parts = parts_of(line * (MAX_BLOCK // 2 // len(line)), [])
    assert {part.kind for part in parts} == {"markdown"}


@given(st.text(max_size=60), st.integers(2, 20))
def test_wrapping_loses_no_word_and_keeps_within_the_width(text: str, width: int) -> None:
    rows = wrap([(text, LOOK.text)], width)
    joined = "".join(joins + "".join(piece for piece, _ in row) for row, joins in rows)
    assert joined.split() == text.split()


def test_a_tab_is_spaces_that_count() -> None:
    """A terminal moves its cursor for a tab, and leaves what was there before."""
    rows = wrap([("one\ttwo\t\tthree", LOOK.text)], 11)
    lines = ["".join(piece for piece, _ in row) for row, _ in rows]
    assert lines == ["one    two", "three"]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 5)), max_size=80))
def test_sums_of_heights_are_those_of_a_list(steps: list[tuple[bool, int, int]]) -> None:
    heights, plain = Heights(), list[int]()
    for is_new, place, height in steps:
        if is_new or place >= len(plain):
            heights.append(height)
            plain.append(height)
        else:
            heights.set(place, height)
            plain[place] = height
    assert heights.total == sum(plain)
    assert [heights.before(at) for at in range(len(plain) + 1)] == [
        sum(plain[:at]) for at in range(len(plain) + 1)
    ]
    for row in range(sum(plain)):
        place, rest = heights.find(row)
        assert sum(plain[:place]) + rest == row
        assert rest < plain[place]


def test_items_of_a_task_list_have_boxes() -> None:
    text = "- [ ] open\n- [x] **done** [ ]\n- [X]\n- [y] other\n\n1. [X] counted\n"
    assert shown(text) == [
        "☐ open", "☑ done [ ]", "• [X]", "• [y] other", "", "1. ☑ counted",
    ]  # fmt: skip


def test_a_code_block_names_its_language_once() -> None:
    lines = [f"x = {number}" for number in range(3 * CODE_CUT)]
    rows = shown("\n".join(["```py title=a", *lines, "```", "", "```", "plain", "```", ""]))
    assert rows == ["▏ py", *(f"▏ {line}" for line in lines), "", "▏ plain"]


def test_cells_of_a_table_stand_where_it_says() -> None:
    text = "| a | b | c |\n|:--|:-:|--:|\n| long | longer | 1000 |\n| x | y | 1 |\n"
    rows = MarkdownRenderer(LOOK).rows(text, Part(0, len(text)), 80)
    assert [row.text for row in rows] == [
        "a    │   b    │    c",
        "─────┼────────┼─────",
        "long │ longer │ 1000",
        "x    │   y    │    1",
    ]
