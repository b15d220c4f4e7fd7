"""Rows and analysis together: marks of findings, filters for them, and the way there and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.containers import Horizontal

from acp_console.tui.analysis.pane import TITLES
from acp_console.tui.inspector_pane import InspectorPane
from acp_console.tui.talk_pane import TalkPane
from acp_inspector.filter.entries import EntryList, RecordingEntries
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.format import Header, encode_entry, encode_header
from acp_protocol.jsonrpc import Json
from tests.console.tui.analysis_app import talk
from tests.console.tui.conftest import entries, say, until

LOST: tuple[str, object] = ("agent", {"id": "lost", "result": {}})


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


class InspectionApp(App[None]):
    """Shows entries, and nothing else."""

    def __init__(self, said: Iterable[Entry] | RecordingEntries) -> None:
        super().__init__()
        shown = said if isinstance(said, RecordingEntries) else EntryList(said)
        self.inspection = InspectorPane(shown, is_over=lambda: True)

    def compose(self) -> ComposeResult:
        yield self.inspection

    def on_mount(self) -> None:
        self.inspection.focus_content()


def edges(app: App[None]) -> str:
    """Return what stands before the numbers of the rows."""
    lines = say(app).splitlines()
    return "".join(line[3] for line in lines[3:] if line[:1] == "│" and line[4:9].strip().isdigit())


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_rows_are_marked_by_what_was_found_about_them(size: tuple[int, int]) -> None:
    app = InspectionApp(talk())
    async with app.run_test(size=size) as pilot:
        pane = app.inspection.traffic
        await until(
            pilot, lambda: "findings" in (pane.query_one("#frame-list").border_subtitle or "")
        )
        await pilot.press("up", "m")
        await until(pilot, lambda: "◆     9" in say(app))
        # The first row is above the window of a small terminal.
        assert edges(app)[-9:] == "W    E  I"
        assert "10 entries · 1 marked · 4 findings" in say(app)


async def test_what_comes_later_is_marked_too() -> None:
    app = InspectionApp(talk()[:4])
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.inspection.folds.linter.progress.read == 4)
        assert "E" not in edges(app)
        app.inspection.extend([*talk()[4:], *entries(*[LOST] * 11)[10:]])
        await until(pilot, lambda: "E" in edges(app))


async def test_findings_are_gone_to_one_after_the_other_and_explained() -> None:
    app = InspectionApp(entries(*[("agent", {"method": "_x/y"})] * 5, LOST, LOST))
    async with app.run_test(size=(100, 30)) as pilot:
        table = app.inspection.traffic.table
        await until(pilot, lambda: edges(app).count("E") == 2)
        await pilot.press("home", "x")
        first = table.under_cursor
        await pilot.press("end", "X")
        assert table.under_cursor == 6
        await pilot.press("5")
        await until(pilot, lambda: "Frames  #6" in say(app))
        assert first is not None
        assert app.inspection.folds.annotations.mark(first)


async def test_filters_ask_for_what_stands_in_no_frame() -> None:
    said = [*talk()[:7], *entries(*[LOST] * 9)[7:]]
    app = InspectionApp(said)
    async with app.run_test(size=(100, 30)) as pilot:
        for text, count in (
            ("finding == error", 3),
            ("rule ~ L025", 2),
            ("turn == 1", 3),
            ("turn == 1 or finding", 7),
        ):
            app.inspection.traffic.bar.set_filter(text)
            await until(pilot, lambda: f"{count} of 9 entries" in say(app))  # noqa: B023 - it is waited for at once


async def test_a_recording_is_linted_once_its_rows_are_there(tmp_path: Path) -> None:
    path = tmp_path / "it.acp.ndjson"
    said = entries(LOST, LOST)
    path.write_bytes(b"".join([encode_header(Header("", "", "")), *map(encode_entry, said)]))
    with RecordingEntries(path) as recording:
        app = InspectionApp(recording)
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: edges(app) == "EE")


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_who_comes_back_finds_the_rows_as_they_were(size: tuple[int, int]) -> None:
    app = InspectionApp(talk())
    async with app.run_test(size=size) as pilot:
        pane = app.inspection.traffic
        pane.bar.set_filter("from == agent")
        await until(pilot, lambda: "6 of 10 entries" in say(app))
        await pilot.press("home", "down", "m")
        for name, title in TITLES.items():
            await pilot.press(title[0])
            await until(pilot, lambda: app.inspection.analysis.open_name == name)  # noqa: B023 - it is waited for at once
            await until(pilot, lambda: app.inspection.analysis.open.lines.has_focus)
            await pilot.press("escape")
            await until(pilot, lambda: pane.table.has_focus)
        assert pane.table.under_cursor == 4
        assert "6 of 10 entries · 1 marked" in say(app)


async def test_no_thread_goes_on_when_it_is_taken_away() -> None:
    app = InspectionApp(talk())
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.inspection.folds.linter.progress.read)
        await app.inspection.remove()
        assert app.inspection.folds.linter.progress.is_closed
        assert app.inspection.folds.model.progress.is_closed


def edited() -> list[Entry]:
    """Return a prompt that a person edited before it was sent, and the events about that."""
    was, now = (
        ("client", {"id": 1, "method": "session/prompt", "params": {
            "sessionId": "s1", "prompt": [{"type": "text", "text": text}]}})
        for text in ("milk and bread", "milk and cheese")
    )  # fmt: skip
    frame, sent = entries(was)[0], entries(now)[0]
    assert isinstance(frame, Frame)
    assert isinstance(sent, Frame)
    data: dict[str, Json] = {"of": 1, "by": "person"}
    data |= {"was": frame.data.decode(), "now": sent.data.decode()}
    return [frame, JournalEvent(2, 0.2, "edited", data), *entries(*[LOST] * 3)[2:]]


@pytest.mark.long
@pytest.mark.parametrize("size", [(100, 30), (120, 40), (200, 50)])
async def test_an_edited_frame_shows_what_was_sent_and_what_it_was(size: tuple[int, int]) -> None:
    app = InspectionApp(edited())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "✎ session/prompt" in say(app))
        assert "in frame 1, edited by a person" in say(app)
        detail = app.inspection.traffic.detail
        await pilot.press("o")
        assert detail.tabs.active == "tree"
        await pilot.press("up", "up")
        await until(pilot, lambda: 'text: "milk and cheese"' in say(app))
        assert "4 Pair  o was │ now" in say(app)
        await pilot.press("o")
        await until(pilot, lambda: '"text": "milk and bread"' in say(app))
        assert '"text": "milk and cheese"' in say(app)
        # The row of the event shows the same.
        await pilot.press("down", "1")
        await until(pilot, lambda: 'event: "edited"' in say(app))
        await pilot.press("o")
        await until(pilot, lambda: '"text": "milk and bread"' in say(app))
        assert '"text": "milk and cheese"' in say(app)
        await pilot.press("down")
        await until(pilot, lambda: detail.tabs.active == "tree")


@pytest.mark.long
async def test_a_frame_that_was_edited_twice_shows_what_came_and_what_was_sent() -> None:
    frame, edit, *others = edited()
    assert isinstance(edit, JournalEvent)
    last = str(edit.data["now"]).replace("cheese", "honey")
    again = replace(edit, seq=3, data={**edit.data, "was": edit.data["now"], "now": last})
    app = InspectionApp([frame, edit, again, *others])
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "✎ session/prompt" in say(app))
        await pilot.press("home", "o")
        await until(pilot, lambda: '"text": "milk and bread"' in say(app))
        assert '"text": "milk and honey"' in say(app)


async def test_an_edit_that_comes_later_changes_the_row() -> None:
    said = edited()
    app = InspectionApp(said[:1])
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.inspection.folds.linter.progress.read == 1)
        assert "✎" not in say(app)
        await pilot.press("up")
        app.inspection.extend(said[1:])
        await until(pilot, lambda: "✎ session/prompt" in say(app))


class RewoundApp(App[None]):
    """Shows entries, and the conversation beside them."""

    def __init__(self, said: Iterable[Entry]) -> None:
        super().__init__()
        self.inspection = InspectorPane(EntryList(said), is_over=lambda: True)
        self.talk = TalkPane(self.inspection)

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield self.inspection
            yield self.talk


@pytest.mark.parametrize("size", [(120, 40), (200, 50)])
async def test_the_moment_of_an_edited_frame_shows_what_was_sent(size: tuple[int, int]) -> None:
    frame, event, *_ = edited()
    said = [frame, entries(("client", {"method": "x"}), LOST)[1], replace(event, seq=3)]
    app = RewoundApp(said[:2])
    async with app.run_test(size=size) as pilot:
        app.inspection.traffic.go_to_entry(1)
        await until(pilot, lambda: "▍ milk and bread" in say(app))
        app.inspection.extend(said[2:])
        await until(pilot, lambda: "▍ milk and cheese" in say(app))
        assert app.talk.talk is not None
        assert app.talk.talk.n == 1
        # What it was is one step away.
        assert '✎ text "…bread" → "…cheese"' in say(app)
        assert app.talk.talk.frames == [1, 1]
