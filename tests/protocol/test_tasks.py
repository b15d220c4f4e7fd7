"""Tasks that belong to a block."""

from __future__ import annotations

import anyio
import pytest

from acp_protocol.concurrency import BackgroundTasks


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
