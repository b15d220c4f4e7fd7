"""Entries by their place, and entries that only pass: both know who answers whom."""

from __future__ import annotations

import pytest

from acp_inspector.filter.entries import EntryList, StreamedFrames, fields_of_row
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from tests.inspector.talks import answer, ask, chunk, frames

TALK = frames(
    ask("client", 1, "session/prompt", sessionId="s1"),
    ask("agent", 1, "fs/read_text_file", sessionId="s1", path="/a"),
    chunk("hello"),
    answer("agent", 1, {"stopReason": "end_turn"}),
    answer("client", 1, {"content": ""}),
    answer("agent", 7, {}),
)


@pytest.mark.parametrize("step", [1, 2, 6])
def test_requests_and_responses_are_paired_in_any_order(step: int) -> None:
    entries = EntryList()
    for first in range(0, len(TALK), step):
        entries.extend(TALK[first : first + step])
    assert [entries.request_row(row) for row in range(6)] == [None, None, None, 0, 1, None]
    assert [entries.response_row(row) for row in range(6)] == [3, 4, None, None, None, None]


def test_facts_are_known_from_the_other_half() -> None:
    entries = EntryList(TALK)
    fields = fields_of_row(entries, 4, entries[4])
    assert (fields.method, fields.session) == ("fs/read_text_file", "s1")
    assert not fields_of_row(entries, 0, entries[0]).is_pending
    assert fields_of_row(EntryList(TALK[:3]), 0, TALK[0]).is_pending
    assert fields_of_row(entries, 4, entries[4], is_alone=True).method is None
    assert fields_of_row(entries, 0, StderrChunk(9, 0.0, b"x")).kind == "stderr"


def test_a_streamed_response_gets_its_request_once() -> None:
    passing = StreamedFrames()
    requested = [[e.request_frame.seq for e in passing.add_frame(frame).open()] for frame in TALK]
    assert requested == [[], [], [], [1], [2], []]


def test_a_new_connection_forgets_pending_requests() -> None:
    spawn = JournalEvent(9, 0.9, "spawn", {})
    assert EntryList([*TALK[:2], spawn, *TALK[3:]]).request_row(3) is None
    passing = StreamedFrames()
    for frame in TALK[:2]:
        passing.add_frame(frame)
    passing.add_event(JournalEvent(8, 0.8, "mark", {}))
    passing.add_event(spawn)
    assert passing.add_frame(TALK[3]).all == []


def test_the_number_of_pending_requests_is_limited() -> None:
    passing = StreamedFrames(max_waiting=2)
    for n in range(1, 4):
        raw = b'{"jsonrpc":"2.0","id":%d,"method":"a"}' % n
        passing.add_frame(Frame(n, 0.0, "client", raw))
    reported = [Frame(9, 0.0, "agent", b'{"jsonrpc":"2.0","id":%d,"result":1}' % n) for n in (1, 3)]
    assert [len(passing.add_frame(frame).all) for frame in reported] == [0, 1]
