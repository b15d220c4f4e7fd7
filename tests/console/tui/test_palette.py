"""The command palette offers what the screen in view can do, and nothing else."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.actions import parse
from textual.app import App
from textual.content import Content
from textual.dom import DOMNode
from textual.widgets import Input

import acp_console.tui
from acp_console.traffic.sources import FileSource
from acp_console.tui.app import ConsoleApp
from acp_console.tui.commands import COMMANDS, SCOPES
from acp_console.tui.home.screen import HomeScreen
from acp_console.tui.intercept.screens import DelayScreen
from acp_console.tui.palette import CommandProvider, PaletteLine, commands_of
from acp_console.tui.traffic.pane import TrafficPane
from tests.console.tui.analysis_app import recording
from tests.console.tui.chats import open_chat
from tests.console.tui.conftest import paste, say, until

HELLO = Path(__file__).parents[3] / "recordings" / "hello.acp.ndjson"


def offered(app: App[int]) -> Sequence[str]:
    """Return the ids of the commands that the palette offers on the screen in view."""
    return [command.id for _, command in CommandProvider(app.screen).available()]


async def test_home_offers_its_own_commands_only(workplace: Path) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        assert offered(app) == ["console.help", "console.quit", "console.settings", "home.open"]
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Frame" not in titles


@pytest.mark.long
async def test_modal_screen_offers_no_command_of_what_lies_below(workplace: Path) -> None:
    app = ConsoleApp(cwd=workplace, watch=[FileSource(HELLO)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        app.push_screen(DelayScreen(1))
        await until(pilot, lambda: isinstance(app.screen, DelayScreen))
        assert offered(app) == ["console.help", "console.quit", "console.settings"]


@pytest.mark.long
async def test_chat_offers_traffic_once_it_is_shown(workplace: Path) -> None:
    async with open_chat(workplace) as (app, pilot):
        assert "frames.filter" not in offered(app)
        assert "chat.alone" not in offered(app), "the screen is too narrow for it"
        await pilot.press("f2")
        await until(pilot, lambda: "frames.filter" in offered(app))


async def test_command_is_found_by_its_words_and_run(tmp_path: Path) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(recording(tmp_path))])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen.query(Input))
        await paste(pilot, "next error")
        await until(pilot, lambda: "Jump to the next error" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.screen.query_one(TrafficPane).table.cursor == 8)


def test_only_what_has_the_words_is_found() -> None:
    save = PaletteLine("Chat", "Save or export the talk", lambda: None, "^s", "Save")
    jump = PaletteLine("Chat", "Go to the next permission request", lambda: None)
    assert [each.rank(["export"]) > 0 for each in (save, jump)] == [True, False]
    # What begins with the words comes first; other words may stand anywhere.
    assert save.rank(["save"]) > save.rank(["export"]) > save.rank(["chat"]) > 0
    assert save.rank(["exp", "talk"]) > 0
    assert not save.rank(["export", "next"])


@pytest.mark.long
async def test_tabs_and_the_commands_of_the_open_one_are_offered() -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(HELLO)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen.query(Input))
        await paste(pilot, "Analysis statistics")
        await until(pilot, lambda: "Show counts, sizes and times" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "by [method]" in say(app))
        assert "statistics.by" in offered(app)
        assert "capabilities.every" not in offered(app)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen.query(Input))
        await paste(pilot, "group by method")
        await until(pilot, lambda: "Group by method, session or turn" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "[session]" in say(app))


def test_every_command_has_its_action_where_it_is_bound() -> None:
    for module in pkgutil.walk_packages(acp_console.tui.__path__, "acp_console.tui."):
        importlib.import_module(module.name)

    def below(kind: type[DOMNode]) -> list[type[DOMNode]]:
        return [each for child in kind.__subclasses__() for each in [child, *below(child)]]

    bound = {(kind, command) for kind in below(DOMNode) for command in commands_of(kind)}
    assert {command for _, command in bound} == set(COMMANDS)
    missing = [
        (kind.__name__, command.id)
        for kind, command in bound
        if not command.action.startswith("screen.")
        and not hasattr(kind, f"action_{parse(command.action)[1]}")
    ]
    assert missing == []


@pytest.mark.parametrize("width", [64, 74, 84])
def test_where_a_command_belongs_stands_at_the_end_of_its_line(width: int) -> None:
    for command in COMMANDS:
        line = PaletteLine(SCOPES[command.scope], command.help, lambda: None, command.key[:12])
        shown = line.shown(Content(command.help), width).plain
        assert shown.endswith(f"  {SCOPES[command.scope]}")
        assert cell_len(shown) == width
