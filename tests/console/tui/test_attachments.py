"""Images, resources and links in the transcript: saved, and opened only as the user agrees."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from acp_console.chat.attachments import AttachedContent
from acp_console.tui.chat.attachments import AttachmentsScreen
from acp_console.tui.chat.input_screen import InputScreen
from acp_console.tui.confirm import ConfirmScreen
from tests.console.conftest import Agent
from tests.console.tui.chats import chat_of, open_chat
from tests.console.tui.conftest import notices, place_of, say, until

PICTURE = """
prompt = hear_prompt()
update("agent_message_chunk",
       content={"type": "image", "mimeType": "image/png", "data": "aGVsbG8="})
update("agent_message_chunk",
       content={"type": "resource_link", "name": "[b]notes", "uri": "http://x"})
update("agent_message_chunk", content={"type": "resource_link", "name": "page",
       "uri": "https://example.org/page"})
end(prompt)
hear("never")
"""


@pytest.mark.long
async def test_attachments_are_saved_and_opened_as_the_user_agrees(
    workplace: Path, tmp_path: Path, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    opened = tmp_path / "opened"
    opener = programs / "xdg-open"
    opener.write_text(f'#!/bin/sh\nread -r text < "$1" || true\nprintf %s "$text" > {opened}\n')
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr("sys.platform", "linux")
    async with open_chat(workplace, agent(PICTURE), size=(120, 40)) as (app, pilot):
        await pilot.press(*"draw", "enter")
        await until(pilot, lambda: "page" in say(app) and "● ready" in say(app))
        await pilot.click(offset=place_of(app, "[image · "))
        await until(pilot, lambda: isinstance(app.screen, AttachmentsScreen))
        await pilot.press("escape")
        chat_of(app).conversation.focus()
        await pilot.press("G", "o")
        await until(pilot, lambda: isinstance(app.screen, AttachmentsScreen))
        await until(pilot, lambda: "image · image/png · 5 B" in say(app))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, InputScreen))
        assert app.screen.query_one(Input).value == str(workplace / "image.png")
        await pilot.press("enter")
        await until(pilot, lambda: "Saved" in notices(app))
        assert (workplace / "image.png").read_bytes() == b"hello"
        # What is there already stays.
        (workplace / "image.png").write_text("mine")
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, InputScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "Not saved" in notices(app))
        assert (workplace / "image.png").read_text() == "mine"
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await until(pilot, lambda: "xdg-open" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, AttachmentsScreen))
        assert not opened.exists()
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: opened.exists() and opened.read_text() == "hello")
        await pilot.press("down", "o")
        await until(pilot, lambda: "Only https links are opened: http://x" in notices(app))
        await pilot.press("down", "o")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await until(pilot, lambda: "https://example.org/page" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, AttachmentsScreen))
        await pilot.click(offset=(0, 0))
        await until(pilot, lambda: not isinstance(app.screen, AttachmentsScreen))


CALL = """
prompt = hear_prompt()
image = {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}
update("tool_call", toolCallId="t", title="Draw", status="failed",
       content=[{"type": "content", "content": image}])
end(prompt)
hear("never")
"""


@pytest.mark.long
async def test_a_click_opens_the_attachments_of_prompts_and_calls(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(CALL), size=(120, 40)) as (app, pilot):
        await pilot.press(*"see @notes.txt ", "enter")
        for chip in ("[resource", "[image"):
            await until(pilot, lambda chip=chip: chip in say(app) and "● ready" in say(app))
            await pilot.click(offset=place_of(app, chip))
            await until(pilot, lambda: isinstance(app.screen, AttachmentsScreen))
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, AttachmentsScreen))


@pytest.mark.parametrize(
    ("name", "mime_type", "expected"),
    [
        ("../../.bashrc", "text/plain", "bashrc.txt"),
        ("a b\x1b[2J.png", "image/png", "a-b--2J.png"),
        ("", "image/png", "image.png"),
        ("run.sh", "application/x-sh", "run.sh"),
    ],
)
def test_a_suggested_name_stays_in_its_directory(name: str, mime_type: str, expected: str) -> None:
    found = AttachedContent("image", name, mime_type, "", "aGVsbG8=")
    assert found.file_name == expected
    assert found.can_be_shown == (mime_type != "application/x-sh")
