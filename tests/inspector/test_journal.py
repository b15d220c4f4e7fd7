"""The ordered entries of one connection."""

from __future__ import annotations

import logging

import pytest

from acp_inspector.journal import Entry, Journal


def test_entries_are_numbered_in_the_order_in_which_they_came() -> None:
    times = iter([10.0, 10.5, 11.0, 12.0])
    journal = Journal(clock=lambda: next(times))
    journal.frame("client", b"{}")
    journal.stderr(b"oh")
    journal.event("exit", code=0)
    assert [(entry.seq, entry.time) for entry in journal.entries] == [(1, 0.5), (2, 1.0), (3, 2.0)]
    assert len(journal) == 3


def test_observers_hear_of_new_entries_until_they_leave() -> None:
    journal = Journal()
    heard: list[Entry] = []
    leave = journal.subscribe(heard.append)
    first = journal.frame("agent", b"1")
    leave()
    leave()
    journal.frame("agent", b"2")
    assert heard == [first]


def test_an_observer_that_fails_stops_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal()
    heard: list[Entry] = []

    def fail(entry: Entry) -> None:
        raise RuntimeError(f"no wish to hear of {entry.seq}")

    journal.subscribe(fail)
    journal.subscribe(heard.append)
    with caplog.at_level(logging.CRITICAL):
        journal.frame("agent", b"1")
        journal.frame("agent", b"2")
    assert [entry.seq for entry in heard] == [1, 2]


def test_an_observer_that_fails_goes_on_and_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    journal = Journal()
    heard: list[int] = []

    def fail_at_odd_ones(entry: Entry) -> None:
        if entry.seq % 2:
            raise KeyError("x")
        heard.append(entry.seq)

    journal.subscribe(fail_at_odd_ones)
    for _ in range(4):
        journal.frame("agent", b"1")
    assert (heard, journal.missed) == ([2, 4], 2)
    [record] = caplog.records
    assert "an observer failed at entry 1 (KeyError)" in record.getMessage()
