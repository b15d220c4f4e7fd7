"""The widget: draws the visible rows of the cards, follows the end, selects and searches.

Where it stands is a place (card, part, row of the part) or the end; nothing above is needed to
draw. Heights of parts that were never drawn are estimates and only move the thumb at the right.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Key, MouseDown, MouseMove, MouseScrollDown, MouseScrollUp, MouseUp
from textual.filter import Monochrome
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from acp_console.tui.commands import COMMANDS, bindings
from acp_console.tui.textual_fixes import set_timer
from acp_console.tui.transcript.cards import Card, LineCard, PromptCard, ToolCard, card_of
from acp_console.tui.transcript.rows import Heights, Look, Row, wrapped
from acp_inspector.session.items import Item

FRAME_S: Final = 1 / 30
"""Seconds between two frames, at least."""
SHARE: Final = 5
"""A frame is followed by a rest of this many times its own length."""
MAX_ROWS: Final = 6_000
"""Rendered rows that are kept."""
WHEEL_ROWS: Final = 3
MARGIN: Final = 2
"""Cells left of the rows."""

Place: TypeAlias = tuple[int, int, int]
"""A card, one of its parts, and a row of that."""
Mark: TypeAlias = tuple[int, int, int, int]
"""A place and a cell in its row."""
JumpKind: TypeAlias = Literal["prompt", "error", "permission", "call"]


@dataclass(slots=True)
class _Shown:
    """A row on the screen."""

    place: Place | None
    row: Row
    strip: Strip
    line: Strip | None = None
    """With what stands left and right of it."""


class TranscriptView(Widget, can_focus=True):
    """A conversation; only its visible rows are drawn.

    `sync` is called with the items that are new or have changed.
    """

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("transcript"),
        Binding("up", "scroll(-1)", "Up", show=False),
        Binding("down", "scroll(1)", "Down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("home", "top", "Top", show=False),
        Binding("end", "end", "End", show=False),
        Binding("space", "fold", "Fold", show=False),
    ]

    class Moved(Message, bubble=True):
        """The view stands somewhere else, or follows the end again."""

    @dataclass
    class Chosen(Message):
        """The user went to a card."""

        place: int

    @dataclass
    class Copied(Message):
        """The user wants to copy a text."""

        text: str

    @dataclass
    class Opened(Message):
        """The user wants to see more of an item than its card shows."""

        item: Item

    class NotFound(Message):
        """There is no further occurrence, or no further card of that kind."""

    @dataclass
    class Typed(Message):
        """The user typed a letter that is no command, probably the start of a prompt."""

        character: str

    def __init__(
        self,
        welcome: str = "",
        *,
        clock: Callable[[], float] = time.perf_counter,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(id=id)
        self._welcome = welcome
        self._clock = clock
        self.cards: list[Card] = []
        self._places: dict[int, int] = {}
        """The card of each item, by its identity."""
        self._heights = Heights()
        self._rows: OrderedDict[Hashable, list[Row]] = OrderedDict()
        self._row_count = 0
        self._blank = Row([])
        self._look: Look | None = None
        self._is_split = False
        self._base = Style()
        self._shown: list[_Shown] = []
        self._thumb = (0, 0)
        self._end_row: int | None = None
        """The row of this widget where the last card ends, if it ends here."""
        self.top: Place | None = None
        """The first row on the screen; None follows the end."""
        self.cursor: int | None = None
        """The card that the keys act on, while this has the focus."""
        self.changed: int | None = None
        """The card that is marked because it has just changed."""
        self._changed: set[int] = set()
        self._frame: Timer | None = None
        self._rest_until = 0.0
        self._selection: tuple[Mark, Mark] | None = None
        self._is_selecting = False
        self._drags_thumb = False
        self.query_text = ""
        """What is searched; its occurrences are marked."""
        self._found: tuple[int, int] | None = None
        """The card and part to which the search has come."""

    # Items

    def sync(self, items: Iterable[Item]) -> None:
        """Show items that are new or have changed, with the next frame."""
        for item in items:
            place = self._places.get(id(item))
            if place is None:
                self._places[id(item)] = len(self.cards)
                self.cards.append(card_of(item))
                self._heights.append(1)
                place = len(self.cards) - 1
            self._changed.add(place)
        if self._changed:
            self._request_frame()

    def reset(self, items: Iterable[Item] = ()) -> None:
        """Show other items."""
        self.cards.clear()
        self._places.clear()
        self._heights = Heights()
        self._forget_rows()
        self._changed.clear()
        self._selection = self.cursor = self.top = self.changed = None
        self.sync(items)
        self._request_frame()

    def replace(self, items: Iterable[Item], *, is_revised: bool = False) -> None:
        """Show other states of the items: what is folded stays, and where the user has scrolled.

        Args:
            items: The items.
            is_revised: Whether the same frame may have left them in another state than before.
        """
        known = {_identity(card): card for card in self.cards}
        anchor = None if self.top is None else _identity(self.cards[self.top[0]])
        top, cursor = self.top, None if self.cursor is None else _identity(self.cards[self.cursor])
        cards: list[Card] = []
        for item in items:
            card = card_of(item)
            before = known.get(_identity(card))
            if before is not None and before.item.last == item.last and not is_revised:
                card = before
            elif before is not None:
                card.take_folding(before)
            cards.append(card)
        places = {_identity(card): place for place, card in enumerate(cards)}
        self.reset()
        for place, card in enumerate(cards):
            self.cards.append(card)
            self._heights.append(1)
            self._changed.add(place)
        if top is not None and anchor in places:
            self.top = (places[anchor], *top[1:])
        self.cursor = None if cursor is None else places.get(cursor)
        self._request_frame()

    def show(self, cards: Iterable[Card]) -> None:
        """Show these cards from the first one on."""
        self.reset()
        for card in cards:
            self.cards.append(card)
            self._heights.append(1)
            self._changed.add(len(self.cards) - 1)
        self.top = (0, 0, 0)
        self._request_frame()

    def count_rows(self, most: int) -> int:
        """Return how many rows there are, at most `most`."""
        self._refresh_cards()
        return len(self._from_place((0, 0, 0), most))

    def on_end_shown(self) -> None:
        """The last row is on the screen."""

    def _request_frame(self) -> None:
        if self._frame is None and self.is_mounted:
            wait = max(self._rest_until - self._clock(), 0.001)
            self._frame = set_timer(self, wait, self._draw_frame)

    def _draw_frame(self) -> None:
        self._frame = None
        began = self._clock()
        self._refresh_cards()
        self._layout_rows()
        spent = self._clock() - began
        self._rest_until = began + max(FRAME_S, spent * (SHARE + 1))

    def _refresh_cards(self) -> None:
        width = self._text_width
        for place in sorted(self._changed):
            card = self.cards[place]
            card.refresh()
            self._measure(place, width)
        self._changed.clear()

    def _measure(self, place: int, width: int) -> None:
        """Estimate the parts that were not measured."""
        card = self.cards[place]
        known, count = len(card.heights), card.part_count
        if known > count:
            card.heights, known = Heights(), 0
        for part in range(known, count):
            card.heights.append(card.estimate(part, width))
        if count and known == count:
            # The last part grows.
            card.heights.set(count - 1, card.estimate(count - 1, width))
        self._heights.set(place, card.heights.total + self._gap(place))

    def _gap(self, place: int) -> int:
        """Return 1 if an empty row precedes a card: not between folded calls."""
        if place == 0 or not self.cards[place].part_count:
            return 0
        card, before = self.cards[place], self.cards[place - 1]
        return 0 if _is_line(card) and _is_line(before) else 1

    # Rows

    @property
    def _text_width(self) -> int:
        return max(self.size.width - MARGIN - 2, 1)

    @property
    def look(self) -> Look:
        if self._look is None:
            variables = self.app.theme_variables
            look = Look.from_theme(variables, has_colors=not self.app.no_color)
            self._look = replace(look, is_split=self._is_split)
            self._base = self.rich_style
        return self._look

    def _part_rows(self, place: int, part: int) -> list[Row]:
        card = self.cards[place]
        gap = self._gap(place) if part == 0 else 0
        key = (id(card), part, card.key(part), self._text_width, gap)
        rows = self._rows.get(key)
        if rows is None:
            rows = [Row([])] * gap + card.rows(part, self._text_width, self.look)
            self._rows[key] = rows
            self._row_count += len(rows)
        else:
            self._rows.move_to_end(key)
        height = len(rows) - gap
        if part < len(card.heights) and card.heights[part] != height:
            # It was estimated, perhaps again since the rows are kept.
            card.heights.set(part, height)
            self._heights.set(place, card.heights.total + self._gap(place))
        while self._row_count > MAX_ROWS and len(self._rows) > 1:
            _, old = self._rows.popitem(last=False)
            self._row_count -= len(old)
        return rows

    def _forget_rows(self) -> None:
        # It keeps how it is drawn, too.
        self._blank = Row([])
        self._rows.clear()
        self._row_count = 0

    def _last_place(self) -> tuple[int, int] | None:
        """Return the last card that has a part, and its last part."""
        return self._before(len(self.cards), 0)

    def _before(self, place: int, part: int) -> tuple[int, int] | None:
        """Return the part before one."""
        if part > 0:
            return place, part - 1
        while place > 0:
            place -= 1
            if count := self.cards[place].part_count:
                return place, count - 1
        return None

    def _after(self, place: int, part: int) -> tuple[int, int] | None:
        if place < len(self.cards) and part + 1 < self.cards[place].part_count:
            return place, part + 1
        for each in range(place + 1, len(self.cards)):
            if self.cards[each].part_count:
                return each, 0
        return None

    def _from_end(self, height: int) -> list[tuple[Place, Row]]:
        """Return the last rows."""
        found: list[tuple[Place, Row]] = []
        at = self._last_place()
        while at is not None and len(found) < height:
            rows = self._part_rows(*at)
            for number in range(len(rows) - 1, -1, -1):
                found.append(((*at, number), rows[number]))
                if len(found) == height:
                    break
            at = self._before(*at)
        return found[::-1]

    def _existing(self, place: Place) -> Place:
        """Return a place that is there, also after the card has lost parts."""
        card, part, number = place
        card = min(card, len(self.cards) - 1)
        if card < 0:
            return 0, 0, 0
        count = self.cards[card].part_count
        return (card, part, number) if part < count else (card, max(count - 1, 0), 0)

    def _from_place(self, first: Place, height: int) -> list[tuple[Place, Row]]:
        """Return rows from a place on; fewer if the end comes."""
        found: list[tuple[Place, Row]] = []
        if first[0] >= len(self.cards):
            return found
        at: tuple[int, int] | None = first[:2]
        if not self.cards[first[0]].part_count:
            at = self._after(*first[:2])
        skipped = first[2]
        while at is not None and len(found) < height:
            rows = self._part_rows(*at)
            found += [
                ((*at, number), rows[number])
                for number in range(min(skipped, len(rows)), len(rows))
            ]
            skipped = 0
            at = self._after(*at)
        return found[:height]

    def _moved(self, start: Place, by: int) -> Place:
        """Return the place some rows further down, or up."""
        place, part, number = self._existing(start)
        number += by
        while number < 0:
            before = self._before(place, part)
            if before is None:
                return place, part, 0
            place, part = before
            number += len(self._part_rows(place, part))
        while number >= (count := self._row_count_of(place, part)):
            after = self._after(place, part)
            if after is None:
                return place, part, max(count - 1, 0)
            number -= count
            place, part = after
        return place, part, number

    def _row_count_of(self, place: int, part: int) -> int:
        has_part = part < self.cards[place].part_count
        return len(self._part_rows(place, part)) if has_part else 0

    # Drawing

    def _find_rows(self, height: int) -> list[tuple[Place, Row]]:
        """Return the rows of the screen; follow the end if they do not fill it."""
        found: list[tuple[Place, Row]] = []
        if self.top is not None:
            found = self._from_place(self._existing(self.top), height)
        if len(found) < height:
            if self.top is not None:
                self.top = None
                self.post_message(self.Moved())
            found = self._from_end(height)
        self._end_row = None
        if found and self._after(*found[-1][0][:2]) is None:
            place, part, number = found[-1][0]
            if number == len(self._part_rows(place, part)) - 1:
                self._end_row = len(found) - 1
        return found

    def _layout_rows(self) -> None:
        """Find the rows of the screen, and refresh those that have changed."""
        height, width = self.size.height, self.size.width
        if not height or not width:
            return
        look = self.look
        found = self._find_rows(height)
        shown = [_Shown(place, row, self._strip(place, row, look)) for place, row in found]
        if not self.cards and self._welcome:
            shown = [
                _Shown(None, row, self._strip(None, row, look))
                for line in self._welcome.splitlines()
                for row in wrapped([(line, look.muted)], self._text_width)
            ][:height]
        blank = _Shown(None, self._blank, self._strip(None, self._blank, look))
        shown += [blank] * (height - len(shown))
        thumb = self._find_thumb(height)
        drawn = self._shown
        self._shown = shown
        thumb_was, self._thumb = self._thumb, thumb
        if len(drawn) != height:
            self.refresh()
            return
        changed: list[int] = []
        for y, (old, new) in enumerate(zip(drawn, shown, strict=True)):
            if old.strip is new.strip and _is_in(y, thumb) == _is_in(y, thumb_was):
                new.line = old.line
            else:
                changed.append(y)
        if changed:
            # Textual takes regions to be inside of the padding; rows are drawn from the edge on.
            inside = self.content_offset
            self.refresh(*(Region(-inside.x, y - inside.y, width, 1) for y in changed))

    def _strip(self, place: Place | None, row: Row, look: Look) -> Strip:
        strip = row.strip(self._text_width, self._base)
        if place is None:
            return strip
        if self.query_text:
            strip = self._with_matches(strip, row, look)
        if self._selection is not None:
            strip = self._with_selection(strip, place, look)
        return strip

    def _with_matches(self, strip: Strip, row: Row, look: Look) -> Strip:
        text = strip.text.lower()
        wanted = self.query_text.lower()
        at = text.find(wanted)
        # A few characters have more than one in lower case.
        if at < 0 or len(text) != len(strip.text):
            return strip
        cuts: list[int] = []
        while at >= 0:
            end = at + len(wanted)
            cuts += [cell_len(strip.text[:at]), cell_len(strip.text[:end])]
            at = text.find(wanted, end)
        parts = strip.divide([*cuts, strip.cell_length])
        return Strip.join(
            part.apply_style(look.match) if number % 2 else part
            for number, part in enumerate(parts)
        )

    def _with_selection(self, strip: Strip, place: Place, look: Look) -> Strip:
        begin, end = self._selected
        if place < begin[:3] or place > end[:3]:
            return strip
        left = begin[3] if place == begin[:3] else 0
        right = end[3] if place == end[:3] else strip.cell_length
        if left >= right:
            return strip
        before, inside, after = strip.divide([left, right, strip.cell_length])
        return Strip.join([before, inside.apply_style(look.selection), after])

    def _find_thumb(self, height: int) -> tuple[int, int]:
        """Return where the thumb begins and ends; (0, 0) if all is visible."""
        total = self._heights.total
        if total <= height or not self.cards:
            return 0, 0
        size = max(1, height * height // total)
        if self.top is None:
            return height - size, height
        place, part, number = self.top
        above = self._heights.before(place) + self.cards[place].heights.before(part) + number
        top = min(height - size, above * (height - size) // max(total - height, 1))
        return top, top + size

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return what stands on the screen, past Textual's cache of styles."""
        if len(self._shown) != self.size.height:
            self._refresh_cards()
            self._layout_rows()
        # Only what is visible is rendered; screens below another one are, too.
        if self._end_row in range(crop.y, crop.bottom) and self.app.screen in self.ancestors:
            self.on_end_shown()
        return [self._line(y) for y in range(crop.y, crop.bottom)]

    def render_line(self, y: int) -> Strip:
        return self._line(y)

    def _line(self, y: int) -> Strip:
        look = self.look
        if y >= len(self._shown):
            return Strip.blank(self.size.width, self._base)
        shown = self._shown[y]
        if shown.line is not None and not self.has_focus:
            return shown.line
        if self.has_focus and self._is_of(shown.place, self.cursor):
            left = Segment("▌ ", self._base + look.cursor)
        elif self._is_of(shown.place, self.changed):
            left = Segment("▎ ", self._base + look.warning)
        else:
            left = Segment("  ", self._base)
        bar = "█" if _is_in(y, self._thumb) else " "
        right = Segment(f" {bar}", self._base + look.muted)
        line = Strip([left, *shown.strip, right], self.size.width)
        if self.app.no_color:
            # Textual filters only what goes through its cache.
            line = line.apply_filter(Monochrome(), self.background_colors[1])
        shown.line = None if self.has_focus else line
        return line

    def _is_of(self, place: Place | None, card: int | None) -> bool:
        """Return whether a row is of a card, and not the empty one before it."""
        if place is None or place[0] != card:
            return False
        return place[1] > 0 or place[2] >= self._gap(place[0])

    def on_resize(self) -> None:
        width = self._text_width
        self._shown = []
        self._selection = None
        for card in self.cards:
            card.heights = Heights()
        for place in range(len(self.cards)):
            self._measure(place, width)
        if self.top is not None:
            self.top = (*self.top[:2], 0)
        self.refresh()

    def notify_style_update(self) -> None:
        """Draw all again: the theme may be another one."""
        super().notify_style_update()
        self._look = None
        self._forget_rows()
        self._shown = []
        self.refresh()

    def action_split(self) -> None:
        """Show both sides of diffs beside each other, or below each other again."""
        self._is_split = not self._is_split
        for place, card in enumerate(self.cards):
            card.heights = Heights()
            self._measure(place, self._text_width)
        self.notify_style_update()

    # Scrolling

    @property
    def is_following(self) -> bool:
        return self.top is None

    def scroll_rows(self, by: int) -> None:
        """Scroll; at the end, follow it."""
        if not self.cards or not self._shown:
            return
        top = self.top
        if top is None:
            if by > 0:
                return
            top = next((each.place for each in self._shown if each.place is not None), None)
            if top is None or self._heights.total <= self.size.height:
                return
        self._stand_at(self._moved(top, by))

    def _stand_at(self, place: Place | None) -> None:
        if place is None and self.top is None:
            return
        self.top = place
        self.post_message(self.Moved())
        self._refresh_cards()
        self._layout_rows()

    def action_scroll(self, by: int) -> None:
        self.scroll_rows(by)

    def action_page(self, by: int) -> None:
        self.scroll_rows(by * max(self.size.height - 2, 1))

    def action_top(self) -> None:
        if self.cards:
            self._stand_at((0, 0, 0))

    def action_end(self) -> None:
        self._stand_at(None)

    def show_card(self, place: int, part: int = 0) -> None:
        """Scroll so that a card is on the screen, some rows below the top."""
        self.cursor = place
        self._stand_at(self._moved((place, part, 0), -min(3, self.size.height // 4)))
        self.post_message(self.Chosen(place))
        self.refresh()

    def mark_changed(self, place: int | None) -> None:
        """Mark a card, and scroll so that its last row is on the screen."""
        self.changed = place
        self._refresh_cards()
        self._layout_rows()
        on_screen = {each.place[0] for each in self._shown if each.place is not None}
        if place is not None and place not in on_screen:
            self._stand_at(self._moved((place, 0, 0), -self.size.height // 3))
        self._shown = []
        self.refresh()

    def hold(self) -> None:
        """Stay where it is instead of following the end."""
        if self.top is None:
            self.top = next((each.place for each in self._shown if each.place is not None), None)

    def jump(self, kind: JumpKind, by: int) -> bool:
        """Go to the next card of a kind, or the previous one; return whether there is one."""
        places = [place for place, card in enumerate(self.cards) if _is_kind(card, kind)]
        start = self.cursor
        if start is None:
            start = self.top[0] if self.top is not None else len(self.cards)
        at = bisect_right(places, start) if by > 0 else bisect_left(places, start) - 1
        if not 0 <= at < len(places):
            return False
        self.show_card(places[at])
        return True

    # Search

    def search(self, text: str) -> bool:
        """Mark `text`, and go to its last occurrence; return whether there is one."""
        self.query_text = text
        self._shown = []
        self.refresh()
        self._found = None
        return not text or self.search_on(-1)

    def search_on(self, by: int) -> bool:
        """Go to the next part with the searched text, or the previous one."""
        wanted = self.query_text.lower()
        start = self._found or ((len(self.cards), 0) if by < 0 else (-1, 0))
        places = range(max(start[0], 0), len(self.cards)) if by > 0 else range(start[0], -1, -1)
        for place in places:
            if place == len(self.cards):
                continue
            card = self.cards[place]
            parts = range(card.part_count) if by > 0 else range(card.part_count - 1, -1, -1)
            for part in parts:
                is_further = (place, part) > start if by > 0 else (place, part) < start
                if is_further and wanted in card.source(part).lower():
                    self._found = place, part
                    self.show_card(place, part)
                    return True
        return False

    def action_search_on(self, by: int) -> None:
        if self.query_text and not self.search_on(by):
            self.post_message(self.NotFound())

    def action_jump(self, kind: JumpKind, by: int) -> None:
        if not self.jump(kind, by):
            self.post_message(self.NotFound())

    def action_copy(self) -> None:
        text = self.selected_text()
        if not text and self.cursor is not None:
            text = self.card_text(self.cursor)
        self.post_message(self.Copied(text))

    def on_key(self, event: Key) -> None:
        """Pass letters that are no commands on to the editor."""
        if event.character is not None and event.is_printable and event.key not in _KEYS:
            event.stop()
            self.post_message(self.Typed(event.character))

    # Folding

    def action_attachments(self) -> None:
        """Open what the card holds besides text."""
        if self.cursor is not None:
            self.post_message(self.Opened(self.cards[self.cursor].item))

    def action_fold(self) -> None:
        if self.cursor is not None:
            self._toggle(self.cursor)

    def _toggle(self, place: int) -> None:
        card = self.cards[place]
        if card.opens:
            self.post_message(self.Opened(card.item))
            return
        if not card.toggle():
            return
        if self.top is None and self._shown and self._heights.total > self.size.height:
            # Stay at this card instead of following the end.
            top = self._shown[0].place
            self.top = top
        card.heights = Heights()
        self._measure(place, self._text_width)
        if place + 1 < len(self.cards):
            self._measure(place + 1, self._text_width)
        self._layout_rows()

    def action_next_card(self, by: int) -> None:
        if not self.cards:
            return
        at = len(self.cards) if self.cursor is None else self.cursor
        at = min(max(at + by, 0), len(self.cards) - 1)
        while 0 < at < len(self.cards) - 1 and not self.cards[at].part_count:
            at += by
        self.cursor = at
        on_screen = {each.place[0] for each in self._shown if each.place is not None}
        if at in on_screen:
            self.post_message(self.Chosen(at))
            self.refresh()
        else:
            self.show_card(at)

    def on_focus(self) -> None:
        if self.cursor is None:
            visible = [each.place[0] for each in self._shown if each.place is not None]
            self.cursor = visible[-1] if visible else None
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    # Mouse

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-WHEEL_ROWS)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(WHEEL_ROWS)

    def on_mouse_down(self, event: MouseDown) -> None:
        if event.button != 1:
            return
        self.capture_mouse()
        if event.x >= self.size.width - 1:
            self._drags_thumb = True
            self._drag(event.y)
            return
        mark = self._mark(event.x, event.y)
        had_selection = self._selection is not None
        self._selection = (mark, mark) if mark is not None else None
        self._is_selecting = mark is not None
        if had_selection:
            self._layout_rows()

    def on_mouse_move(self, event: MouseMove) -> None:
        if self._drags_thumb:
            self._drag(event.y)
        elif self._is_selecting and self._selection is not None:
            if event.y < 0 or event.y >= self.size.height:
                self.scroll_rows(-1 if event.y < 0 else 1)
            y = min(max(event.y, 0), self.size.height - 1)
            mark = self._mark(event.x, y)
            if mark is not None and mark != self._selection[1]:
                self._selection = self._selection[0], mark
                self._layout_rows()

    def on_mouse_up(self, event: MouseUp) -> None:
        del event
        self.release_mouse()
        self._drags_thumb = self._is_selecting = False
        if self._selection is not None and self._selection[0] == self._selection[1]:
            self._selection = None

    def on_click(self, event: Click) -> None:
        """Fold or unfold the card whose first row is clicked; open a clicked attachment."""
        if event.y >= len(self._shown) or self._selection is not None:
            return
        shown = self._shown[event.y]
        if shown.place is None:
            return
        place, part, number = shown.place
        self.cursor = place
        self.post_message(self.Chosen(place))
        if shown.row.opens:
            self.action_attachments()
        elif part == 0 and number == self._gap(place):
            self._toggle(place)

    def _mark(self, x: int, y: int) -> Mark | None:
        if not 0 <= y < len(self._shown):
            return None
        place = self._shown[y].place
        if place is None:
            last = next((each.place for each in self._shown[::-1] if each.place), None)
            return None if last is None else (*last, self._text_width)
        return *place, min(max(x - MARGIN, 0), self._text_width)

    def _drag(self, y: int) -> None:
        height, total = self.size.height, self._heights.total
        if total <= height:
            return
        row = min(max(y, 0), height - 1) * (total - height) // max(height - 1, 1)
        if y >= height - 1:
            self._stand_at(None)
            return
        place, rest = self._heights.find(row)
        if place < len(self.cards):
            part, number = self.cards[place].heights.find(rest)
            part = min(part, max(self.cards[place].part_count - 1, 0))
            self._stand_at((place, part, number))

    # Copying

    @property
    def _selected(self) -> tuple[Mark, Mark]:
        assert self._selection is not None
        one, other = self._selection
        return (one, other) if one <= other else (other, one)

    def clear_selection(self) -> None:
        self._selection = None
        self._layout_rows()

    def selected_text(self, limit: int = 5_000_000) -> str:
        """Return what is selected: the source of parts that are wholly selected, else the text."""
        if self._selection is None:
            return ""
        begin, end = self._selected
        pieces: list[str] = []
        at: tuple[int, int] | None = begin[0], begin[1]
        size = 0
        while at is not None and at <= end[:2] and size < limit:
            place, part = at
            is_whole = begin[:2] < at < end[:2]
            source = self.cards[place].source(part) if is_whole else ""
            text = source or self._text_between(place, part, begin, end).lstrip("\n")
            pieces.append(text if not pieces or pieces[-1].endswith("\n") else f"\n{text}")
            size += len(text)
            at = self._after(place, part)
        return "".join(pieces)[:limit]

    def _text_between(self, place: int, part: int, begin: Mark, end: Mark) -> str:
        rows = self._part_rows(place, part)
        first = begin[2] if (place, part) == begin[:2] else 0
        last = end[2] if (place, part) == end[:2] else len(rows) - 1
        text = ""
        for number in range(first, min(last, len(rows) - 1) + 1):
            row = rows[number]
            strip = row.strip(self._text_width, self._base)
            left = begin[3] if (place, part, number) == begin[:3] else 0
            right = end[3] if (place, part, number) == end[:3] else strip.cell_length
            lead = row.lead_cells
            cut = strip.crop(max(left, lead), max(right, lead)).text
            text += (row.joins if number > first else "") + cut.rstrip()
        return text

    def card_text(self, place: int) -> str:
        """Return the whole source of a card."""
        card = self.cards[place]
        return "".join(card.source(part) for part in range(card.part_count))


_KEYS: Final = {"space", *(each.key for each in COMMANDS if each.scope == "transcript")}


def _identity(card: Card) -> tuple[type[Item], str]:
    return type(card.item), card.item.key


def _is_in(y: int, span: tuple[int, int]) -> bool:
    return span[0] <= y < span[1]


def _is_line(card: Card) -> bool:
    """Whether a card may stand without an empty row before it."""
    return isinstance(card, ToolCard) and card.is_folded


def _is_kind(card: Card, kind: JumpKind) -> bool:
    match kind:
        case "prompt":
            return isinstance(card, PromptCard)
        case "call":
            return isinstance(card, ToolCard)
        case "permission":
            return isinstance(card, ToolCard) and card.has_permission
        case "error":
            return isinstance(card, (ToolCard, LineCard)) and card.is_error
