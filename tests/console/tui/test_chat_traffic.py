"""The traffic beside a chat: its rows, its width, and the chat as it was at a frame."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Static

from acp_console.agents.spec import DEMO_AGENT
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.permission import PermissionView
from acp_inspector.journal import Frame
from tests.console.conftest import Agent
from tests.console.tui.chats import ASKS, AT_ONCE, chat_of, open_chat
from tests.console.tui.conftest import notices, paste, say, until


async def test_the_traffic_shows_the_frames_of_this_session(workplace: Path) -> None:
    async with open_chat(workplace, size=(200, 50)) as (app, pilot):
        await pilot.press(*"help", "enter")
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f2")
        await until(pilot, lambda: "prompt result" in say(app))
        await until(pilot, lambda: 'stopReason: "end_turn"' in say(app))
        await pilot.press("slash")
        await paste(pilot, "initialize")
        await until(pilot, lambda: "2 of " in say(app))
        assert "version 1 acp-console" in say(app)
        await pilot.press("f2")
        await until(pilot, lambda: "stopReason" not in say(app))


@pytest.mark.long
@pytest.mark.parametrize("size", [(90, 30), (200, 50)])
async def test_from_a_chat_one_gets_to_the_analysis_and_back_and_loses_nothing(
    workplace: Path, size: tuple[int, int]
) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"half", "f2")
        await until(pilot, lambda: "Chat" in say(app).splitlines()[-1])
        inspection = chat_of(app).traffic.pane
        inspection.traffic.bar.set_filter("kind == request")
        await pilot.press("home", "m", "5")
        await until(pilot, lambda: "rules applied to this" in say(app))
        await pilot.press("f2")
        await until(pilot, lambda: chat_of(app).editor.has_focus)
        assert "rules applied to this" not in say(app)
        assert chat_of(app).editor.text == "half"
        await pilot.press("f2")
        await until(pilot, lambda: inspection.analysis.open.lines.has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: inspection.traffic.table.has_focus)
        await until(pilot, lambda: "2 of 6 entries · 1 marked" in say(app))


async def test_the_traffic_opens_with_its_rows_and_takes_keys_that_came_at_once(
    workplace: Path,
) -> None:
    async with open_chat(workplace, size=(140, 30)) as (app, pilot):
        screen = chat_of(app)
        app.post_message(Key("ctrl+t", None))
        app.post_message(Key("5", "5"))

        def is_analysed() -> bool:
            assert "No traffic yet" not in say(app)
            assert " 0 entries" not in say(app)
            return screen.traffic.is_shown and screen.traffic.pane.has_class("-analysed")

        await until(pilot, is_analysed)
        assert not screen.editor.text
        await until(pilot, lambda: screen.traffic.pane.analysis.open.lines.has_focus)


@pytest.mark.long
async def test_moving_in_the_traffic_rewinds_the_chat_until_its_end(workplace: Path) -> None:
    async with open_chat(workplace, size=(160, 40)) as (app, pilot):
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "returned" in say(app) and "● ready" in say(app))
        screen = chat_of(app)
        await pilot.press("f2")
        table = screen.traffic.pane.traffic.table
        await until(pilot, lambda: table.has_focus)
        await pilot.press("home")
        await until(pilot, lambda: "as of frame" in say(app) and not screen.conversation.display)
        await until(pilot, lambda: "no session yet" in say(app))
        # The sidebar stands at the same moment.
        about = screen.sidebar.query_one("#about", Static)
        await until(pilot, lambda: "no session yet" in str(about.content))
        # So do the bar above and the line of the turn.
        assert "○ no session yet, as of frame" in say(app)
        assert not screen.turn_line.display
        journal = screen.chat.journal
        asked = next(each.seq for each in journal.entries
                     if isinstance(each, Frame) and b"session/prompt" in each.data)  # fmt: skip
        screen.traffic.pane.traffic.go_to_entry(asked)
        await until(pilot, lambda: f"◐ working, as of frame {asked}" in say(app))
        assert "● ready" not in say(app)
        assert f"0:00 · as of frame {asked}" in say(app)
        await pilot.press("end")
        await until(pilot, lambda: "as of frame" not in str(about.content))
        await until(pilot, lambda: screen.conversation.display and "as of frame" not in say(app))
        # Moving in the conversation moves in the traffic.
        await pilot.press("f2", "f2", "home")
        await until(pilot, lambda: not screen.conversation.display)
        screen.conversation.display = True
        screen.conversation.focus()
        await until(pilot, lambda: screen.conversation.has_focus and "as of frame" not in say(app))
        await pilot.press("k", "k")
        cursor = screen.conversation.cursor
        conversation = screen.chat.conversation
        assert cursor is not None
        assert conversation is not None
        frame = conversation.frame_of(screen.conversation.cards[cursor].item)
        await until(pilot, lambda: table.under_cursor == frame)


@pytest.mark.long
async def test_the_traffic_has_a_heading_from_the_first_look_and_can_have_the_whole_width(
    workplace: Path,
) -> None:
    async with open_chat(workplace, size=(200, 40)) as (app, pilot):
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "the agent was started" in say(app))
        await until(pilot, lambda: re.search(r" n +time +client +agent +latency +size", say(app)))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: not chat_of(app).traffic.is_shown)
        await pilot.resize_terminal(160, 40)
        await pilot.press("f4")
        await until(pilot, lambda: chat_of(app).traffic.pane.size.width == 160)
        await pilot.press("f4")
        await until(
            pilot, lambda: chat_of(app).traffic.pane.size.width < 100 and "Try one of" in say(app)
        )
        await pilot.press("f4", "f2")
        await until(
            pilot, lambda: not chat_of(app).traffic.is_shown and "Try one of these" in say(app)
        )
        assert chat_of(app).sidebar.display


async def test_the_key_for_the_whole_width_says_where_there_is_no_choice(workplace: Path) -> None:
    async with open_chat(workplace, size=(100, 30), notifications=True) as (app, pilot):
        await pilot.press("f4")
        await until(pilot, lambda: "from 120 columns on; ^t changes" in notices(app))


async def test_escape_in_the_traffic_does_not_cancel_the_turn(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(ASKS), size=(100, 30)) as (app, pilot):
        await pilot.press(*"go", "enter", "f2")
        await until(pilot, lambda: "request_permission" in say(app))
        await until(pilot, lambda: chat_of(app).traffic.pane.traffic.table.has_focus)
        await pilot.press("escape", "escape")
        assert chat_of(app).chat.is_waiting_for_user
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("escape")
        await until(pilot, lambda: "cancelled" in say(app))
        await until(pilot, lambda: chat_of(app).editor.has_focus)
        sent = [
            entry.data for entry in chat_of(app).chat.journal.entries if isinstance(entry, Frame)
        ]
        cancel = next(n for n, raw in enumerate(sent) if b"session/cancel" in raw)
        response = next(n for n, raw in enumerate(sent) if b'"cancelled"' in raw)
        assert cancel < response


@pytest.mark.long
async def test_the_traffic_is_read_in_the_dialect_of_the_agent(workplace: Path) -> None:
    """Arrays of messages are no dialect that could be recognised."""
    agent = DEMO_AGENT.with_protocol(2, "v2-batch")
    app = ConsoleApp(agent=agent, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f2")
        await until(pilot, lambda: "session/new result" in say(app))
        entries = chat_of(app).traffic.pane.traffic.entries
        assert entries.named_dialect == "v2-batch"
