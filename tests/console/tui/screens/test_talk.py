"""One cursor for the conversation and its traffic."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from textual.pilot import Pilot

from acp_console.traffic.sources import FileSource
from acp_console.tui import outside
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.attachments import AttachmentsScreen
from acp_console.tui.palette import CommandProvider
from acp_console.tui.talk_pane import TalkPane
from acp_console.tui.traffic.pane import TrafficPane
from acp_console.tui.watch.screen import WatchScreen
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
from tests.console.tui.conftest import entries, say, until, update

pytestmark = pytest.mark.long

TOUR = Path("recordings/tour.acp.ndjson")


def recorded(path: Path, *said: tuple[str, object]) -> Path:
    header = Header("2026-01-01T00:00:00+00:00", "a test", "")
    with closing(RecordingWriter(path, header)) as writer:
        writer.write(entries(*said))
    return path


def app_of(path: Path) -> ConsoleApp:
    return ConsoleApp(cwd=Path(), watch=[FileSource(path)])


def talk_of(app: ConsoleApp) -> TalkPane:
    return app.screen.query_one(TalkPane)


async def go_to(pilot: Pilot[int], app: ConsoleApp, n: int) -> None:
    screen = app.screen
    assert isinstance(screen, WatchScreen)
    await until(pilot, lambda: screen.inspection.traffic.table.count >= n)
    screen.inspection.traffic.go_to_entry(n)
    await until(pilot, lambda: (talk := talk_of(app).talk) is not None and talk.n == n)
    await until(pilot, lambda: f"as of frame {n}" in say(app))


async def test_moving_in_the_traffic_rewinds_the_conversation() -> None:
    app = app_of(TOUR)
    async with app.run_test(size=(160, 40)) as pilot:
        await go_to(pilot, app, 26)
        assert "0 of 3 done" in say(app)
        assert "Write acp-tour.txt" in say(app)
        await go_to(pilot, app, 12)
        assert "The tour" in say(app)
        assert "Write acp-tour.txt  edit" not in say(app)
        await go_to(pilot, app, 50)
        assert "Write acp-tour.txt" in say(app)


async def test_a_message_is_shown_as_far_as_it_was_said() -> None:
    app = app_of(TOUR)
    async with app.run_test(size=(160, 40)) as pilot:
        await go_to(pilot, app, 17)
        await until(pilot, lambda: "feature │ shown" in say(app))
        await go_to(pilot, app, 13)
        assert "The tour" in say(app)
        await until(pilot, lambda: "feature │ shown" not in say(app))
        await go_to(pilot, app, 17)
        await until(pilot, lambda: "feature │ shown" in say(app))


async def test_the_item_that_a_frame_has_changed_is_marked() -> None:
    app = app_of(TOUR)
    async with app.run_test(size=(160, 40)) as pilot:
        await go_to(pilot, app, 26)
        marked = [line for line in say(app).splitlines() if "▎" in line]
        assert any("Write acp-tour.txt" in line for line in marked)


async def test_with_the_focus_the_conversation_is_whole_and_moves_the_traffic() -> None:
    app = app_of(TOUR)
    async with app.run_test(size=(160, 40)) as pilot:
        await go_to(pilot, app, 12)
        talk = talk_of(app)
        talk.view.focus()
        await until(pilot, lambda: "now" in say(app) and talk.talk is not None and talk.talk.n > 60)
        await pilot.press("g", "j", "j", "j")
        traffic = app.screen.query_one(TrafficPane)
        assert talk.talk is not None
        frames = talk.talk.frames
        cursor = talk.view.cursor
        assert cursor is not None
        await until(pilot, lambda: traffic.table.chosen == frames[cursor])


async def test_what_is_shown_beside_the_traffic_can_be_chosen() -> None:
    app = app_of(TOUR)
    async with app.run_test(size=(120, 30)) as pilot:
        screen = app.screen
        assert isinstance(screen, WatchScreen)
        await until(pilot, lambda: screen.view == "wire" and "Traffic" in say(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: screen.view == "talk" and "Traffic" not in say(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: screen.view == "both" and "Traffic" in say(app))


async def test_a_long_conversation_shows_its_last_items_and_more_at_the_top(tmp_path: Path) -> None:
    calls = (
        update("tool_call", toolCallId=f"c{n}", title=f"Call {n}", status="completed")
        for n in range(700)
    )
    app = app_of(recorded(tmp_path / "long.acp.ndjson", *calls))
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: talk_of(app).talk is not None)
        view = talk_of(app).view
        view.focus()
        await until(pilot, lambda: (talk := talk_of(app).talk) is not None and talk.left_out > 0)
        assert "Call 699" in say(app)
        while (talk := talk_of(app).talk) is not None and talk.left_out:
            view.action_top()
            await pilot.pause()
        await until(pilot, lambda: view.action_top() or "Call 0 " in say(app))


async def test_the_conversation_of_a_recording_offers_nothing_that_only_a_chat_can_do() -> None:
    app = app_of(TOUR)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("ctrl+t")
        await until(pilot, lambda: talk_of(app).view.has_focus and "Fold" in say(app))
        assert "Write" not in say(app).splitlines()[-1]
        assert "Search" not in say(app).splitlines()[-1]
        offered = {command.id for _, command in CommandProvider(app.screen).available()}
        assert "transcript.fold" in offered
        assert not offered & {"transcript.leave", "transcript.search"}


async def test_what_a_card_says_is_copied_from_a_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: list[str] = []
    monkeypatch.setattr(outside.pyperclip, "copy", copied.append)
    app = app_of(TOUR)
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "now ·" in say(app) and talk_of(app).view.cards)
        await pilot.press("p", "y")
        await until(pilot, lambda: copied)
        assert copied == ["/tour"]
        assert "Copied 5 characters to the clipboard" in say(app)


async def test_the_attachments_of_a_card_are_opened_from_a_recording(tmp_path: Path) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "aGk="}
    app = app_of(recorded(tmp_path / "a.acp.ndjson", update("agent_message_chunk", content=image)))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "now ·" in say(app) and talk_of(app).view.cards)
        await pilot.press("j", "o")
        await until(pilot, lambda: isinstance(app.screen, AttachmentsScreen))


async def test_the_conversation_of_a_subagent_is_opened_from_a_recording(tmp_path: Path) -> None:
    of_child = {
        "sessionId": "child",
        "update": {
            "sessionUpdate": "agent_message_chunk",
            "messageId": "c1",
            "content": {"type": "text", "text": "found a bone"},
        },
    }
    path = recorded(
        tmp_path / "b.acp.ndjson",
        ("client", {"id": 0, "method": "initialize", "params": {"protocolVersion": 2}}),
        ("agent", {"id": 0, "result": {"protocolVersion": 2}}),
        ("agent", {"method": "session/update", "params": of_child}),
        update("subagent_update", sessionId="child", title="Digger"),
    )
    app = app_of(path)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "now ·" in say(app) and "Subagent Digger" in say(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: "found a bone" in say(app))
