"""One row closely: as a tree, as bytes, spelled out, as a pair; shortened, and all of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from textual.app import App, ComposeResult

from acp_console.tui.traffic.detail import MAX_FRAME_CHARS, DetailSubject, FrameDetail, shortened
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Footer, Header
from acp_inspector.recording.reader import BadLine, Row
from tests.console.tui.conftest import entries, say, until

ASKED, TOLD, BROKEN = (
    entry
    for entry in entries(
        ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}),
        ("agent", {"id": 1, "result": {"stopReason": "end_turn", "text": "x" * 3000}}),
        ("agent", b"no JSON \xff \x1b[31m"),
    )
    if isinstance(entry, Frame)
)


class DetailApp(App[None]):
    """An app with nothing but the detail."""

    def __init__(self, max_shown: int = MAX_FRAME_CHARS) -> None:
        super().__init__()
        self._max_shown = max_shown

    def compose(self) -> ComposeResult:
        yield FrameDetail(max_shown=self._max_shown)

    @property
    def detail(self) -> FrameDetail:
        """The detail."""
        return self.query_one(FrameDetail)


@pytest.mark.parametrize(
    ("tab", "lines"),
    [
        ("tree", ["▼ result: {2}", '├   stopReason: "end_turn"', "3 000 characters, v shows all"]),
        ("raw", ['{"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn", "text": "xxx']),
        ("pretty", ['   "result": {', '     "stopReason": "end_turn",', '     "text": "xxx']),
        (
            "pair",
            [
                "Request 1 · client · 0.100 s           │ Response 2 · agent · after 100 ms",
                '  "method": "session/prompt",          │   "result": {',
            ],
        ),
    ],
)
async def test_each_tab_shows_the_message_in_its_way(tab: str, lines: list[str]) -> None:
    app = DetailApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.detail.show(DetailSubject(TOLD, ASKED, TOLD))
        app.detail.open_tab(tab)
        await until(pilot, lambda: all(line in say(app) for line in lines))


async def test_what_is_no_json_is_told_and_its_bytes_are_shown() -> None:
    app = DetailApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.detail.show(DetailSubject(BROKEN))
        await until(pilot, lambda: "invalid UTF-8 at byte 8: see the bytes under Raw" in say(app))
        app.detail.open_tab("raw")
        await until(pilot, lambda: "no JSON \\xff ␛[31m" in say(app))


async def test_the_header_of_a_frame_stands_above_its_bytes() -> None:
    app = DetailApp()
    frame = Frame(1, 0.0, "agent", b'{"a":1}', b"", b"Content-Length: 7\r\n\r\n")
    async with app.run_test(size=(80, 20)) as pilot:
        app.detail.show(DetailSubject(frame))
        await until(pilot, lambda: "a: 1" in say(app))
        app.detail.open_tab("raw")
        await until(pilot, lambda: "Content-Length: 7" in say(app) and '{"a":1}' in say(app))


@pytest.mark.parametrize(
    ("said", "tree", "raw"),
    [
        (StderrChunk(1, 0.0, b"panic \x1b\n"), "stderr is text", "panic ␛"),
        (
            JournalEvent(1, 0.0, "exit", {"code": 1}),
            'event: "exit"',
            '{"event": "exit", "code": 1}',
        ),
        (BadLine(9, "no JSON object"), "no JSON object", "no JSON object"),
        (Footer({"frames": 5}, "abc"), 'digest: "abc"', '"digest": "abc"'),
        (Header("2026", "tool", "v1"), 'tool: "tool"', '"tool": "tool"'),
    ],
)
async def test_what_is_no_frame_is_shown_too(said: Row, tree: str, raw: str) -> None:
    app = DetailApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.detail.show(DetailSubject(said))
        await until(pilot, lambda: tree in say(app))
        app.detail.open_tab("raw")
        await until(pilot, lambda: raw in say(app))


async def test_a_pair_tells_what_is_missing() -> None:
    app = DetailApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.detail.open_tab("pair")
        app.detail.show(DetailSubject(BROKEN))
        await until(pilot, lambda: "Not a request or response." in say(app))
        app.detail.show(DetailSubject(ASKED, ASKED))
        await until(pilot, lambda: "No response yet." in say(app))
        app.detail.show(DetailSubject(ASKED, ASKED, TOLD))
        await until(pilot, lambda: "after 100 ms" in say(app))


async def test_all_of_what_is_shortened_can_be_had() -> None:
    app = DetailApp(max_shown=100)
    async with app.run_test(size=(80, 20)) as pilot:
        app.detail.show(DetailSubject(TOLD))
        app.detail.open_tab("raw")
        await until(pilot, lambda: "more characters: v shows all" in say(app))
        assert app.detail.whole() == (TOLD.data.decode(), False)
        app.detail.open_tab("pretty")
        await until(pilot, lambda: "shortened: v shows all" in say(app))
        assert app.detail.whole() == (json.dumps(json.loads(TOLD.data), indent=2), True)


async def test_the_place_in_the_tree_is_what_is_whole() -> None:
    app = DetailApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.detail.show(DetailSubject(TOLD))
        await until(pilot, lambda: "3 000 characters, v shows all" in say(app))
        app.detail.focus_content()
        await pilot.press(*["down"] * 4)
        await until(pilot, lambda: app.detail.json_path == "$.result.text")
        assert app.detail.whole() == ("x" * 3000, False)
        await pilot.press("up", "up")
        await until(pilot, lambda: app.detail.json_path == "$.result")
        assert app.detail.whole()[1]


async def test_without_a_row_nothing_is_shown() -> None:
    app = DetailApp()
    async with app.run_test(size=(80, 20)) as pilot:
        for tab in ("tree", "raw", "pretty"):
            app.detail.open_tab(tab)
            await until(pilot, lambda: "No row is chosen." in say(app))
        assert (app.detail.whole(), app.detail.pretty(), app.detail.json_path) == (
            ("", False),
            "",
            "",
        )


@pytest.mark.parametrize(
    ("value", "is_cut"),
    [
        ("x" * 1001, True),
        ("x" * 1000, False),
        (list(range(501)), True),
        ({str(n): n for n in range(501)}, True),
        ({"a": [{"b": "x" * 2000}]}, True),
        ({"a": [1, None, True]}, False),
    ],
)
def test_only_what_is_long_is_shortened(value: Any, is_cut: bool) -> None:
    text, was_cut = shortened(value)
    assert was_cut == is_cut
    assert ("more" in text) == is_cut
    if not is_cut:
        assert json.loads(text) == value
