"""How two texts differ, all of both: beside each other where there is room."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from acp_console.tui.transcript.piece_rows import diff_rows
from acp_console.tui.transcript.rows import Look, Row

SPLIT_WIDTH: Final = 100
"""Columns from which on both sides are beside each other."""


def theme_look(widget: Widget, *, is_split: bool) -> Look:
    """Return the styles of the theme."""
    look = Look.from_theme(widget.app.theme_variables, has_colors=not widget.app.no_color)
    return replace(look, is_split=is_split)


class RowView(ScrollView, can_focus=True):
    """Shows how two texts differ, all of both."""

    DEFAULT_CSS = """
    RowView {
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        overflow-x: hidden;
    }
    """

    def __init__(self, old: str = "", new: str = "", *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._texts = old, new
        self._rows: list[Row] = []
        self._is_unseen = False
        """Whether other texts have to be shown from their first difference on."""
        self.wants_split: bool | None = None

    def show(self, old: str, new: str) -> None:
        """Show how two other texts differ, from shortly before the first difference on."""
        self._texts = old, new
        self._is_unseen = True
        self.lay_out()

    def on_resize(self, event: Resize) -> None:
        del event
        self.lay_out()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self.lay_out()

    @property
    def is_split(self) -> bool:
        wide = self.size.width >= SPLIT_WIDTH
        return wide if self.wants_split is None else self.wants_split

    def lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._rows = diff_rows(*self._texts, width, theme_look(self, is_split=self.is_split))
        self.virtual_size = Size(width, len(self._rows))
        # Before it is on the screen, it has no width: all rows are others then.
        if self._is_unseen and width:
            self._is_unseen = False
            changed = (at for at, row in enumerate(self._rows) if row.back is not None)
            self.scroll_to(y=max(next(changed, 0) - 3, 0), animate=False, force=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, place = self.scrollable_content_region.width, y + self.scroll_offset.y
        row = self._rows[place] if place < len(self._rows) else Row([])
        return row.strip(width, self.rich_style)
