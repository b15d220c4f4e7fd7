"""Checkboxes, radio buttons and lists of checkboxes whose state is a sign, not a colour."""

from __future__ import annotations

from typing import TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip
from textual.widgets import Checkbox, RadioButton, SelectionList

Value = TypeVar("Value")


def _drawn(toggle: Checkbox | RadioButton, button: str) -> Content:
    """Return a button, as wide as Textual's own, and its label."""
    label = toggle.label.pad(1, 1).stylize_before(toggle.get_visual_style("toggle--label"))
    return Content.assemble(button, label)


class SignedCheckbox(Checkbox):
    """[x] or [ ]."""

    def render(self) -> Content:
        return _drawn(self, "[x]" if self.value else "[ ]")


class SignedRadioButton(RadioButton):
    """(•) or ( )."""

    def render(self) -> Content:
        return _drawn(self, "(•)" if self.value else "( )")


class SignedSelectionList(SelectionList[Value]):
    """A list of [x] and [ ]."""

    def render_line(self, y: int) -> Strip:
        line = super().render_line(y)
        place = self.scroll_offset.y + y
        if place >= self.option_count:
            return line
        is_chosen = self.get_option_at_index(place).value in self.selected
        # What a click on Textual's button does, one on ours does too.
        _, button, _, gap, *label = line
        style = (gap.style or Style()) + Style(meta=button.style.meta if button.style else None)
        return Strip([Segment("[x]" if is_chosen else "[ ]", style), gap, *label])
