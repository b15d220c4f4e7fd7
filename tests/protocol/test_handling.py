"""The bounds that a side gives, and handlers that go wrong."""

from __future__ import annotations

import asyncio
import logging
import os

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.descriptors import DescriptorReader, DescriptorWriter
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.handling import Followed, Limits
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.tasks import OwnedTasks
from acp_protocol.transport.lines import LineTransport
from tests.protocol.talks import LIMIT, Script, read, talk, talk_with_bytes

pytestmark = pytest.mark.usefixtures("over_every_wire")


@pytest.mark.parametrize("over_every_wire", ["memory"], indirect=True)
async def test_who_asks_and_reads_no_answer_has_to_wait() -> None:
    """Unknown methods are refused at once; their refusals must not pile up without end."""
    async with talk_with_bytes(limits=Limits(leaving=10)) as (_, peer):
        sent = 0
        with anyio.move_on_after(0.3):
            while sent < 1000:
                await peer.send(jsonrpc.request_line(sent, "unknown"))
                sent += 1
        assert sent < 20
        for _ in range(sent):
            assert (await read(peer))["error"]["code"] == jsonrpc.METHOD_NOT_FOUND
        await peer.send(jsonrpc.request_line("last", "unknown"))
        assert (await read(peer))["id"] is not None


async def cancelled_elsewhere() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def test_a_handler_that_meets_a_foreign_cancellation_has_failed_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def serve(request: Request) -> Json:
        if request.method == "followed":
            return Followed({"ok": 1}, cancelled_elsewhere)
        if request.method == "broken":
            await cancelled_elsewhere()
        return {"ok": 2}

    async def hear(notification: Notification) -> None:
        del notification
        await cancelled_elsewhere()

    caplog.set_level(logging.CRITICAL)
    async with talk(agent=Script(serve, hear)) as (client, _):
        with pytest.raises(RequestFailedError):
            await client.request("broken")
        await client.notify("anything")
        assert await client.request("followed") == {"ok": 1}
        assert await client.request("fine") == {"ok": 2}


async def test_a_result_that_holds_itself_is_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def serve(request: Request) -> Json:
        del request
        result: list[Json] = []
        result.append(result)
        return result

    caplog.set_level(logging.CRITICAL)
    async with talk(agent=Script(serve)) as (client, _):
        for _ in range(2):
            with pytest.raises(RequestFailedError) as caught:
                await client.request("m")
            assert caught.value.code == jsonrpc.INTERNAL_ERROR


async def test_a_cancellation_waits_for_no_other_session() -> None:
    begun, blocked = anyio.Event(), anyio.Event()

    async def serve(request: Request) -> Json:
        del request
        begun.set()
        await anyio.sleep_forever()

    async def hear(notification: Notification) -> None:
        del notification
        blocked.set()
        await anyio.sleep_forever()

    async with talk_with_bytes(Script(serve, hear)) as (_, peer):
        await peer.send(jsonrpc.request_line(1, "m", {"sessionId": "a"}))
        await begun.wait()
        await peer.send(jsonrpc.notification_line("session/update", {"sessionId": "b"}))
        await blocked.wait()
        await peer.send(jsonrpc.notification_line("$/cancel_request", {"requestId": 1}))
        assert (await read(peer))["error"]["code"] == jsonrpc.REQUEST_CANCELLED


async def test_a_question_that_has_not_left_ends_with_the_peer() -> None:
    """An agent that closes its stdout and never reads must not keep a caller for ever."""
    there, back = os.pipe(), os.pipe()
    transport = LineTransport(DescriptorReader(back[0]), DescriptorWriter(there[1]))
    with anyio.fail_after(LIMIT):
        async with Connection(transport, Script()) as connection, OwnedTasks() as tasks:
            has_failed = anyio.Event()

            async def ask() -> None:
                with pytest.raises(ConnectionClosedError):
                    await connection.request("m", {"text": "x" * 10**6})
                has_failed.set()

            tasks.start_soon(ask)
            await anyio.lowlevel.checkpoint()
            os.close(back[1])
            await has_failed.wait()
    os.close(there[0])


async def test_an_array_of_very_many_entries_is_refused_as_a_whole() -> None:
    async with talk_with_bytes(takes_batches=True) as (_, peer):
        await peer.send(b"[%b]" % b",".join([b"1"] * 5000))
        answer = await read(peer)
    assert (answer["id"], answer["error"]["code"]) == (None, jsonrpc.INVALID_REQUEST)


async def test_the_id_of_a_broken_request_stands_in_its_refusal() -> None:
    async with talk_with_bytes() as (_, peer):
        await peer.send(b'{"jsonrpc":"2.0","id":4,"method":"m","params":7}')
        answer = await read(peer)
    assert (answer["id"], answer["error"]["code"]) == (4, jsonrpc.INVALID_REQUEST)


async def test_batches_may_be_given_up_once_the_version_is_known() -> None:
    async with talk_with_bytes(takes_batches=True) as (connection, peer):
        connection.refuse_batches()
        await peer.send(b"[%b]" % jsonrpc.request_line(1, "m"))
        assert (await read(peer))["id"] is None
