"""The console against the real demo agent: what a user does, and what the user sees."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import anyio
import pytest
from textual.events import Key, Paste
from textual.widgets import Button, Checkbox, Input, Select, SelectionList

from acp_console.agents.choices import ChoiceStore
from acp_console.agents.spec import DEMO_AGENT, command_agent
from acp_console.home import Entry, recording_entries
from acp_console.kept.prompt_history import PromptHistory
from acp_console.kept.session_store import SessionStore
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.form import PageView
from acp_console.tui.chat.login import LoginView
from acp_console.tui.chat.options import OptionsScreen
from acp_console.tui.chat.permission import CallDetails, PermissionView
from acp_console.tui.chat.screen import ChatScreen
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.home.screen import HomeScreen
from acp_console.tui.watch.screen import WatchScreen
from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.recording.reader import read_recording
from tests.console.conftest import Agent
from tests.console.tui.conftest import LIMIT, notices, place_of, say, until

RECORDINGS = Path(__file__).parents[3] / "recordings"
AT_ONCE = PermissionTiming(typing_pause_s=0, settle_s=0, burst_s=0)


def chat_of(app: ConsoleApp) -> ChatScreen:
    screen = app.screen
    assert isinstance(screen, ChatScreen)
    return screen


def highlighted(app: ConsoleApp) -> int | None:
    """Return the highlighted option of the first screen."""
    screen = app.screen
    return screen.options.highlighted if isinstance(screen, HomeScreen) else None


async def test_enter_at_home_opens_a_chat_with_the_demo_agent(workplace: Path) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: highlighted(app) is not None)
        assert "Demo agent" in say(app)
        await pilot.press("enter")
        await until(pilot, lambda: "● ready" in say(app))
        assert "Try one of these" in say(app)


async def test_two_enters_at_once_open_one_chat(workplace: Path) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and "Demo agent" in say(app))
        assert isinstance(app.screen, HomeScreen)
        app.screen.action_open()
        app.screen.action_open()
        await until(pilot, lambda: "● ready" in say(app))
        assert len(app.open_chats.chats) == 1


async def test_the_mode_chosen_last_is_that_of_a_chat_from_home(
    workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ChoiceStore().update(DEMO_AGENT.name, mode="code")
    app = ConsoleApp(cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Claude Code" in say(app))
        assert say(app).count("Demo agent") == 1
        await pilot.press(*"demo", "enter")
        await until(pilot, lambda: "mode Code" in say(app))


async def test_typing_at_home_filters_the_agents(workplace: Path) -> None:
    agent = command_agent(["my-agent", "--acp"])
    app = ConsoleApp(agent=agent, cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "my-agent" in say(app) and "Demo agent" in say(app))
        await pilot.press(*"my-a")
        await until(pilot, lambda: "Demo agent" not in say(app))
        app.screen.query_one(Input).value = "nothing like it"
        await until(pilot, lambda: "Nothing matches" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Demo agent" in say(app))


def test_snapshots_beside_recordings_are_not_listed() -> None:
    entries = recording_entries(RECORDINGS)
    assert entries
    assert not [
        each for each in entries if "snapshot" in repr(each) or "cannot be read" in repr(each)
    ]


async def test_enter_before_sessions_are_listed_opens_nothing_unseen(
    workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_look = threading.Event()

    def look(folder: Path) -> list[Entry]:
        may_look.wait(LIMIT)
        return recording_entries(folder)

    monkeypatch.setattr("acp_console.tui.home.screen.recording_entries", look)
    shutil.copy(RECORDINGS / "tour.acp.ndjson", workplace / "demo.acp.ndjson")
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "Demo agent" in say(app))
        await pilot.press("enter")
        assert isinstance(app.screen, HomeScreen)
        assert highlighted(app) is None
        # A typed name is looked up once all is listed.
        await pilot.press(*"demo.acp.ndjson", "enter")
        assert isinstance(app.screen, HomeScreen)
        may_look.set()
        await until(pilot, lambda: isinstance(app.screen, WatchScreen))
        await pilot.press("q")
        await until(pilot, lambda: highlighted(app) is not None)
        assert not app.screen.query_one(Input).value


async def test_the_highlight_stays_with_its_recording_while_the_list_grows(
    workplace: Path,
) -> None:
    shutil.copy(RECORDINGS / "tour.acp.ndjson", workplace / "old.acp.ndjson")
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "old.acp.ndjson" in say(app))
        await pilot.press("end", "pagedown")
        with (workplace / "old.acp.ndjson").open("a") as file:
            file.write("\n" * 1000)
        shutil.copy(RECORDINGS / "tour.acp.ndjson", workplace / "new.acp.ndjson")
        await until(pilot, lambda: "new.acp.ndjson" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, WatchScreen))
        assert isinstance(app.screen, WatchScreen)
        assert app.screen.source.title == "old.acp.ndjson"


@pytest.mark.parametrize("text", ["~nobody-at-all", "x" * 300])
async def test_what_can_be_no_path_is_typed_at_home_like_any_text(
    workplace: Path, text: str
) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "Demo agent" in say(app))
        app.screen.query_one(Input).value = text
        await until(pilot, lambda: "Nothing matches" in say(app))


async def test_a_whole_command_at_home_opens_a_chat_with_it(workplace: Path) -> None:
    command = shlex.join(DEMO_AGENT.command)
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "Demo agent" in say(app))
        app.screen.query_one(Input).value = command
        await until(pilot, lambda: "run this command" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: "● ready" in say(app))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for programs, the only one on the PATH."""
    found = tmp_path / "programs"
    found.mkdir()
    monkeypatch.setenv("PATH", str(found))
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    return found


async def test_an_agent_of_the_catalogue_starts_after_its_command_was_agreed_to(
    workplace: Path, programs: Path
) -> None:
    program = programs / "gemini"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(DEMO_AGENT.command)}\n")
    program.chmod(0o755)
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "Gemini CLI" in say(app))
        await pilot.press(*"gemini", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert "gemini --acp" in say(app)
        await pilot.press("enter")
        await until(pilot, lambda: highlighted(app) is not None)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and "● ready" in say(app))
    again = ConsoleApp(cwd=workplace)
    async with again.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "Gemini CLI" in say(again))
        await pilot.press(*"gemini", "enter")
        await until(pilot, lambda: isinstance(again.screen, ChatScreen))


async def test_an_agent_that_is_not_installed_says_how_to_install_it(
    workplace: Path, programs: Path
) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "more are known" in say(app))
        await pilot.press(*"codex")
        await until(pilot, lambda: "not installed" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: "npm install" in notices(app))


async def test_a_wrong_configuration_is_told_at_home(workplace: Path, programs: Path) -> None:
    config = programs.parent / "CONFIG" / "acp-console" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[agents.mine]\ncomand = ['x']\n")
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "did you mean command" in notices(app))
        assert "Demo agent" in say(app)


async def test_recordings_are_listed_at_home_and_open(workplace: Path) -> None:
    (workplace / "runs").mkdir()
    shutil.copy(RECORDINGS / "tour.acp.ndjson", workplace / "runs")
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "runs/tour.acp.ndjson" in say(app))
        await pilot.press(*"tour", "enter")
        await until(pilot, lambda: isinstance(app.screen, WatchScreen))
        await until(pilot, lambda: "session/prompt" in say(app))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))


async def test_a_running_proxy_is_listed_at_home(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="acp-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        proxy = [sys.executable, "-m", "acp_console", "proxy", "--name", "work", "--", "cat"]
        with subprocess.Popen(proxy, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            mentions = command_agent(["network", "--at-work"])
            app = ConsoleApp(agent=mentions, cwd=workplace)
            async with app.run_test(size=(100, 30)) as pilot:
                await until(pilot, lambda: "Live proxies" in say(app) and "work" in say(app))
                # Agents come before it, and mention it.
                await pilot.press(*"work", "enter")
                await until(pilot, lambda: isinstance(app.screen, WatchScreen))
            process.stdin.close()


async def test_a_prompt_is_answered_in_streamed_markdown(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "gave 2 lines" in say(app))
        await until(pilot, lambda: "● ready" in say(app))
        shown = say(app)
        assert "Read notes.txt" in shown
        assert "✓ Read notes.txt" in shown


@pytest.mark.parametrize(
    ("answer", "content", "word"),
    [("Allow", "changed\ntwo\n", "✓ Edit notes.txt"), ("Reject", "one\ntwo\n", "✗ Edit notes.txt")],
)
async def test_a_permission_is_answered_by_its_number(
    workplace: Path, answer: str, content: str, word: str
) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        app.screen.query_one("#editor").insert("edit notes.txt: one => changed")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - the editor
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        shown = say(app)
        assert "- one" in shown
        assert "+ changed" in shown
        assert "? waits for you" in shown
        number = re.search(rf"(\d)  {answer}", shown)
        assert number
        await pilot.press(number[1])
        await until(pilot, lambda: word in say(app))
        await until(pilot, lambda: "● ready" in say(app))
        assert (workplace / "notes.txt").read_text() == content
        assert not app.screen.query(PermissionView)


async def test_version_two_looks_the_same_and_its_question_keeps_its_keys(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT.with_protocol(2), start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 60)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await until(pilot, lambda: "mode Ask" in say(app))
        app.screen.query_one("#editor").insert("edit notes.txt: one => changed")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - the editor
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        assert "- one" in say(app)
        assert "+ changed" in say(app)
        await pilot.press("f2", "f2", "1")
        await until(pilot, lambda: "✓ Edit notes.txt" in say(app))
        await until(pilot, lambda: "● ready" in say(app))
    assert (workplace / "notes.txt").read_text() == "changed\ntwo\n"


async def test_an_agent_in_a_dialect_is_chatted_with_like_any_other(workplace: Path) -> None:
    script = Path(__file__).parents[2] / "protocol/dialects/peers/acpex_agent.py"
    agent = command_agent([sys.executable, str(script)])
    app = ConsoleApp(agent=agent, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "Refactoring complete!" in say(app))
        assert "read_file" in say(app)


async def test_a_permission_is_answered_by_mouse(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"run echo hi", "enter")
        await until(pilot, lambda: "Allow this? Press" in say(app))
        assert await pilot.click("PermissionView Button.allow")
        await until(pilot, lambda: "✓ Run echo hi" in say(app))


async def test_the_keys_in_the_hint_of_a_permission_can_be_clicked(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"edit notes.txt: two => three", "enter")
        await until(pilot, lambda: "d: side by side" in say(app))
        assert not re.search("- two .*three", say(app))
        await pilot.click(offset=place_of(app, "d: side"))
        await until(pilot, lambda: re.search("- two .*three", say(app)))
        await until(pilot, lambda: "w: no, and why" in say(app))
        await pilot.click(offset=place_of(app, "w: no"))
        await until(pilot, lambda: not app.screen.query(PermissionView))
        assert "Tell the agent why" in say(app)
        assert (workplace / "notes.txt").read_text() == "one\ntwo\n"


async def test_escape_stops_the_turn_and_answers_the_open_question(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"edit notes.txt", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("escape")
        await until(pilot, lambda: "turn ended: cancelled" in say(app))
        assert (workplace / "notes.txt").read_text() == "one\ntwo\n"
        assert not app.screen.query(PermissionView)


async def test_the_traffic_shows_the_frames_of_this_session(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"help", "enter")
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f2")
        await until(pilot, lambda: "session/prompt result" in say(app))
        await until(pilot, lambda: 'stopReason: "end_turn"' in say(app))
        await pilot.press("slash", *"initialize")
        await until(pilot, lambda: "2 of " in say(app))
        assert "version 1 acp-console" in say(app)
        await pilot.press("f2")
        await until(pilot, lambda: "stopReason" not in say(app))


async def test_an_agent_that_cannot_start_is_told_with_what_to_do(workplace: Path) -> None:
    app = ConsoleApp(
        agent=command_agent(["no-such-agent"]), start="chat", cwd=workplace, timing=AT_ONCE
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "✗ stopped" in say(app))
        assert "there is no such command" in say(app)
        assert "F5 starts the agent again" in say(app)


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
        assert "F5 starts the agent again" in say(app)
        # One row each.
        assert len(re.findall(r"  \| (?:words )+.*…", say(app))) == 4
        await pilot.press("f5")
        await until(pilot, lambda: "● ready" in say(app))


WORDLESS = """
prompt = hear_prompt()
details = {"details": "the model takes no images"}
tell(id=prompt["id"], error={"code": -32603, "message": "Internal error", "data": details})
end(hear("session/prompt"))
prompt = hear("session/prompt")
say("a reply")
end(prompt)
hear("never")
"""


async def test_why_a_turn_failed_stays_and_a_turn_without_a_reply_says_so(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(WORDLESS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: "turn failed" in say(app))
        await pilot.press(*"two", "enter")
        await until(pilot, lambda: "— turn ended without a reply" in say(app))
        assert "Internal error (-32603): the model takes no images" in say(app)
        await pilot.press(*"three", "enter")
        await until(pilot, lambda: "a reply" in say(app) and "● ready" in say(app))
        assert say(app).count("without a reply") == 1


async def test_a_prompt_is_shown_wherever_one_has_scrolled(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"help", "enter")
        await until(pilot, lambda: "plan, think" in say(app) and "● ready" in say(app))
        await pilot.press("ctrl+home")
        await until(pilot, lambda: "plan, think" not in say(app))
        await pilot.press(*"plan", "enter")
        await until(pilot, lambda: "The plan is done" in say(app))


async def test_a_prompt_that_is_sent_while_busy_waits_for_its_turn(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"run cat", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        chat_of(app).editor.focus()
        await pilot.press(*"search two", "enter")
        await until(pilot, lambda: "1 prompt queued" in say(app))
        await pilot.press(*"search one", "enter")
        await until(pilot, lambda: "2 prompts queued" in say(app))
        await pilot.press("tab", "shift+tab")
        app.screen.query_one(PermissionView).focus()
        await pilot.press("1")
        await until(pilot, lambda: "notes.txt:2: two" in say(app))
        await until(pilot, lambda: "notes.txt:1: one" in say(app))


async def test_lines_that_are_written_quickly_stay_in_order(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        for key, character in [("a", "a"), ("ctrl+j", None), ("b", "b"), ("shift+enter", None)]:
            app.post_message(Key(key, character))
        app.post_message(Key("c", "c"))
        await until(pilot, lambda: len(chat_of(app).editor.text) == 5)
        assert chat_of(app).editor.text == "a\nb\nc"


async def test_stopping_the_turn_puts_unsent_prompts_back_into_the_editor(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"run cat", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        chat_of(app).editor.focus()
        await pilot.press(*"one", "enter", *"two", "enter", *"half")
        await until(pilot, lambda: "2 prompts queued" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Not sent, back in the editor: 2 prompts." in say(app))
        assert chat_of(app).editor.text == "one\ntwo\nhalf"
        await until(pilot, lambda: "● ready" in say(app) and "queued" not in say(app))


async def test_f1_explains_the_keys_and_f3_leaves_for_the_agents(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f1")
        await until(pilot, lambda: "Stop the running turn" in say(app))
        await pilot.press("escape")
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))


@pytest.mark.parametrize("size", [(90, 30), (200, 50)])
async def test_from_a_chat_one_gets_to_the_analysis_and_back_and_loses_nothing(
    workplace: Path, size: tuple[int, int]
) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"half", "f2")
        await until(pilot, lambda: "Chat" in say(app).splitlines()[-1])
        inspection = chat_of(app).inspection
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


async def test_moving_in_the_traffic_rewinds_the_chat_until_its_end(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "gave" in say(app) and "● ready" in say(app))
        screen = chat_of(app)
        await pilot.press("f2")
        table = screen.inspection.traffic.table
        await until(pilot, lambda: table.has_focus)
        await pilot.press("home")
        await until(pilot, lambda: "as of frame" in say(app) and not screen.conversation.display)
        await until(pilot, lambda: "no session yet" in say(app))
        await pilot.press("end")
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


async def test_the_columns_of_the_traffic_have_a_heading_from_the_first_look(
    workplace: Path,
) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(200, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "spawn pid" in say(app))
        await until(pilot, lambda: re.search(r" n +time +client +agent +latency +size", say(app)))


async def test_the_traffic_of_a_chat_can_have_the_whole_width(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f4")
        await until(pilot, lambda: chat_of(app).inspection.size.width == 160)
        await pilot.press("f4")
        await until(pilot, lambda: chat_of(app).inspection.size.width < 100)
        assert "Try one of these" in say(app)
        await pilot.press("f4", "f2")
        await until(pilot, lambda: not chat_of(app).has_traffic)
        assert "Try one of these" in say(app)


async def test_the_key_for_the_whole_width_says_where_there_is_no_choice(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f4")
        await until(pilot, lambda: "from 120 columns on; ^t changes" in notices(app))


async def test_an_agent_that_is_started_anew_goes_on_in_the_same_rows(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f2", "f5")
        await until(pilot, lambda: say(app).count("spawn pid") == 2)
        await until(pilot, lambda: "● ready" in say(app))
        entries = chat_of(app).inspection.traffic.entries
        numbers = [getattr(entries[row], "seq", 0) for row in range(len(entries))]
        assert numbers == list(range(1, len(entries) + 1))
        assert " 0 findings" in say(app) or "checked" in say(app)


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


async def test_prompt_after_a_failed_start_is_refused_and_kept(workplace: Path) -> None:
    agent = command_agent(["no-such-agent"])
    app = ConsoleApp(agent=agent, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: "✗ stopped" in say(app))
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "Not sent: the agent did not start" in say(app))
        assert "there is no such command" in say(app)
        assert chat_of(app).editor.text == "hello"
        assert not chat_of(app).chat.queued


async def test_output_of_a_command_is_shown_while_it_runs(workplace: Path, agent: Agent) -> None:
    """The agent never asks for the output."""
    flag = workplace / "go-on"
    command = f"echo first; while [ ! -e {flag} ]; do sleep 0.02; done; echo second"
    script = f"""
prompt = hear_prompt()
made = ask("terminal/create", command="sh", args=["-c", {command!r}])["result"]["terminalId"]
update("tool_call", toolCallId="t", title="Run it", kind="execute", status="in_progress",
       content=[{{"type": "terminal", "terminalId": made}}])
hear("never")
"""
    app = ConsoleApp(
        agent=command_agent(agent(script)), start="chat", cwd=workplace, timing=AT_ONCE
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: bool(re.search(r"^\W*first\W*$", say(app), re.MULTILINE)))
        flag.touch()
        await until(pilot, lambda: bool(re.search(r"^\W*second\W*$", say(app), re.MULTILINE)))


async def test_the_mode_is_shown_by_its_name(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await until(pilot, lambda: "mode Ask" in say(app))


PROVIDERS = """
greet()
options = [{"type": "select", "id": id_, "name": id_.title(), "category": "model",
            "currentValue": value, "options": [{"value": value, "name": value}]}
           for id_, value in (("provider", "acme"), ("model", "large"))]
tell(id=hear("session/new")["id"], result={"sessionId": "s1", "configOptions": options})
hear("never")
"""


async def test_options_of_the_same_category_are_told_apart(workplace: Path, agent: Agent) -> None:
    command = command_agent(agent(PROVIDERS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "provider acme  ·  model large" in say(app))


async def test_escape_can_be_pressed_any_number_of_times_while_the_agent_reads_nothing(
    workplace: Path, agent: Agent
) -> None:
    command = agent("greet(); open_session(); time.sleep(60)")
    app = ConsoleApp(agent=command_agent(command), start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        # More than the pipe holds.
        chat_of(app).editor.text = "x" * 200_000
        await pilot.press("enter")
        await until(pilot, lambda: "◐ working" in say(app))
        await pilot.press(*["escape"] * 40)
        await until(pilot, lambda: "◐ stopping" in say(app))


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
    app = ConsoleApp(
        agent=command_agent(agent(script)), start="chat", cwd=workplace, timing=AT_ONCE
    )
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "1  Yes" in say(app))
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: "● ready" in say(app))
        assert not app.screen.query(PermissionView)
        assert not app.screen.query_one("#problem").display


async def test_agent_that_cannot_start_leaves_no_recording(workplace: Path) -> None:
    path = workplace / "it.acp.ndjson"
    agent = command_agent(["no-such-agent"])
    app = ConsoleApp(agent=agent, start="chat", cwd=workplace, record=path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "✗ stopped" in say(app))
    assert not path.exists()


async def test_recording_goes_on_after_a_restart(workplace: Path) -> None:
    path = workplace / "it.acp.ndjson"
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, record=path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f5")
        # A start that fails leaves nothing in the recording: wait for a session of the new agent.
        await until(pilot, lambda: path.read_bytes().count(b'"session/new"') == 2)
        await until(pilot, lambda: path.read_bytes().count(b'"result":{"sessionId"') == 2)
        await until(pilot, lambda: "● ready" in say(app))
    recording = read_recording(path)
    assert recording.bad_lines == ()
    names = [entry.name for entry in recording.entries if isinstance(entry, JournalEvent)]
    assert names == ["spawn", "eof", "exit"] * 2


async def test_full_disk_during_a_recorded_chat_is_shown(workplace: Path) -> None:
    path = workplace / "it.acp.ndjson"
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, record=path)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
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


ASKS = """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="Run make", kind="execute")
say(ask_consent(toolCallId="t"))
end(prompt)
hear("never")
"""
"""Asks for a permission: "1  Yes", "2  No"."""


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_message_that_begins_with_a_digit_answers_no_permission_prompt(
    workplace: Path, agent: Agent
) -> None:
    clock = Clock()
    timing = PermissionTiming(typing_pause_s=0.01, settle_s=0.5, clock=clock)
    chosen = command_agent(agent(ASKS))
    app = ConsoleApp(agent=chosen, start="chat", cwd=workplace, timing=timing)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "1  Yes" in say(app))
        # The last key was just pressed: the prompt leaves the focus where it is.
        assert chat_of(app).editor.has_focus
        clock.now = 10
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        # It has just taken the focus: this digit is the beginning of a message.
        await pilot.press("1")
        await until(pilot, lambda: chat_of(app).editor.has_focus)
        clock.now = 20
        await pilot.press(*" more thing")
        assert chat_of(app).editor.text == "1 more thing"
        await until(pilot, lambda: "? waits for you" in say(app))
        # The user goes there: now a number counts.
        app.screen.query_one(PermissionView).focus()
        await pilot.press("1")
        await until(pilot, lambda: "● ready" in say(app) and "yes" in say(app))


BURST = PermissionTiming(typing_pause_s=0, settle_s=0, burst_s=0.2)
LONG_QUESTION = """
prompt = hear_prompt()
lines = "\\n".join(f"line {number}" for number in range(100))
answer = ask_consent(toolCallId="t", title="Run it", kind="execute", rawInput={"command": lines})
say("you said " + answer)
end(prompt)
prompt = hear("session/prompt")
say("heard " + prompt["params"]["prompt"][0]["text"])
end(prompt)
hear("never")
"""


@pytest.mark.parametrize("skip", ["", "key", "mouse"])
async def test_nobody_allows_what_was_not_on_the_screen(
    workplace: Path, agent: Agent, skip: str
) -> None:
    command = command_agent(agent(LONG_QUESTION))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await until(pilot, lambda: "Read to the end first" in say(app))
        assert "line 0" in say(app)
        await pilot.press("1", "y")
        assert await pilot.click("PermissionView Button.allow")
        await pilot.pause()
        assert app.screen.query(PermissionView)
        if skip == "key":
            await pilot.press("!")
        elif skip == "mouse":
            await pilot.click(offset=place_of(app, "! skips"))
        else:
            await pilot.press(*["pagedown"] * 12)
            await until(pilot, lambda: "line 99" in say(app))
        await until(pilot, lambda: "Press a number" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: "you said yes" in say(app))


async def test_what_the_screen_cuts_off_or_a_dialog_covers_was_not_seen(
    workplace: Path, agent: Agent
) -> None:
    spec = command_agent(agent(LONG_QUESTION.replace("range(100)", "range(2)")))
    app = ConsoleApp(agent=spec, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(40, 5)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "line 0" in say(app))
        assert "line 1" not in say(app)
        details = app.screen.query_one(CallDetails)
        assert not details.has_shown_end
        app.push_screen(ConfirmScreen("Really?", yes="Yes"))
        await until(pilot, lambda: "Really?" in say(app))
        await pilot.resize_terminal(100, 40)
        await until(pilot, lambda: "line 1" in say(app))
        assert not details.has_shown_end
        await pilot.press("escape")
        await until(pilot, lambda: "Press a number" in say(app))


LONG_ADDRESS = """
prompt = hear_prompt()
answer = ask("elicitation/create", mode="url", message="Look there", elicitationId="e1",
             url=f"https://{'x' * 2000}.org/" + "x" * 2000 + "/end")
say("page " + answer["result"]["action"])
end(prompt)
hear("never")
"""


async def test_an_address_is_read_to_its_end_before_it_is_copied(
    workplace: Path, agent: Agent
) -> None:
    spec = command_agent(agent(LONG_ADDRESS))
    app = ConsoleApp(agent=spec, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PageView))
        await until(pilot, lambda: "Read the address to its end" in say(app))
        assert "No (n)" in say(app)
        await pilot.press("o", "c")
        assert await pilot.click("PageView Button.allow")
        await pilot.pause()
        assert app.screen.query(PageView)
        await pilot.press(*["pagedown"] * 20)
        await until(pilot, lambda: "/end" in say(app))
        await until(pilot, lambda: "Read the address to its end" not in say(app))
        await pilot.press("c")
        await until(pilot, lambda: "page accept" in say(app))


LONG_TITLE = """
prompt = hear_prompt()
title = "echo " + "a" * 900 + " && rm -rf work"
ask_consent(toolCallId="t", title=title, kind="execute")
end(prompt)
hear("never")
"""


async def test_a_command_in_the_title_is_wholly_shown_before_it_is_allowed(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(LONG_TITLE))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(80, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await until(pilot, lambda: "Press a number" in say(app))
        assert "&& rm -rf work" in say(app)
        await pilot.press("n")


ALWAYS_FIRST = """
prompt = hear_prompt()
kinds = ["allow_always", "allow_always", "allow_once", "reject_once"]
options = [{"optionId": f"{kind} {n}", "name": f"Option {n}", "kind": kind}
           for n, kind in enumerate(kinds)]
call = {"toolCallId": "t", "title": "Run it", "kind": "execute"}
answer = ask("session/request_permission", toolCall=call, options=options)
say("you said " + answer["result"]["outcome"]["optionId"])
end(prompt)
hear("never")
"""


async def test_what_allows_once_comes_before_what_allows_always(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(ALWAYS_FIRST))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await until(pilot, lambda: "Press a number" in say(app))
        labels = [str(each.label) for each in app.screen.query(Button)]
        assert [label[:11] for label in labels] == [
            "1  Option 2", "2  Option 0", "3  Option 1", "4  Option 3",
        ]  # fmt: skip
        await pilot.press("1")
        await until(pilot, lambda: "you said allow_once 2" in say(app))


async def test_text_that_comes_at_once_answers_no_permission_prompt(
    workplace: Path, agent: Agent
) -> None:
    """Lines from a slow connection, one with a choice in front, and a paste."""
    command = command_agent(agent(LONG_QUESTION))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=BURST)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        prompt = app.screen.query_one(PermissionView)
        for key in "fix12":
            prompt.post_message(Key(key, key))
        await until(pilot, lambda: chat_of(app).editor.text == "fix12")
        for text in ("no", "2x"):
            chat_of(app).editor.text = ""
            prompt.focus()
            await until(pilot, lambda: isinstance(app.focused, PermissionView))
            for key in text:
                prompt.post_message(Key(key, key))
            await until(pilot, lambda text=text: chat_of(app).editor.text == text)
        prompt.focus()
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        prompt.post_message(Paste(" and 1"))
        await until(pilot, lambda: chat_of(app).editor.text == "2x and 1")
        assert prompt.is_mounted
        prompt.focus()
        await pilot.press("n")
        await until(pilot, lambda: "you said no" in say(app))


async def test_a_rejection_can_be_explained_in_the_next_prompt(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(LONG_QUESTION))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("w")
        await until(pilot, lambda: "Tell the agent why" in say(app))
        await until(pilot, lambda: "you said no" in say(app))
        await pilot.press(*"use ls", "enter")
        await until(pilot, lambda: "heard use ls" in say(app))


async def test_permission_prompt_takes_the_focus_once(workplace: Path, agent: Agent) -> None:
    chosen = command_agent(agent(ASKS))
    app = ConsoleApp(agent=chosen, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        chat_of(app).editor.focus()
        # Any update of the screen.
        chat_of(app).chat.journal.event("mark")
        await until(
            pilot,
            lambda: chat_of(app).chat.entries_read == len(chat_of(app).chat.journal),
        )
        await pilot.press("2")
        assert chat_of(app).editor.text == "2"
        assert "? waits for you" in say(app)


async def test_click_on_a_permission_prompt_that_just_appeared_decides_nothing(
    workplace: Path, agent: Agent
) -> None:
    clock = Clock()
    timing = PermissionTiming(typing_pause_s=0.01, settle_s=0.5, clock=clock)
    chosen = command_agent(agent(ASKS))
    app = ConsoleApp(agent=chosen, start="chat", cwd=workplace, timing=timing)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "1  Yes" in say(app))
        assert await pilot.click("PermissionView Button.allow")
        await pilot.pause()
        assert "? waits for you" in say(app)
        clock.now = 0.6
        # While a button shows that it was pressed, Textual ignores further clicks on it.
        await until(pilot, lambda: not app.screen.query("PermissionView Button.-active"))
        assert await pilot.click("PermissionView Button.allow")
        await until(pilot, lambda: "● ready" in say(app))


async def test_recording_goes_on_with_the_next_agent(workplace: Path) -> None:
    path = workplace / "it.acp.ndjson"
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, record=path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
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


async def test_chat_shows_a_stray_line_on_stdout_at_once(workplace: Path, agent: Agent) -> None:
    script = """
for word in ("hel\\x1blo", "again", "again"):
    print(word, flush=True)
hear("never")
"""
    app = ConsoleApp(agent=command_agent(agent(script)), start="chat", cwd=workplace)
    async with app.run_test(size=(140, 30)) as pilot:
        await until(pilot, lambda: "(and 2 more such lines)" in say(app))
        assert "wrote a line to stdout that is not a message: hel␛lo" in say(app)
        assert "◐ starting" in say(app)


async def test_a_restart_is_a_line_between_old_and_new_messages(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"think", "enter")
        await until(pilot, lambda: "thought about it" in say(app) and "● ready" in say(app))
        assert "agent restarted" not in say(app)
        await pilot.press("f5")
        await until(pilot, lambda: "it does not know the messages above" in say(app))


async def test_an_agent_that_does_not_stop_can_be_restarted_says_the_screen(
    workplace: Path, agent: Agent
) -> None:
    app = ConsoleApp(
        agent=command_agent(agent("hear_prompt(); hear('never')")),
        start="chat",
        cwd=workplace,
        stop_timeout_s=0.01,
    )
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "◐ working" in say(app))
        assert "F5 restarts" not in say(app)
        await pilot.press("escape")
        await until(pilot, lambda: "stopping" in say(app) and "F5 restarts the agent" in say(app))


CHANGES_ITS_MIND = """
prompt = hear_prompt()
tell(id=700, method="session/request_permission", params={"sessionId": "s1",
     "toolCall": {"toolCallId": "t", "title": "Run it", "rawInput": {"command": "make"}},
     "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]})
while not os.path.exists("go"):
    time.sleep(0.01)
update("tool_call_update", toolCallId="t", rawInput={"command": "rm -r /"})
hear("never")
"""


async def test_a_call_that_changes_while_it_asks_is_shown_as_it_is_now(
    workplace: Path, agent: Agent
) -> None:
    spec = command_agent(agent(CHANGES_ITS_MIND))
    app = ConsoleApp(agent=spec, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "command: make" in say(app))
        (workplace / "go").touch()
        await until(pilot, lambda: "command: rm -r /" in say(app))
        assert "command: make" not in say(app)


async def test_what_was_chosen_for_a_call_as_it_was_is_not_sent(
    workplace: Path, agent: Agent
) -> None:
    reply = 'say("you said " + hear(None)["result"]["outcome"]["optionId"])'
    spec = command_agent(agent(CHANGES_ITS_MIND.replace('hear("never")', reply)))
    app = ConsoleApp(agent=spec, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "command: make" in say(app))
        before = app.screen.query_one(PermissionView)
        (workplace / "go").touch()
        await until(pilot, lambda: "command: rm -r /" in say(app))
        now = app.screen.query_one(PermissionView)
        # A choice may be on its way when the call changes.
        app.screen.post_message(PermissionView.Chosen(before, before.permission, "yes"))
        await pilot.pause()
        assert app.screen.query_one(PermissionView) is now
        await until(pilot, lambda: "Press a number" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: "you said yes" in say(app))


ASKS_TWICE = """
prompt = hear_prompt()
options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
for id_, title in ((700, "Run make"), (701, "Run rm -rf /")):
    tell(id=id_, method="session/request_permission", params={
        "sessionId": "s1", "toolCall": {"toolCallId": "t", "title": title}, "options": options})
    while not os.path.exists("go"):
        time.sleep(0.01)
for _ in range(2):
    answer = hear(None)
    say(str(answer["id"]) + answer["result"]["outcome"]["outcome"])
end(prompt)
hear("never")
"""
"""Asks again about the same call, without a response, once there is a file `go`."""


async def test_second_permission_request_for_a_call_replaces_the_first(
    workplace: Path, agent: Agent
) -> None:
    chosen = command_agent(agent(ASKS_TWICE))
    app = ConsoleApp(agent=chosen, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        (workplace / "go").touch()
        await until(pilot, lambda: "Run rm -rf /" in say(app))
        await until(pilot, lambda: "700cancelled" in say(app))
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("1")
        await until(pilot, lambda: "701selected" in say(app))
        await until(pilot, lambda: "● ready" in say(app))


async def test_permission_prompt_that_the_traffic_covered_decides_nothing_at_once(
    workplace: Path, agent: Agent
) -> None:
    clock = Clock()
    timing = PermissionTiming(typing_pause_s=0.01, settle_s=0.5, clock=clock)
    app = ConsoleApp(agent=command_agent(agent(ASKS)), start="chat", cwd=workplace, timing=timing)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter", "f2")
        await until(pilot, lambda: "request_permission" in say(app))
        clock.now = 10
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await pilot.press("1")
        assert "? waits for you" in say(app)
        assert chat_of(app).editor.text == "1"


async def test_escape_in_the_traffic_does_not_cancel_the_turn(
    workplace: Path, agent: Agent
) -> None:
    app = ConsoleApp(agent=command_agent(agent(ASKS)), start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter", "f2")
        await until(pilot, lambda: "request_permission" in say(app))
        await until(pilot, lambda: chat_of(app).inspection.traffic.table.has_focus)
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


async def test_help_begins_with_the_keys_of_the_screen(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        assert "Stop" not in say(app)
        await pilot.press("f1")
        await until(pilot, lambda: "Show or hide the traffic" in say(app))
        assert "List of agents" not in say(app)


async def test_list_of_agents_names_its_key_in_the_footer(tmp_path: Path) -> None:
    app = ConsoleApp(cwd=tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Open" in "".join(say(app).splitlines()[-1:]))


MODELS = """
greet()
models = [{"modelId": "a", "name": "Small"}, {"modelId": "b", "name": "Large"}]
offered = {"currentModelId": "a", "availableModels": models}
tell(id=hear("session/new")["id"], result={"sessionId": "s1", "models": offered})
tell(id=hear("session/set_model")["id"], result={})
hear("never")
"""


async def test_the_model_that_was_chosen_is_shown_and_chats_are_told_apart(
    workplace: Path, agent: Agent
) -> None:
    """No update says which model is set; and the agent gives its sessions no titles."""
    command = command_agent(agent(MODELS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "model Small" in say(app))
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
        await pilot.press(*"large", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and "model Large" in say(app))
        await pilot.press(*"mend it", "enter")
        await until(pilot, lambda: re.search("▌. mend it", say(app)))
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and "mend it" in say(app))


async def test_several_chats_are_open_at_once_and_go_on_unseen(
    workplace: Path, agent: Agent
) -> None:
    script = """
greet()
for id_ in ("s1", "s2"):
    tell(id=hear("session/new")["id"], result={"sessionId": id_})
prompt = hear("session/prompt")
update("tool_call", toolCallId="t", title="Run make", kind="execute")
say(ask_consent(toolCallId="t"))
end(prompt)
hear("never")
"""
    asks = command_agent(agent(script))
    app = ConsoleApp(agent=asks, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(140, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        first = chat_of(app)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: app.screen is not first and "● ready" in say(app))
        second = chat_of(app)
        assert second.chat.agent is first.chat.agent
        assert second.chat.session_id != first.chat.session_id
        await pilot.press("alt+up")
        await until(pilot, lambda: app.screen is first)
        await pilot.press(*"go", "enter", "alt+down")
        await until(pilot, lambda: app.screen is second and "needs you" in say(app))
        assert first.chat.is_waiting_for_user
        assert not second.chat.is_waiting_for_user
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await until(pilot, lambda: "Continue" in say(app) and "needs you" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is first and "1  Yes" in say(app))
        await pilot.press("ctrl+w")
        await until(pilot, lambda: "Its turn is stopped; the" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is first and first.open_prompt() is not None)
        await pilot.press("1")
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("ctrl+w")
        await until(
            pilot, lambda: app.screen is second and len(second.sidebar.options.options) == 1
        )


async def test_what_ends_a_running_turn_asks_first(workplace: Path, agent: Agent) -> None:
    asks = command_agent(agent(ASKS))
    app = ConsoleApp(agent=asks, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "1  Yes" in say(app))
        for key in ("f5", "ctrl+q"):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
            await pilot.press("n")
            await until(pilot, lambda: isinstance(app.screen, ChatScreen))
            assert chat_of(app).chat.is_waiting_for_user
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "ends with this program. Quit?" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: "Restart the agent?" in say(app))
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


async def test_an_agent_that_does_not_end_keeps_nobody_waiting(
    workplace: Path, agent: Agent
) -> None:
    app = ConsoleApp(agent=command_agent(agent(STUBBORN)), start="chat", cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
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


async def test_the_quit_key_works_in_a_dialog(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
        assert app.return_code is None
        await pilot.press("ctrl+q")
        with anyio.fail_after(LIMIT):
            while app.return_code is None:
                await anyio.sleep(0.01)
        assert app.return_code == 0


async def test_chats_at_the_same_time_record_beside_each_other(workplace: Path) -> None:
    path = workplace / "it.acp.ndjson"
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, record=path)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        first = app.screen
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press(*"demo reads", "enter")
        await until(pilot, lambda: app.screen is not first and "● ready" in say(app))
    for name in ("it.acp.ndjson", "it-2.acp.ndjson"):
        recording = read_recording(workplace / name)
        names = [each.name for each in recording.entries if isinstance(each, JournalEvent)]
        assert names == ["spawn", "eof", "exit"]


async def test_the_sidebar_shows_plan_and_changed_files(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"/tour", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionView))
        await until(pilot, lambda: "Press a number" in say(app))
        assert "Files  1" not in say(app)
        await pilot.press("y")
        await until(pilot, lambda: "Plan  " in say(app) and "Files  1" in say(app))
        assert "acp-tour.txt" in say(app)
        await pilot.press("ctrl+b")
        await until(pilot, lambda: "Files  1" not in say(app))


async def test_a_session_goes_on_in_the_next_console_with_its_draft(
    workplace: Path, tmp_path: Path
) -> None:
    store = SessionStore(tmp_path / "sessions")
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, store=store, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "gave" in say(app) and "● ready" in say(app))
        await pilot.press(*"half a thought")
    again = ConsoleApp(cwd=workplace, store=store, timing=AT_ONCE)
    async with again.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "Continue" in say(again) and "read notes.txt" in say(again))
        # The list was there before the session was found; the first line is the cursor's.
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(again.screen, ChatScreen))
        await until(pilot, lambda: "● ready" in say(again) and "gave" in say(again))
        assert chat_of(again).editor.text == "half a thought"
        assert say(again).count("▍ read notes.txt") == 1
        chat_of(again).editor.text = ""
        await pilot.pause()
    [kept] = store.sessions()
    assert kept.draft == ""


async def test_what_was_said_stays_readable_where_the_agent_cannot_resume(
    workplace: Path, tmp_path: Path, agent: Agent
) -> None:
    forgetful = command_agent(
        agent("""
prompt = hear_prompt()
say("an answer")
end(prompt)
hear("never")
""")
    )
    store = SessionStore(tmp_path / "sessions")
    app = ConsoleApp(agent=forgetful, start="chat", cwd=workplace, store=store, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"a question", "enter")
        await until(pilot, lambda: "an answer" in say(app) and "● ready" in say(app))
    again = ConsoleApp(cwd=workplace, store=store, timing=AT_ONCE)
    async with again.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "a question" in say(again))
        await pilot.press(*"a question", "enter")
        await until(pilot, lambda: isinstance(again.screen, ChatScreen))
        await until(pilot, lambda: "the agent does not know the messages above" in say(again))
        assert "an answer" in say(again)
        assert "restarted" not in say(again)


async def test_commands_of_the_agent_are_offered_after_a_slash(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await until(pilot, lambda: chat_of(app).chat.conversation is not None)
        await pilot.press("slash")
        await until(pilot, lambda: chat_of(app).menu.display)
        await pilot.press(*"tou", "tab")
        await until(pilot, lambda: chat_of(app).editor.text == "/tour ")
        assert not chat_of(app).menu.display
        await pilot.press("ctrl+w", "ctrl+w", "slash", "escape")
        await until(pilot, lambda: not chat_of(app).menu.display)
        assert chat_of(app).editor.text == "/"


COMMANDS = """
greet()
open_session()
commands = [{"name": name, "description": ""} for name in ("memory", "memory show", "memory list")]
update("available_commands_update", availableCommands=commands)
while True:
    prompt = hear("session/prompt")
    say("heard " + prompt["params"]["prompt"][0]["text"])
    end(prompt)
"""


async def test_commands_with_spaces_are_offered_word_by_word(workplace: Path, agent: Agent) -> None:
    command = command_agent(agent(COMMANDS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        editor, menu = chat_of(app).editor, chat_of(app).menu
        await pilot.press(*"/mem", "tab")
        await until(pilot, lambda: editor.text == "/memory ")
        await pilot.press(*"l", "tab")
        await until(pilot, lambda: editor.text == "/memory list ")
        await pilot.press("enter")
        await until(pilot, lambda: "heard /memory list" in say(app) and "● ready" in say(app))
        # A whole command is sent by Enter, unless the user has moved to another one.
        await pilot.press(*"/memory", "enter")
        await until(pilot, lambda: say(app).count("heard /memory") == 2 and "● ready" in say(app))
        await pilot.press(*"/memory")
        await until(pilot, lambda: menu.display)
        await pilot.press("down", "enter")
        await until(pilot, lambda: editor.text == "/memory show ")
        await pilot.press(*"@no", "tab")
        await until(pilot, lambda: editor.text == "/memory show @notes.txt ")


async def test_files_are_offered_after_an_at_and_sent_with_the_prompt(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"help with @no")
        await until(pilot, lambda: "notes.txt" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: chat_of(app).editor.text == "help with @notes.txt ")
        await pilot.press("enter")
        entries = chat_of(app).chat.journal.entries
        await until(
            pilot,
            lambda: any(b'"resource' in each.data for each in entries if isinstance(each, Frame)),
        )


async def test_earlier_prompts_are_searched(workplace: Path, tmp_path: Path) -> None:
    history = PromptHistory(tmp_path / "prompts")
    for text in ("mend the parser", "write the docs\nin English", "mend the tests"):
        history.add(text, workplace)
    app = ConsoleApp(
        agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE, history=lambda: history
    )
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("ctrl+r", *"mend")
        await until(pilot, lambda: "mend the parser" in say(app))
        assert "write the docs" not in say(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: chat_of(app).editor.text == "mend the parser")
        await pilot.press("ctrl+r", *" x", "escape")
        await until(pilot, lambda: chat_of(app).editor.text == "mend the parser")
        await pilot.press("ctrl+u", "up", "up")
        await until(pilot, lambda: chat_of(app).editor.text == "write the docs\nin English")


async def test_mode_and_options_are_chosen_by_keys(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "mode Ask" in say(app))
        before = next(each for each in chat_of(app).chat.options if each.category == "mode")
        await pilot.press("shift+tab")
        await until(pilot, lambda: "mode Ask" not in say(app) and "mode " in say(app))
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
        assert f"● {before.current_name}" not in say(app)
        await pilot.press(*"ask", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and "mode Ask" in say(app))


async def test_mode_and_options_are_chosen_by_mouse(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "mode Ask" in say(app))
        await pilot.click(offset=place_of(app, "mode Ask"))
        await until(pilot, lambda: "mode Ask" not in say(app) and "mode " in say(app))
        await pilot.click(offset=place_of(app, "model "))
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
        await pilot.click(offset=(0, 39))
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))


LISTS = """
greet(agentCapabilities={"loadSession": True, "sessionCapabilities":
      {"list": {}, "delete": {}, "fork": {}, "close": {}}})
open_session()
kept = [{"sessionId": f"old{n}", "cwd": os.getcwd(), "title": f"Title {n}"} for n in range(3)]
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params", {})
    match message.get("method"):
        case "session/list":
            first = int(params.get("cursor") or 0)
            more = {"nextCursor": str(first + 2)} if first + 2 < len(kept) else {}
            tell(id=message["id"], result={"sessions": kept[first:first + 2], **more})
        case "session/load":
            id_ = params["sessionId"]
            for kind, text in (("user", "what I asked"), ("agent", "what it said")):
                tell(method="session/update", params={"sessionId": id_, "update": {
                    "sessionUpdate": f"{kind}_message_chunk",
                    "content": {"type": "text", "text": text}}})
            tell(id=message["id"], result={})
        case "session/delete":
            kept[:] = [each for each in kept if each["sessionId"] != params["sessionId"]]
            tell(id=message["id"], result={})
        case "session/fork":
            tell(id=message["id"], result={"sessionId": "fork of " + params["sessionId"]})
        case "session/close":
            tell(id=message["id"], result={})
"""


async def test_the_sessions_of_an_agent_are_listed_loaded_deleted_and_forked(
    workplace: Path, agent: Agent
) -> None:
    app = ConsoleApp(agent=command_agent(agent(LISTS)), start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        first = chat_of(app)
        await pilot.press("f7")
        await until(pilot, lambda: "Title 0" in say(app) and "… more" in say(app))
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "Title 2" in say(app))
        await pilot.press("ctrl+x")
        await until(pilot, lambda: "Delete the session 'Title 2'" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: "Title 2" not in say(app) and "Title 1" in say(app))
        await pilot.press("up", "enter")
        await until(pilot, lambda: app.screen is not first and "what it said" in say(app))
        assert "what I asked" in say(app)
        assert chat_of(app).chat.session_id == "old0"
        await pilot.press("f8")
        await until(pilot, lambda: chat_of(app).chat.session_id == "fork of old0")
        await until(pilot, lambda: "this session is a copy of the one above" in say(app))
        assert "what it said" in say(app)
        # It is open already.
        await pilot.press("f7")
        await until(pilot, lambda: "Title 0" in say(app))
        await pilot.press("enter")
        await until(
            pilot, lambda: isinstance(app.screen, ChatScreen) and "what it said" in say(app)
        )
        assert len({id(chat) for chat in app.open_chats.chats}) == 3


FORM = """
greet()
open_session()
prompt = hear("session/prompt")
schema = {"type": "object", "required": ["name", "size"], "properties": {
    "name": {"type": "string", "title": "Your name", "minLength": 2},
    "size": {"type": "integer", "minimum": 1},
    "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"},
                                            {"const": "g", "title": "Green"}]},
    "fast": {"type": "boolean", "title": "Fast"},
    "parts": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}}}
answer = ask("elicitation/create", mode="form", message="Tell me more", requestedSchema=schema)
say("got " + json.dumps(answer["result"], sort_keys=True))
end(prompt)
prompt = hear("session/prompt")
# However long the message is, the address stays in sight.
answer = ask("elicitation/create", mode="url", message="Look there" + 300 * "\\n",
             elicitationId="e1", url="https://example.org/path")
say("page " + json.dumps(answer["result"], sort_keys=True))
end(prompt)
hear("never")
"""


def frames_of(app: ConsoleApp) -> list[Frame]:
    return [each for each in chat_of(app).chat.journal.entries if isinstance(each, Frame)]


async def test_a_form_is_filled_in_and_a_page_is_declined(workplace: Path, agent: Agent) -> None:
    app = ConsoleApp(agent=command_agent(agent(FORM)), start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 44)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "Tell me more" in say(app) and isinstance(app.focused, Input))
        await pilot.press("A", "enter", "0", "ctrl+s")
        await until(pilot, lambda: say(app).count("✗ ") >= 2)
        form = chat_of(app).open_prompt()
        assert form is not None
        name, size = form.query(Input)
        name.value, size.value = "Ada", "3"
        form.query_one(Select).value = "g"
        form.query_one(Checkbox).value = True
        form.query_one(SelectionList).select("b")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "got " in say(app))
        sent = next(json.loads(each.data) for each in frames_of(app) if b'"action"' in each.data)
        content = {"name": "Ada", "size": 3, "color": "g", "fast": True, "parts": ["b"]}
        assert sent["result"] == {"action": "accept", "content": content}
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"more", "enter")
        await until(pilot, lambda: isinstance(app.focused, PageView))
        await until(pilot, lambda: "https://example.org/path" in say(app) and "No (n)" in say(app))
        await pilot.press(*"later")
        await until(pilot, lambda: chat_of(app).editor.text == "later")
        await pilot.press("tab", "n")
        await until(pilot, lambda: 'page {"action": "decline"}' in say(app))


MANY_FIELDS = """
greet()
modes = {"availableModes": [{"id": "a", "name": "Ask"}, {"id": "b", "name": "Bold"}]}
request = hear("session/new")
tell(id=request["id"], result={"sessionId": "s1", "modes": modes | {"currentModeId": "a"}})
prompt = hear("session/prompt")
fields = {f"f{place}": {"type": "string", "title": f"Field {place}"} for place in range(8)}
fields["fast"] = {"type": "boolean", "title": "Fast"}
parts = {"type": "string", "enum": ["a", "b"]}
fields["parts"] = {"type": "array", "items": parts, "default": ["b"]}
schema = {"type": "object", "properties": fields}
ask("elicitation/create", mode="form", message="Tell me more", requestedSchema=schema)
end(prompt)
hear("never")
"""


async def test_a_form_that_does_not_fit_says_so_and_tab_reaches_all_of_it(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(MANY_FIELDS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "mode Ask" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "↓ 6 more below" in say(app))
        # Neither key changes the mode while the form waits.
        chat_of(app).editor.focus()
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(app.focused, Input))
        first = app.focused
        chat_of(app).editor.focus()
        await pilot.press("shift+tab")
        await until(pilot, lambda: app.focused is first)
        await pilot.press(*10 * ["tab"])
        await until(pilot, lambda: isinstance(app.focused, Button))
        await pilot.press("shift+tab")
        await until(pilot, lambda: isinstance(app.focused, SelectionList))
        await until(pilot, lambda: "[ ] a" in say(app) and "[x] b" in say(app))
        assert "[ ] yes" in say(app)
        assert "more below" not in say(app)
        await pilot.press("space")
        await until(pilot, lambda: "[x] a" in say(app))
        assert "mode Ask" in say(app)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("shift+tab")
        await until(pilot, lambda: b'"session/set_mode"' in frames_of(app)[-1].data)


HIDDEN_CONSENT = """
prompt = hear_prompt()
fields = {f"f{place}": {"type": "string", "title": f"Field {place}"} for place in range(12)}
fields["d"] = {"type": "string", "default": "all", "oneOf": [
    {"const": "none", "title": "N"}, {"const": "all", "title": "All [@click=app.quit]q[/] [/]"}]}
fields["parts"] = {"type": "array", "items": {"anyOf": [{"const": "a", "title": "B [/]"}]}}
fields["consent"] = {"type": "boolean", "default": True}
schema = {"type": "object", "properties": fields}
answer = ask("elicitation/create", mode="form", message="Tell me more", requestedSchema=schema)
say("got " + json.dumps(answer["result"]["content"], sort_keys=True))
end(prompt)
hear("never")
"""


async def test_a_form_is_sent_only_once_all_of_it_was_on_the_screen(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(HIDDEN_CONSENT))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 24)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "more below" in say(app))
        shown = ""
        while not any(b'"action"' in each.data for each in frames_of(app)):
            shown += say(app)
            assert '"action"' not in shown
            await pilot.press("ctrl+s")
            await pilot.pause()
        for text in ("Field 11", "All [@click=app.quit]q[/] [/]", "[ ] B [/]", "consent"):
            assert text in shown
        await until(pilot, lambda: 'got {"consent": true, "d": "all"}' in say(app))


LONG_OF_ALL = """
prompt = hear_prompt()
tell(id=900, method="session/request_permission", params={"sessionId": "s1",
     "toolCall": {"toolCallId": "t", "title": "Run it", "rawInput": {"command": "make\\n" * 40}},
     "options": [{"optionId": "yes", "name": "Yes, " + "always " * 42, "kind": "allow_always"}]})
hear("never")
"""


async def test_the_editor_stays_in_sight_whatever_is_asked(workplace: Path, agent: Agent) -> None:
    command = command_agent(agent(LONG_OF_ALL))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(60, 24)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: "Allow this?" in say(app))
        await until(pilot, lambda: chat_of(app).editor.region.bottom <= 23)


ASKS_BETWEEN_TURNS = """
greet(authMethods=[{"id": "key", "name": "A key"}])
open_session()
tell(id=900, method="session/request_permission", params={"sessionId": "s1",
     "toolCall": {"toolCallId": "t", "title": "Run it", "rawInput": {"command": "make"}},
     "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]})
request = hear("authenticate")
tell(id=request["id"], result={})
hear("never")
"""


async def test_what_is_asked_stays_open_during_a_login(workplace: Path, agent: Agent) -> None:
    command = command_agent(agent(ASKS_BETWEEN_TURNS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: "Allow this?" in say(app))
        chat_of(app).chat.log_in("key")
        await until(pilot, lambda: b'"authenticate"' in frames_of(app)[-2].data)
        await until(pilot, lambda: chat_of(app).chat.state == "ready")
        await pilot.pause()
        assert "Allow this?" in say(app)


SETS_VARIABLES = """
greet(authMethods=[
    {"id": "env", "name": "Variables", "type": "env_var", "vars": [{"name": "KEY"}]},
    {"id": "key", "name": "A key"}])
request = hear("session/new")
tell(id=request["id"], error={"code": -32000, "message": "log in first"})
tell(id=hear("authenticate")["id"], result={})
open_session()
hear("never")
"""


async def test_escape_goes_back_from_variables_to_the_ways_to_log_in(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(SETS_VARIABLES))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, LoginView))
        await pilot.press("1")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, LoginView) and "KEY" not in say(app))
        await pilot.press("2")
        await until(pilot, lambda: "● ready" in say(app))


BROKEN_DIRECTORY = """
greet(agentCapabilities={"loadSession": True, "sessionCapabilities": {"list": {}}})
open_session()
request = hear("session/list")
sessions = [{"sessionId": "old", "cwd": "/tmp/a\\0b", "title": "Old"}]
tell(id=request["id"], result={"sessions": sessions})
hear("never")
"""


async def test_a_listed_session_in_a_broken_directory_is_refused(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(BROKEN_DIRECTORY))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f7")
        await until(pilot, lambda: "Old" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: "cannot be used" in notices(app))


LOGIN = """
is_in = False
greet(authMethods=[{"id": "key", "name": "A key", "description": "by itself"}])
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "authenticate":
            is_in = True
            tell(id=message["id"], result={})
        case "session/new" if is_in:
            tell(id=message["id"], result={"sessionId": "s1"})
        case "session/new":
            tell(id=message["id"], error={"code": -32000, "message": "log in first"})
"""


async def test_the_user_logs_in_where_the_agent_asks_for_it(workplace: Path, agent: Agent) -> None:
    app = ConsoleApp(agent=command_agent(agent(LOGIN)), start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, LoginView))
        assert "A key" in say(app)
        await pilot.press("1")
        await until(pilot, lambda: "● ready" in say(app))
        assert chat_of(app).open_prompt() is None


async def test_text_that_begins_with_a_digit_is_no_login(workplace: Path, agent: Agent) -> None:
    app = ConsoleApp(agent=command_agent(agent(LOGIN)), start="chat", cwd=workplace, timing=BURST)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, LoginView))
        for key in "1x":
            app.screen.query_one(LoginView).post_message(Key(key, key))
        await until(pilot, lambda: chat_of(app).editor.text == "1x")
        assert chat_of(app).chat.needs_login


async def test_a_login_in_the_terminal_runs_after_its_whole_command_was_agreed_to(
    workplace: Path, agent: Agent
) -> None:
    arguments = [*("--login" for _ in range(99)), "--the-end"]
    method = {"id": "it", "name": "It", "type": "terminal", "args": arguments}
    script = LOGIN.replace('[{"id": "key"', f'[{method}, {{"id": "key"')
    app = ConsoleApp(
        agent=command_agent(agent(script)), start="chat", cwd=workplace, timing=AT_ONCE
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, LoginView))
        await pilot.press("1")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        # Its end was not on the screen.
        await pilot.press("y")
        await until(pilot, lambda: "--the-end" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        assert chat_of(app).chat.needs_login
        await pilot.press("tab", "1")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y", "pagedown", "pagedown", "y")
        # There is no terminal in a test.
        await until(pilot, lambda: "did not work" in notices(app))


async def test_what_was_said_stays_where_a_session_cannot_be_loaded_again(
    workplace: Path, agent: Agent
) -> None:
    script = """
greet(agentCapabilities={"loadSession": True})
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "session/new":
            tell(id=message["id"], result={"sessionId": "s1"})
        case "session/load":
            tell(id=message["id"], error={"code": -32002, "message": "no such session"})
        case "session/prompt":
            say("an answer")
            end(message)
"""
    app = ConsoleApp(
        agent=command_agent(agent(script)), start="chat", cwd=workplace, timing=AT_ONCE
    )
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"a text", "enter")
        await until(pilot, lambda: "an answer" in say(app) and "● ready" in say(app))
        await pilot.press("f5")
        await until(pilot, lambda: "does not know the messages above" in say(app))
        assert "an answer" in say(app)
