"""The widget: draws the visible rows of the cards, follows the end, selects and searches.

Where it stands is a place (card, part, row of the part) or the end; nothing above is needed to
draw. Heights of parts that were never drawn are estimates and only move the thumb at the right.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

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

from acp_console.chat.shell import ShellItem
from acp_console.tui.commands import COMMANDS, bindings
from acp_console.tui.images.images import Images
from acp_console.tui.outside import copy
from acp_console.tui.textual_fixes import set_timer
from acp_console.tui.themes import ThemedApp
from acp_console.tui.transcript.cards import Card
from acp_console.tui.transcript.document import Document, JumpKind, Mark, Place
from acp_console.tui.transcript.image_strip import ImageCells, ImageStrip
from acp_console.tui.transcript.rows import Look, Row, wrapped
from acp_console.wording.values import plural
from acp_inspector.session.items import Item

FRAME_S: Final = 1 / 30
"""Seconds between two frames, at least."""
SHARE: Final = 5
"""A frame is followed by a rest of this many times its own length."""
WHEEL_ROWS: Final = 3
MARGIN: Final = 2
"""Cells left of the rows."""


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
    shows_images: ClassVar[bool] = True
    """Whether images are drawn, where the terminal shows them."""
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

    class Scrolled(Message, bubble=True):
        """The view stands somewhere else, or follows the end again."""

    @dataclass
    class CardChosen(Message):
        """The user went to a card."""

        place: int

    @dataclass
    class Searched(Message):
        """The search stands at one of the parts with the searched text."""

        number: int
        """1 for the first of all; 0 if no part has it."""
        total: int

    @dataclass
    class ItemOpened(Message):
        """The user wants to see more of an item than its card shows."""

        item: Item

    @dataclass
    class Offered(Message):
        """The user wants to send what a command of theirs has written."""

        text: str

    @dataclass
    class LetterTyped(Message):
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
        self.document = Document()
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

    @property
    def cards(self) -> list[Card]:
        """A card for each item."""
        return self.document.cards

    def sync(self, items: Iterable[Item]) -> None:
        """Show items that are new or have changed, with the next frame."""
        if self.document.sync(items):
            self._request_frame()

    def reset(self) -> None:
        """Show nothing."""
        self.document.clear()
        self._selection = self.cursor = self.top = self.changed = None
        self._request_frame()

    def replace(self, items: Iterable[Item], *, is_revised: bool = False) -> None:
        """Show other states of the items: what is folded stays, and where the user has scrolled.

        Args:
            items: The items.
            is_revised: Whether the same frame may have left them in another state than before.
        """
        top, cursor = self.top, self.cursor
        places = self.document.replace(items, is_revised=is_revised)
        self._selection = self.cursor = self.top = self.changed = None
        if top is not None and top[0] in places:
            self.top = (places[top[0]], *top[1:])
        self.cursor = None if cursor is None else places.get(cursor)
        self._request_frame()

    def show(self, cards: Iterable[Card]) -> None:
        """Show these cards from the first one on."""
        self.reset()
        self.document.show(cards)
        self.top = (0, 0, 0)

    def count_rows(self, most: int) -> int:
        """Return how many rows there are, at most `most`."""
        return self._laid_out.count_rows(most)

    def on_end_shown(self) -> None:
        """The last row is on the screen."""

    def _request_frame(self) -> None:
        if self._frame is None and self.is_mounted:
            wait = max(self._rest_until - self._clock(), 0.001)
            self._frame = set_timer(self, wait, self._draw_frame)

    def _draw_frame(self) -> None:
        self._frame = None
        began = self._clock()
        self._laid_out.refresh()
        self._layout_rows()
        spent = self._clock() - began
        self._rest_until = began + max(FRAME_S, spent * (SHARE + 1))

    # Rows

    @property
    def _text_width(self) -> int:
        return max(self.size.width - MARGIN - 2, 1)

    @property
    def look(self) -> Look:
        if self.document.look is None:
            variables = self.app.theme_variables
            look = Look.from_theme(variables, has_colors=not self.app.no_color)
            self.document.look = replace(look, is_split=self._is_split, images=self._images)
            self._base = self.rich_style
        return self.document.look

    @property
    def _images(self) -> Images | None:
        return self.app.images if self.shows_images and isinstance(self.app, ThemedApp) else None

    def on_mount(self) -> None:
        if self._images is not None:
            self._images.changed.add(self._draw_images)

    def on_unmount(self) -> None:
        if self._images is not None:
            self._images.changed.discard(self._draw_images)

    def _draw_images(self) -> None:
        """Draw anew: there is an image that was not, or only its caption."""
        self.document.forget_rows()
        self._shown = []
        self._request_frame()

    @property
    def _laid_out(self) -> Document:
        """The document, with what it needs to make rows."""
        _ = self.look
        self.document.width = self._text_width
        return self.document

    # Drawing

    def _find_rows(self, height: int) -> list[tuple[Place, Row]]:
        """Return the rows of the screen; follow the end if they do not fill it."""
        document = self._laid_out
        found: list[tuple[Place, Row]] = []
        if self.top is not None:
            found = document.from_place(document.existing(self.top), height)
        if len(found) < height:
            if self.top is not None:
                self.top = None
                self.post_message(self.Scrolled())
            found = document.from_end(height)
        is_end = bool(found) and document.is_end(found[-1][0])
        self._end_row = len(found) - 1 if is_end else None
        return found

    def welcome(self, text: str) -> None:
        """Show what the user can do, as long as there is no card."""
        if text != self._welcome:
            self._welcome = text
            self._layout_rows()

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
        blank = _Shown(None, self.document.blank, self._strip(None, self.document.blank, look))
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
        total = self.document.heights.total
        if total <= height or not self.cards:
            return 0, 0
        size = max(1, height * height // total)
        if self.top is None:
            return height - size, height
        above = self.document.rows_before(self.document.existing(self.top))
        top = min(height - size, above * (height - size) // max(total - height, 1))
        return top, top + size

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return what stands on the screen, past Textual's cache of styles."""
        if len(self._shown) != self.size.height:
            self._laid_out.refresh()
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
        if self.has_focus and self.document.is_row_of(shown.place, self.cursor):
            left = Segment("▌ ", self._base + look.cursor)
        elif self.document.is_row_of(shown.place, self.changed):
            left = Segment("▎ ", self._base + look.warning)
        else:
            left = Segment("  ", self._base)
        bar = "█" if _is_in(y, self._thumb) else " "
        right = Segment(f" {bar}", self._base + look.muted)
        line = self._with_image(Strip([left, *shown.strip, right], self.size.width), shown.row)
        if self.app.no_color:
            # Textual filters only what goes through its cache.
            line = line.apply_filter(Monochrome(), self.background_colors[1])
        # Each image that is drawn is known to be.
        shown.line = None if self.has_focus or shown.row.image is not None else line
        return line

    def _with_image(self, line: Strip, row: Row) -> Strip:
        """Return a line with what it shows of an image."""
        if row.image is None or self._images is None:
            return line
        drawing = row.image.drawing
        if drawing.painter is None:
            # It is decoded again as its rows are made.
            self.document.forget_rows()
            self.call_later(self._request_frame)
            return line
        self._images.note_drawn(drawing)
        columns = min(drawing.columns, self._text_width - row.lead_cells)
        cells = ImageCells(drawing, row.image.row, 0, columns)
        return ImageStrip(line, line.cell_length, cells, MARGIN + row.lead_cells)

    def on_resize(self) -> None:
        self._shown = []
        self._selection = None
        self.document.lay_out(self._text_width)
        if self.top is not None:
            self.top = (*self.top[:2], 0)
        self.refresh()

    def notify_style_update(self) -> None:
        """Draw all again: the theme may be another one."""
        super().notify_style_update()
        self.document.look = None
        self.document.forget_rows()
        self._shown = []
        self.refresh()

    def action_split(self) -> None:
        """Show both sides of diffs beside each other, or below each other again."""
        self._is_split = not self._is_split
        self.document.lay_out(self._text_width)
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
            if top is None or self.document.heights.total <= self.size.height:
                return
        self._stand_at(self._laid_out.moved(top, by))

    def _stand_at(self, place: Place | None) -> None:
        if place is None and self.top is None:
            return
        self.top = place
        self.post_message(self.Scrolled())
        self._laid_out.refresh()
        self._layout_rows()

    def action_scroll(self, by: int) -> None:
        self.scroll_rows(by)

    def action_page(self, by: int) -> None:
        self.scroll_rows(by * max(self.size.height - 2, 1))

    def action_top(self) -> None:
        if places := self._seen_places:
            self.cursor = places[0]
            if self.has_focus:
                self.post_message(self.CardChosen(self.cursor))
            self._stand_at((0, 0, 0))

    def action_end(self) -> None:
        if places := self._seen_places:
            self.cursor = places[-1]
            self.refresh()
        self._stand_at(None)

    @property
    def _seen_places(self) -> list[int]:
        return [place for place, card in enumerate(self.cards) if card.part_count]

    def show_card(self, place: int, part: int = 0) -> None:
        """Scroll so that a card is on the screen, some rows below the top."""
        self.cursor = place
        self._stand_at(self._laid_out.moved((place, part, 0), -min(3, self.size.height // 4)))
        self.post_message(self.CardChosen(place))
        self.refresh()

    def mark_changed(self, place: int | None) -> None:
        """Mark a card, and scroll so that its last row is on the screen."""
        self.changed = place
        self._laid_out.refresh()
        self._layout_rows()
        on_screen = {each.place[0] for each in self._shown if each.place is not None}
        if place is not None and place not in on_screen:
            self._stand_at(self._laid_out.moved((place, 0, 0), -self.size.height // 3))
        self._shown = []
        self.refresh()

    def hold(self) -> None:
        """Stay where it is instead of following the end."""
        if self.top is None:
            self.top = next((each.place for each in self._shown if each.place is not None), None)

    def jump(self, kind: JumpKind, by: int) -> bool:
        """Go to the next card of a kind, or the previous one; return whether there is one."""
        start = self.cursor
        if start is None:
            start = self.top[0] if self.top is not None else len(self.cards)
        place = self.document.next_of(kind, start, by)
        if place is None:
            return False
        self.show_card(place)
        return True

    # Search

    def search(self, text: str) -> bool:
        """Mark `text`, and go to its last occurrence; return whether there is one."""
        self.query_text = text
        self._shown = []
        self.refresh()
        self._found = None
        if text:
            return self.search_on(-1)
        self.post_message(self.Searched(0, 0))
        return True

    def search_on(self, by: int) -> bool:
        """Go to the next part with the searched text, or the previous one; the ends are joined."""
        found = self.document.parts_with(self.query_text)
        if not found:
            self.post_message(self.Searched(0, 0))
            return False
        if self._found is None:
            at = len(found) - 1 if by < 0 else 0
        elif by > 0:
            at = bisect_right(found, self._found) % len(found)
        else:
            at = (bisect_left(found, self._found) - 1) % len(found)
        self._found = found[at]
        self.post_message(self.Searched(at + 1, len(found)))
        self.show_card(*found[at])
        return True

    def action_search_on(self, by: int) -> None:
        if self.query_text and not self.search_on(by):
            self.app.bell()

    def action_jump(self, kind: JumpKind, by: int) -> None:
        if not self.jump(kind, by):
            self.app.bell()

    def action_copy(self) -> None:
        text = self.selected_text()
        if not text and self.cursor is not None:
            text = self.document.card_text(self.cursor)
        if text:
            self.copy(text)

    def copy(self, text: str) -> None:
        """Copy a text, and say so."""
        way = copy(text, self.app.copy_to_clipboard)
        self.notify(f"Copied {plural(len(text), 'character')} {way}.", markup=False)

    def on_key(self, event: Key) -> None:
        """Pass letters that are no commands on to the editor."""
        if event.character is None or not event.is_printable:
            return
        # The key's action would come after letters that were typed later.
        begins_prompt = event.key == _OFFER_KEY and self._shell_item is None
        if begins_prompt or event.key not in _KEYS:
            event.stop()
            self.post_message(self.LetterTyped(event.character))

    # Folding

    def action_attachments(self) -> None:
        """Open what the card holds besides text."""
        if self.cursor is not None:
            self.post_message(self.ItemOpened(self.cards[self.cursor].item))

    def action_offer(self) -> None:
        """Put a command and its output into the prompt; elsewhere the letter begins a prompt."""
        if (item := self._shell_item) is not None:
            self.post_message(self.Offered(item.as_prompt()))
        else:
            self.app.bell()

    @property
    def _shell_item(self) -> ShellItem | None:
        """The command of the user at the cursor."""
        item = None if self.cursor is None else self.cards[self.cursor].item
        return item if isinstance(item, ShellItem) else None

    def action_fold(self) -> None:
        if self.cursor is not None:
            self._toggle(self.cursor)

    def _toggle(self, place: int) -> None:
        card = self.cards[place]
        if card.opens:
            self.post_message(self.ItemOpened(card.item))
            return
        is_long = self.document.heights.total > self.size.height
        if not self._laid_out.toggle(place):
            return
        if self.top is None and self._shown and is_long:
            # Stay at this card instead of following the end.
            top = self._shown[0].place
            self.top = top
        self._layout_rows()

    def action_next_card(self, by: int) -> None:
        """Go to the next card that can be seen, or the one before."""
        places = self._seen_places
        if not places:
            return
        start = len(self.cards) if self.cursor is None else self.cursor
        next_ = bisect_right(places, start) if by > 0 else bisect_left(places, start) - 1
        self.cursor = at = places[min(max(next_, 0), len(places) - 1)]
        on_screen = {each.place[0] for each in self._shown if each.place is not None}
        if at in on_screen:
            self.post_message(self.CardChosen(at))
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
        place = shown.place[0]
        self.cursor = place
        self.post_message(self.CardChosen(place))
        if shown.row.opens or shown.row.image is not None:
            self.action_attachments()
        elif self.document.is_head(shown.place):
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
        height, total = self.size.height, self.document.heights.total
        if total <= height:
            return
        row = min(max(y, 0), height - 1) * (total - height) // max(height - 1, 1)
        if y >= height - 1:
            self._stand_at(None)
            return
        place = self.document.place_at(row)
        if place is not None:
            self._stand_at(place)

    # Copying

    @property
    def _selected(self) -> tuple[Mark, Mark]:
        assert self._selection is not None
        one, other = self._selection
        return (one, other) if one <= other else (other, one)

    def clear_selection(self) -> None:
        self._selection = None
        self._layout_rows()

    def selected_text(self) -> str:
        """Return what is selected: the source of parts that are wholly selected, else the text."""
        return "" if self._selection is None else self._laid_out.text_between(*self._selected)


_OFFER_KEY: Final = "s"
_KEYS: Final = {
    "space",
    "question_mark",
    *(each.key for each in COMMANDS if each.scope == "transcript"),
}


def _is_in(y: int, span: tuple[int, int]) -> bool:
    return span[0] <= y < span[1]
