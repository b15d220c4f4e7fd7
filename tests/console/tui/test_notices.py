"""The user is called where they are: by a toast, the bell, the title, a notice of the desktop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import AppBlur, AppFocus

from acp_console.chat.attention import Attention
from acp_console.tui.outside import notice_form, notice_sequence
from acp_inspector.journal import Journal
from acp_inspector.session.items import ToolCallItem
from tests.console.conftest import Agent
from tests.console.tui.chats import chat_of, open_chat
from tests.console.tui.conftest import say, until
from tests.console.tui.test_turn_line import Clock

WORKS = """
prompt = hear_prompt()
say(ask_consent(toolCallId="t"))
end(prompt)
prompt = hear("session/prompt")
hear("session/cancel")
end(prompt, "cancelled")
hear("never")
"""
CONFIG = """
[notifications]
desktop = "osc777"
long_turn_s = 5
"""


@pytest.mark.parametrize(
    ("setting", "environment", "form"),
    [
        ("auto", {"TERM": "xterm-kitty"}, "osc9"),
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ("auto", {"TERM": "foot"}, "osc777"),
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, None),
        ("auto", {"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, None),
        ("auto", {}, None),
        ("off", {"TERM": "xterm-kitty"}, None),
        ("osc777", {"TMUX": "/tmp/tmux"}, "osc777"),
    ],
)
def test_a_notice_goes_to_terminals_that_are_known_to_have_them(
    setting: str, environment: dict[str, str], form: str | None
) -> None:
    assert notice_form(setting, environment) == form  # pyright: ignore[reportArgumentType] - one of them


@given(st.text(), st.sampled_from(["osc9", "osc777"]))
def test_nothing_in_a_notice_acts_on_the_terminal(text: str, form: str) -> None:
    sequence = notice_sequence(form, f"4;{text}\x1b]0;x\x07\x9c\n;")  # pyright: ignore[reportArgumentType] - one of them
    begin = {"osc9": "\x1b]9;acp-console: ", "osc777": "\x1b]777;notify;acp-console;"}[form]
    assert sequence.startswith(begin)
    assert sequence.endswith("\a")
    inside = sequence[len(begin) : -1]
    assert not re.search(r"[\x00-\x1f\x7f-\x9f;]", inside)


async def test_who_looks_elsewhere_is_called_for_questions_and_the_end_of_long_turns(
    workplace: Path, agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/acp-console").mkdir(parents=True)
    (tmp_path / "config/acp-console/config.toml").write_text(CONFIG)
    clock = Clock()
    async with open_chat(workplace, agent(WORKS), journals=lambda: Journal(clock=clock)) as (
        app,
        pilot,
    ):
        written: list[str] = []
        assert app._driver is not None  # pyright: ignore[reportPrivateUsage] - what it writes is the terminal
        monkeypatch.setattr(app._driver, "write", written.append)  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(app, "bell", lambda: written.append("\a"))
        app.post_message(AppBlur())
        await until(pilot, lambda: not app.app_focus)
        chat = chat_of(app).chat
        chat.send("g\x1b;o")
        await until(pilot, lambda: "\x1b]777;notify;acp-console;g␛,o needs you\a" in written)
        assert "\a" in written
        assert any("? g␛;o needs you" in each for each in written)
        clock.now = 65
        assert chat.conversation is not None
        (call,) = (each for each in chat.conversation.items if isinstance(each, ToolCallItem))
        assert call.permission is not None
        assert chat.answer(call.permission, "yes", call.subject)
        await until(pilot, lambda: any("g␛,o is done after 0:01:05" in each for each in written))
        assert any("]2;✓ g␛;o is done" in each for each in written)
        app.post_message(AppFocus())
        await until(pilot, lambda: "\x1b]2;acp-console\a" in written)
        written.clear()
        # Who looks at the chat sees it, and who has stopped a turn knows it.
        chat.send("on")
        await until(pilot, lambda: "esc stops" in say(app))
        app.post_message(AppBlur())
        clock.now = 99
        chat.cancel()
        await until(pilot, lambda: "● ready" in say(app))
        assert not any("]777;" in each for each in written)


async def test_a_short_turn_calls_nobody(workplace: Path, agent: Agent) -> None:
    attention = Attention(long_turn_s=5)
    clock = Clock()
    script = 'prompt = hear_prompt()\nend(prompt)\nhear("never")'
    async with open_chat(workplace, agent(script), journals=lambda: Journal(clock=clock)) as (
        app,
        pilot,
    ):
        chat = chat_of(app).chat
        assert attention.look([chat]) == []
        chat.send("go")
        assert attention.look([chat]) == []
        clock.now = 4
        await until(pilot, lambda: chat.state == "ready")
        assert attention.look([chat]) == []
