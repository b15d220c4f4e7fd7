"""Two panes that share a screen: their border moves by keys, and when it is dragged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from textual.css.scalar import Scalar
from textual.events import MouseDown, MouseMove, MouseUp
from textual.widget import Widget

from acp_console.kept.preferences import PaneLayout, Split


class SplitBorder:
    """The border between two widgets; the widget that it belongs to passes on its events."""

    def __init__(
        self,
        layout: PaneLayout,
        split: Split,
        axis: Literal["width", "height"],
        panes: Callable[[], tuple[Widget, Widget]],
    ) -> None:
        """Share the `axis` between what `panes` returns."""
        self._layout = layout
        self._split: Split = split
        self._axis = axis
        self._panes = panes
        self._holder: Widget | None = None
        """The widget that has the mouse while the border is dragged."""

    def apply(self) -> None:
        """Give both panes their shares."""
        share = self._layout.share(self._split)
        for pane, part in zip(self._panes(), (share, 100 - share), strict=True):
            setattr(pane.styles, self._axis, Scalar.parse(f"{part}fr"))

    def move(self, by: int) -> None:
        """Move the border by some percents."""
        self._layout.choose_share(self._split, self._layout.share(self._split) + by)
        # What is kept is within its bounds.
        self._layout.choose_share(self._split, self._layout.share(self._split))
        self._layout.keep()
        self.apply()

    def press(self, event: MouseDown, holder: Widget) -> None:
        """Begin to drag, if the border was pressed: that of the upper or of the right pane."""
        first, second = self._panes()
        border = first.region.bottom - 1 if self._axis == "height" else second.region.x
        if first.display and second.display and self._at(event) == border:
            event.stop()
            self._holder = holder
            holder.capture_mouse()

    def drag(self, event: MouseMove) -> None:
        if self._holder is None:
            return
        event.stop()
        first, second = (pane.region for pane in self._panes())
        if self._axis == "height":
            share = (self._at(event) + 1 - first.y) / max(second.bottom - first.y, 1)
        else:
            share = (self._at(event) - first.x) / max(second.right - first.x, 1)
        self._layout.choose_share(self._split, round(share * 100))
        self.apply()

    def release(self, event: MouseUp) -> None:
        if self._holder is not None:
            event.stop()
            self._holder.release_mouse()
            self._holder = None
            self._layout.keep()

    def _at(self, event: MouseDown | MouseMove) -> int:
        return int(event.screen_x if self._axis == "width" else event.screen_y)
