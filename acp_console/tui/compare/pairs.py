"""The steps of two sources beside each other, or below each other where it is narrow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from textual.events import Click
from textual.message import Message
from textual.strip import Strip

from acp_console.tui.cursor_list import CursorList
from acp_console.tui.transcript.diff_view import SPLIT_WIDTH, theme_look
from acp_console.tui.transcript.piece_rows import changed_runs
from acp_console.tui.transcript.rows import Look, Row, Run
from acp_console.wording.comparison import step_text, value_text
from acp_console.wording.values import arrow, plural
from acp_inspector.compare.difference import StepDifference, StepPair
from acp_inspector.compare.steps import JournalStep
from acp_protocol.host.sanitize import single_line

MAX_DIFFERENCES: Final = 6
"""Differences of one pair that are listed; all of them are in the whole messages."""
MAX_CHARS: Final = 20_000
"""Characters of a value among which the difference is looked for."""
_SIGNS: Final = {"changed": "≠", "moved": "↕", "left only": "−", "right only": "+"}
_DIVIDER: Final = " │ "

_Part: TypeAlias = Literal["fold", "pair", "path", "both", "left", "right", "more"]


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the list, of the pairs from `begin` to before `end`."""

    part: _Part
    begin: int
    end: int
    difference: StepDifference | None = None


class PairList(CursorList):
    """All steps of a comparison; runs of equal ones are folded."""

    DEFAULT_CSS = """
    PairList {
        &> .pair-list--cursor {
            background: $primary-muted;
        }
    }
    """
    COMPONENT_CLASSES = {"pair-list--cursor"}  # noqa: RUF012 - as Textual declares it

    class PairOpened(Message):
        """The pair under the cursor is to be shown whole."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._pairs: Sequence[StepPair] = ()
        self._runs: list[tuple[int, int]] = []
        """Begin and end of each run of equal pairs."""
        self._unfolded: set[int] = set()
        self._lines: list[_Line] = []
        self._look: Look | None = None
        self._wants_split: bool | None = None
        self.instead = ""
        """What is shown while there is no pair."""

    def show(self, pairs: Sequence[StepPair]) -> None:
        """Show the pairs, the cursor on the first difference."""
        self._pairs = pairs
        self._runs = []
        at = 0
        for is_equal, group in groupby(pairs, key=lambda pair: not pair.differences):
            begin, at = at, at + len(list(group))
            if is_equal and at - begin > 1:
                self._runs.append((begin, at))
        self._unfolded.clear()
        self.lay_out()
        self.cursor = 0
        if pairs and not pairs[0].differences:
            self.go_to_difference(is_next=True)
        self.redraw()

    @property
    def count(self) -> int:
        return len(self._lines)

    @property
    def is_split(self) -> bool:
        wide = self.width >= SPLIT_WIDTH
        return wide if self._wants_split is None else self._wants_split

    @property
    def chosen(self) -> StepPair | None:
        """The pair under the cursor; None for a folded run."""
        if not 0 <= self.cursor < len(self._lines):
            return None
        line = self._lines[self.cursor]
        return None if line.part == "fold" else self._pairs[line.begin]

    def go_to_difference(self, *, is_next: bool) -> bool:
        """Go to the next pair that differs, or the previous one; return whether there is one."""
        at = self.cursor
        places = range(at + 1, self.count) if is_next else range(at - 1, -1, -1)
        for place in places:
            line = self._lines[place]
            if line.part == "pair" and self._pairs[line.begin].differences:
                self.choose(place)
                return True
        return False

    def toggle(self) -> None:
        """Unfold or fold the run of equal pairs at the cursor."""
        if not self._lines:
            return
        at = self._lines[self.cursor].begin
        place = bisect_right(self._runs, (at, len(self._pairs))) - 1
        if place < 0 or not self._runs[place][0] <= at < self._runs[place][1]:
            return
        begin = self._runs[place][0]
        self._unfolded ^= {begin}
        self.lay_out()
        self.cursor = next(n for n, line in enumerate(self._lines) if line.begin == begin)
        self.reveal()
        self.redraw()

    def toggle_split(self) -> None:
        chosen = self._lines[self.cursor].begin if self._lines else 0
        self._wants_split = not self.is_split
        self.lay_out()
        places = (n for n, line in enumerate(self._lines) if line.begin >= chosen)
        self.cursor = next(places, 0)
        self.reveal()
        self.redraw()

    def action_open(self) -> None:
        if self.chosen is None:
            self.toggle()
        else:
            self.post_message(self.PairOpened())

    def on_click(self, event: Click) -> None:
        # The base class has moved the cursor there.
        if event.chain > 1:
            self.action_open()

    def watch_cursor(self) -> None:
        self.refresh()

    def notify_style_update(self) -> None:
        self._look = None
        super().notify_style_update()

    # Lines

    def lay_out(self) -> None:
        is_split = self.is_split
        self._look = None
        lines: list[_Line] = []
        at = 0
        runs = dict(self._runs)
        while at < len(self._pairs):
            end = runs.get(at)
            if end is not None and at not in self._unfolded:
                lines.append(_Line("fold", at, end))
                at = end
                continue
            lines.append(_Line("pair", at, at + 1))
            changed = [each for each in self._pairs[at].differences if each.kind == "changed"]
            for each in changed[:MAX_DIFFERENCES]:
                parts: tuple[_Part, ...] = (
                    ("path", "both") if is_split else ("path", "left", "right")
                )
                lines += [_Line(part, at, at + 1, each) for part in parts]
            if len(changed) > MAX_DIFFERENCES:
                lines.append(_Line("more", at, at + 1))
            at += 1
        self._lines = lines
        self.drawn.clear()
        super().lay_out()

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y
        if self._look is None:
            self._look = theme_look(self, is_split=self.is_split)
        look, width = self._look, self.width
        if place >= len(self._lines):
            text = self.instead if not self._lines and y == self.size.height // 2 else ""
            return Row([(text.center(width), look.muted)]).strip(width, self.rich_style)
        is_chosen = place == self.cursor
        strip = self.drawn.get((place, is_chosen))
        if strip is None:
            base = self.rich_style
            if is_chosen:
                base += self.get_component_rich_style("pair-list--cursor")
            runs = _fitted(self._drawn_runs(self._lines[place], width, look), width, look.text)
            strip = self.drawn[place, is_chosen] = Row(runs).strip(width, base)
        return strip

    def _drawn_runs(self, line: _Line, width: int, look: Look) -> list[Run]:
        pair = self._pairs[line.begin]
        match line.part:
            case "fold":
                return [(f"  ⋯ {plural(line.end - line.begin, 'equal step')}", look.muted)]
            case "more":
                more = len(pair.differences) - MAX_DIFFERENCES
                return [
                    (f"        … {plural(more, 'more difference')}: enter shows all", look.muted)
                ]
            case "pair":
                return self._pair_runs(pair, width, look)
            case _:
                assert line.difference is not None
                return self._difference_runs(line.part, line.difference, width, look)

    def _pair_runs(self, pair: StepPair, width: int, look: Look) -> list[Run]:
        kind = pair.differences[0].kind if pair.differences else ""
        sign, style = _SIGNS.get(kind, " "), {
            "changed": look.warning, "moved": look.warning,
            "left only": look.error, "right only": look.success,
        }.get(kind, look.muted)  # fmt: skip
        text = look.strong if kind else look.muted
        if not self.is_split:
            step = pair.left or pair.right
            assert step is not None
            return [(f"{sign} ", style), (_step(step, width - 2), text)]
        room = (width - 2 - len(_DIVIDER)) // 2
        left, right = (
            [] if step is None else [(_step(step, room), text)] for step in (pair.left, pair.right)
        )
        return [(f"{sign} ", style), *_beside(left, right, room, look)]

    def _difference_runs(
        self, part: _Part, difference: StepDifference, width: int, look: Look
    ) -> list[Run]:
        indent: Run = ("        ", look.text)
        if part == "path":
            path = single_line(difference.path, max(width - 12, 1))
            return [indent, (path or "the whole message", look.muted)]
        room = (width - 2 - len(_DIVIDER)) // 2 if self.is_split else width - 2
        one, other = (
            single_line(value_text(value), MAX_CHARS)
            for value in (difference.left, difference.right)
        )
        one, other = _around_difference(one, other, max(room - 12, 8))
        left = [indent, *changed_runs("-", one, other, look)[0]]
        right = [indent, *changed_runs("+", other, one, look)[0]]
        match part:
            case "left":
                return [("  ", look.text), *left]
            case "right":
                return [("  ", look.text), *right]
            case _:
                return [("  ", look.text), *_beside(left[1:], right[1:], room, look, lead=6)]


def _step(step: JournalStep, width: int) -> str:
    head = f"{step.frames[0]:>6} {arrow(step.side)} "
    return head + step_text(step, width - len(head))


def _beside(
    left: Sequence[Run], right: Sequence[Run], room: int, look: Look, *, lead: int = 0
) -> list[Run]:
    """Return runs in two columns of `room` cells; each begins after `lead` cells."""
    blank: Run = (" " * lead, look.text)
    one = _fitted([blank, *left], room, look.text)
    other = _fitted([blank, *right], room, look.text)
    return [*one, (_DIVIDER, look.muted), *other]


def _fitted(runs: Iterable[Run], width: int, fill: Style) -> list[Run]:
    """Return runs that take exactly `width` cells."""
    found: list[Run] = []
    left = width
    for text, style in runs:
        is_cut = cell_len(text) > left
        shown = set_cell_size(text, max(left - 1, 0)) + "…" * (left > 0) if is_cut else text
        found.append((shown, style))
        left -= cell_len(shown)
    return [*found, (" " * max(left, 0), fill)]


def _around_difference(one: str, other: str, room: int) -> tuple[str, str]:
    """Cut two texts, which differ, so that the first difference is within `room` characters."""
    if max(len(one), len(other)) <= room:
        return one, other
    pairs = enumerate(zip(one, other, strict=False))
    first = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    begin = max(min(first - room // 3, max(len(one), len(other)) - room), 0)
    dots = "…" if begin else ""

    def cut(text: str) -> str:
        end = begin + room
        return f"{dots}{text[begin:end]}{'…' if len(text) > end else ''}"

    return cut(one), cut(other)
