"""The traffic: rows, filter, detail; built from a journal and built again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App, ComposeResult

from acp_console.tui import clipboard
from acp_console.tui.widgets.traffic import TrafficPane
from tests.console.tui.conftest import entries, say, settled, until, update

TALK = entries(
    (
        "client",
        {
            "id": 1,
            "method": "session/prompt",
            "params": {"sessionId": "s1", "prompt": [{"type": "text", "text": "hello"}]},
        },
    ),
    update("agent_message_chunk", content={"type": "text", "text": "Hello [b]you[/b]\x1b[31m"}),
    ("agent", b"this is no JSON \xff"),
    ("agent", {"id": 1, "result": {"stopReason": "end_turn"}}),
)


class PaneApp(App[None]):
    """An app with nothing but the pane."""

    def compose(self) -> ComposeResult:
        yield TrafficPane()

    def on_mount(self) -> None:
        self.query_one(TrafficPane).extend(TALK)
        self.query_one(TrafficPane).table.focus()


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (200, 50)])
async def test_it_looks_as_it_should(size: tuple[int, int], picture: SnapshotAssertion) -> None:
    app = PaneApp()
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "stopReason" in say(app))
        assert await settled(pilot) == picture


async def test_text_from_the_wire_is_neither_markup_nor_escape() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "stopReason" in say(app))
        assert "Hello [b]you[/b]␛[31m" in say(app)
        assert "\x1b" not in say(app)


async def test_a_frame_that_is_no_json_is_told_and_shown_raw() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("up")
        await until(pilot, lambda: "invalid UTF-8 at byte 16" in say(app))


async def test_the_filter_counts_what_it_lets_through() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("slash", *"STOPREASON", "enter")
        await until(pilot, lambda: "1 of 4 entries" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "4 entries" in say(app) and " of " not in say(app))


async def test_a_jumps_between_question_and_answer() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        table = app.query_one(TrafficPane).table
        await until(pilot, lambda: table.cursor == 3)
        await pilot.press("a")
        assert table.cursor == 0
        await pilot.press("a")
        assert table.cursor == 3


@pytest.mark.parametrize("has_clipboard", [True, False])
async def test_c_copies_the_exact_line_by_whatever_way_there_is(
    monkeypatch: pytest.MonkeyPatch, has_clipboard: bool
) -> None:
    copied: list[str] = []

    def copy(text: str) -> None:
        if not has_clipboard:
            raise clipboard.pyperclip.PyperclipException("none here")
        copied.append(text)

    monkeypatch.setattr(clipboard.pyperclip, "copy", copy)
    app = PaneApp()
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "Entry 4: bytes copied" in say(app))
        way = "to the clipboard" if has_clipboard else "OSC 52"
        assert way in say(app)
        text: Any = copied[0] if has_clipboard else app.clipboard
        assert json.loads(text)["result"] == {"stopReason": "end_turn"}


async def test_a_flood_draws_only_what_is_seen() -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 30)) as pilot:
        pane = app.query_one(TrafficPane)
        flood = entries(
            *[
                update("agent_message_chunk", content={"type": "text", "text": str(n)})
                for n in range(20_000)
            ]
        )
        pane.extend(flood)
        await until(pilot, lambda: '"19999"' in say(app))
        assert len(pane.table._cache) < 1000
        await pilot.press("home")
        await until(pilot, lambda: "session/prompt" in say(app))


async def test_it_can_be_built_again_from_the_journal() -> None:
    app = PaneApp()
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "stopReason" in say(app))
        before = say(app)
        await app.query_one(TrafficPane).remove()
        pane = TrafficPane()
        await app.mount(pane)
        pane.extend(TALK)
        pane.table.focus()
        await until(pilot, lambda: say(app) == before)
