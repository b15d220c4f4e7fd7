"""An agent in the process of its server: what takes its frames is called for each."""

from __future__ import annotations

from contextlib import suppress

import anyio
import pytest

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.transport.memory import forward, memory_pair

LIMIT = 10.0
FRAMES = [b"%d" % number for number in range(6)]


async def test_frames_are_forwarded_in_order_those_that_waited_first() -> None:
    ours, theirs = memory_pair(3)
    taken: list[bytes] = []
    was_empty = anyio.Event()

    async def take(frame: bytes) -> None:
        taken.append(frame)
        if frame == FRAMES[2]:
            was_empty.set()

    async def run() -> None:
        with suppress(ConnectionClosedError):
            await forward(ours, take)

    for frame in FRAMES[:3]:
        await theirs.send(frame)
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await was_empty.wait()
            for frame in FRAMES[3:]:
                await theirs.send(frame)
            assert taken == FRAMES, "`send` has returned, so each was taken"
            await theirs.aclose()
    await ours.aclose()


async def test_who_sends_waits_for_who_takes() -> None:
    ours, theirs = memory_pair(3)
    has_room = anyio.Event()
    sent: list[bytes] = []

    async def send() -> None:
        for frame in FRAMES:
            await theirs.send(frame)
            sent.append(frame)
        await theirs.aclose()

    async def take(frame: bytes) -> None:
        if frame == FRAMES[4]:
            await has_room.wait()

    async def run() -> None:
        with suppress(ConnectionClosedError):
            await forward(ours, take)

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            assert sent == FRAMES[:4]
            has_room.set()
    assert sent == FRAMES
    await ours.aclose()


async def test_nothing_is_taken_after_the_end() -> None:
    ours, theirs = memory_pair(3)
    taken: list[bytes] = []

    async def take(frame: bytes) -> None:
        taken.append(frame)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(forward, ours, take)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    await ours.aclose()
    with pytest.raises(ConnectionClosedError):
        await theirs.send(FRAMES[0])
    await theirs.aclose()
    with pytest.raises(ConnectionClosedError):
        await theirs.send(FRAMES[0])
    assert not taken
