"""Frames of one's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from textual.app import App

from acp_console.tui.intercept.screens import ComposeScreen
from tests.console.tui.conftest import say, until
from tests.console.tui.intercept_clients import FakeInterceptClient

pytestmark = pytest.mark.long


class ComposeApp(App[None]):
    """An app that sends frames."""

    def __init__(self) -> None:
        super().__init__()
        self.client = FakeInterceptClient()

    def on_mount(self) -> None:
        self.push_screen(ComposeScreen(self.client))

    @property
    def view(self) -> Any:
        return self.screen


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_it_fits_every_size(size: tuple[int, int]) -> None:
    app = ComposeApp()
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        await pilot.press("ctrl+s")
        app.client.sent[
            0
        ].response = b'{"jsonrpc":"2.0","id":"o","error":{"code":1,"message":"no"}}'
        app.client.sent[0].is_over = True
        app.client.news()
        await until(pilot, lambda: "✗ error 1: no" in say(app))
        assert "esc Back" in say(app)


async def test_a_method_is_chosen_by_typing_and_its_frame_begun_and_sent() -> None:
    app = ComposeApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Choose a method" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: "auth/status" in say(app))
        await pilot.press(*"session/pro", "enter")
        await until(pilot, lambda: '"method": "session/prompt"' in say(app))
        await pilot.press("ctrl+s")
        ((deed, members),) = app.client.asked
        assert (deed, members["from"], members["force"]) == ("inject", "client", False)
        assert json.loads(members["raw"])["params"]["prompt"] == [{"type": "text", "text": ""}]
        await until(pilot, lambda: "→ session/prompt  … waiting for the response" in say(app))


async def test_escape_closes_the_list_of_methods_first() -> None:
    app = ComposeApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.view.methods.has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: app.view.methods.expanded)
        await pilot.press("escape")
        await until(pilot, lambda: not app.view.methods.expanded)
        assert isinstance(app.screen, ComposeScreen)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ComposeScreen))


async def test_the_side_and_whose_id_it_is_are_said_and_sent() -> None:
    app = ComposeApp()
    async with app.run_test(size=(120, 24)) as pilot:
        await until(pilot, lambda: "to the agent, as if the client sent it" in say(app))
        assert "sets a new id" in say(app)
        await pilot.press("f5", "f9")
        await until(
            pilot, lambda: "to the client, as if the agent sent it; the id is kept" in say(app)
        )
        app.view.editor.write('{"jsonrpc": "2.0", "method": "x"}')
        await pilot.press("ctrl+s")
        ((_, members),) = app.client.asked
        assert (members["from"], members["keep_id"]) == ("agent", True)


async def test_what_is_no_json_is_sent_only_as_it_stands() -> None:
    app = ComposeApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        app.view.editor.write("{oops\n{}")
        await pilot.press("ctrl+s")
        assert app.client.asked == []
        await pilot.press("f8")
        await until(pilot, lambda: app.client.asked)
        assert app.client.asked[0][1]["raw"] == b"{oops\n{}"
        assert app.client.asked[0][1]["force"] is True


async def test_what_was_sent_can_be_sent_again() -> None:
    app = ComposeApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        await pilot.press("f5")
        app.view.editor.write('{"jsonrpc":"2.0","method":"first"}')
        await pilot.press("ctrl+s", "f5")
        app.view.editor.write("[]")
        await until(pilot, lambda: "← first" in say(app))
        app.view.history.focus()
        await pilot.press("enter")
        await until(pilot, lambda: '"method": "first"' in say(app))
        assert "as if the agent sent it" in say(app).replace("\n", " ")
