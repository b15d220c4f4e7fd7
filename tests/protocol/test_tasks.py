"""Tasks that belong to a block."""

from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
import pytest

from acp_protocol.concurrency import BackgroundTasks, Change


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


async def test_a_wait_for_changes_can_be_cancelled_while_each_turn_brings_one() -> None:
    """An agent that says much changes its connection in each turn of the loop."""
    change, turns = Change(), 0
    async with anyio.create_task_group() as tasks:
        waiting = anyio.CancelScope()

        async def wait() -> None:
            with waiting:
                while True:
                    await change.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(wait)
        for turns in range(1000):
            if turns == 10:
                # Between two changes: the one that comes next has ended the wait already.
                asyncio.get_running_loop().call_soon(waiting.cancel)
            change.notify()
            await anyio.lowlevel.checkpoint()
    assert turns < 20
