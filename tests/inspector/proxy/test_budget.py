"""Who waits for room in the recorder's queue, and who does not."""

from __future__ import annotations

import threading

from acp_inspector.proxy.recorder import ByteBudget

LIMIT = 30
FOREVER = 10**6


def test_any_line_finds_room_and_leaves_some_to_those_behind_it() -> None:
    budget = ByteBudget(10, 0.01)
    assert budget.take(1000)
    assert budget.take(5)
    assert not budget.take(1)
    budget.free(1000, budget.charge(1000))
    assert budget.take(1000)


def test_who_waits_behind_a_large_line_has_time_until_it_is_written() -> None:
    budget = ByteBudget(10, 1.0)
    assert budget.take(10 * LIMIT)
    assert budget.take(5)
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(budget.take(5)))
    waiting.start()
    waiting.join(1.5)
    assert waiting.is_alive(), "the time for ten bytes is over, but not that for the large line"
    budget.free(10 * LIMIT, 5)
    waiting.join(LIMIT)
    assert found == [True]


def test_a_producer_that_was_refused_does_not_wait_again_before_there_was_room() -> None:
    budget = ByteBudget(10, 0.01)
    assert budget.take(5)
    assert budget.take(5)
    assert not budget.take(1)
    budget._timeout = FOREVER  # pyright: ignore[reportPrivateUsage] - no other way to see it
    assert not budget.take(1), "nothing is freed, so waiting would never end"
    budget.free(10, 10)
    assert budget.take(10)


def test_a_waiting_producer_goes_on_when_there_is_room() -> None:
    budget = ByteBudget(10, FOREVER)
    assert budget.take(5)
    assert budget.take(5)
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(budget.take(10)))
    waiting.start()
    budget.free(10, 10)
    waiting.join(LIMIT)
    assert found == [True]


def test_what_must_not_wait_is_refused_only_while_others_wait_in_vain() -> None:
    budget = ByteBudget(10, 0.01)
    assert budget.take_nowait(30)
    assert budget.take_nowait(30)
    assert not budget.take(1)
    assert not budget.take_nowait(1)
    budget.free(60, 10)
    assert budget.take_nowait(1)
