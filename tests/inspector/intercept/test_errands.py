"""Other people's code: what it returns and raises comes through, and nobody waits for ever."""

from __future__ import annotations

import threading

import pytest

from acp_inspector.intercept.errands import Errands, HungError

SOON = 20
"""Seconds that a call may take that does come back."""


def test_what_a_call_returns_and_raises_comes_back_and_the_next_may_follow() -> None:
    errands = Errands("test")
    assert errands.run(lambda: 7, SOON) == 7
    with pytest.raises(ZeroDivisionError):
        errands.run(lambda: 1 // 0, SOON)
    with pytest.raises(SystemExit):
        errands.run(lambda: exit(3), SOON)
    assert errands.run(lambda: 8, SOON) == 8
    errands.close()


def test_all_calls_run_in_one_thread_that_is_not_ours() -> None:
    errands = Errands("test")
    first = errands.run(threading.current_thread, SOON)
    assert first is errands.run(threading.current_thread, SOON)
    assert first is not threading.current_thread()
    errands.close()
    first.join(SOON)
    assert not first.is_alive()


def test_a_loop_without_an_end_is_given_up_and_its_thread_ends() -> None:
    threads: list[threading.Thread] = []

    def loop() -> None:
        threads.append(threading.current_thread())
        while True:
            pass

    with pytest.raises(HungError):
        Errands("test").run(loop, 0.1)
    threads[0].join(SOON)
    assert not threads[0].is_alive()


def test_who_sleeps_is_left_alone_and_nobody_waits() -> None:
    has_begun, wakes = threading.Event(), threading.Event()

    def sleep() -> None:
        has_begun.set()
        wakes.wait()

    with pytest.raises(HungError) as caught:
        Errands("test").run(sleep, 0.1)
    assert has_begun.is_set()
    assert caught.value.trace is not None
    wakes.set()
