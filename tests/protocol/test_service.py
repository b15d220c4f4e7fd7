"""Requests that are begun by whoever reads them."""

from __future__ import annotations

import asyncio
import os

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.descriptors import DescriptorReader, DescriptorWriter
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.handling import Limits
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.transport import Transport
from acp_protocol.transport.lines import LineTransport
from tests.protocol.talks import LIMIT, Script, pipe_pair, read, talk, talk_with_bytes

pytestmark = pytest.mark.usefixtures("over_pipes")
PARENT = f"00-{'1' * 32}-{'2' * 16}-01"


async def send_together(peer: Transport, *lines: bytes) -> None:
    """Write `lines` at once, so that one look at the pipe finds them all."""
    assert isinstance(peer, LineTransport)
    assert peer.begin(lines)


async def test_a_request_has_begun_before_what_stands_behind_it_is_looked_at() -> None:
    """Whatever waits before it: a cancel, or a word on it, would find nothing otherwise."""
    order: list[str] = []
    release, heard = anyio.Event(), anyio.Event()

    async def serve(request: Request) -> Json:
        order.append(request.method)
        await release.wait()
        return {}

    async def hear(notification: Notification) -> None:
        order.append(notification.method)
        heard.set()

    async with talk_with_bytes(Script(serve, hear)) as (_, peer):
        await send_together(
            peer,
            jsonrpc.request_line(1, "first"),
            jsonrpc.request_line(2, "second"),
            jsonrpc.request_line(3, "third", {"sessionId": "s"}),
            jsonrpc.notification_line("on the third", {"sessionId": "s"}),
        )
        await heard.wait()
        assert order == ["first", "second", "third", "on the third"]
        release.set()
        assert {(await read(peer))["id"] for _ in range(3)} == {1, 2, 3}


async def test_requests_are_cancelled_each_by_itself_while_others_wait_and_are_answered() -> None:
    release = anyio.Event()

    async def serve(request: Request) -> Json:
        if request.method == "quick":
            return {}
        await release.wait()
        return {"said": request.id}

    async with talk_with_bytes(Script(serve)) as (_, peer):
        await send_together(
            peer,
            *(jsonrpc.request_line(n, "slow") for n in range(5)),
            jsonrpc.request_line("q", "quick"),
            *(jsonrpc.notification_line("$/cancel_request", {"requestId": n}) for n in (1, 3)),
        )
        answers = [await read(peer) for _ in range(3)]
        assert answers[0] == {"jsonrpc": "2.0", "id": "q", "result": {}}
        assert {answer["id"] for answer in answers[1:]} == {1, 3}
        assert {a["error"]["code"] for a in answers[1:]} == {jsonrpc.REQUEST_CANCELLED}
        release.set()
        assert {(await read(peer))["id"] for _ in range(3)} == {0, 2, 4}


async def test_a_handler_runs_in_a_task_that_it_may_limit_and_divide() -> None:
    async def serve(request: Request) -> Json:
        assert asyncio.current_task() is not None
        with anyio.move_on_after(0.01) as scope:
            await anyio.sleep_forever()
        found: list[int] = []

        async def find(number: int) -> None:
            await anyio.lowlevel.checkpoint()
            found.append(number)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(find, 1)
            tasks.start_soon(find, 2)
        return {"late": scope.cancelled_caught, "found": found, "method": request.method}

    async with talk(agent=Script(serve)) as (client, _):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(client.request, "beside")
        answer = await client.request("m")
    assert answer == {"late": True, "found": [1, 2], "method": "m"}


async def test_handlers_that_ask_back_before_they_wait_for_anything_else_get_their_answers() -> (
    None
):
    async def ask_back(request: Request) -> Json:
        return await agent.request("back", {"depth": request.params["depth"]})

    async def ask_on(request: Request) -> Json:
        depth = request.params["depth"]
        return await client.request("on", {"depth": depth - 1}) if depth else {"at": "the bottom"}

    async with talk(Script(ask_on), Script(ask_back)) as (client, agent):
        assert await client.request("on", {"depth": 30}) == {"at": "the bottom"}


async def test_the_trace_of_a_request_ends_with_it() -> None:
    sayings: list[Json] = []

    async def serve(request: Request) -> Json:
        if request.method == "waits":
            await anyio.lowlevel.checkpoint()
        await agent.notify("said", {"in": request.method})
        return {}

    async def tell(notification: Notification) -> None:
        await agent.notify("told", {"in": notification.method})

    async def hear(notification: Notification) -> None:
        sayings.append(notification.params)

    async with talk(Script(on_notification=hear), Script(serve, tell)) as (client, agent):
        for method in ("at once", "waits"):
            await client.request(method, {"_meta": {"traceparent": PARENT}})
            await client.request("plain", {})
            await client.notify("note", {"sessionId": "s"})
            await client.request("plain", {"sessionId": "s"})
    traced = [saying["in"] for saying in sayings if "_meta" in saying]
    assert traced == ["at once", "waits"]
    assert len(sayings) == 8


async def test_a_flood_of_requests_that_nobody_reads_the_answers_of_is_held_back() -> None:
    ours, theirs = pipe_pair()
    served = 0

    async def serve(request: Request) -> Json:
        nonlocal served
        served += 1
        return {"text": "x" * 10_000, "id": request.id}

    script = Script(serve)
    with anyio.fail_after(LIMIT):
        async with Connection(ours, script, limits=Limits(leaving=10)):
            sent = 0
            with anyio.move_on_after(0.3):
                while sent < 20_000:
                    await theirs.send(jsonrpc.request_line(sent, "m" * 50))
                    sent += 1
            assert served < 100
            assert sent < 20_000
            for number in range(50):
                assert (await read(theirs))["id"] == number
    await theirs.aclose()


async def test_an_answer_that_was_held_when_the_peer_left_ends_nothing_but_itself() -> None:
    there, back = os.pipe(), os.pipe()
    transport = LineTransport(DescriptorReader(there[0]), DescriptorWriter(back[1]))
    served = anyio.Event()

    async def serve(request: Request) -> Json:
        if request.id == 2:
            served.set()
        return {}

    with anyio.fail_after(LIMIT):
        async with Connection(transport, Script(serve)) as connection:
            os.close(back[0])
            os.write(there[1], b"".join(jsonrpc.request_line(n, "m") + b"\n" for n in range(3)))
            await served.wait()
            await connection.wait_settled()
            with pytest.raises(ConnectionClosedError):
                await connection.notify("anybody?")
            assert connection.is_open
            os.close(there[1])
            await connection.wait_closed()


async def test_questions_of_tasks_that_answers_woke_together_fail_when_they_cannot_leave() -> None:
    """They leave together, after `request` has taken them: nobody may wait for ever."""
    there, back = os.pipe(), os.pipe()
    transport = LineTransport(DescriptorReader(back[0]), DescriptorWriter(there[1]))
    failed = 0

    async def ask() -> None:
        nonlocal failed
        await connection.request("one")
        with pytest.raises(ConnectionClosedError):
            await connection.request("two")
        failed += 1

    with anyio.fail_after(LIMIT):
        async with Connection(transport, Script()) as connection:
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(ask)
                await anyio.wait_all_tasks_blocked()
                os.close(there[0])
                answers = [jsonrpc.result_line(n, {}) + b"\n" for n in range(1, 6)]
                os.write(back[1], b"".join(answers))
            assert failed == 5
            # The peer says no more, but it has not left: it may still be heard.
            assert connection.is_open
    os.close(back[1])


@pytest.mark.parametrize("kind", ["notification", "request"])
@pytest.mark.parametrize("is_error", [False, True])
async def test_who_asked_goes_on_before_what_stands_behind_the_answer_is_looked_at(
    kind: str, is_error: bool
) -> None:
    """Who learns the name of a turn has to be there before the turn ends."""
    order: list[str] = []
    done = anyio.Event()

    async def serve(request: Request) -> Json:
        order.append(request.method)
        done.set()
        return {}

    async def hear(notification: Notification) -> None:
        order.append(notification.method)
        done.set()

    async with talk_with_bytes(Script(serve, hear)) as (connection, peer):

        async def ask() -> None:
            try:
                await connection.request("question")
            except RequestFailedError:
                order.append("refusal")
            else:
                order.append("answer")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            id_ = (await read(peer))["id"]
            answer = (
                jsonrpc.failure_line(id_, 1, "no") if is_error else jsonrpc.result_line(id_, {})
            )
            behind = (
                jsonrpc.request_line(1, "behind")
                if kind == "request"
                else jsonrpc.notification_line("behind", {"sessionId": "s"})
            )
            await send_together(peer, answer, behind)
            await done.wait()
    assert order == ["refusal" if is_error else "answer", "behind"]
