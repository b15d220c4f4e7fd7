"""The line below the rows: all of the traffic at a glance, and a way to any place in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from acp_console.traffic.model import TrafficModel
from acp_console.traffic.overview import Overview, Span, levels
from acp_console.tui.traffic.minimap import Minimap
from acp_console.tui.traffic.pane import TrafficPane
from acp_inspector.filter.entries import EntryList, RecordingEntries
from acp_inspector.journal import Entry
from acp_inspector.lint.engine import Linter
from acp_inspector.recording.format import Header, encode_entry, encode_header
from tests.console.tui.conftest import entries, say, until, update

PERMISSION = {"sessionId": "s1", "toolCall": {"toolCallId": "c1"}}
# A tenth of a second lies between two entries.
TALK: list[Entry] = [
    *entries(
        ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}),
        *[update("plan", entries=[]) for _ in range(9)],
        ("agent", {"id": 1, "method": "session/request_permission", "params": PERMISSION}),
        *[update("plan", entries=[]) for _ in range(8)],
        ("client", {"id": 1, "result": {"outcome": {"outcome": "cancelled"}}}),
        *[update("plan", entries=[]) for _ in range(19)],
        ("agent", {"id": 1, "error": {"code": -32603, "message": "no"}}),
    )
]


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def searched(overview: Overview) -> Overview:
    while overview.step():
        pass
    return overview


def test_errors_and_waits_are_told_where_they_are() -> None:
    spans = searched(Overview(EntryList(TALK))).spans(4)
    assert [span.count for span in spans] == [10, 10, 10, 10]
    assert [span.has_error for span in spans] == [False, False, False, True]
    assert [span.is_wait for span in spans] == [False, True, False, False]


def test_a_recording_is_divided_like_what_is_live(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    lines = [encode_header(Header("", "", "")), *map(encode_entry, TALK)]
    path.write_bytes(b"".join([*lines, b'{"end":{"frames":40},"digest":""}\n']))
    with RecordingEntries(path).index_all() as recording:
        spans = searched(Overview(recording)).spans(4)
        assert [span.is_wait for span in spans] == [False, True, False, False]
        assert [span.has_error for span in spans] == [False, False, False, True]


def test_what_breaks_a_rule_is_shown_where_it_is_and_its_proof_is_not() -> None:
    view = TrafficModel(EntryList(TALK))
    overview = Overview(view.entries, None, view.annotations, view.row_of)
    linter = Linter()
    view.annotations.add_findings(found for entry in TALK for found in linter.feed(entry))
    places = {(n - 1) // 10: view.annotations.mark(n) for n in view.annotations.after(0)}
    assert places
    spans = overview.spans(4)
    assert {place: span.finding for place, span in enumerate(spans) if span.finding} == places


@pytest.mark.parametrize(
    ("counts", "heights"),
    [
        ([0, 0], [0, 0]),
        ([0, 1, 1, 0], [0, 1, 1, 0]),
        ([1, 2, 0, 40], [1, 2, 0, 7]),
        ([3000, 3300, 4100], [1, 1, 2]),
        ([20, 400, 9000], [1, 4, 7]),
    ],
)
def test_traffic_that_is_alike_everywhere_is_flat(counts: list[int], heights: list[int]) -> None:
    assert levels([Span(0, count) for count in counts]) == heights


def test_what_comes_later_is_counted_later() -> None:
    heard = EntryList(TALK[:5])
    overview = searched(Overview(heard))
    assert not any(span.has_error for span in overview.spans(3))
    heard.extend(TALK[5:])
    assert any(span.has_error for span in searched(overview).spans(3))


def test_a_mark_is_shown_where_it_is() -> None:
    view = TrafficModel(EntryList(TALK))
    overview = Overview(view.entries, view.marks)
    assert not any(span.is_marked for span in overview.spans(4))
    view.marks.set(25)
    assert [span.is_marked for span in overview.spans(4)] == [False, False, True, False]


def test_where_nothing_was_said_there_are_no_places() -> None:
    assert Overview(EntryList()).spans(80) == []


class PaneApp(App[None]):
    """An app with nothing but the pane."""

    def compose(self) -> ComposeResult:
        yield TrafficPane()

    def on_mount(self) -> None:
        self.query_one(TrafficPane).extend(TALK)


async def test_a_click_leads_to_what_was_said_then() -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 40)) as pilot:
        pane = app.query_one(TrafficPane)
        await until(pilot, lambda: "✗" in say(app) and "░" in say(app).splitlines()[-18])
        await pilot.click(Minimap, offset=(0, 0))
        await until(pilot, lambda: pane.table.chosen == 1)
        await pilot.click(Minimap, offset=(50, 0))
        await until(pilot, lambda: 18 <= (pane.table.chosen or 0) <= 22)


async def test_it_is_drawn_again_after_it_was_hidden() -> None:
    """While it is hidden it has no width."""
    app = PaneApp()
    async with app.run_test(size=(100, 40)) as pilot:
        pane = app.query_one(TrafficPane)
        await until(pilot, lambda: "░" in say(app).splitlines()[-18])
        pane.map.display = False
        await until(pilot, lambda: pane.map.size.width == 0)
        pane.map.sync(3)
        pane.map.display = True
        await until(pilot, lambda: "░" in say(app).splitlines()[-18])
