"""Markdown that grows: cut into blocks that are finished, each rendered when it is visible.

A line scanner finds where no further text can change what comes before. Finished blocks are
neither parsed nor rendered until somebody sees them; only the unfinished one is parsed again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from rich.style import Style

from acp_console.tui.transcript.code import code_rows
from acp_console.tui.transcript.rows import Look, Row, Run, cells, combined, wrap, wrapped
from acp_protocol.host.sanitize import escape_controls, prose_text, single_line

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.tree import SyntaxTreeNode

MAX_BLOCK: Final = 16_000
"""Characters of a block that is rendered as Markdown; more is shown as plain text in pieces."""
PROSE_CUT: Final = 3_000
"""Characters of a paragraph after which it is cut at the end of a line."""
LIST_CUT: Final = 2_000
"""Characters of a list after which it is cut between two items."""
CODE_LINES: Final = 80
"""Lines of a code block that are rendered at a time."""
CODE_CUT: Final = 160
"""Lines after which a code block is cut wherever it is."""
MAX_LANGUAGE: Final = 20
"""Characters of the name of a language."""
MAX_NESTING: Final = 20
"""Levels of lists and quotes that are indented."""

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_ITEM: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_REFERENCE: Final = re.compile(r" {0,3}\[[^\]\n]+\]:\s*\S")
_TABLE_RULE: Final = re.compile(r" {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_TASK: Final = re.compile(r"\[([ xX])\][ \t]+")
_OPEN_HTML: Final = re.compile(r" {0,3}<(!--|script|pre|style|textarea)", re.IGNORECASE)

PartKind: TypeAlias = Literal["markdown", "code", "table", "plain", "block"]
"""What a part is rendered as; a block is content that is not text, and has no characters."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a text that is rendered on its own."""

    begin: int
    end: int
    kind: PartKind = "markdown"
    language: str = ""
    goes_on: bool = False
    """Whether it belongs to the part before it, so that no empty row stands between."""
    header: tuple[int, int] | None = None
    """Where the header of a table stands whose rows go on here."""


class BlockScanner:
    """Cuts a growing text; `parts` are finished, `tail` is the rest."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.references: list[Part] = []
        """The parts that define links for all others."""
        self._at = 0
        self._begin = 0
        self._fence: tuple[str, str] | None = None
        """The characters that close the open code block, and its language."""
        self._html_end = ""
        self._is_list = False
        self._is_blank = True
        self._lines = 0
        self._goes_on = False
        self._table: tuple[int, int] | None = None
        self._first_end = 0
        """Where the first line of the open block ends."""

    def feed(self, text: str, until: int | None = None) -> None:
        """Scan what has come, `until` a place; `text` begins with what it was before."""
        until = len(text) if until is None else until
        while (end := text.find("\n", self._at, until)) >= 0:
            self._line(text, self._at, end + 1)
            self._at = end + 1
        if until - self._begin > MAX_BLOCK:
            self._cut_plain(text, until)

    def cut(self, text: str, place: int) -> None:
        """End the open part at a place, where content stands that is not text."""
        self.feed(text, place)
        if (open_part := self.tail(text, place)) is not None:
            self.parts.append(open_part)
        self._finish(self._begin)
        self._begin = self._at = place
        self._is_blank = True
        self.parts.append(Part(place, place, "block", goes_on=True))

    def tail(self, text: str, until: int | None = None) -> Part | None:
        """Return the unfinished rest, `until` a place."""
        end = len(text) if until is None else until
        if self._begin >= end:
            return None
        if self._fence is not None and self._closes(text[self._at : end]):
            end = self._at
        return self._part(end)

    def _part(self, end: int) -> Part:
        if self._fence is not None:
            return Part(self._begin, end, "code", self._fence[1], self._goes_on)
        if self._table is not None and self._goes_on:
            return Part(self._begin, end, "table", goes_on=True, header=self._table)
        return Part(self._begin, end, goes_on=self._goes_on)

    def _finish(self, end: int, *, goes_on: bool = False) -> None:
        if end > self._begin:
            self.parts.append(self._part(end))
        self._begin, self._goes_on, self._lines = end, goes_on, 0
        if not goes_on:
            self._table, self._is_list, self._html_end = None, False, ""

    def _line(self, text: str, begin: int, end: int) -> None:
        line = text[begin:end]
        if self._fence is not None:
            self._code_line(line, begin, end)
        elif self._html_end:
            if self._html_end in line.lower():
                self._html_end = ""
        elif line.isspace():
            self._is_blank = True
            if self._begin == begin and not self._goes_on:
                self._begin = end
        else:
            self._text_line(text, line, begin, end)

    def _text_line(self, text: str, line: str, begin: int, end: int) -> None:
        is_blank, self._is_blank = self._is_blank, False
        is_indented = line[0] in " \t"
        fence = _FENCE.match(line)
        if fence and not (self._is_list and is_indented) and "`" not in fence[2]:
            self._finish(begin)
            self._begin = end
            self._fence = fence[1], fence[2].split()[0] if fence[2].split() else ""
            return
        is_item = _ITEM.match(line) is not None
        if self._begin < begin:
            self._cut_before(line, begin, is_blank=is_blank, is_item=is_item)
        if self._begin == begin and not self._goes_on:
            self._begin_block(line, begin, end, is_item=is_item)
        elif (
            begin == self._first_end
            and "|" in text[self._begin : begin]
            and _TABLE_RULE.match(line)
        ):
            self._table = self._begin, end
        if _HEADING.match(line) and not self._is_list:
            self._finish(end)
        elif end - self._begin > MAX_BLOCK // 4 and self._table is not None:
            self._finish(end, goes_on=True)
        elif end - self._begin > MAX_BLOCK:
            self._cut_plain(text, end)
        elif end - self._begin > PROSE_CUT and not self._is_list and self._table is None:
            self._finish(end, goes_on=True)

    def _cut_before(self, line: str, begin: int, *, is_blank: bool, is_item: bool) -> None:
        """End the open block before this line, if nothing can change it any more."""
        is_indented = line[0] in " \t"
        if is_blank and not is_indented and not (self._is_list and is_item):
            self._finish(begin)
        elif self._is_list and is_item and not is_indented and begin - self._begin > LIST_CUT:
            self._finish(begin, goes_on=not is_blank)
            self._is_list = True
        elif not is_blank and not self._is_list and _HEADING.match(line):
            self._finish(begin)

    def _begin_block(self, line: str, begin: int, end: int, *, is_item: bool) -> None:
        self._is_list = is_item
        self._first_end = end
        if html := _OPEN_HTML.match(line):
            closing = "-->" if html[1] == "!--" else f"</{html[1].lower()}"
            self._html_end = "" if closing in line.lower()[html.end() :] else closing
        if _REFERENCE.match(line):
            self.references.append(Part(begin, end))

    def _code_line(self, line: str, begin: int, end: int) -> None:
        assert self._fence is not None
        language = self._fence[1]
        bare = line.strip()
        if self._closes(line):
            if begin > self._begin or not self._goes_on:
                self.parts.append(Part(self._begin, begin, "code", language, self._goes_on))
            self._fence = None
            self._begin, self._goes_on, self._lines = end, False, 0
            self._is_blank, self._is_list, self._table = True, False, None
            return
        self._lines += 1
        is_seam = self._is_blank and bare and line[0] not in " \t"
        self._is_blank = not bare
        if self._lines > CODE_LINES and is_seam:
            self._finish(begin, goes_on=True)
            self._lines = 1
        elif self._lines >= CODE_CUT or end - self._begin > MAX_BLOCK:
            self._finish(end, goes_on=True)

    def _closes(self, line: str) -> bool:
        """Return whether a line ends the open code block."""
        assert self._fence is not None
        closing, bare = self._fence[0], line.strip()
        is_indented = len(line) - len(line.lstrip(" ")) > 3
        return len(bare) >= len(closing) and not bare.strip(closing[0]) and not is_indented

    def _cut_plain(self, text: str, end: int) -> None:
        """Give up rendering a block that is too long; what comes is cut into pieces."""
        kind: PartKind = "plain" if self._fence is None else "code"
        language = self._fence[1] if self._fence else ""
        while end - self._begin > MAX_BLOCK:
            cut = text.rfind(" ", self._begin + 1, self._begin + MAX_BLOCK)
            cut = self._begin + MAX_BLOCK if cut < 0 else cut + 1
            self.parts.append(Part(self._begin, cut, kind, language, self._goes_on))
            self._begin, self._goes_on = cut, True
        self._at = max(self._at, self._begin)


class MarkdownRenderer:
    """Renders parts of one text in one look."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._env: dict[str, object] = {}

    def define(self, source: str) -> None:
        """Read definitions of links."""
        _parser().parse(source, self._env)

    def rows(self, text: str, part: Part, width: int) -> list[Row]:
        """Return the rows of a part."""
        source = prose_text(text[part.begin : part.end])
        match part.kind:
            case "code":
                return self._code(source, part.language, width, is_named=not part.goes_on)
            case "block":
                return []
            case "plain":
                return wrapped([(source.strip("\n"), self._look.text)], width)
            case "table" if part.header is not None:
                source = prose_text(text[slice(*part.header)]) + source
                return self._blocks(source, width)[2:]
            case _:
                rows = self._blocks(source, width)
                if rows or not source.strip():
                    return rows
                # Nested too deeply for the parser.
                return wrapped([(source.strip("\n"), self._look.text)], width)

    def _blocks(self, source: str, width: int) -> list[Row]:
        from markdown_it.tree import SyntaxTreeNode

        tree = SyntaxTreeNode(_parser().parse(source, self._env))
        return self._children(tree.children, width, (), (), depth=0)

    def _children(
        self,
        nodes: Sequence[SyntaxTreeNode],
        width: int,
        first: Sequence[Run],
        rest: Sequence[Run],
        *,
        depth: int,
        is_tight: bool = False,
    ) -> list[Row]:
        rows: list[Row] = []
        for node in nodes:
            if rows and not is_tight:
                rows.append(Row([], rest))
            rows += self._block(node, width, rest if rows else first, rest, depth)
        return rows

    def _block(
        self,
        node: SyntaxTreeNode,
        width: int,
        first: Sequence[Run],
        rest: Sequence[Run],
        depth: int,
    ) -> list[Row]:
        look, deeper = self._look, depth + 1
        match node.type:
            case "paragraph":
                return wrapped(self._inline(node, look.text), width, first, rest)
            case "heading":
                style = look.heading
                if node.tag == "h1":
                    style += Style(underline=True)
                return wrapped(self._inline(node, style), width, first, rest)
            case "fence" | "code_block":
                language = node.info.split()[0] if node.info.split() else ""
                return self._code(node.content, language, width, first, rest)
            case "bullet_list" | "ordered_list":
                return self._list(node, width, first, rest, deeper)
            case "blockquote":
                bar = [] if depth > MAX_NESTING else [("▎ ", look.muted)]
                lead = [*first, *bar], [*rest, *bar]
                return self._children(node.children, width, *lead, depth=deeper)
            case "table":
                return self._table(node, width, first, rest)
            case "hr":
                rule = "─" * max(1, min(width - cells(first), 40))
                return [Row([(rule, look.muted)], first)]
            case "html_block":
                return wrapped([(node.content.rstrip("\n"), look.muted)], width, first, rest)
            case _:
                text = node.content or "".join(each.content for each in node.walk())
                return wrapped([(text, look.text)], width, first, rest)

    def _code(
        self,
        source: str,
        language: str,
        width: int,
        first: Sequence[Run] = (),
        rest: Sequence[Run] = (),
        *,
        is_named: bool = True,
    ) -> list[Row]:
        """Return the rows of code, below the name of its language if that `is_named`."""
        look = self._look
        name = single_line(language, MAX_LANGUAGE) if is_named else ""
        head = [Row([], [*first, ("▏ ", look.muted), (name, look.muted)])] if name else []
        lead = rest if head else first
        return [*head, *code_rows(escape_controls(source), language, width, look, lead, rest)]

    def _list(
        self,
        node: SyntaxTreeNode,
        width: int,
        first: Sequence[Run],
        rest: Sequence[Run],
        depth: int,
    ) -> list[Row]:
        number = node.attrs.get("start", 1)
        number = number if isinstance(number, int) else 1
        is_ordered = node.type == "ordered_list"
        last = f"{number + len(node.children) - 1}."
        rows: list[Row] = []
        is_tight = all(
            child.hidden for item in node.children for child in item.children
            if child.type == "paragraph"
        )  # fmt: skip
        for item in node.children:
            mark = f"{number}.".rjust(len(last)) + " " if is_ordered else "• "
            number += 1
            if task := _take_task(item):
                mark = f"{mark}{task} " if is_ordered else f"{task} "
            if depth > MAX_NESTING:
                mark = ""
            lead = [*(rest if rows else first), (mark, self._look.muted)]
            indent = [*rest, (" " * len(mark), self._look.text)]
            if rows and not is_tight:
                rows.append(Row([], rest))
            rows += self._children(
                item.children, width, lead, indent, depth=depth, is_tight=is_tight
            ) or [Row([], lead)]
        return rows

    def _table(
        self, node: SyntaxTreeNode, width: int, first: Sequence[Run], rest: Sequence[Run]
    ) -> list[Row]:
        look = self._look
        lines = [line for part in node.children for line in part.children]
        grid = [
            [
                self._inline(cell, look.strong if number == 0 else look.text)
                for cell in line.children
            ]
            for number, line in enumerate(lines)
        ]
        room = width - cells(first)
        widths = _column_widths(grid, room)
        if widths is None:
            return self._records(grid, width, first, rest)
        bar = (" │ ", look.muted)
        sides = [str(cell.attrs.get("style", "")) for cell in lines[0].children] if lines else []
        rows: list[Row] = []
        for number, line in enumerate(grid):
            wrapped_cells = [
                [line for line, _ in wrap(cell, size)]
                for cell, size in zip(line, widths, strict=False)
            ]
            for at in range(max(map(len, wrapped_cells), default=0)):
                runs: list[Run] = []
                for place, size in enumerate(widths):
                    pieces = wrapped_cells[place] if place < len(wrapped_cells) else []
                    piece = pieces[at] if at < len(pieces) else []
                    runs += [bar] if place else []
                    fill = size - cells(piece)
                    before = int(fill * _FILL_BEFORE.get(sides[place], 0))
                    after = fill - before
                    runs += [(" " * before, look.text)] if before else []
                    runs += piece
                    if place < len(widths) - 1:
                        runs.append((" " * after, look.text))
                rows.append(Row(runs, rest if rows else first))
            if number == 0:
                rule = "─┼─".join("─" * size for size in widths)
                rows.append(Row([(rule, look.muted)], rest))
        return rows

    def _records(
        self,
        grid: list[list[list[Run]]],
        width: int,
        first: Sequence[Run],
        rest: Sequence[Run],
    ) -> list[Row]:
        """Return a table that is too wide, as one line for each cell."""
        rows: list[Row] = []
        names = grid[0] if grid else []
        for line in grid[1:] or grid:
            for name, cell in zip(names, line, strict=False):
                runs = [*name, (": ", self._look.muted), *cell]
                rows += wrapped(runs, width, rest if rows else first, rest)
            rows.append(Row([("─" * 8, self._look.muted)], rest))
        return rows

    def _inline(self, node: SyntaxTreeNode, base: Style) -> list[Run]:
        runs: list[Run] = []
        for child in node.children:
            self._spans(child, base, runs, 0)
        return runs

    def _spans(self, node: SyntaxTreeNode, style: Style, runs: list[Run], depth: int) -> None:
        match node.type:
            case "inline" | "strong" | "em" | "s":
                more = _MARKS.get(node.type)
                style = style if more is None else combined(style, more)
                for child in node.children:
                    self._spans(child, style, runs, depth + 1)
            case "code_inline":
                runs.append((escape_controls(node.content), combined(style, self._look.code)))
            case "softbreak" | "hardbreak":
                runs.append((" " if node.type == "softbreak" else "\n", style))
            case "link" | "image":
                self._link(node, style, runs, depth)
            case _:
                # The parser reads entities such as `&#x202e;`.
                runs.append((prose_text(node.content), style))

    def _link(self, node: SyntaxTreeNode, style: Style, runs: list[Run], depth: int) -> None:
        """Show the text of a link and where it leads: a text may claim another place."""
        begin = len(runs)
        for child in node.children:
            self._spans(child, combined(style, self._look.link), runs, depth + 1)
        shown = "".join(text for text, _ in runs[begin:])
        goal = str(node.attrs.get("href") or node.attrs.get("src") or "")
        if node.type == "image":
            runs.insert(begin, ("🖼 ", style))
        title = str(node.attrs.get("title") or "")
        about = [goal] if goal and goal != shown else []
        about += [f'"{title}"'] if title else []
        if about:
            text = escape_controls(" ".join(about))
            runs.append((f" ({text})", combined(style, self._look.muted)))


def _take_task(item: SyntaxTreeNode) -> str:
    """Return the box of an item of a task list, and take it off its text; empty: it is none."""
    paragraph = item.children[0] if item.children else None
    inline = paragraph.children[0] if paragraph and paragraph.type == "paragraph" else None
    text = inline.children[0] if inline is not None and inline.children else None
    if text is None or text.type != "text" or text.token is None:
        return ""
    if (task := _TASK.match(text.token.content)) is None:
        return ""
    text.token.content = text.token.content[task.end() :]
    return "☐" if task[1] == " " else "☑"


def _column_widths(grid: list[list[list[Run]]], room: int) -> list[int] | None:
    """Return the widths of the columns; None if there are too many for the room."""
    count = max(map(len, grid), default=0)
    natural = [
        max((cells(line[place]) for line in grid if place < len(line)), default=0) or 1
        for place in range(count)
    ]
    room -= 3 * (count - 1)
    if room < 6 * count and room < sum(natural):
        return None
    widths = natural[:]
    while sum(widths) > room:
        widest = max(widths)
        second = max((size for size in widths if size < widest), default=0)
        columns = [place for place, size in enumerate(widths) if size == widest]
        excess = sum(widths) - room
        step = max(1, min(widest - second, -(-excess // len(columns))))
        for place in columns:
            widths[place] = max(1, widths[place] - step)
    return widths


_FILL_BEFORE: Final = {"text-align:right": 1.0, "text-align:center": 0.5}
"""The share of a cell's padding that comes before its text, by the style of the cell."""
_MARKS: Final = {
    "strong": Style(bold=True),
    "em": Style(italic=True),
    "s": Style(strike=True),
}


@cache
def _parser():
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.block.ruler.at("reference", _reference)
    return parser


def _reference(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read the definition of a link, and show it: it may hold any text, and nothing may use it."""
    from markdown_it.rules_block import reference

    if not reference(state, first, last, silent):
        return False
    if not silent:
        token = state.push("html_block", "", 0)
        token.content = state.getLines(first, state.line, state.blkIndent, keepLastLF=True)
    return True
