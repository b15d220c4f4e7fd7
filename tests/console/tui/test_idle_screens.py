"""Screens on which nothing happens do nothing: no timer goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.message_pump import MessagePump

from acp_console.agents.spec import DEMO_AGENT
from acp_console.traffic.comparison import recording_source
from acp_console.traffic.sources import FileSource
from acp_console.tui.analysis.pane import TITLES, AnalysisPane
from acp_console.tui.app import ConsoleApp
from acp_console.tui.compare.screen import CompareScreen
from tests.console.tui.analysis_app import recording
from tests.console.tui.conftest import say, until


def ticking(app: App[Any]) -> list[str]:
    """Return the timers that wait for their next tick, on all screens."""
    owners: list[MessagePump] = [app, *app.screen_stack]
    owners += [each for screen in app.screen_stack for each in screen.query("*")]
    timers = [timer for owner in owners for timer in owner._timers]  # pyright: ignore[reportPrivateUsage] - there is no other way to see them
    return [
        repr(timer)
        for timer in timers
        if timer._task is not None and not timer._task.done() and timer._active.is_set()  # pyright: ignore[reportPrivateUsage]
    ]


async def test_nothing_ticks_at_home(workplace: Path) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "Demo agent" in say(app))
        await until(pilot, lambda: not ticking(app))


@pytest.mark.long
async def test_nothing_ticks_in_a_chat_without_a_turn_nor_beside_it(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(160, 40)) as pilot:
        for keys, shown in (
            ((), "● ready"),
            (("ctrl+t",), "─ Traffic ─"),
            (("5",), "rules applied"),
            (("9",), "Now: no request"),
        ):
            await pilot.press(*keys)
            await until(pilot, lambda: shown in say(app))  # noqa: B023 - it is waited for at once
            await until(pilot, lambda: not ticking(app))


@pytest.mark.long
async def test_nothing_ticks_beside_a_recording(tmp_path: Path) -> None:
    app = ConsoleApp(cwd=tmp_path, watch=[FileSource(recording(tmp_path))])
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "53 entries" in say(app) and "finding" in say(app))
        await until(pilot, lambda: not ticking(app))
        tabs = app.screen.query_one(AnalysisPane)
        for name, title in TITLES.items():
            await pilot.press(title[0])
            await until(pilot, lambda: tabs.open_name == name and "finding" in say(app))  # noqa: B023 - it is waited for at once
            await until(pilot, lambda: not ticking(app))


async def test_nothing_ticks_behind_a_comparison(tmp_path: Path) -> None:
    source = recording_source(recording(tmp_path))
    app = ConsoleApp(cwd=tmp_path)
    async with app.run_test(size=(160, 40)) as pilot:
        await app.push_screen(CompareScreen(source, source))
        await until(pilot, lambda: "equal steps" in say(app))
        await until(pilot, lambda: not ticking(app))
