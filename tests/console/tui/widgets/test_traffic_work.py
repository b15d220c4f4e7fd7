"""Work in the background: in slices, left at any moment, on files that grow and change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from acp_console.traffic.model import TrafficModel
from acp_console.traffic.scanner import (
    NO_MATCH,
    FilterStaleness,
    TrafficScanner,
)
from acp_console.tui.traffic.pane import TrafficPane
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.entries import EntryList, RecordingEntries
from acp_inspector.filter.patterns import BoundedRegex
from acp_inspector.lint.engine import lint
from acp_inspector.recording.format import Header, RecordingError, encode_entry, encode_header
from acp_inspector.views.annotations import FrameNotes
from tests.console.tui.conftest import entries, say, until, update
from tests.console.tui.widgets.test_traffic import PaneApp

HEAD = encode_header(Header("", "", ""))
LINES = [
    encode_entry(entry)
    for entry in entries(
        *[update("agent_message_chunk", content={"type": "text", "text": "x"}) for _ in range(30)]
    )
]


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.acp.ndjson"
    path.write_bytes(HEAD + b"".join(LINES))
    return path


@pytest.fixture
def recording(path: Path) -> Iterator[RecordingEntries]:
    with RecordingEntries(path) as recording:
        yield recording


scanner = partial(TrafficScanner, step_bytes=300)
"""Reads a recording in small steps."""


def finish(work: TrafficScanner) -> int:
    """Work until nothing is left to do; return how many slices that took."""
    slices = 1
    # A slice that is over at once does one step.
    while work.run(0.000_001):
        slices += 1
    return slices


def test_a_recording_is_read_piece_by_piece(recording: RecordingEntries) -> None:
    work = scanner(TrafficModel(recording))
    assert work.run(0.000_001)
    while not len(recording):
        # The header is a piece of its own.
        assert work.run(0.000_001)
    assert len(recording) < 30
    assert finish(work) > 5
    assert (len(recording), recording.is_complete) == (30, True)


def test_reading_filtering_and_searching_do_not_wait_for_each_other(
    recording: RecordingEntries,
) -> None:
    view = TrafficModel(recording)
    work = scanner(view)
    view.filter(compile_filter("n in (2..4, 20)"))
    while not len(view):
        assert work.run(0.000_001)
    assert not recording.is_complete
    finish(work)
    assert [view.row_at(position) for position in range(len(view))] == [1, 2, 3, 19]


def test_a_search_tells_once_what_it_has_found(recording: RecordingEntries) -> None:
    work = scanner(TrafficModel(recording.index_all()))
    work.search(compile_filter("n == 25"), 3, is_forward=True)
    assert work.is_searching
    finish(work)
    assert (work.take_found(), work.take_found()) == (24, None)
    work.search(compile_filter("n == 25"), 25, is_forward=True)
    finish(work)
    assert work.take_found() == NO_MATCH
    work.search(compile_filter("n == 25"), 25, is_forward=True, turns=True)
    finish(work)
    assert work.take_found() == 24


@pytest.mark.parametrize(
    ("count", "wanted", "said"),
    [(1, "", "1 entry"), (1, "n == 1", "1 of 1 entry"), (30, "n == 1", "1 of 30 entries")],
)
def test_rows_are_counted_in_words(path: Path, count: int, wanted: str, said: str) -> None:
    path.write_bytes(HEAD + b"".join(LINES[:count]))
    with RecordingEntries(path) as recording:
        view = TrafficModel(recording)
        work = scanner(view)
        view.filter(compile_filter(wanted))
        finish(work)
        assert work.status() == [said]


def test_a_search_that_was_stopped_finds_nothing(recording: RecordingEntries) -> None:
    work = scanner(TrafficModel(recording.index_all()))
    work.search(compile_filter("n == 25"), 3, is_forward=True)
    work.stop_search()
    finish(work)
    assert work.take_found() is None


def test_a_file_that_grows_is_read_on(recording: RecordingEntries, path: Path) -> None:
    view = TrafficModel(recording)
    work = scanner(view)
    view.filter(compile_filter("from == agent"))
    finish(work)
    assert not work.poll()
    with path.open("ab") as file:
        file.write(LINES[0])
    assert work.poll()
    finish(work)
    assert len(view) == 31


def test_a_file_that_became_shorter_is_another_one(recording: RecordingEntries, path: Path) -> None:
    view = TrafficModel(recording)
    work = scanner(view)
    view.filter(compile_filter("from == agent"))
    finish(work)
    path.write_bytes(HEAD + LINES[0])
    assert work.poll()
    assert (work.take_replaced(), work.take_replaced()) == (True, False)
    finish(work)
    assert len(view) == 1


def test_a_file_may_become_shorter_while_it_is_read(
    recording: RecordingEntries, path: Path
) -> None:
    view = TrafficModel(recording)
    work = scanner(view)
    view.filter(compile_filter("from == agent"))
    while len(recording) < 9:
        work.run(0.000_001)
    path.write_bytes(HEAD + LINES[0])
    finish(work)
    assert work.take_replaced()
    assert len(view) == 1


def test_a_file_that_cannot_be_read_on_is_told(
    recording: RecordingEntries, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = scanner(TrafficModel(recording))
    recording.close()
    monkeypatch.setattr(RecordingEntries, "index_more", _fail)
    assert not work.run(1.0)
    assert str(work.problem) == "the disk is gone"
    assert not work.poll()


def _fail(recording: RecordingEntries, step: int) -> bool:
    del recording, step
    raise RecordingError("the disk is gone")


def test_a_filter_looks_again_when_more_is_known_of_what_it_asks_for() -> None:
    said = entries(("agent", {"id": 1, "result": {}}))
    view = TrafficModel(EntryList(said))
    staleness = FilterStaleness(view)

    def is_stale() -> bool:
        staleness.see_findings()
        was_stale, staleness.is_stale = staleness.is_stale, False
        return was_stale

    for text, knows in [
        ("finding", lambda: view.annotations.add_findings(lint(said).findings)),
        ("turn == 1", lambda: view.annotations.add_entry(said[0], FrameNotes(turn=1))),
        ("pending", staleness.see_growth),
    ]:
        view.filter(compile_filter(text))
        for _ in view.run():
            pass
        assert not is_stale()
        knows()
        assert is_stale()
        assert not is_stale()
        view.filter(compile_filter("id == 1"))
        knows()
        assert not is_stale()


async def test_a_pattern_that_takes_too_long_is_told_below_the_rows() -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 24)) as pilot:
        pane = app.query_one(TrafficPane)
        pane.extend(entries(("client", {"method": "a" * 60 + "b"})))
        pane.bar.set_filter("/((a|a)+)+$/")
        await until(pilot, lambda: "a pattern takes too long" in say(app))


@pytest.mark.long
async def test_while_a_pattern_is_tried_keys_are_heard_and_another_filter_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_tried, may_end = threading.Event(), threading.Event()

    def is_found_in(self: BoundedRegex[str], text: str) -> bool:
        del self, text
        is_tried.set()
        return may_end.wait(60)

    app = PaneApp()
    async with app.run_test(size=(100, 24)) as pilot:
        pane = app.query_one(TrafficPane)
        monkeypatch.setattr(BoundedRegex, "is_found_in", is_found_in)
        pane.bar.set_filter("/endless/")
        await until(pilot, is_tried.is_set)
        await until(pilot, lambda: "0 of 4 entries · 0 % checked" in say(app))
        await pilot.press("slash", *(["backspace"] * 9), *"stopReason")
        await until(pilot, lambda: "1 of 4 entries" in say(app))
        assert not may_end.is_set()
        may_end.set()
