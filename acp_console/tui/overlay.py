"""A screen over another one, which a click beside it closes."""

from __future__ import annotations

from textual.events import Click
from textual.screen import ModalScreen, ScreenResultType


class Overlay(ModalScreen[ScreenResultType]):
    """Closes without a result, as Escape does, when the user clicks beside what it shows."""

    def on_click(self, event: Click) -> None:
        if self.get_widget_at(event.screen_x, event.screen_y)[0] is self:
            self.dismiss(None)
