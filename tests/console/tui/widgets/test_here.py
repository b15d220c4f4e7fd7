"""The conversation as it stood at a frame, and what that frame did."""

from __future__ import annotations

from acp_console.tui.analysis.state_tab import ITEMS, state_at_frame
from acp_inspector.views.session_model import SessionModel
from tests.console.tui.analysis_app import EVIL, AnalysisApp, analysed, talk
from tests.console.tui.conftest import entries, say, until, update


def told(model: SessionModel, n: int | None) -> tuple[list[str], list[str]]:
    """Return the changes and the lines."""
    found = state_at_frame(model, n)
    return (
        ["".join(text for _, text in line.parts) for line in found.changes],
        ["".join(text for _, text in line.parts) for line in found.lines],
    )


def test_it_is_as_it_was_and_what_the_frame_changed_is_told() -> None:
    model = analysed(talk())
    changes, lines = told(model, 6)
    assert any(line.startswith("+") and "Reading hi." in line for line in changes)
    assert any("Reading hi." in line for line in lines)
    assert not any("Edit" in line for line in lines)
    assert any("Edit hi" in line for line in told(model, None)[1])
    assert told(model, 1)[0] == ["This frame changed nothing in a conversation."]


def test_a_frame_that_was_not_studied_yet_is_not_guessed_at() -> None:
    found = state_at_frame(analysed(talk()[:5]), 9)
    assert (found.analysed, found.lines) == (5, ())


def test_of_a_long_conversation_the_end_is_told() -> None:
    calls = [update("tool_call", toolCallId=f"c{n}", title=f"call {n}") for n in range(ITEMS + 30)]
    _, lines = told(analysed(entries(*calls)), None)
    assert "  … 30 earlier items" in lines
    assert any(f"call {ITEMS + 29}" in line for line in lines)


async def test_another_frame_is_shown_when_it_is_chosen() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.chosen = 6
        app.pane.open_tab("here")
        await until(pilot, lambda: "agent: Reading hi." in say(app))
        assert "After frame 6" in say(app)
        app.pane.chosen = 5
        await until(pilot, lambda: "After frame 5 (" in say(app))
        assert "agent: Reading hi." not in say(app)
        await pilot.press("right", "left")
        await until(pilot, lambda: app.steps == [1, -1])
        app.pane.chosen = 99
        await until(pilot, lambda: "Not analysed yet: the analysis has reached 10" in say(app))


async def test_what_was_said_is_no_markup_and_no_command() -> None:
    app = AnalysisApp(talk(EVIL))
    async with app.run_test(size=(140, 40)) as pilot:
        app.pane.open_tab("here")
        await until(pilot, lambda: "[b]red[/b]" in say(app))
        assert "\x1b" not in say(app)
