"""Tasks that belong to a block."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from acp_protocol.concurrency import BackgroundTasks, FifoLock


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(ValueError, match="as it is"):
        async with BackgroundTasks() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            raise ValueError("as it is")


async def test_leaving_the_block_cancels_its_helpers() -> None:
    ended = anyio.Event()

    async def helper() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with BackgroundTasks() as tasks:
        tasks.start_soon(helper)
        await anyio.lowlevel.checkpoint()
    assert ended.is_set()


async def test_what_a_helper_raises_ends_the_block() -> None:
    async def helper() -> None:
        raise ValueError("a mistake")

    with pytest.raises(ExceptionGroup) as raised:
        async with BackgroundTasks() as tasks:
            tasks.start_soon(helper)
            await anyio.sleep_forever()
    assert raised.group_contains(ValueError, match="a mistake")


async def test_being_cancelled_from_outside_goes_on_outwards() -> None:
    with anyio.CancelScope() as scope:
        async with BackgroundTasks() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught


async def through(turnstile: FifoLock, name: str, passed: list[str]) -> None:
    if turnstile.is_locked:
        await turnstile.wait_for_lock()
    turnstile.is_locked = True
    try:
        await anyio.lowlevel.checkpoint()
        passed.append(name)
    finally:
        turnstile.release()


async def test_a_turnstile_lets_through_in_the_order_of_coming() -> None:
    turnstile, passed = FifoLock(), list[str]()
    async with anyio.create_task_group() as tasks:
        for name in "abcde":
            tasks.start_soon(through, turnstile, name, passed)
    assert passed == list("abcde")
    assert not turnstile.is_locked


async def test_who_gives_up_waiting_at_a_turnstile_keeps_nobody_waiting() -> None:
    turnstile, passed = FifoLock(), list[str]()
    turnstile.is_locked = True
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            first = asyncio.ensure_future(turnstile.wait_for_lock())
            await anyio.lowlevel.checkpoint()
            tasks.start_soon(through, turnstile, "kept", passed)
            await anyio.lowlevel.checkpoint()
            first.cancel()
            await anyio.lowlevel.checkpoint()
            turnstile.release()
    assert passed == ["kept"]
    assert not turnstile.is_locked


async def test_a_turn_that_comes_together_with_the_end_is_given_on() -> None:
    turnstile = FifoLock()
    turnstile.is_locked = True
    waiting = asyncio.ensure_future(turnstile.wait_for_lock())
    await anyio.lowlevel.checkpoint()
    turnstile.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not turnstile.is_locked
