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
def test_questions_and_answers_know_each_other_however_they_come(step: int) -> None:
    heard = EntryList()
    for first in range(0, len(TALK), step):
        heard.extend(TALK[first : first + step])
    assert [heard.request_row(row) for row in range(6)] == [None, None, None, 0, 1, None]
    assert [heard.response_row(row) for row in range(6)] == [3, 4, None, None, None, None]


def test_facts_are_known_from_the_other_half() -> None:
    heard = EntryList(TALK)
    facts = fields_of_row(heard, 4, heard[4])
    assert (facts.method, facts.session) == ("fs/read_text_file", "s1")
    assert not fields_of_row(heard, 0, heard[0]).is_pending
    assert fields_of_row(EntryList(TALK[:3]), 0, TALK[0]).is_pending
    assert fields_of_row(heard, 4, heard[4], is_alone=True).method is None
    assert fields_of_row(heard, 0, StderrChunk(9, 0.0, b"x")).kind == "stderr"


def test_what_passes_knows_its_question_and_forgets_it() -> None:
    passing = StreamedFrames()
    asked = [[e.request_frame.seq for e in passing.add_frame(frame).open()] for frame in TALK]
    assert asked == [[], [], [], [1], [2], []]


def test_with_another_process_come_other_questions() -> None:
    spawn = JournalEvent(9, 0.9, "spawn", {})
    assert EntryList([*TALK[:2], spawn, *TALK[3:]]).request_row(3) is None
    passing = StreamedFrames()
    for frame in TALK[:2]:
        passing.add_frame(frame)
    passing.add_event(JournalEvent(8, 0.8, "mark", {}))
    passing.add_event(spawn)
    assert passing.add_frame(TALK[3]).all == []


def test_only_so_many_open_questions_are_kept() -> None:
    passing = StreamedFrames(max_waiting=2)
    for n in range(1, 4):
        raw = b'{"jsonrpc":"2.0","id":%d,"method":"a"}' % n
        passing.add_frame(Frame(n, 0.0, "client", raw))
    told = [Frame(9, 0.0, "agent", b'{"jsonrpc":"2.0","id":%d,"result":1}' % n) for n in (1, 3)]
    assert [len(passing.add_frame(frame).all) for frame in told] == [0, 1]
