"""Findings on the screen: grave ones first, by severity, and explained."""

from __future__ import annotations

import re

from acp_console.tui.analysis.findings_tab import findings_of
from acp_inspector.lint.engine import Linter
from acp_inspector.views.annotations import SEVERITIES
from tests.console.tui.analysis_app import EVIL, AnalysisApp, talk
from tests.console.tui.conftest import entries, say, until, update

LOST: tuple[str, object] = ("agent", {"id": "lost", "result": {}})


async def test_findings_come_with_severity_rule_frames_and_fix() -> None:
    app = AnalysisApp(entries(LOST))
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.open_tab("findings")
        await until(pilot, lambda: "unknown-response-id" in say(app))
        assert "E unknown-response-id  #1" in say(app)
        assert "rules applied to this recording" in say(app)
        app.pane.open.lines.choose(0)
        await until(pilot, lambda: "Fix " in say(app))
        assert "Rule " in say(app)
        assert "Frames  #1" in say(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.targets == [1])


async def test_a_place_is_spelled_as_filters_spell_it() -> None:
    diff = {"type": "diff", "path": "a.py", "newText": "y"}
    hello = {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    linter = Linter()
    said = entries(
        ("client", hello),
        ("agent", {"id": 1, "result": {"protocolVersion": 1}}),
        update("tool_call", toolCallId="t", title="Edit", content=[diff]),
    )
    for entry in said:
        linter.feed(entry)
    rules = [finding.rule.name for finding in findings_of(linter).findings]
    app = AnalysisApp(said)
    async with app.run_test(size=(140, 30)) as pilot:
        app.pane.open_tab("findings")
        await until(pilot, lambda: "relative-diff-path" in say(app))
        lines = [line for line in say(app).splitlines() if re.search(r" [EWI] [a-z-]+ +#", line)]
        assert len(lines) > 1
        assert len({line.index("#") for line in lines}) == 1
        app.pane.open.lines.choose(rules.index("relative-diff-path"))
        await until(pilot, lambda: "at $.params.update.content[0].path" in say(app))


async def test_the_finding_that_a_frame_is_about_is_gone_to() -> None:
    app = AnalysisApp(entries(LOST, LOST, ("agent", b"{"), LOST))
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.open_tab("findings", at=4)
        await until(pilot, lambda: "Frames  #4" in say(app))
        app.pane.open_tab("findings", at=2)
        await until(pilot, lambda: "Frames  #2" in say(app))
        app.pane.open_tab("findings", at=99)
        await until(pilot, lambda: "Frames  #2" in say(app))


async def test_severities_are_hidden_and_shown_again() -> None:
    app = AnalysisApp(entries(LOST))
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.open_tab("findings")
        await until(pilot, lambda: "unknown-response-id" in say(app))
        await pilot.press("e")
        await until(pilot, lambda: "errors hidden" in say(app) or "error hidden" in say(app))
        assert "unknown-response-id" not in say(app)
        await pilot.press("w", "i")
        await until(pilot, lambda: "No finding of these severities" in say(app))
        await pilot.press("e")
        await until(pilot, lambda: "unknown-response-id" in say(app))


async def test_what_is_quoted_from_the_wire_is_made_visible() -> None:
    app = AnalysisApp(entries(("agent", {"id": EVIL, "result": EVIL})))
    async with app.run_test(size=(140, 30)) as pilot:
        app.pane.open_tab("findings")
        await until(pilot, lambda: "[b]red[/b]" in say(app))
        assert "\x1b" not in say(app)
        assert "\u202e" not in say(app)


async def test_a_connection_that_goes_on_is_not_judged_by_its_end() -> None:
    app = AnalysisApp(talk(), is_over=False)
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.open_tab("findings")
        await until(pilot, lambda: "connection open" in say(app))


def test_the_gravest_come_first_and_are_counted() -> None:
    linter = Linter(limit=1)
    for entry in entries(LOST, LOST, LOST, ("agent", b"")):
        linter.feed(entry)
    found = findings_of(linter)
    order = [SEVERITIES.index(each.severity) for each in found.findings]
    assert order == sorted(order, reverse=True)
    assert found.counts == linter.report.counts
    assert found.omitted == found.counts.total() - len(found.findings) > 0
    assert 0 < found.exercised < found.applied


async def test_findings_are_listed_by_severity_or_by_frame() -> None:
    app = AnalysisApp(entries(LOST, ("agent", b"{"), LOST))

    def frames() -> list[str]:
        found = (
            re.search(r"^\S* ?[EWI] \S+ +#(\d)", line.strip()) for line in say(app).splitlines()
        )
        return [each[1] for each in found if each]

    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.open_tab("findings")
        await until(pilot, lambda: sorted(frames()) == ["1", "2", "3"])
        assert frames() != ["1", "2", "3"]
        app.pane.open.focus_content()
        await pilot.press("s")
        await until(pilot, lambda: frames() == ["1", "2", "3"])
