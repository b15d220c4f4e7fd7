"""Rows are saved as a recording: all or the filtered ones, with or without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from acp_console.state.traffic.saving import save_rows
from acp_console.tui.traffic.pane import TrafficPane
from acp_console.tui.traffic.save_screen import SaveScreen
from acp_inspector.filter.entries import EntryList
from acp_inspector.recording.indexed import IndexedRecording
from tests.console.tui.conftest import entries, notices, say, until, update

TOKEN = "ghp_" + "a1B2" * 9
TALK = entries(
    ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}),
    update("agent_message_chunk", content={"type": "text", "text": f"token {TOKEN}"}),
    ("agent", {"id": 1, "result": {"stopReason": "end_turn"}}),
)


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


class PaneApp(App[None]):
    """An app with nothing but the pane."""

    def compose(self) -> ComposeResult:
        yield TrafficPane()

    def on_mount(self) -> None:
        self.query_one(TrafficPane).extend(TALK)
        self.query_one(TrafficPane).table.focus()


async def test_what_the_filter_shows_is_saved_without_its_secrets(tmp_path: Path) -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("slash", *"from == agent", "enter")
        await until(pilot, lambda: "2 of 3 entries" in say(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, SaveScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "1 secret replaced" in notices(app))
        path = tmp_path / "saved.acp.ndjson"
        assert TOKEN not in path.read_text()
        with IndexedRecording(path).index_all() as saved:
            # Two entries, and the footer.
            assert len(saved) == 3
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, SaveScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "exists" in notices(app))


def test_a_recording_is_saved_whole_as_it_is(tmp_path: Path) -> None:
    first, second = tmp_path / "a.acp.ndjson", tmp_path / "b.acp.ndjson"
    save_rows(EntryList(TALK), range(3), first, redacts=False)
    with IndexedRecording(first).index_all() as recording:
        save_rows(recording, range(len(recording)), second, redacts=False)
    with IndexedRecording(second).index_all() as saved:
        assert saved[:3] == TALK
