"""Markdown that somebody sent, made to stay within its message when it is put into a document.

The document has headings of its own, which say who speaks. What was sent reads the same, but

- its headings are two levels deeper, so that none looks like one of the document,
- HTML is text, so that no comment or tag hides what follows,
- definitions of links are text, as they would be shown nowhere, and make links in other messages,
- a block of code that is open at the end is closed, and
- what is nested too deeply for readers of Markdown is one block of code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from acp_protocol.host.sanitize import escape_controls

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_NESTING: Final = 100
"""Levels of lists and quotations that are read."""
HEADING_LEVELS: Final = 2
"""Levels of headings that the document has for itself."""
_SPECIAL: Final = re.compile(r"[<#]|```|~~~|\]:|[-=][ \t]*$|^[ >\-+*\d.)]{20}", re.MULTILINE)
"""What a text has that needs a closer look."""
_TICKS: Final = re.compile(r"`{3,}")
_HASHES: Final = re.compile(r"#{1,6}")
_BEHIND_QUOTE: Final = re.compile(r"[^ \t>].*", re.DOTALL)
_DEFINITION: Final = re.compile(r"\[(?:\\.|[^\[\]\\])+\]:", re.DOTALL)
_CELL: Final = re.compile(r"((?<!\\)\||\n)")
_MARK: Final = re.compile(r"\\.|`+|<", re.DOTALL)
_LINE_WITH_TAG: Final = re.compile(r"\n[ \t>]*(?=<)")
_CODE: Final = ("fence", "code_block")


def new_parser() -> MarkdownIt:
    """Return a parser that reads Markdown without HTML and definitions of links."""
    # It takes time to import, and most texts do without.
    from markdown_it import MarkdownIt

    found = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    return found.disable("reference")


def contained(text: str) -> list[str]:
    """Return the lines of a message, safe to show, for a document of Markdown."""
    lines = text.splitlines()
    if not _SPECIAL.search(text):
        return lines
    text = "\n".join(lines)
    parser = new_parser()
    tokens = parser.parse(text)
    if any(each.level >= MAX_NESTING - 5 for each in tokens):
        return list(code_block(text))
    for each in tokens:
        if each.type == "fence" and each.map:
            # Some readers would take it as the head of a table, and what closes it as a fence.
            lines[each.map[0]] = lines[each.map[0]].replace("|", "")
    _show_definitions(lines, tokens)
    if _lower_headings(lines, tokens):
        tokens = parser.parse("\n".join(lines))
    code = {line for each in tokens if each.type in _CODE for line in range(*each.map or (0, 0))}
    _escape_html(lines, tokens, code)
    last = tokens[-1] if tokens else None
    if last is not None and last.type == "fence" and _is_open(parser, text):
        lines.append(last.markup)
    return lines


def code_block(text: str, language: str = "") -> Iterator[str]:
    """Yield a block of code; its fence is longer than any in the text."""
    fence = "`" * (max(map(len, _TICKS.findall(text)), default=2) + 1)
    yield f"{fence}{language}"
    yield from escape_controls(text).rstrip("\n").splitlines()
    yield fence


def _is_open(parser: MarkdownIt, text: str) -> bool:
    return parser.parse(f"{text}\n\n# end")[-1].type == "fence"


def _lower_headings(lines: list[str], tokens: Sequence[Token]) -> bool:
    """Make headings two levels deeper, underlined ones in one line; return whether there are."""
    found = False
    for each, inline in pairwise(tokens):
        if each.type != "heading_open" or each.map is None:
            continue
        found = True
        first, end = each.map
        if each.markup.startswith("#"):
            marks = "#" * min(6, len(each.markup) + HEADING_LEVELS)
            lines[first] = _HASHES.sub(marks, lines[first], count=1)
            continue
        level = 1 if each.markup == "=" else 2
        marks = "#" * (level + HEADING_LEVELS)
        text = " ".join(map(str.strip, inline.content.split("\n")))
        bare = text.rstrip("#")
        text = bare + "\\#" * (len(text) - len(bare))
        lines[first] = f"{_before(lines[first], inline)}{marks} {text}"
        for at in range(first + 1, end):
            lines[at] = _BEHIND_QUOTE.sub("", lines[at]).rstrip()
    return found


def _show_definitions(lines: list[str], tokens: Sequence[Token]) -> None:
    """Make text of definitions of links and footnotes."""
    for each, inline in pairwise(tokens):
        if each.type == "paragraph_open" and each.map and _DEFINITION.match(inline.content):
            first = each.map[0]
            before = _before(lines[first], inline)
            lines[first] = f"{before}\\{lines[first][len(before) :]}"


def _before(line: str, inline: Token) -> str:
    """Return what stands in a line before the text that begins there: marks of what it is in."""
    return line[: max(line.rfind(inline.content.partition("\n")[0].rstrip()), 0)]


def _escape_html(lines: list[str], tokens: list[Token], code: set[int]) -> None:
    """Escape each `<` that is not in code; code in a line may go on in the next ones."""
    for first, end in reversed([*_paragraphs(len(lines), tokens)]):
        if not code.intersection(range(first, end)):
            text = "\n".join(lines[first:end])
            # A cell of a table ends a span of code.
            parts = _CELL.split(text) if _has_table(lines[first:end]) else [text]
            lines[first:end] = "".join(map(_escaped, parts)).split("\n")


def _has_table(lines: Sequence[str]) -> bool:
    """Return whether one of these may be the line below the head of a table."""
    return any("-" in line and not line.strip(" \t>|:-") for line in lines)


def _paragraphs(count: int, tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of lines that belong together, and each line that is in none."""
    ranges = sorted(
        {(each.map[0], each.map[1]) for each in tokens if each.type == "inline" and each.map}
    )
    at = 0
    for first, end in ranges:
        if first < at:
            continue
        yield from ((line, line + 1) for line in range(at, first))
        yield first, end
        at = end
    yield from ((line, line + 1) for line in range(at, count))


def _escaped(text: str) -> str:
    parts: list[str] = []
    at = 0
    while (found := _MARK.search(text, at)) is not None:
        end = found.end()
        if found[0][0] == "`":
            closing = re.compile(rf"(?<!`){found[0]}(?!`)").search(text, end)
            end = end if closing is None else closing.end()
        # In a span of code, a line that begins with a tag would still begin HTML.
        span = _LINE_WITH_TAG.sub(" ", text[found.start() : end])
        parts += [text[at : found.start()], "\\" if span == "<" else "", span]
        at = end
    return "".join([*parts, text[at:]])
