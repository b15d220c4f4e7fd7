"""Entries by their place, and entries that only pass: both know who answers whom."""

from __future__ import annotations

import pytest

from acp_inspector.filter.entries import EntryList, PassingFrames, facts_of
from acp_inspector.journal import Frame, JournalEvent, StderrText
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
    assert [heard.question_of(row) for row in range(6)] == [None, None, None, 0, 1, None]
    assert [heard.answer_of(row) for row in range(6)] == [3, 4, None, None, None, None]


def test_facts_are_known_from_the_other_half() -> None:
    heard = EntryList(TALK)
    facts = facts_of(heard, 4, heard[4])
    assert (facts.method, facts.session) == ("fs/read_text_file", "s1")
    assert not facts_of(heard, 0, heard[0]).is_pending
    assert facts_of(EntryList(TALK[:3]), 0, TALK[0]).is_pending
    assert facts_of(heard, 4, heard[4], is_alone=True).method is None
    assert facts_of(heard, 0, StderrText(9, 0.0, b"x")).kind == "stderr"


def test_what_passes_knows_its_question_and_forgets_it() -> None:
    passing = PassingFrames()
    asked = [[e.question.n for e in passing.exchanges_before(frame).open()] for frame in TALK]
    assert asked == [[], [], [], [1], [2], []]


def test_with_another_process_come_other_questions() -> None:
    spawn = JournalEvent(9, 0.9, "spawn", {})
    assert EntryList([*TALK[:2], spawn, *TALK[3:]]).question_of(3) is None
    passing = PassingFrames()
    for frame in TALK[:2]:
        passing.exchanges_before(frame)
    passing.pass_event(JournalEvent(8, 0.8, "mark", {}))
    passing.pass_event(spawn)
    assert passing.exchanges_before(TALK[3]).all == []


def test_only_so_many_open_questions_are_kept() -> None:
    passing = PassingFrames(max_waiting=2)
    for n in range(1, 4):
        raw = b'{"jsonrpc":"2.0","id":%d,"method":"a"}' % n
        passing.exchanges_before(Frame(n, 0.0, "client", raw))
    told = [Frame(9, 0.0, "agent", b'{"jsonrpc":"2.0","id":%d,"result":1}' % n) for n in (1, 3)]
    assert [len(passing.exchanges_before(frame).all) for frame in told] == [0, 1]
