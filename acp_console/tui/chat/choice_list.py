"""Choices with a cursor: a line each, chosen by number, letter, Enter or mouse.

A line that does not fit is cut, and shown whole below while the cursor is on it. Nothing can be
chosen that was not wholly on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from acp_console.tui.chat.ask import ENTER, KeyAsk, PermissionTiming, shows_end
from acp_console.tui.textual_fixes import set_timer

COLUMNS_WIDTH: Final = 60
"""Cells from which on the two groups stand beside each other, unless that cuts a label."""
TALL: Final = 32
"""Rows of the screen from which on the groups stand below each other rather than cut a label."""
COLUMNS_GAP: Final = 2
"""Cells between the two, as in the style sheet."""
WHOLE_ROWS: Final = 6
"""Rows of a long choice that are shown at a time."""
WHOLE_INDENT: Final = 4
"""Cells before it."""
FOCUSED: Final = "Press a number, or ↑ ↓ and Enter"
UNFOCUSED: Final = "Click, or press Tab and a number"
DIGITS: Final = "123456789"


@dataclass(frozen=True, slots=True)
class ChoiceLabel:
    """A choice; its label is safe to show, in one line."""

    label: str
    key: str = ""
    """A letter that chooses it, beside its number."""
    is_apart: bool = False
    """Whether it stands in the second group."""
    is_whole: bool = True
    """Whether the label is all that there is to read."""


class ChoiceLine(Static):
    """One choice of a list."""

    @dataclass
    class Clicked(Message):
        """The user clicked it."""

        place: int

    class WholeSeen(Message):
        """All of it was on the screen for the first time."""

    is_current = reactive(False)
    is_live = reactive(True)
    is_placed = False
    """Whether it stands where it stays: what the first layout draws for a moment is not read."""
    was_seen = False

    def __init__(self, place: int, line: ChoiceLabel) -> None:
        super().__init__(markup=False)
        self.place = place
        self.line = line

    @property
    def number(self) -> str:
        return DIGITS[self.place : self.place + 1]

    @property
    def is_cut(self) -> bool:
        return Content(self.line.label).cell_length > self._room

    @property
    def _room(self) -> int:
        """Cells for the label, between the number and the letter."""
        return max(self.content_size.width - 4 - (len(self.line.key) + 2), 1)

    def watch_is_live(self) -> None:
        self.set_class(not self.is_live, "-dead")

    def watch_is_current(self) -> None:
        self.set_class(self.is_current, "-current")

    def render(self) -> Content:
        sign = "›" if self.is_current else " "
        label = Content(self.line.label).truncate(self._room, ellipsis=True, pad=True)
        is_marked = self.is_current and self.is_live
        head = (f"{sign} {self.number or ' '} ", "$text-primary" if is_marked else "")
        return Content.assemble(head, label, ("  " + self.line.key, "$text-muted"))

    def on_click(self) -> None:
        self.post_message(self.Clicked(self.place))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Note what stands on the screen: only that is rendered."""
        can_be_read = self.is_placed and self.line.is_whole and not self.is_cut
        if can_be_read and shows_end(self, crop):
            self.note_seen()
        return super().render_lines(crop)

    def note_seen(self) -> None:
        if not self.was_seen:
            self.was_seen = True
            self.post_message(self.WholeSeen())


class _Whole(Static):
    """All of a label that is cut in its line."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.shown: ChoiceLine | None = None

    def show(self, line: ChoiceLine | None) -> None:
        self.shown = line
        self.update(Content("" if line is None else line.line.label))

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.shown is not None and self.shown.line.is_whole and shows_end(self, crop):
            self.shown.note_seen()
        return super().render_lines(crop)


class ChoiceList(Vertical):
    """Lines in one or two groups, and the whole of the current one if it is cut."""

    class Placed(Message):
        """It has the height that it keeps."""

    cursor = reactive(0)
    whole = getters.query_one(_Whole)

    def __init__(self, lines: Sequence[ChoiceLabel], cursor: int = 0) -> None:
        super().__init__()
        self.lines = [ChoiceLine(place, line) for place, line in enumerate(lines)]
        self.cursor = cursor
        self._width = 0

    def compose(self) -> ComposeResult:
        groups = [
            [line for line in self.lines if line.line.is_apart is is_apart]
            for is_apart in (False, True)
        ]
        with VerticalScroll(classes="choices", can_focus=False), Container(classes="groups"):
            for place, group in enumerate(filter(None, groups)):
                yield Vertical(*group, classes="group -apart" if place else "group")
        with VerticalScroll(classes="whole", can_focus=False):
            yield _Whole()

    def on_mount(self) -> None:
        self.watch_cursor()
        # Not each change of the size comes as an event.
        self.watch(self, "virtual_size", self._take_width, init=False)

    def _take_width(self) -> None:
        if self.size.width != self._width:
            self._width = self.size.width
            self.set_class(self._has_columns, "-columns")
            self.call_after_refresh(self._make_room)

    @property
    def _has_columns(self) -> bool:
        is_wide, is_tall = self._width >= COLUMNS_WIDTH, self.screen.size.height >= TALL
        return is_wide and not (is_tall and any(map(self._is_cut_beside, self.lines)))

    def _is_cut_beside(self, line: ChoiceLine) -> bool:
        """Return whether a label has no room in its column; the first has three fifths."""
        fifths = 2 if line.line.is_apart else 3
        room = (self._width - COLUMNS_GAP) * fifths // 5 - 4 - (len(line.line.key) + 2)
        return Content(line.line.label).cell_length > room

    def _make_room(self) -> None:
        """Keep room for the longest label that is cut, so that nothing moves with the cursor."""
        width = self.size.width - WHOLE_INDENT
        if width <= 0 or not _is_there(self):
            return
        area, cut = self.query_one(".whole"), [line for line in self.lines if line.is_cut]
        rows = [len(Content(each.line.label[: width * WHOLE_ROWS]).wrap(width)) for each in cut]
        area.styles.height = min(max(rows, default=0), WHOLE_ROWS)
        area.display = bool(rows)
        for line in self.lines:
            line.is_placed = True
            line.refresh()
        self._show_whole()
        self.call_after_refresh(self.post_message, self.Placed())

    def _show_whole(self) -> None:
        line = self.lines[self.cursor] if self.lines else None
        self.whole.show(line if line is not None and line.is_cut else None)
        self.query_one(".whole").scroll_home(animate=False)

    def watch_cursor(self) -> None:
        for line in self.lines:
            line.is_current = line.place == self.cursor
        if self.lines and _is_there(self):
            self.lines[self.cursor].scroll_visible(animate=False)
            self._show_whole()

    def move(self, by: int) -> None:
        self.cursor = min(max(self.cursor + by, 0), max(len(self.lines) - 1, 0))

    def move_across(self, by: int) -> None:
        """Go to the same row of the other group."""
        current = self.lines[self.cursor]
        sides = [
            [each for each in self.lines if each.line.is_apart is side] for side in (False, True)
        ]
        group, other = sides[current.line.is_apart], sides[not current.line.is_apart]
        if other and current.line.is_apart is (by < 0):
            self.cursor = other[min(group.index(current), len(other) - 1)].place

    def place_of(self, key: str) -> int | None:
        """Return which choice a key means."""
        if key == ENTER:
            return self.cursor if self.lines else None
        found = (each.place for each in self.lines if key in {each.number, each.line.key} - {""})
        return next(found, None)

    def set_live(self, is_live: Callable[[int], bool]) -> None:
        for line in self.lines:
            line.is_live = is_live(line.place)


def _is_there(widget: Widget) -> bool:
    """Return whether a widget has its parts: what is called later may come when it is removed."""
    return widget.is_attached and bool(widget.children)


class ChoiceAsk(KeyAsk):
    """Asks for one of some choices."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("left", "move_across(-1)", "Left", show=False),
        Binding("right", "move_across(1)", "Right", show=False),
    ]

    def __init__(
        self,
        subject: object,
        timing: PermissionTiming,
        lines: Sequence[ChoiceLabel],
        cursor: int = 0,
    ) -> None:
        super().__init__(subject, timing)
        self.choices = ChoiceList(lines, cursor)
        self._flashed: str | Content | None = None
        self._flash_timer: Timer | None = None
        self._blocked: int | None = None
        """The choice whose obstacle is marked."""

    # What a question says

    def hint(self) -> str | Content:
        """Return how to choose."""
        raise NotImplementedError

    def how(self, *others: Content | str) -> Content:
        """Return the keys that count now, and `others` where it has the focus."""
        parts = [FOCUSED, *others] if self.has_focus else [UNFOCUSED]
        return Content(" · ").join([Content.assemble(each) for each in parts])

    def obstacle(self, place: int) -> str | Content | None:
        """Return why a choice cannot be made yet."""
        del place
        return None

    def take(self, place: int) -> None:
        """Do what the user chose."""
        raise NotImplementedError

    # How it is asked

    def compose_choices(self) -> ComposeResult:
        yield self.choices
        yield Static(classes="hint", markup=False)

    def on_mount(self) -> None:
        self.show_hint()

    def on_show(self) -> None:
        super().on_show()
        self.show_hint()

    def on_focus(self) -> None:
        super().on_focus()
        # `has_focus` is set after this.
        self.call_later(self.show_hint)

    def on_blur(self) -> None:
        self.call_later(self.show_hint)

    @on(ChoiceLine.WholeSeen)
    def show_hint(self) -> None:
        """Show how to choose as soon as a choice counts."""
        if not _is_there(self):
            return
        wait = self.counts_from - self.timing.clock()
        text = self.hint() if wait <= 0 else ""
        if self._blocked is not None and self.obstacle(self._blocked) is None:
            self._forget_flash()
        if self._flashed is not None:
            text = self._flashed
        line = self.query_one(".hint", Static)
        line.update(text)
        line.set_class(self._flashed is not None, "-flash")
        self.choices.set_live(lambda place: wait <= 0 and self.obstacle(place) is None)
        if wait > 0:
            set_timer(self, wait, self.show_hint)

    def flash(self, text: str | Content) -> None:
        """Mark for a moment why a key does nothing."""
        self._forget_flash()
        self._flashed = text
        self._flash_timer = set_timer(self, self.timing.flash_s, self._end_flash)
        self.show_hint()

    def _forget_flash(self) -> None:
        if self._flash_timer is not None:
            self._flash_timer.stop()
        self._flashed = self._flash_timer = self._blocked = None

    def _end_flash(self) -> None:
        self._forget_flash()
        self.show_hint()

    def come_too_early(self, key: str) -> None:
        again = "" if key == ENTER else f"; press {key} again"
        self.flash(f"Too early: this has only just come{again}.")

    def note_message(self, text: str) -> None:
        """Say where a key of this went that was typed while the editor had the focus."""
        if (
            text in {*DIGITS, "!"}
            and self.decides(text)
            and not self.has_focus
            and not self._flashed
        ):
            self.flash(f"{text} went to your message; Tab comes here.")

    def decides(self, key: str) -> bool:
        return self.choices.place_of(key) is not None

    def decide(self, key: str) -> None:
        place = self.choices.place_of(key)
        if place is not None:
            self.choose(place)

    @on(ChoiceLine.Clicked)
    def choose_by_mouse(self, event: ChoiceLine.Clicked) -> None:
        event.stop()
        self.choose(event.place)

    def choose(self, place: int) -> None:
        line, obstacle = self.choices.lines[place], self.obstacle(place)
        self.choices.cursor = place
        if not self.has_settled:
            self.come_too_early(ENTER)
        elif obstacle is not None:
            self.flash(obstacle)
            self._blocked = place
        elif not line.was_seen:
            end = "Read it to its end" if line.line.is_whole else "Its name never ends"
            self.flash(f"{end} below; then press {line.number or 'Enter'} again.")
        else:
            self.take(place)

    def action_move(self, by: int) -> None:
        self.choices.move(by)
        self._end_flash()

    def action_move_across(self, by: int) -> None:
        self.choices.move_across(by)
        self._end_flash()
