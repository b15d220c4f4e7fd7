"""Futures whose tasks are run by a callback of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
import pytest

from acp_protocol.readiness import Readiness, readiness


class Round:
    """A task that waits for one thing after the other, and a callback that wakes it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.heard: list[object] = []

    def made(self) -> Readiness[object]:
        return readiness(self.loop)

    async def wait(self, for_: Readiness[object]) -> None:
        try:
            self.heard.append(await for_)
        except asyncio.CancelledError:
            self.heard.append("cancelled")
            raise

    async def in_a_callback(self, deed: Callable[[], object]) -> list[object]:
        """Let a callback of the loop do `deed`; return what was heard by the time it was done."""
        done: asyncio.Future[list[object]] = self.loop.create_future()

        def call() -> None:
            deed()
            done.set_result(list(self.heard))

        self.loop.call_soon(call)
        return await done


async def test_the_task_has_gone_on_when_the_callback_returns() -> None:
    here = Round()
    future = here.made()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.wait, future)
        await anyio.wait_all_tasks_blocked()
        assert await here.in_a_callback(lambda: future.wake("now")) == ["now"]


async def test_tasks_that_the_task_has_woken_go_on_after_it_in_the_same_callback() -> None:
    here = Round()
    first, second, third = here.made(), here.made(), here.made()

    async def lead() -> None:
        await first
        third.wake_next("third")
        second.wake_next("second")
        here.heard.append("first")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lead)
        tasks.start_soon(here.wait, second)
        tasks.start_soon(here.wait, third)
        await anyio.wait_all_tasks_blocked()
        assert await here.in_a_callback(lambda: first.wake(None)) == ["first", "third", "second"]


async def test_outside_of_such_a_callback_a_task_goes_on_in_the_next_round() -> None:
    here = Round()
    early, late = here.made(), here.made()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.wait, early)
        tasks.start_soon(here.wait, late)
        await anyio.wait_all_tasks_blocked()
        early.wake_next("early")
        late.wake_later("late")
        assert here.heard == []
    assert here.heard == ["early", "late"]


async def test_what_is_ready_before_it_is_awaited_keeps_nobody_waiting() -> None:
    here = Round()
    future = here.made()
    assert await here.in_a_callback(lambda: future.wake("before")) == []
    with anyio.fail_after(5):
        assert await future == "before"


async def test_who_is_cancelled_waits_no_more_and_is_woken_no_more() -> None:
    here = Round()
    future = here.made()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.wait, future)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert here.heard == ["cancelled"]
    assert future.cancelled()
    assert await here.in_a_callback(lambda: future.wake("late")) == ["cancelled"]
    future.wake_later("later")


async def test_a_cancellation_that_comes_between_ready_and_going_on_is_not_lost() -> None:
    here = Round()
    first, second = here.made(), here.made()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            async def lead() -> None:
                await first
                second.wake_next("second")
                scope.cancel()

            tasks.start_soon(lead)
            tasks.start_soon(here.wait, second)
            await anyio.wait_all_tasks_blocked()
            here.loop.call_soon(first.wake, None)
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert here.heard in (["second"], ["cancelled"])


async def test_a_time_limit_ends_the_wait() -> None:
    with anyio.move_on_after(0.01) as scope:
        await Round().made()
    assert scope.cancelled_caught


def test_an_interrupt_in_one_task_leaves_the_others_to_the_loop() -> None:
    ended: list[asyncio.Future[None]] = []

    async def main() -> None:
        here = Round()
        first, second = here.made(), here.made()

        async def break_off() -> None:
            await first
            second.wake_next("second")
            raise KeyboardInterrupt

        ended.append(asyncio.ensure_future(break_off()))
        ended.append(asyncio.ensure_future(here.wait(second)))
        await asyncio.sleep(0)
        here.loop.call_soon(first.wake, None)
        await ended[1]

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert isinstance(ended[0].exception(), KeyboardInterrupt)
    assert ended[1].done()


async def test_others_may_wait_for_it_too() -> None:
    here = Round()
    future = here.made()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(here.wait, future)
        await anyio.wait_all_tasks_blocked()
        future.add_done_callback(lambda done: here.heard.append(("told", done.result())))
        await here.in_a_callback(lambda: future.wake("both"))
        await anyio.wait_all_tasks_blocked()
    assert here.heard == ["both", ("told", "both")]
