"""Frames on their way out: in order, together where that saves writes, not lost in silence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.descriptors import DescriptorReader, DescriptorWriter
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import Json, Request, RequestId
from acp_protocol.outbox import HELD, Outbox
from acp_protocol.transport import EagerTransport
from acp_protocol.transport.lines import LineTransport
from tests.protocol.talks import LIMIT, Script


class Slot:
    """A transport with room for so many frames at once; the others leave when `finish` may."""

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.writes: list[list[bytes]] = []
        self.may_finish = anyio.Event()
        self.is_broken = False
        self._rest: list[bytes] = []

    def begin(self, lines: Sequence[bytes]) -> bool:
        if self.is_broken:
            raise ConnectionClosedError
        taken, self._rest = list(lines[: self.room]), self._rest + list(lines[self.room :])
        self.writes.append(taken)
        return not self._rest

    async def finish(self) -> None:
        await self.may_finish.wait()
        if self.is_broken:
            raise ConnectionClosedError
        if self._rest:
            self.writes.append(self._rest)
            self._rest = []

    async def send(self, line: bytes) -> None:
        raise NotImplementedError

    def receive_nowait(self) -> bytes | None:
        return None

    async def receive(self) -> bytes:
        raise NotImplementedError

    async def aclose(self) -> None:
        self.is_broken = True


def outbox(
    slot: EagerTransport, tasks: anyio.abc.TaskGroup, lost: list[RequestId] | None = None
) -> Outbox:
    return Outbox(slot, tasks, (lost if lost is not None else []).append)


async def test_a_frame_leaves_at_once_where_there_is_room() -> None:
    slot = Slot()
    async with anyio.create_task_group() as tasks:
        assert outbox(slot, tasks).put(b"one") is None
    assert slot.writes == [[b"one"]]


async def test_what_is_put_while_gathering_leaves_together_at_the_end_of_the_round() -> None:
    slot = Slot()
    async with anyio.create_task_group() as tasks:
        out = outbox(slot, tasks)
        out.is_gathering = True
        for frame in (b"one", b"two", b"three"):
            assert out.put(frame) is None
        assert slot.writes == []
        await anyio.lowlevel.checkpoint()
        assert slot.writes == [[b"one", b"two", b"three"]]
        assert out.put(b"four") is None
    assert slot.writes[1:] == [[b"four"]]


async def test_no_more_is_held_than_a_bound() -> None:
    slot = Slot()
    frame = b"x" * (HELD // 3)
    async with anyio.create_task_group() as tasks:
        out = outbox(slot, tasks)
        for _ in range(4):
            out.is_gathering = True
            assert out.put(frame) is None
        assert slot.writes[0] == [frame] * 3
    assert sum(map(len, slot.writes)) == 4


async def test_frames_leave_in_the_order_in_which_they_were_put_however_long_that_takes() -> None:
    slot = Slot(room=1)
    async with anyio.create_task_group() as tasks:
        out = outbox(slot, tasks)
        out.is_gathering = True
        for frame in (b"1", b"2", b"3"):
            assert out.put(frame) is None
        assert not out.release()
        later = out.put(b"4")
        assert later is not None

        async def send() -> None:
            await later

        tasks.start_soon(send)
        await anyio.wait_all_tasks_blocked()
        assert slot.writes == [[b"1"]]
        slot.may_finish.set()
        with anyio.fail_after(LIMIT):
            await out.wait_empty()
    assert list(chain(*slot.writes)) == [b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize("is_late", [False, True])
async def test_who_asked_what_reaches_nobody_learns_of_it(is_late: bool) -> None:
    slot, lost = Slot(room=1), list[RequestId]()
    async with anyio.create_task_group() as tasks:
        out = outbox(slot, tasks, lost)
        out.is_gathering = True
        out.put(b"one", 1)
        out.put(b"told")
        out.put(b"two", "two")
        slot.is_broken = not is_late
        out.release()
        slot.is_broken = True
        slot.may_finish.set()
    assert lost == [1, "two"]


async def test_a_frame_that_is_put_when_nobody_reads_any_more_is_refused() -> None:
    slot = Slot()
    slot.is_broken = True
    async with anyio.create_task_group() as tasks:
        with pytest.raises(ConnectionClosedError):
            outbox(slot, tasks).put(b"one")


class Ends:
    """A connection over pipes, and the bytes on them."""

    def __init__(self, script: Script) -> None:
        incoming, self.writer = os.pipe()
        self.reader, outgoing = os.pipe()
        streams = DescriptorReader(incoming), DescriptorWriter(outgoing)
        self.connection = Connection(LineTransport(*streams), script)

    def write(self, *lines: bytes) -> None:
        os.write(self.writer, b"".join(line + b"\n" for line in lines))

    async def read(self) -> list[bytes]:
        """Return the frames that one look at the pipe finds."""
        await anyio.wait_readable(self.reader)
        return os.read(self.reader, 65536).splitlines()

    def close(self) -> None:
        os.close(self.writer)
        os.close(self.reader)


async def answer(request: Request) -> Json:
    return {"said": request.method}


async def test_answers_to_requests_that_came_together_leave_in_one_write() -> None:
    ends = Ends(Script(on_request=answer))
    async with ends.connection:
        with anyio.fail_after(LIMIT):
            ends.write(*(jsonrpc.request_line(n, "m") for n in range(10)))
            found = [jsonrpc.read_message(line) for line in await ends.read()]
            while len(found) < 10:
                found += [jsonrpc.read_message(line) for line in await ends.read()]
                # All but the first, which leaves before it is known that more has come.
                assert len(found) == 10
    ends.close()


async def test_what_was_said_last_leaves_before_the_connection_does() -> None:
    has_begun = anyio.Event()

    async def begin(request: Request) -> Json:
        has_begun.set()
        return await answer(request)

    ends = Ends(Script(on_request=begin))
    async with ends.connection:
        with anyio.fail_after(LIMIT):
            ends.write(jsonrpc.request_line(1, "m"), jsonrpc.request_line(2, "m"))
            await has_begun.wait()
            await ends.connection.notify("bye")
    lines = os.read(ends.reader, 65536).splitlines()
    assert lines == [
        jsonrpc.result_line(1, {"said": "m"}),
        jsonrpc.result_line(2, {"said": "m"}),
        jsonrpc.notification_line("bye"),
    ]
    ends.close()


async def test_a_frame_keeps_its_place_however_late_somebody_comes_to_await_it() -> None:
    """An answer is sent by a task that starts later, when the line may have moved on."""
    slot = Slot(room=0)
    slot.may_finish.set()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            out = outbox(slot, tasks)
            first, second, third = (out.put(frame) for frame in (b"1", b"2", b"3"))
            assert first is not None
            assert second is not None
            assert third is not None
            await first
            fourth = out.put(b"4")
            assert fourth is not None
            await second
            await third
            await fourth
    assert list(chain(*slot.writes)) == [b"1", b"2", b"3", b"4"]
