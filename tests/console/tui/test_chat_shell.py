"""A command of the user in the chat: a card of its own, which the agent does not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.console.tui.chats import chat_of, frames_of, open_chat
from tests.console.tui.conftest import say, until


async def test_a_command_is_run_beside_the_agent_and_sent_only_when_asked(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    async with open_chat(workplace, size=(100, 30)) as (app, pilot):
        before = len(frames_of(app))
        await pilot.press(*"!cat notes.txt; false")
        assert "the agent does not see it" in say(app)
        await pilot.press("enter")
        await until(pilot, lambda: "✗ ! cat notes.txt; false  exit 1" in say(app))
        assert "│ two" in say(app)
        await pilot.press(*"!!", "enter")
        await until(pilot, lambda: say(app).count("! cat notes.txt; false  exit 1") == 2)
        await pilot.press(*"!sleep 1000", "enter")
        await until(pilot, lambda: "esc stops it" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "stopped, SIGINT" in say(app))
        assert len(frames_of(app)) == before
        chat = chat_of(app)
        chat.conversation.focus()
        await pilot.press("k", "s")
        await until(pilot, lambda: "I ran `cat notes.txt; false` (exit 1)" in chat.editor.text)
        assert "```\none\ntwo\n```" in chat.editor.text
        # Elsewhere the letter begins a prompt, as \! begins one with an exclamation mark.
        chat.editor.clear()
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "returned 2 lines" in say(app) and "● ready" in say(app))
        await pilot.press(*"\\!help", "enter")
        await until(pilot, lambda: any(b'"!help"' in each.data for each in frames_of(app)))
        await until(pilot, lambda: "● ready" in say(app))
        chat.conversation.focus()
        await pilot.press("j", "j", "j", "j", "s")
        await until(pilot, lambda: chat.editor.text == "s")
