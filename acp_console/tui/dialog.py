"""The frame that dialogs share: a box over another screen, which Escape closes."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import OptionList


class Dialog(ModalScreen[ScreenResultType]):
    """Frames its box, and styles the lists, notes and buttons in it."""

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        & > Vertical, & > VerticalScroll {
            width: 84;
            max-width: 95%;
            height: auto;
            max-height: 90%;
            padding: 1 2;
            border: round $primary;
            background: $surface;
        }
        & > Vertical > OptionList, & > Vertical > OptionList:focus {
            height: auto;
            max-height: 1fr;
            border: none;
            padding: 0;
            background: transparent;
        }
        .note {
            color: $text-muted;
            margin-top: 1;
        }
        .problem {
            color: $text-error;
        }
        .dialog-buttons {
            height: auto;
            margin-top: 1;
            align-horizontal: right;
        }
        Button {
            margin-left: 2;
            min-width: 0;
            background: $boost;
            color: $text;
        }
        Button:focus {
            background: $input-selection-background;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

    def action_leave(self) -> None:
        self.dismiss(None)


class Overlay(Dialog[ScreenResultType]):
    """Also closes when the user clicks beside its box: there is nothing in it to lose."""

    def on_click(self, event: Click) -> None:
        if self.get_widget_at(event.screen_x, event.screen_y)[0] is self:
            self.dismiss(None)


class FilteredList(Overlay[ScreenResultType]):
    """A list below the input that filters it; the input keeps the focus."""

    DEFAULT_CSS = """
    FilteredList Input {
        margin-bottom: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "cursor(1)", "Down", show=False),
        Binding("up", "cursor(-1)", "Up", show=False),
    ]

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self.query_one("Input").focus()

    def action_cursor(self, step: int) -> None:
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()
