"""Lists with a cursor: all of them are moved alike."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.strip import Strip

from acp_console.tui.analysis.tab import Line, LineList
from acp_console.tui.cursor_list import CursorList
from acp_console.tui.traffic.table import FrameTable


class NumberList(CursorList):
    """Shows numbers."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    @property
    def count(self) -> int:
        return self._count

    def render_line(self, y: int) -> Strip:
        return Strip.blank(self.width)


class ListApp(App[None]):
    """Shows a list alone."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.list = NumberList(count)

    def compose(self) -> ComposeResult:
        yield self.list

    def on_mount(self) -> None:
        self.list.lay_out()
        self.list.focus()


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("down j", 2),
        ("down up k up", 0),
        ("pagedown", 4),
        ("ctrl+d ctrl+d ctrl+d ctrl+u", 4),
        ("end", 99),
        ("G pageup", 95),
        ("G down", 99),
        ("G g", 0),
        ("G home pagedown k", 3),
    ],
)
async def test_keys_move_the_cursor_which_stays_within_the_lines_and_in_sight(
    keys: str, place: int
) -> None:
    app = ListApp(100)
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.press(*keys.split())
        assert app.list.cursor == place
        assert 0 <= app.list.cursor - app.list.scroll_offset.y < 5


async def test_the_mouse_puts_the_cursor_where_it_is_and_nowhere_behind_the_last_line() -> None:
    app = ListApp(3)
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.click(NumberList, offset=(1, 2))
        assert app.list.cursor == 2
        await pilot.click(NumberList, offset=(1, 0))
        await pilot.click(NumberList, offset=(1, 4))
        assert app.list.cursor == 0


async def test_where_nothing_is_no_key_does_anything() -> None:
    app = ListApp(0)
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.press("down", "end", "pageup", "home")
        assert app.list.cursor == 0
        assert app.list.virtual_size == Size(19, 0)


def test_rows_and_lines_are_such_lists_and_have_no_keys_of_their_own() -> None:
    for each in (FrameTable, LineList):
        assert issubclass(each, CursorList)
        assert "BINDINGS" not in vars(each)


async def test_another_theme_leaves_no_line_as_it_was_drawn() -> None:
    app = App[None]()
    async with app.run_test(size=(30, 5)) as pilot:
        lines = LineList()
        await app.mount(lines)
        lines.show([Line((("", str(n)),)) for n in range(9)])
        await pilot.pause()
        before = lines.render_line(1)
        app.theme = "textual-light"
        await pilot.pause()
        assert lines.render_line(1).text == before.text
        assert lines.render_line(1) != before


async def test_a_list_that_is_not_shown_yet_begins_with_its_first_line() -> None:
    app = ListApp(3)
    async with app.run_test(size=(20, 5)) as pilot:
        app.list.display = False
        await pilot.pause()
        app.list.choose(1)
        app.list.display = True
        await pilot.pause()
        assert app.list.size.height == 5
        assert app.list.scroll_offset.y == 0
