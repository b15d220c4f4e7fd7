"""Lines of any number: where the cursor stands, and how long texts are wrapped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from acp_console.tui.analysis.tab import Line, LineList, wrap_lines
from tests.console.tui.conftest import say


class ListApp(App[None]):
    """Shows a list, and notes what is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Line | None] = []

    def compose(self) -> ComposeResult:
        yield LineList()

    def on_line_list_line_clicked(self, event: LineList.LineClicked) -> None:
        self.opened.append(event.list.chosen)


def lines(*names: str) -> list[Line]:
    return [Line((("error", name[0]), ("", name[1:])), key=name) for name in names]


async def test_the_cursor_goes_through_the_lines_and_stops_at_their_ends() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 5)) as pilot:
        shown = app.query_one(LineList)
        shown.show(lines(*(f"line {n}" for n in range(20))))
        shown.focus()
        await pilot.press("up", "down", "j")
        assert shown.cursor == 2
        await pilot.press("end", "down")
        assert shown.cursor == 19
        assert "line 19" in say(app)
        await pilot.press("pageup", "home", "k")
        assert shown.cursor == 0
        assert "line 0" in say(app)


async def test_the_cursor_stays_on_its_line_when_others_come_before_it() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 5)) as pilot:
        shown = app.query_one(LineList)
        shown.show(lines("b", "c"))
        shown.choose(1)
        shown.show(lines("a", "b", "c", "d"))
        await pilot.pause()
        assert shown.chosen is not None
        assert shown.chosen.key == "c"
        shown.show(lines("a"))
        assert shown.chosen.key == "a"
        shown.show([])
        assert shown.chosen is None


async def test_a_second_click_opens_a_line() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 5)) as pilot:
        app.query_one(LineList).show(lines("a", "b"))
        await pilot.click(LineList, offset=(1, 1))
        assert app.query_one(LineList).cursor == 1
        assert not app.opened
        await pilot.click(LineList, offset=(1, 1), times=2)
        assert [line.key for line in app.opened if line] == ["b"]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=300), st.integers(1, 60))
def test_what_is_wrapped_is_no_wider_and_loses_only_spaces(text: str, width: int) -> None:
    line = Line((("muted", "└─ "), ("", text)), target=3)
    pieces = wrap_lines([line], width)
    said = "".join(piece.parts[-1][1] for piece in pieces)
    assert said.replace(" ", "") == text.replace(" ", "")
    assert {piece.target for piece in pieces} == {3}
    if len(pieces) > 1:
        assert all(sum(cell_len(part) for _, part in piece.parts) <= width for piece in pieces)
