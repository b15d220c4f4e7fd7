"""JSON as a tree: built where it is unfolded, with paths that filters take."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App, ComposeResult

from acp_console.tui.traffic.tree import JsonNode, JsonTree
from acp_inspector.filter.compiler import compile_filter
from tests.console.tui.conftest import say, until


class TreeApp(App[None]):
    """An app with nothing but a tree."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self._value = value

    def compose(self) -> ComposeResult:
        yield JsonTree()

    def on_mount(self) -> None:
        self.shown.show(self._value)
        self.shown.focus()

    @property
    def shown(self) -> JsonTree:
        """The tree."""
        return self.query_one(JsonTree)


async def test_small_values_stand_unfolded_and_untrusted_text_is_text() -> None:
    app = TreeApp({"params": {"text": "[b]\x1b[2J", "list": [1, None, True]}, "\x1b": {}})
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: 'text: "[b]␛[2J"' in say(app))
        assert "list: [3]" in say(app)
        assert "1: null" in say(app)
        assert "␛: {0}" in say(app)


async def test_large_values_stay_folded_and_are_built_in_portions() -> None:
    app = TreeApp({"many": list(range(1000))})
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: "many: [1 000]" in say(app))
        many = app.shown.root.children[0]
        assert len(many.children) == 0
        await pilot.press("right")
        await until(pilot, lambda: len(many.children) == 201)
        await pilot.press("end")
        await until(pilot, lambda: "800 more: Enter shows them" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: len(many.children) == 401)
        await pilot.press("home", "left")
        await until(pilot, lambda: not many.is_expanded)


async def test_the_place_of_the_cursor_is_known() -> None:
    app = TreeApp({"params": {"update": [{"a b": "x" * 500}]}})
    async with app.run_test(size=(90, 12)) as pilot:
        await until(pilot, lambda: "500 characters, v shows all" in say(app))
        await pilot.press("down", "down", "down")
        await until(pilot, lambda: str(app.shown.place) == '$.params.update[0]["a b"]')
        assert app.shown.place is not None
        assert app.shown.place.value == "x" * 500


@pytest.mark.parametrize("value", [3, "text", None, [], {}])
async def test_a_value_without_members_is_shown_alone(value: Any) -> None:
    app = TreeApp(value)
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: app.shown.place == JsonNode((), value))


@pytest.mark.parametrize("step", ["a", "a b", 'a"b', "é", 3, "x-y", "\\"])
def test_paths_are_spelled_as_filters_take_them(step: str | int) -> None:
    assert compile_filter(f"{JsonNode(('params', step), 1)} == 1").fields == {"$"}


@pytest.mark.parametrize(("width", "note"), [(80, "900 characters, v shows all"), (44, "900")])
async def test_note_beside_a_long_value_fits_into_narrow_panes(width: int, note: str) -> None:
    app = TreeApp({"params": {"update": {"title": "漢字 " * 300, "text": "word " * 180}}})
    async with app.run_test(size=(width, 12)) as pilot:
        await until(pilot, lambda: "text: " in say(app))
        lines = [
            line.rstrip() for line in say(app).splitlines() if "text: " in line or "title" in line
        ]
        assert len(lines) == 2
        for line in lines:
            assert '…"  900' in line
            assert line.endswith(note)
        assert app.shown.virtual_size.width <= width
