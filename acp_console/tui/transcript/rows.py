"""Rows of text: wrapping, styles, and sums of heights.

A row knows which of its cells are text and which are bars and indents: only text is copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from acp_console.tui.images.drawing import ImageRow
from acp_console.tui.images.images import Images
from acp_console.tui.themes import readable, with_meanings

Run: TypeAlias = tuple[str, Style]
"""Text in one style."""

TAB: Final = "    "
"""What is shown of a tab between words."""
_CHANGES: Final = ("added", "removed", "added-word", "removed-word")
"""The backgrounds of a diff."""
_PIECES: Final = re.compile(r"\n|[^\S\n]+|\S+")


@dataclass(frozen=True, slots=True)
class Look:
    """The styles of a theme, by what they are for."""

    text: Style
    muted: Style
    strong: Style
    heading: Style
    code: Style
    link: Style
    bar: Style
    """The bar beside a prompt of the user."""
    success: Style
    warning: Style
    error: Style
    added: Style
    removed: Style
    added_word: Style
    removed_word: Style
    match: Style
    selection: Style
    cursor: Style
    tokens: tuple[tuple[str, Style], ...] = ()
    """Styles of tokens of source code, by the first parts of their names."""
    changed_tokens: tuple[tuple[str, Style], ...] = ()
    """The same on the backgrounds of lines that a change adds or removes."""
    backs: tuple[Color, ...] = ()
    """Backgrounds on which coloured output has to be readable; none: its colours stay."""
    is_split: bool = False
    """Whether both sides of a diff stand beside each other."""
    images: Images | None = None
    """What draws images, if the terminal shows them."""

    @classmethod
    def from_theme(cls, variables: Mapping[str, str], *, has_colors: bool = True) -> Look:
        """Make the styles from the variables of a Textual theme."""
        if not has_colors:
            plain, bold = Style(), Style(bold=True)
            reverse, under = Style(reverse=True), Style(underline=True)
            return cls(
                plain, plain, bold, bold, plain, under, bold, plain, bold, bold,
                plain, plain, under, under, reverse, reverse, bold,
            )  # fmt: skip
        colors = with_meanings(variables)

        def fore(name: str) -> Style:
            return Style.from_color(Color.parse(colors[name]).rich_color)

        def on(name: str) -> Style:
            return Style.from_color(None, Color.parse(colors[name]).rich_color)

        backs = tuple(Color.parse(colors[name]) for name in ("background", "surface"))
        tokens = (
            ("Token.Comment", "text-muted", Style(italic=True)),
            ("Token.Keyword", "text-primary", Style()),
            ("Token.Operator.Word", "text-primary", Style()),
            ("Token.Literal.String", "text-success", Style()),
            ("Token.Literal.Number", "text-warning", Style()),
            ("Token.Name.Function", "text-accent", Style()),
            ("Token.Name.Class", "text-accent", Style()),
            ("Token.Name.Tag", "text-primary", Style()),
            ("Token.Generic.Deleted", "text-error", Style()),
            ("Token.Generic.Inserted", "text-success", Style()),
        )
        changes = [Color.parse(colors[f"diff-{name}"]) for name in _CHANGES]
        is_ansi = any(back.ansi is not None for back in (*backs, *changes))

        def on_change(name: str) -> Style:
            return Style.from_color(readable(Color.parse(colors[name]), changes).rich_color)

        text, muted, changed = fore("foreground"), fore("text-muted"), fore("diff-text")
        return cls(
            text=text,
            muted=muted,
            strong=text + Style(bold=True),
            heading=fore("heading") + Style(bold=True),
            code=fore("code"),
            link=fore("link") + Style(underline=True),
            bar=fore("user-bar"),
            success=fore("text-success"),
            warning=fore("text-warning"),
            error=fore("text-error"),
            added=changed + on("diff-added"),
            removed=changed + on("diff-removed"),
            added_word=changed + on("diff-added-word") + Style(bold=True),
            removed_word=changed + on("diff-removed-word") + Style(bold=True),
            match=Style(reverse=True),
            selection=on("selection"),
            cursor=fore("text-primary"),
            backs=() if is_ansi else backs,
            changed_tokens=()
            if is_ansi
            else tuple((begin, on_change(name) + style) for begin, name, style in tokens),
            tokens=tuple((begin, fore(name) + style) for begin, name, style in tokens),
        )


@dataclass(slots=True)
class Row:
    """One row of the transcript."""

    runs: Sequence[Run]
    lead: Sequence[Run] = ()
    """Bars and indents before the text."""
    joins: str = "\n"
    """What precedes it in the copied text: a new line, or a space where a line was wrapped."""
    back: Style | None = None
    """The background of the whole row."""
    opens: bool = False
    """Whether it names an attachment, which a click opens."""
    image: ImageRow | None = None
    """What the terminal shows behind the lead; there is no text beside it."""
    strips: dict[int, Strip] = field(default_factory=dict[int, Strip])
    """As it is drawn, by width."""

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.runs)

    @property
    def lead_cells(self) -> int:
        return sum(cell_len(text) for text, _ in self.lead)

    def strip(self, width: int, base: Style) -> Strip:
        """Return the row, exactly `width` cells wide."""
        drawn = self.strips.get(width)
        if drawn is None:
            back = base if self.back is None else base + self.back
            segments = [Segment(text, base + style) for text, style in self.lead]
            segments += [Segment(text, back + style) for text, style in self.runs]
            drawn = Strip(segments).adjust_cell_length(width, back)
            self.strips = {width: drawn}
        return drawn

    def text_between(self, left: int, right: int) -> str:
        """Return what stands between two cells, without spaces at its end."""
        drawn = Strip([Segment(text) for text, _ in (*self.lead, *self.runs)])
        return drawn.crop(left, right).text.rstrip()


def wrap(runs: Iterable[Run], width: int) -> list[tuple[list[Run], str]]:
    """Break text into rows of at most `width` cells, each with what joins it to the one before."""
    wrapping = _Wrapping(max(width, 1))
    for word in _words(runs):
        text = word[0][0]
        if text == "\n":
            wrapping.flush("\n")
        elif text.isspace():
            wrapping.add_space(word[0])
        else:
            wrapping.add_word(word)
    wrapping.flush("")
    return wrapping.rows


class _Wrapping:
    def __init__(self, width: int) -> None:
        self.rows: list[tuple[list[Run], str]] = []
        self._width = width
        self._row: list[Run] = []
        self._used = 0
        self._joins = "\n"
        self._space: Run | None = None

    def flush(self, next_joins: str) -> None:
        self.rows.append((self._row, self._joins))
        self._row, self._used, self._joins, self._space = [], 0, next_joins, None

    def add_space(self, space: Run) -> None:
        # A space where a row was wrapped is not shown.
        if self._row or self._joins == "\n":
            before = self._space[0] if self._space is not None else ""
            self._space = before + space[0], space[1]

    def add_word(self, word: list[Run]) -> None:
        gap = 0 if self._space is None else cells([self._space])
        if self._row and self._used + gap + cells(word) > self._width:
            self.flush(" " if self._space is not None else "")
        if self._space is not None:
            if gap >= self._width:
                # The word has to have room behind it.
                self._space = chop(self._space[0], max(self._width - 1, 1))[0], self._space[1]
            self._row.append(self._space)
            self._used += cells([self._space])
            self._space = None
        for text, style in word:
            for piece in self._fitting(text):
                size = cell_len(piece)
                if self._used and self._used + size > self._width:
                    self.flush("")
                self._row.append((piece, style))
                self._used += size

    def _fitting(self, text: str) -> list[str]:
        """Split a word that is too long for a row."""
        room = self._width - self._used
        return [text] if cell_len(text) <= (room or self._width) else chop(text, self._width, room)


def _words(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Yield words, spaces and line ends; a word may change its style in the middle."""
    word: list[Run] = []
    for text, style in runs:
        for piece in _PIECES.findall(text):
            if piece.isspace():
                if word:
                    yield word
                    word = []
                # A terminal would leave what was there before in the cells of a tab.
                yield [(piece.replace("\t", TAB), style)]
            else:
                word.append((piece, style))
    if word:
        yield word


def chop(text: str, width: int, first: int | None = None) -> list[str]:
    """Split text into pieces of at most `width` cells, the first of at most `first`."""
    if text.isascii():
        head = width if first is None or first <= 0 else first
        return [text[:head], *(text[at : at + width] for at in range(head, len(text), width))]
    pieces: list[str] = []
    room = width if first is None or first <= 0 else first
    begin = used = 0
    for start, _, size in split_graphemes(text)[0]:
        if used + size > room and start > begin:
            pieces.append(text[begin:start])
            begin, used, room = start, 0, width
        used += size
    pieces.append(text[begin:])
    return pieces


def wrapped(
    runs: Iterable[Run], width: int, first: Sequence[Run] = (), rest: Sequence[Run] | None = None
) -> list[Row]:
    """Return the rows of a text; `first` precedes the first one, `rest` the others."""
    rest = first if rest is None else rest
    inner = width - cells(first)
    return [
        Row(line, rest if number else first, joins)
        for number, (line, joins) in enumerate(wrap(runs, inner))
    ]


def cells(runs: Sequence[Run]) -> int:
    return sum(cell_len(text) for text, _ in runs)


@lru_cache(1024)
def combined(one: Style, other: Style) -> Style:
    return one + other


class Heights:
    """Heights of items, with their sums: each operation takes O(log n) steps (a Fenwick tree)."""

    def __init__(self) -> None:
        self._sums: list[int] = [0]
        self._heights: list[int] = []

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, place: int) -> int:
        return self._heights[place]

    def append(self, height: int) -> None:
        self._heights.append(height)
        at = len(self._heights)
        self._sums.append(height + self.before(at - 1) - self.before(at - (at & -at)))

    def set(self, place: int, height: int) -> None:
        change = height - self._heights[place]
        self._heights[place] = height
        at = place + 1
        while change and at <= len(self._heights):
            self._sums[at] += change
            at += at & -at

    def before(self, place: int) -> int:
        """Return the sum of the heights before `place`."""
        total = 0
        while place:
            total += self._sums[place]
            place -= place & -place
        return total

    @property
    def total(self) -> int:
        return self.before(len(self._heights))

    def find(self, row: int) -> tuple[int, int]:
        """Return the item that holds `row`, and the row within it."""
        place, step = 0, 1 << len(self._heights).bit_length()
        while step:
            if place + step <= len(self._heights) and self._sums[place + step] <= row:
                place += step
                row -= self._sums[place]
            step >>= 1
        return place, row
