"""A transport that lets somebody see every frame."""

from __future__ import annotations

import os

import anyio
import pytest

from acp_protocol.framing import Framing, Side
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.transport.base import TapTransport
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.stdio import StreamTransport


async def test_a_frame_is_reported_before_it_is_sent() -> None:
    told: list[tuple[Side, bytes]] = []
    ours, theirs = memory_pair()
    observed = TapTransport(ours, "client", lambda side, frame: told.append((side, frame.data)))

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


@pytest.mark.parametrize("framing", ["lines", "headers"])
async def test_a_frame_is_reported_with_the_bytes_around_it(framing: Framing) -> None:
    told: list[bytes] = []
    incoming, writer = os.pipe()
    reader, outgoing = os.pipe()
    pipes = StreamTransport(FdReceiveStream(incoming), FdSendStream(outgoing), framing=framing)
    observed = TapTransport(pipes, "client", lambda side, frame: told.append(b"".join(frame)))
    sent = b"X: 1\r\ncontent-length:2\n\n[]" if framing == "headers" else b"[]\r\n"
    with anyio.fail_after(5):
        await observed.send(b"{}")
        os.write(writer, sent)
        assert (await observed.receive()).strip() == b"[]"
    assert told == [os.read(reader, 100), sent]
    await observed.aclose()
    os.close(writer)
    os.close(reader)
