"""Changing a held frame: what leaves, and what the countdown does meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App

from acp_console.tui.intercept.screens import Edited, EditScreen
from acp_inspector.intercept.json_edit import pretty
from tests.console.tui.conftest import notices, say, settled, until
from tests.console.tui.intercept_clients import PROMPT, FakeInterceptClient, held

SPACED = b'{ "jsonrpc": "2.0",  "method": "x" }'


class EditApp(App[None]):
    """An app that edits one frame, and what came of it."""

    def __init__(self, raw: bytes = PROMPT, left: float = 47.0) -> None:
        super().__init__()
        self.client = FakeInterceptClient(held(raw, seconds_left=left))
        self.raw = raw
        self.results: list[Edited | None] = []

    def on_mount(self) -> None:
        (hold,) = self.client.state.held_frames
        self.push_screen(
            EditScreen(self.client, hold, pretty(self.raw), self.raw), self.results.append
        )

    def write(self, text: str) -> None:
        screen: Any = self.screen
        screen.editor.write(text)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_it_looks_as_it_should(size: tuple[int, int], picture: SnapshotAssertion) -> None:
    app = EditApp()
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "sent unchanged in 47 s" in say(app))
        app.write('{\n  "jsonrpc": "2.0",\n  "id": 4,\n  "method": oops\n}')
        await until(pilot, lambda: "✗ invalid JSON, line 4, column 13" in say(app))
        assert await settled(pilot) == picture


async def test_the_new_frame_leaves_on_one_line() -> None:
    app = EditApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        app.write('{\n  "a": 1.0,\n  "b": "x  y"\n}')
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.results)
        assert app.results == [Edited(b'{"a":1.0,"b":"x  y"}', is_forced=False)]


async def test_what_nobody_changed_leaves_as_the_very_bytes_that_came() -> None:
    app = EditApp(SPACED)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.results == [Edited(SPACED, is_forced=True)])


async def test_what_is_no_json_is_not_sent_unless_it_is_meant_and_the_cursor_goes_there() -> None:
    app = EditApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        app.write('{"a": 1,\n\n  oops}')
        await pilot.press("ctrl+s")
        screen: Any = app.screen
        await until(pilot, lambda: screen.editor.area.cursor_location == (2, 2))
        await pilot.press("f8")
        await until(pilot, lambda: app.results == [Edited(b'{"a": 1,oops}', is_forced=True)])


async def test_what_is_no_json_on_one_line_leaves_to_the_letter() -> None:
    app = EditApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        app.write("{oops")
        await pilot.press("f8")
        await until(pilot, lambda: app.results == [Edited(b"{oops", is_forced=True)])


async def test_a_changed_id_is_remarked_upon_and_may_be_sent() -> None:
    app = EditApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        app.write(PROMPT.replace(b'"id":3', b'"id":4').decode())
        await until(pilot, lambda: "! the id was 3: its response is lost" in say(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.results)


async def test_typing_gives_more_time_and_waiting_does_not() -> None:
    app = EditApp(left=20.0)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "sent unchanged in 20 s" in say(app))
        app.client.become(held(seconds_left=19.0))
        await until(pilot, lambda: "19 s" in say(app))
        assert app.client.asked == []
        await pilot.press("space")
        await until(pilot, lambda: app.client.asked == [("keep", {})])


async def test_a_frame_that_has_left_meanwhile_is_told_and_nothing_is_sent() -> None:
    app = EditApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "47 s" in say(app))
        app.client.become()
        await until(pilot, lambda: "the frame is no longer held; Esc goes back" in say(app))
        await pilot.press("ctrl+s", "f8")
        await until(pilot, lambda: "This frame is no longer held" in notices(app))
        assert app.results == []
        await pilot.press("escape")
        await until(pilot, lambda: app.results == [None])
