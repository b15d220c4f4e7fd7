"""Awaiting in two parts."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from acp_protocol.stepping import rest_of


async def answer(*pauses: anyio.Event) -> str:
    for pause in pauses:
        await pause.wait()
    return "done"


async def test_the_first_step_may_be_all() -> None:
    with pytest.raises(StopIteration) as ended:
        answer().send(None)
    assert ended.value.value == "done"


async def test_the_rest_yields_the_result() -> None:
    pauses = [anyio.Event() for _ in range(3)]
    async with anyio.create_task_group() as tasks:

        async def release() -> None:
            for pause in pauses:
                await anyio.lowlevel.checkpoint()
                pause.set()

        steps = answer(*pauses)
        awaited = steps.send(None)
        tasks.start_soon(release)
        assert await rest_of(steps, awaited) == "done"


async def test_what_the_rest_raises_comes_out() -> None:
    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError("a mistake")

    steps = fail()
    with pytest.raises(ValueError, match="a mistake"):
        await rest_of(steps, steps.send(None))


async def test_a_cancellation_reaches_what_is_awaited_and_may_be_answered_there() -> None:
    async def bear() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return "cancelled"
        return "never"

    async def wait() -> str:
        steps = bear()
        return await rest_of(steps, steps.send(None))

    task = asyncio.ensure_future(wait())
    await anyio.lowlevel.checkpoint()
    task.cancel()
    assert await task == "cancelled"


async def test_a_scope_that_the_first_step_opens_holds_for_the_rest() -> None:
    async def limited() -> str:
        with anyio.move_on_after(0.01):
            await anyio.sleep_forever()
        return "in time"

    steps = limited()
    with anyio.fail_after(5):
        assert await rest_of(steps, steps.send(None)) == "in time"
