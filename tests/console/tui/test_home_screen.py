"""What the first screen lists, filters and opens."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from textual.app import App
from textual.screen import Screen
from textual.widgets import Input

from acp_console.agents.spec import DEMO_AGENT, command_agent
from acp_console.chat.open_chats import OpenChats
from acp_console.home import Entry, recording_entries
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.screen import ChatScreen
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.help import HelpScreen
from acp_console.tui.home.screen import HomeScreen
from acp_console.tui.watch.screen import WatchScreen
from acp_inspector.control.client import RunningProxy
from tests.console.tui.conftest import LIMIT, notices, say, until
from tests.warm import WARM

RECORDINGS = Path(__file__).parents[3] / "recordings"


def highlighted(app: ConsoleApp) -> int | None:
    """Return the highlighted option of the first screen."""
    screen = app.screen
    return screen.options.highlighted if isinstance(screen, HomeScreen) else None


async def test_enter_at_home_opens_a_chat_with_the_demo_agent(workplace: Path) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: highlighted(app) is not None)
        assert "Demo agent" in say(app)
        # The footer names the key.
        await until(pilot, lambda: "Open" in say(app).splitlines()[-1])
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


async def test_typing_at_home_filters_the_agents(workplace: Path) -> None:
    agent = command_agent(["my-agent", "--acp"])
    app = ConsoleApp(agent=agent, cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "my-agent" in say(app) and "Demo agent" in say(app))
        # A question mark is help only in an empty line.
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("question_mark", "a", "question_mark")
        await until(pilot, lambda: app.screen.query_one(Input).value == "a?")
        await pilot.press("escape")
        await pilot.press(*"my-a")
        await until(pilot, lambda: "Demo agent" not in say(app))
        # What can be no path is text like any other.
        for text in ("nothing like it", "~nobody-at-all", "x" * 300):
            app.screen.query_one(Input).value = text
            await until(pilot, lambda: "Nothing matches" in say(app))
            await pilot.press("escape")
            await until(pilot, lambda: "Demo agent" in say(app))


def test_snapshots_beside_recordings_are_not_listed() -> None:
    entries = recording_entries(RECORDINGS)
    assert entries
    assert not [
        each for each in entries if "snapshot" in repr(each) or "cannot be read" in repr(each)
    ]


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
async def test_a_running_proxy_is_listed_at_home(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="acp-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        proxy = [*WARM, "-m", "acp_console", "proxy", "--name", "work", "--", "cat"]
        with subprocess.Popen(proxy, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            mentions = command_agent(["network", "--at-work"])
            app = ConsoleApp(agent=mentions, cwd=workplace)
            async with app.run_test(size=(100, 30)) as pilot:
                await until(pilot, lambda: "● work" in say(app))
                # Agents come before it, and mention it.
                await pilot.press(*"work", "enter")
                await until(pilot, lambda: isinstance(app.screen, WatchScreen))
            process.stdin.close()


async def test_it_looks_for_nothing_below_a_chat_until_it_is_shown(tmp_path: Path) -> None:
    looks: list[str] = []

    def proxies() -> list[RunningProxy]:
        looks.append("proxies")
        return []

    class Below(App[None]):
        def on_mount(self) -> None:
            home = HomeScreen((), tmp_path, OpenChats(), proxies=proxies, looks_after_s=1000)
            self.push_screen(home)
            self.push_screen(Screen[None]())

    app = Below()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert looks == []
        await app.pop_screen()
        await until(pilot, lambda: looks)
