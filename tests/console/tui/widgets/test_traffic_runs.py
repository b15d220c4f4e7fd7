"""Runs of streamed updates: found near where one looks, in lists and in recordings alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_console.traffic.rows import run_row
from acp_console.traffic.runs import BLOCK, Runs
from acp_inspector.filter.entries import EntryList, EntrySequence, RecordingEntries
from acp_inspector.journal import Entry
from acp_inspector.recording.format import Header, encode_entry, encode_header
from tests.console.tui.conftest import entries, update


def chunk(text: str) -> tuple[str, dict[str, object] | bytes]:
    return update("agent_message_chunk", content={"type": "text", "text": text})


TALK: list[Entry] = [
    *entries(
        ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}),
        *map(chunk, ("One ", "two ", "[b]")),
        update("agent_thought_chunk", content={"type": "text", "text": "Hm"}),
        update("tool_call_update", toolCallId="c1", status="in_progress"),
        update("tool_call_update", toolCallId="c1", content=[]),
        update("tool_call_update", toolCallId="c2", content=[]),
        update("tool_call_update", toolCallId="c2", status="completed"),
        ("agent", b'no JSON _chunk"'),
    )
]


@pytest.fixture(params=["list", "recording"])
def heard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EntrySequence]:
    if request.param == "list":
        yield EntryList(TALK)
        return
    path = tmp_path / "a.acp.ndjson"
    path.write_bytes(encode_header(Header("", "", "")) + b"".join(map(encode_entry, TALK)))
    with RecordingEntries(path) as recording:
        yield recording.index_all()


def test_updates_of_one_message_or_call_are_a_run(heard: EntrySequence) -> None:
    runs = Runs(heard)
    spans = [(run.begin, run.end) for run in map(runs.at, range(len(heard)))]
    assert spans[:5] == [(0, 1), (1, 4), (1, 4), (1, 4), (4, 5)]
    # What ends a call has a row of its own.
    assert spans[5:] == [(5, 7), (5, 7), (7, 8), (8, 9), (9, 10)]


def test_a_run_tells_its_first_words_and_the_sum_of_its_sizes(heard: EntrySequence) -> None:
    row = run_row(heard, Runs(heard).at(2))
    assert (row.seq, row.summary) == (2, 'message ×3 "One two [b]"')
    assert row.size == sum(len(each.data) for each in TALK[1:4])  # pyright: ignore[reportAttributeAccessIssue] - all are frames
    assert row.latency == pytest.approx(0.2)


def test_a_run_is_unfolded_and_folded_by_any_of_its_rows(heard: EntrySequence) -> None:
    runs = Runs(heard)
    assert runs.toggle(0) is None
    assert runs.toggle(2) is True
    assert [runs.at(row).is_folded for row in (1, 2, 3)] == [False, False, False]
    assert runs.toggle(3) is False
    assert runs.at(1).is_folded


def test_a_run_grows_as_its_updates_come() -> None:
    heard = EntryList(TALK[:2])
    runs = Runs(heard)
    assert not runs.at(1).is_folded
    heard.extend(TALK[2:4])
    assert (runs.at(1).begin, runs.at(1).end) == (1, 4)


def test_no_run_is_longer_than_what_is_read_to_find_it() -> None:
    runs = Runs(EntryList(entries(*[chunk("x")] * (BLOCK + 9))))
    assert (runs.at(5).begin, runs.at(5).end) == (0, BLOCK)
    assert (runs.at(BLOCK).begin, runs.at(BLOCK).end) == (BLOCK, BLOCK + 9)
