"""Entries by their row know which of them respond to which."""

from __future__ import annotations

import pytest

from acp_inspector.filter.entries import EntryList, fields_of_row
from acp_inspector.journal import JournalEvent, StderrChunk
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


def test_a_new_connection_forgets_pending_requests() -> None:
    spawn = JournalEvent(9, 0.9, "spawn", {})
    assert EntryList([*TALK[:2], spawn, *TALK[3:]]).request_row(3) is None
