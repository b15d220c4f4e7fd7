"""Work in a thread beside the loop, which goes on meanwhile."""

from __future__ import annotations

import gc
import threading

import pytest

from acp_console.traffic.model import own_thread

LIMIT = 10.0
"""Seconds after which a thread counts as stuck."""


def test_who_waits_is_free_as_long_as_the_work_goes_on() -> None:
    may_end = threading.Event()
    names: list[str] = []

    def work_long() -> int:
        names.append(threading.current_thread().name)
        assert may_end.wait(LIMIT)
        return 42

    work = own_thread()(work_long)
    next(work)
    next(work)
    may_end.set()
    with pytest.raises(StopIteration) as over:
        while True:
            next(work)
    assert over.value.value == 42
    assert names == ["filter_0"]


def test_what_goes_wrong_is_raised_where_it_was_asked_for_and_the_thread_goes_on() -> None:
    elsewhere = own_thread()
    with pytest.raises(ZeroDivisionError):
        list(elsewhere(lambda: 1 // 0))
    assert set(elsewhere(lambda: 1)) <= {None}


def test_who_wants_the_result_no_more_goes_away() -> None:
    may_end, is_over = threading.Event(), threading.Event()

    def work_long() -> None:
        assert may_end.wait(LIMIT)
        is_over.set()

    work = own_thread()(work_long)
    next(work)
    work.close()
    may_end.set()
    assert is_over.wait(LIMIT)


@pytest.mark.long
def test_thread_ends_once_nothing_refers_to_it() -> None:
    threads: list[threading.Thread] = []
    run = own_thread()
    list(run(lambda: threads.append(threading.current_thread())))
    del run
    gc.collect()
    threads[0].join(LIMIT)
    assert not threads[0].is_alive()
