"""Transports that do without waiting what can be done without, and those that cannot."""

from __future__ import annotations

import os

import anyio

from acp_protocol.descriptors import DescriptorReader, DescriptorWriter
from acp_protocol.transport.eager import WaitingTransport, eager
from acp_protocol.transport.lines import LineTransport
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.observed import ObservedTransport
from acp_protocol.transport.translated import TranslatedTransport

LIMIT = 5.0


def pipe() -> LineTransport:
    """Return a transport that receives what it sends."""
    reader, writer = os.pipe()
    return LineTransport(DescriptorReader(reader), DescriptorWriter(writer))


def test_an_eager_transport_stays_itself() -> None:
    transport = pipe()
    assert eager(transport) is transport


async def test_another_leaves_all_of_the_work_to_be_awaited() -> None:
    ours, theirs = memory_pair()
    transport = eager(ours)
    assert isinstance(transport, WaitingTransport)
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            assert not transport.begin((b"one", b"two"))
            tasks.start_soon(transport.finish)
            assert [await theirs.receive(), await theirs.receive()] == [b"one", b"two"]
            tasks.start_soon(theirs.send, b"three")
            await anyio.wait_all_tasks_blocked()
            assert transport.receive_nowait() is None
            assert await transport.receive() == b"three"
    await transport.aclose()
    await theirs.aclose()


async def test_frames_that_have_come_are_received_without_waiting() -> None:
    told: list[bytes] = []
    transport = ObservedTransport(pipe(), "client", lambda side, line: told.append(line))
    translated = TranslatedTransport(transport, "client")
    with anyio.fail_after(LIMIT):
        lines = [b'{"jsonrpc":"2.0","id":%d,"result":{}}' % n for n in range(4)]
        # Nobody knows yet what the peer speaks.
        assert not translated.begin(lines)
        await translated.finish()
        assert translated.receive_nowait() is None
        found = [await translated.receive()]
        while (line := translated.receive_nowait()) is not None:
            found.append(line)
        while len(found) < 4:
            found.append(await translated.receive())
    assert found == lines
    assert told == lines * 2
    await translated.aclose()


async def test_what_finds_no_room_is_left_for_later_and_the_stream_is_not_cut() -> None:
    transport = pipe()
    long = [b"x" * 100_000, b"y" * 100_000, b"z"]
    with anyio.fail_after(LIMIT):
        assert not transport.begin(long[:2])
        # Behind what is left over.
        assert not transport.begin(long[2:])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.finish)
            assert [await transport.receive() for _ in long] == long
        assert transport.begin((b"short",))
        assert await transport.receive() == b"short"
    await transport.aclose()
