"""A chat is saved from its screen, as Markdown, a page or a recording, without other sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, RadioButton

from acp_console.kept.session_store import RecordedSessions
from acp_console.tui.traffic.save_screen import SaveScreen
from acp_inspector.journal import Frame
from acp_inspector.recording.reader import read_lines
from tests.console.tui.chats import chat_of, open_chat
from tests.console.tui.conftest import say, until


@pytest.mark.long
@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "in memory"])
async def test_a_chat_is_saved_without_the_other_sessions_of_its_agent(
    workplace: Path, tmp_path: Path, is_kept: bool
) -> None:
    store = RecordedSessions(tmp_path / "kept") if is_kept else None
    async with open_chat(workplace, store=store) as (app, pilot):
        await pilot.press(*"plan", "enter")
        await until(pilot, lambda: "The plan is complete" in say(app) and "● ready" in say(app))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: "Try one of these" in say(app) and "● ready" in say(app))
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "returned 2 lines" in say(app) and "● ready" in say(app))
        other = chat_of(app).chat.session_id
        for suffix, label in ((".md", "as Markdown"), (".html", "as HTML"), (".acp.ndjson", "")):
            await pilot.press("ctrl+s")
            await until(pilot, lambda: isinstance(app.screen, SaveScreen))
            screen = app.screen
            assert screen.query_one("#save-path", Input).value == "read-notes-txt.md"
            screen.query_one("#save-path", Input).value = str(tmp_path / f"talk{suffix}")
            formats = [each for each in screen.query(RadioButton) if "as " in str(each.label)]
            place = next((at for at, each in enumerate(formats) if label == str(each.label)), 0)
            formats[place].value = True
            await pilot.press("enter")
            await until(pilot, lambda s=suffix: (tmp_path / f"talk{s}").exists())
            await until(pilot, lambda: not isinstance(app.screen, SaveScreen))
    text = (tmp_path / "talk.md").read_text()
    assert "read notes.txt" in text
    assert "one\ntwo" in text
    assert "plan" not in text
    assert "<code>one\ntwo</code>" in (tmp_path / "talk.html").read_text()
    frames = [each for each in read_lines(tmp_path / "talk.acp.ndjson") if isinstance(each, Frame)]
    data = b"".join(each.data for each in frames)
    assert str(other).encode() in data
    assert b"The plan is complete" not in data
