"""Work in a thread beside the loop, which goes on meanwhile."""

from __future__ import annotations

import threading
import time

import pytest

from acp_console.tui import aside
from acp_console.tui.aside import Aside

LIMIT = 10.0
"""Seconds after which a thread counts as stuck."""


def test_who_waits_is_free_as_long_as_the_work_goes_on() -> None:
    may_end = threading.Event()
    names: list[str] = []

    def deed() -> int:
        names.append(threading.current_thread().name)
        assert may_end.wait(LIMIT)
        return 42

    work = Aside()(deed)
    next(work)
    next(work)
    may_end.set()
    with pytest.raises(StopIteration) as over:
        while True:
            next(work)
    assert over.value.value == 42
    assert names == ["aside"]


def test_what_goes_wrong_is_raised_where_it_was_asked_for_and_the_thread_goes_on() -> None:
    elsewhere = Aside()
    with pytest.raises(ZeroDivisionError):
        list(elsewhere(lambda: 1 // 0))
    assert list(elsewhere(lambda: 1)) == []


def test_who_wants_the_result_no_more_goes_away() -> None:
    may_end, is_over = threading.Event(), threading.Event()

    def deed() -> None:
        assert may_end.wait(LIMIT)
        is_over.set()

    work = Aside()(deed)
    next(work)
    work.close()
    may_end.set()
    assert is_over.wait(LIMIT)


def test_a_thread_with_nothing_to_do_ends_and_another_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aside, "IDLE", 0.001)
    elsewhere = Aside()
    for _ in range(3):
        list(elsewhere(lambda: None))
        end = time.monotonic() + LIMIT
        while not elsewhere.is_idle and time.monotonic() < end:
            threading.Event().wait(0.001)
        assert elsewhere.is_idle
