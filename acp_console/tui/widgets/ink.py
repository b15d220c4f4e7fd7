"""How letters are written, whatever they stand on: the ground is the line's, or the cursor's."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


def ink(widget: Widget, component: str) -> Style:
    """Return colour, weight and slant of a component of a widget, and no background.

    Muted colours are mixed with the ground of the widget, which a partial style does not know:
    written with that they would shine, or not be seen in a light theme.
    """
    found = widget.get_component_rich_style(component)
    return Style(color=found.color, bold=found.bold, italic=found.italic)
