"""Who waits for whom, on the screen."""

from __future__ import annotations

from acp_console.tui.analysis.waiting_tab import MAX_LINES, waiting
from acp_inspector.journal import JournalEvent
from tests.console.tui.analysis_app import AnalysisApp, analysed, talk
from tests.console.tui.conftest import entries, say, until


async def test_what_waits_stands_above_what_it_waits_for() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 30)) as pilot:
        app.pane.is_untouched, app.pane.chosen = False, 10
        app.pane.open_tab("waiting")
        await until(pilot, lambda: "└── the agent waits for you" in say(app))
        assert "After frame 10" in say(app)
        assert "2 waits" in say(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.targets == [10])
        app.pane.chosen = 4
        await until(pilot, lambda: "no request is pending" in say(app))
        app.pane.chosen = 40
        await until(pilot, lambda: "Not analysed yet" in say(app))


async def test_a_recording_is_looked_at_from_its_end_until_the_cursor_moves() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 30)) as pilot:
        app.pane.chosen = 1
        app.pane.open_tab("waiting")
        await until(pilot, lambda: "Never answered: 2 requests · at the end" in say(app))
        assert "└── the agent waits for you: session/request_permission" in say(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.targets == [10])
        app.pane.is_untouched, app.pane.chosen = False, 2
        await until(pilot, lambda: "After frame 2" in say(app))
        assert "never answered: 2 requests" in say(app)
        assert "the agent got no response: session/request_permission" in say(app)
        await pilot.press("e")
        await until(pilot, lambda: "at the end" in say(app))
        app.pane.chosen = 3
        await until(pilot, lambda: "After frame 3" in say(app))


def test_what_waits_for_the_end_of_a_program_says_which_command_runs() -> None:
    command = {"sessionId": "s1", "command": "pytest", "args": ["-q"]}
    wait = {"sessionId": "s1", "terminalId": "t"}
    model = analysed(
        [
            *talk()[:5],
            *entries(
                ("agent", {"id": 9, "method": "terminal/create", "params": command}),
                ("client", {"id": 9, "result": {"terminalId": "t"}}),
                ("agent", {"id": 10, "method": "terminal/wait_for_exit", "params": wait}),
            ),
        ]
    )
    said = ["".join(text for _, text in line.parts) for line in waiting(model, None, None).lines]
    assert "└── the agent waits for a program: terminal/wait_for_exit 10 “pytest -q”" in said[1]


async def test_what_may_still_be_answered_was_not_left_unanswered() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 30)) as pilot:
        app.pane.chosen, app.now = 1, 9.0
        app.pane.open_tab("waiting")
        await until(pilot, lambda: "After frame 1" in say(app))
        assert "never answered" not in say(app)


def test_a_request_of_an_agent_that_has_left_was_never_answered() -> None:
    asked = entries(("agent", {"id": 1, "method": "fs/read_text_file", "params": {"path": "a"}}))
    over = [JournalEvent(2, 1.0, "exit", {"code": 1}), JournalEvent(3, 2.0, "spawn", {"pid": 1})]
    found = waiting(analysed([*asked, *over]), 3, None, is_over=True)
    assert found.unanswered == 1
    assert found.unanswered_lines[0].target == 1


async def test_time_goes_on_while_somebody_may_answer() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 30)) as pilot:
        app.now = 5.5
        app.pane.open_tab("waiting")
        await until(pilot, lambda: "for 5.00 s" in say(app))
        assert "Now: 2 waits" in say(app)
        app.now = 65.5
        await until(pilot, lambda: "for 0:01:05" in say(app))


def test_nothing_has_waited_longer_than_there_was_time() -> None:
    model = analysed(talk())
    assert waiting(model, None, -100.0).lines == waiting(model, None, None).lines


def test_of_very_many_the_first_are_told() -> None:
    asked = [("agent", {"id": n, "method": "fs/read_text_file"}) for n in range(MAX_LINES + 100)]
    found = waiting(analysed(entries(*asked)), None, None)
    assert len(found.lines) == MAX_LINES + 1
    assert f"{found.waits:,}".replace(",", " ") in found.lines[-1].parts[0][1]
