"""A conversation as rows: which items there are, what is folded, and where one row follows another.

Without the widget that draws it. A row is found by its place: card, part of the card, row of the
part. Nothing above a place is needed to find what is below it, so heights of parts that were never
drawn are estimates.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Final, Literal, TypeAlias

from acp_console.tui.transcript.cards import (
    Card,
    LineCard,
    PromptCard,
    ShellCard,
    ToolCard,
    card_of,
)
from acp_console.tui.transcript.rows import Heights, Look, Row
from acp_inspector.session.items import Item, Notice

MAX_ROWS: Final = 6_000
"""Rendered rows that are kept."""

Place: TypeAlias = tuple[int, int, int]
"""A card, one of its parts, and a row of that."""
Mark: TypeAlias = tuple[int, int, int, int]
"""A place and a cell in its row."""
JumpKind: TypeAlias = Literal["prompt", "error", "permission", "call"]


class Document:
    """The cards of a conversation, and their rows for the width and the look of the moment."""

    def __init__(self) -> None:
        self.cards: list[Card] = []
        self.width = 1
        """Cells of a row; `lay_out` sets it."""
        self.look: Look | None = None
        """How rows are drawn; None: not known yet, or no longer."""
        self._places: dict[int, int] = {}
        """The card of each item, by its identity."""
        self.heights = Heights()
        self._rows: OrderedDict[Hashable, list[Row]] = OrderedDict()
        self._row_count = 0
        self.blank = Row([])
        """An empty row; it keeps how it is drawn, too."""
        self._changed: set[int] = set()

    # Items

    def sync(self, items: Iterable[Item]) -> bool:
        """Take items that are new or have changed; return whether there is something to draw."""
        for item in items:
            place = self._places.get(id(item))
            if place is None:
                place = self._places[id(item)] = len(self.cards)
                self._append(card_of(item))
            self._changed.add(place)
        return bool(self._changed)

    def _append(self, card: Card) -> None:
        self._changed.add(len(self.cards))
        self.cards.append(card)
        self.heights.append(1)

    def clear(self) -> None:
        self.cards.clear()
        self._places.clear()
        self.heights = Heights()
        self.forget_rows()
        self._changed.clear()

    def show(self, cards: Iterable[Card]) -> None:
        """Hold these cards, and no other ones."""
        self.clear()
        for card in cards:
            self._append(card)

    def replace(self, items: Iterable[Item], *, is_revised: bool = False) -> dict[int, int]:
        """Take other states of the items; return the new place of each card that is still there.

        Args:
            items: The items.
            is_revised: Whether the same frame may have left them in another state than before.
        """
        known = {_identity(card): card for card in self.cards}
        before = {_identity(card): place for place, card in enumerate(self.cards)}
        cards: list[Card] = []
        for item in items:
            card = card_of(item)
            earlier = known.get(_identity(card))
            if earlier is not None and earlier.item.last == item.last and not is_revised:
                card = earlier
            elif earlier is not None:
                card.take_folding(earlier)
            cards.append(card)
        self.show(cards)
        after = {_identity(card): place for place, card in enumerate(cards)}
        return {place: after[name] for name, place in before.items() if name in after}

    def refresh(self) -> None:
        """Follow the items that have changed."""
        for place in sorted(self._changed):
            self.cards[place].refresh()
            self._measure(place)
        self._changed.clear()

    def toggle(self, place: int) -> bool:
        """Fold or unfold a card; return whether that is possible."""
        if not self.cards[place].toggle():
            return False
        self._measure_anew(place)
        if place + 1 < len(self.cards):
            self._measure(place + 1)
        return True

    def lay_out(self, width: int) -> None:
        """Fit all to a width."""
        self.width = width
        for place in range(len(self.cards)):
            self._measure_anew(place)

    def forget_rows(self) -> None:
        """Render all rows again: they look otherwise."""
        self.blank = Row([])
        self._rows.clear()
        self._row_count = 0

    def _measure_anew(self, place: int) -> None:
        self.cards[place].heights = Heights()
        self._measure(place)

    def _measure(self, place: int) -> None:
        """Estimate the parts that were not measured."""
        card = self.cards[place]
        known, count = len(card.heights), card.part_count
        if known > count:
            card.heights, known = Heights(), 0
        for part in range(known, count):
            card.heights.append(card.estimate(part, self.width))
        if count and known == count:
            # The last part grows.
            card.heights.set(count - 1, card.estimate(count - 1, self.width))
        self.heights.set(place, card.heights.total + self.gap(place))

    def gap(self, place: int) -> int:
        """Return 1 if an empty row precedes a card: not between folded calls or notices."""
        if place == 0 or not self.cards[place].part_count:
            return 0
        card, before = self.cards[place], self.cards[place - 1]
        return 0 if any(is_alike(card) and is_alike(before) for is_alike in _ROWS) else 1

    # Rows

    def rows(self, place: int, part: int) -> list[Row]:
        card = self.cards[place]
        gap = self.gap(place) if part == 0 else 0
        key = (id(card), part, card.key(part), self.width, gap)
        rows = self._rows.get(key)
        if rows is None:
            rows = [Row([])] * gap + card.rows(part, self.width, self._known_look)
            self._rows[key] = rows
            self._row_count += len(rows)
        else:
            self._rows.move_to_end(key)
        height = len(rows) - gap
        if part < len(card.heights) and card.heights[part] != height:
            # It was estimated, perhaps again since the rows are kept.
            card.heights.set(part, height)
            self.heights.set(place, card.heights.total + self.gap(place))
        while self._row_count > MAX_ROWS and len(self._rows) > 1:
            _, old = self._rows.popitem(last=False)
            self._row_count -= len(old)
        return rows

    @property
    def _known_look(self) -> Look:
        assert self.look is not None
        return self.look

    def before(self, place: int, part: int) -> tuple[int, int] | None:
        """Return the part before one."""
        if part > 0:
            return place, part - 1
        while place > 0:
            place -= 1
            if count := self.cards[place].part_count:
                return place, count - 1
        return None

    def after(self, place: int, part: int) -> tuple[int, int] | None:
        if place < len(self.cards) and part + 1 < self.cards[place].part_count:
            return place, part + 1
        for each in range(place + 1, len(self.cards)):
            if self.cards[each].part_count:
                return each, 0
        return None

    def from_end(self, height: int) -> list[tuple[Place, Row]]:
        """Return the last rows."""
        found: list[tuple[Place, Row]] = []
        at = self.before(len(self.cards), 0)
        while at is not None and len(found) < height:
            rows = self.rows(*at)
            for number in range(len(rows) - 1, -1, -1):
                found.append(((*at, number), rows[number]))
                if len(found) == height:
                    break
            at = self.before(*at)
        return found[::-1]

    def existing(self, place: Place) -> Place:
        """Return a place that is there, also after the card has lost parts."""
        card, part, number = place
        card = min(card, len(self.cards) - 1)
        if card < 0:
            return 0, 0, 0
        count = self.cards[card].part_count
        return (card, part, number) if part < count else (card, max(count - 1, 0), 0)

    def from_place(self, first: Place, height: int) -> list[tuple[Place, Row]]:
        """Return rows from a place on; fewer if the end comes."""
        found: list[tuple[Place, Row]] = []
        if first[0] >= len(self.cards):
            return found
        at: tuple[int, int] | None = first[:2]
        if not self.cards[first[0]].part_count:
            at = self.after(*first[:2])
        skipped = first[2]
        while at is not None and len(found) < height:
            rows = self.rows(*at)
            found += [
                ((*at, number), rows[number])
                for number in range(min(skipped, len(rows)), len(rows))
            ]
            skipped = 0
            at = self.after(*at)
        return found[:height]

    def moved(self, start: Place, by: int) -> Place:
        """Return the place some rows further down, or up."""
        place, part, number = self.existing(start)
        number += by
        while number < 0:
            before = self.before(place, part)
            if before is None:
                return place, part, 0
            place, part = before
            number += len(self.rows(place, part))
        while number >= (count := self._row_count_of(place, part)):
            after = self.after(place, part)
            if after is None:
                return place, part, max(count - 1, 0)
            number -= count
            place, part = after
        return place, part, number

    def _row_count_of(self, place: int, part: int) -> int:
        has_part = part < self.cards[place].part_count
        return len(self.rows(place, part)) if has_part else 0

    def is_end(self, place: Place) -> bool:
        """Whether a place is the last row of all."""
        card, part, number = place
        return self.after(card, part) is None and number == len(self.rows(card, part)) - 1

    def is_row_of(self, place: Place | None, card: int | None) -> bool:
        """Return whether a row is of a card, and not the empty one before it."""
        if place is None or place[0] != card:
            return False
        return place[1] > 0 or place[2] >= self.gap(place[0])

    def is_head(self, place: Place) -> bool:
        """Whether a place is the first row of a card, without the empty one before it."""
        return place[1] == 0 and place[2] == self.gap(place[0])

    def rows_before(self, place: Place) -> int:
        """Return about how many rows there are before a place."""
        card, part, number = place
        gap = self.gap(card) if part else 0
        return self.heights.before(card) + gap + self.cards[card].heights.before(part) + number

    def place_at(self, row: int) -> Place | None:
        """Return the place with about so many rows before it."""
        card, rest = self.heights.find(row)
        if card >= len(self.cards):
            return None
        if rest < (gap := self.gap(card)):
            return card, 0, rest
        part, number = self.cards[card].heights.find(rest - gap)
        part = min(part, max(self.cards[card].part_count - 1, 0))
        return card, part, number if part else number + gap

    def count_rows(self, most: int) -> int:
        """Return how many rows there are, at most `most`."""
        self.refresh()
        return len(self.from_place((0, 0, 0), most))

    # Search

    def next_of(self, kind: JumpKind, start: int, by: int) -> int | None:
        """Return the next card of a kind, or the previous one."""
        places = [place for place, card in enumerate(self.cards) if _is_kind(card, kind)]
        at = bisect_right(places, start) if by > 0 else bisect_left(places, start) - 1
        return places[at] if 0 <= at < len(places) else None

    def parts_with(self, text: str) -> list[tuple[int, int]]:
        """Return the parts that hold a text, in order; case does not count."""
        wanted = text.lower()
        return [
            (place, part)
            for place, card in enumerate(self.cards)
            for part in range(card.part_count)
            if wanted in card.source(part).lower()
        ]

    # Copying

    def text_between(self, begin: Mark, end: Mark, limit: int = 5_000_000) -> str:
        """Return the source of parts that are wholly between two marks, else what stands there."""
        pieces: list[str] = []
        at: tuple[int, int] | None = begin[0], begin[1]
        size = 0
        while at is not None and at <= end[:2] and size < limit:
            place, part = at
            is_whole = begin[:2] < at < end[:2]
            source = self.cards[place].source(part) if is_whole else ""
            text = source or self._part_between(place, part, begin, end).lstrip("\n")
            pieces.append(text if not pieces or pieces[-1].endswith("\n") else f"\n{text}")
            size += len(text)
            at = self.after(place, part)
        return "".join(pieces)[:limit]

    def _part_between(self, place: int, part: int, begin: Mark, end: Mark) -> str:
        rows = self.rows(place, part)
        first = begin[2] if (place, part) == begin[:2] else 0
        last = end[2] if (place, part) == end[:2] else len(rows) - 1
        text = ""
        for number in range(first, min(last, len(rows) - 1) + 1):
            row = rows[number]
            left = begin[3] if (place, part, number) == begin[:3] else 0
            right = end[3] if (place, part, number) == end[:3] else self.width
            lead = row.lead_cells
            cut = row.text_between(max(left, lead), max(right, lead))
            text += (row.joins if number > first else "") + cut
        return text

    def card_text(self, place: int) -> str:
        """Return the whole source of a card."""
        card = self.cards[place]
        return "".join(card.source(part) for part in range(card.part_count))


def _identity(card: Card) -> tuple[type[Item], str]:
    return type(card.item), card.item.key


def _is_folded_call(card: Card) -> bool:
    is_command = isinstance(card, ShellCard)
    return isinstance(card, ToolCard) and card.is_folded and not is_command


def _is_notice(card: Card) -> bool:
    return isinstance(card, LineCard) and isinstance(card.item, Notice)


_ROWS: Final = (_is_folded_call, _is_notice)
"""Cards that stand without an empty row between them."""


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
