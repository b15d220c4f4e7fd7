"""The analysis beside the traffic: its tabs, how far it has come, and how it looks."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from acp_console.tui.analysis.pane import TITLES
from tests.console.tui.analysis_app import AnalysisApp, talk
from tests.console.tui.conftest import entries, notices, say, settled, until

SHOWN = {
    "here": "permission: open",
    "waterfall": "permission Edit hi",
    "statistics": "fs/read_text_file",
    "waiting": "waits for you",
    "capabilities": "used without a claim",
}


# The findings count the rules there are; their text is asserted beside them.
@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in TITLES if name != "findings"])
async def test_each_tab_looks_as_it_should(name: str, picture: SnapshotAssertion) -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 40)) as pilot:
        app.pane.is_untouched, app.pane.chosen = False, 10
        app.pane.open_tab(name)
        await until(pilot, lambda: SHOWN[name] in say(app))
        await until(pilot, lambda: not app.pane.border_subtitle)
        assert await settled(pilot) == picture


@pytest.mark.parametrize("name", list(TITLES))
async def test_where_nothing_was_said_each_tab_says_so(name: str) -> None:
    app = AnalysisApp([])
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.open_tab(name)
        await until(pilot, lambda: "No traffic yet." in say(app))


async def test_only_the_open_tab_is_reckoned_for() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.open_tab("findings")
        await until(pilot, lambda: app.folds.linter.progress.read == 10)
        assert not app.folds.model.is_started
        app.pane.open_tab("here")
        await until(pilot, lambda: app.folds.model.progress.read == 10)
        assert not app.folds.linter.is_wanted


async def test_how_far_it_has_come_is_told_and_it_stops_and_goes_on() -> None:
    app = AnalysisApp([])
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.open_tab("statistics")
        await until(pilot, lambda: app.folds.model.progress.is_whole)
        app.folds.model.pause()
        app.extend(talk())
        await until(pilot, lambda: "analysed 0 of 10 frames, p continues" in say(app))
        await pilot.press("p")
        await until(pilot, lambda: "10 frames in" in say(app))
        assert "analysed" not in say(app)


async def test_what_comes_later_is_shown() -> None:
    said = talk()
    app = AnalysisApp(said[:4])
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.open_tab("waiting")
        await until(pilot, lambda: "no request is pending" in say(app))
        app.extend(said[4:])
        await until(pilot, lambda: "waits for you" in say(app))


async def test_a_line_that_is_about_no_frame_leads_nowhere_and_escape_leads_back() -> None:
    app = AnalysisApp(entries())
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.open_tab("here")
        await until(pilot, lambda: "No traffic yet." in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: notices(app) == "This line belongs to no frame")
        assert not app.targets
        await pilot.press("escape")
        await until(pilot, lambda: app.has_left)
