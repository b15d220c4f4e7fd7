"""Answering a held request by hand."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App

from acp_console.tui.intercept.screens import AnswerScreen, HandmadeResponse
from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Request
from tests.console.tui.conftest import notices, say, settled, until
from tests.console.tui.intercept_clients import ASK, PROMPT, FakeInterceptClient, held


class AnswerApp(App[None]):
    """An app that answers one request, and what came of it."""

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        message = jsonrpc.read_message(raw)
        assert isinstance(message, Request)
        self.request = message
        self.client = FakeInterceptClient(held(raw))
        self.results: list[HandmadeResponse | None] = []

    def on_mount(self) -> None:
        (hold,) = self.client.state.held_frames
        self.push_screen(AnswerScreen(self.client, hold, self.request), self.results.append)

    def write(self, text: str) -> None:
        screen: Any = self.screen
        screen.editor.write(text)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_it_looks_as_it_should(size: tuple[int, int], picture: SnapshotAssertion) -> None:
    app = AnswerApp(ASK)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "options: yes (Yes)" in say(app))
        assert await settled(pilot) == picture


async def test_a_question_for_consent_begins_with_its_first_option() -> None:
    app = AnswerApp(ASK)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        await pilot.press("ctrl+s")
        outcome = {"outcome": {"outcome": "selected", "optionId": "yes"}}
        await until(pilot, lambda: app.results == [HandmadeResponse("result", outcome)])


async def test_an_error_is_written_in_the_place_of_a_result_and_back() -> None:
    app = AnswerApp(PROMPT)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: '"stopReason": "end_turn"' in say(app))
        app.write('{"stopReason": "cancelled"}')
        await pilot.press("f5")
        await until(pilot, lambda: "the error" in say(app) and "-32603" in say(app))
        await pilot.press("f5")
        await until(pilot, lambda: "the result" in say(app) and "cancelled" in say(app))
        await pilot.press("f5")
        app.write('{"code": "x"}')
        await until(pilot, lambda: "! an error needs" in say(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "An error needs" in notices(app))
        app.write('{"code": 5, "message": "no"}')
        await pilot.press("ctrl+s")
        error = HandmadeResponse("error", {"code": 5, "message": "no"})
        await until(pilot, lambda: app.results == [error])


async def test_what_is_against_the_schema_is_remarked_upon_and_what_is_no_json_stays() -> None:
    app = AnswerApp(PROMPT)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ valid JSON" in say(app))
        app.write("5")
        await until(pilot, lambda: "! result is no object" in say(app))
        app.write("{")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "✗ invalid JSON" in say(app))
        assert app.results == []
        await pilot.press("escape")
        await until(pilot, lambda: app.results == [None])


async def test_a_request_that_has_left_meanwhile_is_told_and_not_answered() -> None:
    app = AnswerApp(PROMPT)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "sent unchanged in 47 s" in say(app))
        app.client.become()
        await until(pilot, lambda: "the frame is no longer held; Esc goes back" in say(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "This frame is no longer held" in notices(app))
        assert app.results == []
