"""Letters that can be read on any ground, in dark themes and in light ones."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.color import Color

from acp_console.tui.cursor_list import foreground_style
from acp_console.tui.traffic.text_view import TextLines


class InkApp(App[None]):
    """Shows some lines."""

    def compose(self) -> ComposeResult:
        yield TextLines()


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
async def test_what_is_muted_stands_out_less_than_the_text_and_from_the_ground(theme: str) -> None:
    app = InkApp()
    async with app.run_test() as pilot:
        app.theme = theme
        await pilot.pause()
        lines = app.query_one(TextLines)
        style = foreground_style(lines, "text-lines--note")
        assert style.color is not None
        assert style.bgcolor is None
        assert style.italic
        _, background = lines.background_colors
        muted = Color.from_rich_color(style.color)
        plain = Color.from_rich_color(lines.rich_style.color)
        contrasts = [abs(each.brightness - background.brightness) for each in (muted, plain)]
        assert 0.3 < contrasts[0] < contrasts[1]
