"""A transport that lets somebody see every frame."""

from __future__ import annotations

import anyio

from acp_protocol.framing import Side
from acp_protocol.transport.base import TapTransport
from acp_protocol.transport.memory import memory_pair


async def test_a_frame_is_reported_before_it_is_sent() -> None:
    told: list[tuple[Side, bytes]] = []
    ours, theirs = memory_pair()
    observed = TapTransport(ours, "client", lambda side, line: told.append((side, line)))

    async def answer_at_once() -> None:
        assert told == [("client", await theirs.receive())]
        await theirs.send(b"answer")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_at_once)
            await observed.send(b"question")
            assert await observed.receive() == b"answer"
    assert told == [("client", b"question"), ("agent", b"answer")]
    await observed.aclose()
    await theirs.aclose()
