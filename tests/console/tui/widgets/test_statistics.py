"""Counts as tables on the screen."""

from __future__ import annotations

from acp_console.tui.analysis.statistics_tab import counted
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.views.session_model import SessionModel
from tests.console.tui.analysis_app import EVIL, AnalysisApp, talk
from tests.console.tui.conftest import say, until


async def test_one_table_after_the_other_is_shown() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 30)) as pilot:
        app.pane.open_tab("statistics")
        await until(pilot, lambda: "by [method]" in say(app) and "fs/read_text_file" in say(app))
        assert "10 frames in" in say(app)
        await pilot.press("b")
        await until(pilot, lambda: "by method · [session]" in say(app))
        await until(pilot, lambda: app.pane.open.lines.chosen is not None)
        await pilot.press("enter")
        await until(pilot, lambda: app.targets == [4])
        await pilot.press("b")
        await until(pilot, lambda: "[turn]" in say(app) and "first output" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.targets == [4, 5])


async def test_columns_without_room_are_told() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.open_tab("statistics")
        await until(pilot, lambda: "no room for" in say(app))


def test_a_method_leads_to_a_filter_for_it_whatever_its_name() -> None:
    model = SessionModel()
    model.read(talk(EVIL))
    targets = [row.target for row in counted(model, "method").rows]
    assert "method == session/update and update == tool_call" in targets
    for target in targets:
        assert isinstance(target, str)
        assert not compile_filter(target).is_empty
