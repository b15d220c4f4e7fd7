"""An agent that fails, dies, is started again or stopped, and what is recorded of it."""

from __future__ import annotations

import os
import re
import resource
import sys
from pathlib import Path

import anyio
import pytest

from acp_console.agents.spec import command_agent
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.options import OptionsScreen
from acp_console.tui.chat.permission import PermissionView
from acp_console.tui.chat.screen import ChatScreen
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.home.screen import HomeScreen
from acp_inspector.journal import JournalEvent
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent
from tests.console.tui.chats import ASKS, AT_ONCE, chat_of, open_chat
from tests.console.tui.conftest import LIMIT, say, until


async def test_an_agent_that_cannot_start_is_told_with_what_to_do(workplace: Path) -> None:
    """A prompt is refused and kept, and there is no recording."""
    path = workplace / "it.acp.ndjson"
    spec = command_agent(["no-such-agent"])
    app = ConsoleApp(agent=spec, start="chat", cwd=workplace, timing=AT_ONCE, record=path)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: "✗ stopped" in say(app))
        assert "there is no such command" in say(app)
        assert "alt+r restarts the agent" in say(app)
        assert "Write to the agent" not in say(app)
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "Not sent: the agent did not start" in say(app))
        assert "there is no such command" in say(app)
        assert chat_of(app).editor.text == "hello"
        assert not chat_of(app).chat.queued
    assert not path.exists()


async def test_an_agent_that_dies_is_told_with_its_last_words_and_starts_anew(
    workplace: Path,
) -> None:
    flag = workplace / "was-here"
    script = (
        "import os, sys, runpy\n"
        f"flag = {str(flag)!r}\n"
        "if os.path.exists(flag): runpy.run_module('acp_agent', run_name='__main__')\n"
        "open(flag, 'w').close()\n"
        "print('no [b]memory[/b] left', *['words ' * 40] * 4, sep='\\n', file=sys.stderr)\n"
        "sys.exit(9)\n"
    )
    agent = command_agent([sys.executable, "-c", script])
    app = ConsoleApp(agent=agent, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "exited with code 9" in say(app))
        assert "no [b]memory[/b] left" in say(app)
        assert "alt+r restarts the agent" in say(app)
        # One row each.
        assert len(re.findall(r"  \| (?:words )+.*…", say(app))) == 4
        await pilot.press("f5")
        await until(pilot, lambda: "● ready" in say(app))


@pytest.mark.long
async def test_a_restart_is_a_line_in_the_chat_and_goes_on_in_the_same_rows_and_recording(
    workplace: Path,
) -> None:
    path = workplace / "it.acp.ndjson"
    async with open_chat(workplace, size=(160, 40), record=path) as (app, pilot):
        await pilot.press(*"think", "enter")
        await until(pilot, lambda: "thought about it" in say(app) and "● ready" in say(app))
        assert "agent restarted" not in say(app)
        await pilot.press("f2", "f5")
        # A start that fails leaves nothing in the recording: wait for a session of the new agent.
        await until(pilot, lambda: path.read_bytes().count(b'"session/new"') == 2)
        await until(pilot, lambda: path.read_bytes().count(b'"result":{"sessionId"') == 2)
        await until(pilot, lambda: "● ready" in say(app) and "agent restarted" in say(app))
        await until(pilot, lambda: "know the messages above" in say(app))
        traffic = chat_of(app).traffic.pane.traffic
        await until(pilot, lambda: " 0 findings" in say(app) or "checked" in say(app))
        numbers = [getattr(entry, "seq", 0) for entry in traffic.entries]
        assert numbers == list(range(1, len(traffic.entries) + 1))
        traffic.bar.set_filter("kind == event")
        await until(pilot, lambda: say(app).count("the agent was started") == 2)
    recording = read_recording(path)
    assert recording.bad_lines == ()
    names = [entry.name for entry in recording.entries if isinstance(entry, JournalEvent)]
    assert names == ["spawn", "eof", "exit"] * 2


async def test_prompt_after_the_agent_died_is_sent_to_the_restarted_agent(
    workplace: Path, agent: Agent
) -> None:
    script = f"""
flag = {str(workplace / "was-here")!r}
if not os.path.exists(flag):
    open(flag, "w").close()
    greet(); open_session(); sys.exit(3)
prompt = hear_prompt()
say("heard " + prompt["params"]["prompt"][0]["text"])
end(prompt)
hear("never")
"""
    app = ConsoleApp(
        agent=command_agent(agent(script)), start="chat", cwd=workplace, timing=AT_ONCE
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "✗ stopped" in say(app))
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "1 prompt queued" in say(app))
        await pilot.press("escape")
        assert chat_of(app).editor.text == "hello"
        await pilot.press(*" again", "enter", "f5")
        await until(pilot, lambda: "heard hello again" in say(app))


@pytest.mark.long
async def test_restart_drops_what_the_old_agent_still_sends(workplace: Path, agent: Agent) -> None:
    """The old agent's permission prompt is gone, and its end does not stop the new agent."""
    script = """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="Run make", kind="execute")
tell(id=900, method="session/request_permission", params={"sessionId": "s1",
     "toolCall": {"toolCallId": "t"},
     "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]})
hear("never")
"""
    async with open_chat(workplace, agent(script)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "1 Yes" in say(app))
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: "● ready" in say(app))
        assert not app.screen.query(PermissionView)
        assert not app.screen.query_one("#problem").display


@pytest.mark.long
async def test_full_disk_during_a_recorded_chat_is_shown(workplace: Path) -> None:
    path = workplace / "it.acp.ndjson"
    async with open_chat(workplace, size=(100, 30), notifications=True, record=path) as (
        app,
        pilot,
    ):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            # No file of this process can grow any more.
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
            await pilot.press(*"help", "enter")
            await until(pilot, lambda: "✗ not recorded" in say(app))
            await until(pilot, lambda: "recording to " in say(app))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        await until(pilot, lambda: "● ready" in say(app))


@pytest.mark.long
async def test_recording_goes_on_with_the_next_agent(workplace: Path) -> None:
    path = workplace / "it.acp.ndjson"
    async with open_chat(workplace, size=(100, 30), record=path) as (app, pilot):
        first = chat_of(app).chat
        await pilot.press("ctrl+w")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press("enter")
        await until(pilot, lambda: "● ready" in say(app))
        assert chat_of(app).chat is not first
    recording = read_recording(path)
    assert recording.bad_lines == ()
    assert [entry.seq for entry in recording.entries] == list(range(1, len(recording.entries) + 1))
    names = [entry.name for entry in recording.entries if isinstance(entry, JournalEvent)]
    assert names == ["spawn", "eof", "exit"] * 2


async def test_an_agent_that_does_not_stop_can_be_restarted_says_the_screen(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(
        workplace,
        agent("hear_prompt(); hear('never')"),
        size=(120, 30),
        stop_timeout_s=0.01,
    ) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "◐ working" in say(app))
        assert "alt+r restarts" not in say(app)
        await pilot.press("escape")
        await until(
            pilot, lambda: "stopping" in say(app) and "alt+r restarts the agent" in say(app)
        )


@pytest.mark.long
async def test_what_ends_a_running_turn_asks_first(workplace: Path, agent: Agent) -> None:
    async with open_chat(workplace, agent(ASKS), size=(100, 30)) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "1 Yes" in say(app))
        for key in ("f5", "ctrl+q"):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            await pilot.press("n")
            await until(pilot, lambda: isinstance(app.screen, ChatScreen))
            assert chat_of(app).chat.is_waiting_for_user
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "quitting ends its agent. Quit?" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: "restarting the agent ends it" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: "agent restarted" in say(app) and "● ready" in say(app))


STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
greet()
open_session()
update("session_info_update", title=str(os.getpid()))
while True:
    time.sleep(60)
"""


@pytest.mark.long
async def test_an_agent_that_does_not_end_keeps_nobody_waiting(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(STUBBORN), size=(100, 30)) as (app, pilot):
        chat = chat_of(app).chat
        await until(pilot, lambda: chat.name.isdecimal())
        await pilot.press("ctrl+w")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press(*"nothing like it")
        await until(pilot, lambda: "Nothing matches" in say(app))
        os.kill(int(chat.name), 0)
        assert app.open_chats.chats == []
        # It ends nevertheless.
        await chat.agent.wait_closed()
        with pytest.raises(ProcessLookupError):
            os.kill(int(chat.name), 0)


@pytest.mark.long
async def test_the_quit_key_works_in_a_dialog(workplace: Path) -> None:
    async with open_chat(workplace, size=(100, 30)) as (app, pilot):
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
        assert app.return_code is None
        await pilot.press("ctrl+q")
        with anyio.fail_after(LIMIT):
            while app.return_code is None:
                await anyio.sleep(0.01)
        assert app.return_code == 0


@pytest.mark.long
async def test_chats_at_the_same_time_record_beside_each_other(workplace: Path) -> None:
    path = workplace / "it.acp.ndjson"
    async with open_chat(workplace, size=(100, 30), record=path) as (app, pilot):
        first = app.screen
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press(*"demo reads", "enter")
        await until(pilot, lambda: app.screen is not first and "● ready" in say(app))
    for name in ("it.acp.ndjson", "it-2.acp.ndjson"):
        recording = read_recording(workplace / name)
        names = [each.name for each in recording.entries if isinstance(each, JournalEvent)]
        assert names == ["spawn", "eof", "exit"]
