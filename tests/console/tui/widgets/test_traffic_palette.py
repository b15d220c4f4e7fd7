"""What keys do to the rows can be done from the palette too."""

from __future__ import annotations

from pathlib import Path

from acp_console.tui.app import ConsoleApp
from acp_console.tui.commands import COMMANDS
from acp_console.tui.sources import FileSource
from acp_console.tui.widgets.traffic import TrafficPane
from tests.console.tui.conftest import say, until
from tests.console.tui.studied import recording


async def test_a_deed_is_found_by_its_words_and_done(tmp_path: Path) -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(recording(tmp_path))])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await pilot.press("ctrl+p", *"next error")
        await until(pilot, lambda: "Traffic: Error" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.screen.query_one(TrafficPane).table.cursor == 8)


def test_every_deed_has_its_action() -> None:
    deeds = [command.action.partition("(")[0] for command in COMMANDS if command.scope == "traffic"]
    assert [deed for deed in deeds if not hasattr(TrafficPane, f"action_{deed}")] == []
