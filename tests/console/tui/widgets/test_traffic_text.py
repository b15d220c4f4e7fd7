"""Text of any length: wrapped without loss, drawn only where it is seen."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from acp_console.tui.traffic import text_view as module
from acp_console.tui.traffic.text_view import TextLines
from tests.console.tui.conftest import say, until

lines = st.text(st.characters(exclude_categories=["C"]), max_size=300) | st.sampled_from(
    ["", "漢字" * 3000, "a" * 5000, "é" + "a" * 5000, "🏻"]
)


@given(lines, st.integers(2, 80))
def test_a_line_is_wrapped_without_loss_and_fits(line: str, width: int) -> None:
    count = module._rows_of(line, width)  # pyright: ignore[reportPrivateUsage] - what it is about
    pieces = [
        module._piece(line, width, row)  # pyright: ignore[reportPrivateUsage] - likewise
        for row in range(count)
    ]
    assert "".join(line[begin:end] for begin, end in pieces) == line
    assert all(before[1] == after[0] for before, after in pairwise(pieces))
    assert all(cell_len(line[begin:end]) <= width for begin, end in pieces)


class TextApp(App[None]):
    """An app with nothing but a text."""

    def compose(self) -> ComposeResult:
        yield TextLines()

    @property
    def text(self) -> TextLines:
        """The text."""
        return self.query_one(TextLines)


async def test_ten_megabytes_are_shown_to_their_end() -> None:
    app = TextApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.text.show("é" + "word " * 2_000_000 + "end", note="a note")
        await until(pilot, lambda: "éword word" in say(app))
        app.text.focus()
        await pilot.press("end")
        await until(pilot, lambda: "end" in say(app) and "a note" in say(app))


@pytest.mark.parametrize("is_json", [True, False])
async def test_json_has_colours_and_other_text_has_none(is_json: bool) -> None:
    app = TextApp()
    async with app.run_test(size=(40, 6)) as pilot:
        app.text.show('"key": ["text", 12, true]\nnext', is_json=is_json)
        await until(pilot, lambda: "next" in say(app))
        colours = {segment.style.color for segment in app.text.render_line(0) if segment.style}
        assert (len(colours) > 2) == is_json
        assert app.text.render_line(0).text.rstrip() == '"key": ["text", 12, true]'
