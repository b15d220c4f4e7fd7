"""Two peers in memory: order, cancellation, backpressure, and the end."""

from __future__ import annotations

import json
import logging
import os

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.errors import (
    ConnectionClosedError,
    LocalProtocolError,
    OperationTimeoutError,
    RequestFailedError,
)
from acp_protocol.handler import ConnectionLimits
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.stdio import StreamTransport
from tests.protocol.connected_peers import LIMIT, Script, Sink, read, talk, talk_with_bytes

pytestmark = pytest.mark.usefixtures("over_every_wire")
in_memory = pytest.mark.parametrize("over_every_wire", ["memory"], indirect=True)


async def test_a_request_gets_its_response() -> None:
    async def echo(request: Request) -> Json:
        return {"method": request.method, "params": request.params}

    async with talk(agent=Script(on_request=echo)) as (client, _):
        answer = await client.request("initialize", {"protocolVersion": 1})
    assert answer == {"method": "initialize", "params": {"protocolVersion": 1}}


async def test_an_error_response_is_raised_whole() -> None:
    async with talk() as (client, _):
        with pytest.raises(RequestFailedError) as raised:
            await client.request("nothing/such")
    assert raised.value.code == jsonrpc.METHOD_NOT_FOUND
    assert raised.value.data == {"method": "nothing/such"}


async def test_an_exception_of_the_handler_reveals_nothing_internal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def break_down(request: Request) -> Json:
        raise OSError(f"secret path of {request.method}")

    with caplog.at_level(logging.CRITICAL):
        async with talk(agent=Script(on_request=break_down)) as (client, _):
            with pytest.raises(RequestFailedError) as raised:
                await client.request("m")
    assert (raised.value.code, raised.value.message) == (jsonrpc.INTERNAL_ERROR, "Internal error")
    assert raised.value.data is None


async def test_a_response_reaches_its_caller_after_the_updates_before_it() -> None:
    async def slowly(notification: Notification) -> None:
        del notification
        for _ in range(20):
            await anyio.lowlevel.checkpoint()

    client_script = Script(on_notification=slowly)
    async with (
        talk_with_bytes(client_script) as (client, agent),
        anyio.create_task_group() as tasks,
    ):

        async def play() -> None:
            prompt = await read(agent)
            for n in range(10):
                update = {"sessionId": "s", "n": n}
                await agent.send(jsonrpc.encode_notification("session/update", update))
            await agent.send(jsonrpc.encode_result(prompt["id"], {"stopReason": "end_turn"}))

        tasks.start_soon(play)
        await client.request("session/prompt", {"sessionId": "s"})
        assert [update.params["n"] for update in client_script.heard] == list(range(10))


async def test_the_updates_of_one_session_do_not_delay_another() -> None:
    release = anyio.Event()

    async def wait_in_the_first(notification: Notification) -> None:
        if notification.params["sessionId"] == "first":
            await release.wait()

    script = Script(on_notification=wait_in_the_first)
    async with talk_with_bytes(script) as (client, agent), anyio.create_task_group() as tasks:

        async def play() -> None:
            prompt = await read(agent)
            for session in ("first", "second"):
                await agent.send(
                    jsonrpc.encode_notification("session/update", {"sessionId": session})
                )
            await agent.send(jsonrpc.encode_result(prompt["id"], {}))

        tasks.start_soon(play)
        await client.request("session/prompt", {"sessionId": "second"})
        assert [update.params["sessionId"] for update in script.heard] == ["second"]
        release.set()


async def test_a_message_of_no_session_waits_for_all_sessions() -> None:
    order: list[str] = []
    release = anyio.Event()

    async def note(notification: Notification) -> None:
        if notification.params.get("sessionId") == "s":
            await release.wait()
        order.append(notification.method)

    async with talk_with_bytes(Script(on_notification=note)) as (client, agent):
        await agent.send(jsonrpc.encode_notification("one", {"sessionId": "s"}))
        await agent.send(jsonrpc.encode_notification("two", {}))
        await agent.send(jsonrpc.encode_notification("three", {"sessionId": "s"}))
        release.set()
        await agent.aclose()
        await client.wait_closed()
    assert order == ["one", "two", "three"]


async def test_requests_run_beside_each_other() -> None:
    both = anyio.Event()
    running = 0

    async def meet(request: Request) -> Json:
        nonlocal running
        del request
        running += 1
        if running == 2:
            both.set()
        await both.wait()
        return {}

    async with (
        talk(agent=Script(on_request=meet)) as (client, _),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(client.request, "a", {"sessionId": "s"})
        tasks.start_soon(client.request, "b", {"sessionId": "s"})


async def test_a_request_starts_after_the_notifications_before_it() -> None:
    seen: list[str] = []

    async def slowly(notification: Notification) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(notification.method)

    async def note(request: Request) -> Json:
        seen.append(request.method)
        return {}

    script = Script(on_request=note, on_notification=slowly)
    async with talk(agent=script) as (client, _):
        await client.notify("session/cancel", {"sessionId": "s"})
        await client.request("session/prompt", {"sessionId": "s"})
    assert seen == ["session/cancel", "session/prompt"]


async def test_a_notification_after_a_request_finds_it_started() -> None:
    """Or a cancel that comes at once would miss what it is meant for."""
    release, both = anyio.Event(), anyio.Event()
    begun: list[str] = []
    found: list[list[str]] = []

    async def hold_the_first(notification: Notification) -> None:
        if notification.method == "first":
            await release.wait()
        else:
            found.append(list(begun))
            both.set()

    async def note(request: Request) -> Json:
        begun.append(request.method)
        return {}

    script = Script(on_request=note, on_notification=hold_the_first)
    async with talk_with_bytes(script) as (_, peer):
        await peer.send(jsonrpc.encode_notification("first", {"sessionId": "s"}))
        await peer.send(jsonrpc.encode_request(1, "session/prompt", {"sessionId": "s"}))
        await peer.send(jsonrpc.encode_notification("session/cancel", {"sessionId": "s"}))
        release.set()
        await read(peer)
        await both.wait()
    assert found == [["session/prompt"]]


@in_memory
async def test_settled_means_that_the_last_response_was_sent() -> None:
    async def at_once(request: Request) -> Json:
        del request
        answered.set()
        return {}

    answered, settled = anyio.Event(), anyio.Event()
    async with (
        talk_with_bytes(Script(on_request=at_once)) as (agent, peer),
        anyio.create_task_group() as tasks,
    ):

        async def settle() -> None:
            await agent.wait_settled()
            settled.set()

        await peer.send(jsonrpc.encode_request(1, "m"))
        await answered.wait()
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(settle)
        await anyio.wait_all_tasks_blocked()
        assert not settled.is_set()
        await read(peer)
        await settled.wait()


async def test_both_sides_send_requests_at_once() -> None:
    async def ask_back(request: Request) -> Json:
        return await agent.request("session/request_permission", request.params)

    async def allow(request: Request) -> Json:
        return {"allowed": request.params}

    async with talk(Script(on_request=allow), Script(on_request=ask_back)) as (client, agent):
        assert await client.request("session/prompt", {"n": 1}) == {"allowed": {"n": 1}}


async def test_a_request_while_a_notification_is_handled_is_refused_instead_of_hanging() -> None:
    problems: list[Exception] = []

    async def ask(notification: Notification) -> None:
        try:
            await agent.request(notification.method)
        except LocalProtocolError as problem:
            problems.append(problem)

    async with talk(agent=Script(on_notification=ask)) as (client, agent):
        await client.notify("session/cancel")
        with pytest.raises(RequestFailedError):
            await client.request("anything")
    assert len(problems) == 1


async def test_a_request_that_times_out_is_cancelled() -> None:
    cancelled = anyio.Event()

    async def never(request: Request) -> Json:
        del request
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    async with talk(agent=Script(on_request=never)) as (client, agent):
        with pytest.raises(
            OperationTimeoutError, match=r"the response to session/prompt took longer than 0\.01 s"
        ):
            await client.request("session/prompt", timeout=0.01)
        await cancelled.wait()
        with pytest.raises(RequestFailedError):
            await agent.request("still/alive")
    assert not client.violations


async def test_a_cancelled_request_gets_its_own_error_code() -> None:
    async def never(request: Request) -> Json:
        del request
        await anyio.sleep_forever()

    async with talk_with_bytes(Script(on_request=never)) as (_, peer):
        await peer.send(jsonrpc.encode_request("q", "session/prompt", {}))
        await peer.send(jsonrpc.encode_notification("$/cancel_request", {"requestId": "q"}))
        answer = await read(peer)
    assert (answer["id"], answer["error"]["code"]) == ("q", jsonrpc.REQUEST_CANCELLED)


async def test_a_cancel_of_an_unknown_request_is_ignored() -> None:
    async with talk_with_bytes() as (_, peer):
        await peer.send(jsonrpc.encode_notification("$/cancel_request", {"requestId": 99}))
        await peer.send(jsonrpc.encode_request(1, "m"))
        assert (await read(peer))["id"] == 1


async def test_garbage_gets_an_error_response_and_does_no_harm() -> None:
    async with talk_with_bytes() as (connection, peer):
        await peer.send(b"what?")
        assert (await read(peer))["error"]["code"] == jsonrpc.PARSE_ERROR
        await peer.send(jsonrpc.encode_request(1, "m"))
        assert (await read(peer))["id"] == 1
        assert [fault.data for fault in connection.violations] == [b"what?"]


async def test_the_end_of_the_peer_fails_every_open_request() -> None:
    async with talk_with_bytes() as (client, peer), anyio.create_task_group() as tasks:

        async def leave() -> None:
            await peer.receive()
            await peer.aclose()

        tasks.start_soon(leave)
        with pytest.raises(ConnectionClosedError):
            await client.request("session/prompt")
        assert not client.is_open
        with pytest.raises(ConnectionClosedError):
            await client.notify("session/cancel")


async def test_leaving_fails_requests_that_other_tasks_wait_for() -> None:
    outcomes: list[Exception] = []
    ours, peer = memory_pair()
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(LIMIT):
            async with Connection(ours, Script()) as client:

                async def ask() -> None:
                    try:
                        await client.request("session/prompt")
                    except ConnectionClosedError as problem:
                        outcomes.append(problem)

                tasks.start_soon(ask)
                await peer.receive()
    await peer.aclose()
    assert len(outcomes) == 1


async def test_leaving_does_not_wait_for_a_peer_that_does_not_read() -> None:
    async with talk_with_bytes(), anyio.create_task_group():
        pass
    async with talk_with_bytes() as (client, _), anyio.create_task_group() as tasks:
        tasks.start_soon(client.notify, "nobody/reads")
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_requests_beyond_the_limit_are_refused() -> None:
    async def never(request: Request) -> Json:
        del request
        await anyio.sleep_forever()

    limits = ConnectionLimits(open_requests=1)
    async with talk_with_bytes(Script(on_request=never), limits) as (_, peer):
        await peer.send(jsonrpc.encode_request(1, "m"))
        await peer.send(jsonrpc.encode_request(2, "m"))
        answer = await read(peer)
    assert answer["id"] == 2
    assert answer["error"]["message"] == "Too many open requests"


@in_memory
async def test_a_full_queue_stops_the_reader_and_so_the_peer() -> None:
    release = anyio.Event()

    async def wait(notification: Notification) -> None:
        del notification
        await release.wait()

    script = Script(on_notification=wait)
    async with talk_with_bytes(script, ConnectionLimits(queue_length=4)) as (client, peer):
        taken = 0
        with anyio.move_on_after(0.2):
            while taken < 1000:
                await peer.send(jsonrpc.encode_notification("session/update", {"sessionId": "s"}))
                taken += 1
        assert taken < 10
        release.set()
        await peer.aclose()
        await client.wait_closed()
        assert len(script.heard) == taken


async def echo(request: Request) -> Json:
    return {"said": request.method}


async def test_a_batch_gets_its_responses_in_one_array_if_batches_are_allowed() -> None:
    release = anyio.Event()

    async def serve(request: Request) -> Json:
        if request.method == "slow":
            await release.wait()
        return {"said": request.method}

    async with talk_with_bytes(Script(on_request=serve), takes_batches=True) as (_, peer):
        calls = [jsonrpc.encode_request(1, "slow"), jsonrpc.encode_request(2, "quick"), b"5"]
        await peer.send(b"[%b]" % b",".join(calls))
        await peer.send(jsonrpc.encode_request(3, "alone"))
        assert (await read(peer))["id"] == 3
        release.set()
        answers = json.loads(await peer.receive())
    assert [(answer["id"], answer.get("result")) for answer in answers] == [
        (None, None),
        (2, {"said": "quick"}),
        (1, {"said": "slow"}),
    ]


async def test_an_array_gets_one_error_if_batches_are_not_allowed() -> None:
    async with talk_with_bytes(Script(on_request=echo)) as (_, peer):
        await peer.send(b"[%b]" % jsonrpc.encode_request(1, "m"))
        first = await read(peer)
        await peer.send(jsonrpc.encode_request(2, "m"))
        second = await read(peer)
    assert (first["id"], first["error"]["code"]) == (None, jsonrpc.INVALID_REQUEST)
    assert second["id"] == 2


async def test_a_result_that_is_no_json_becomes_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def serve(request: Request) -> Json:
        del request
        return {"nan": float("nan")}

    async with talk(agent=Script(on_request=serve)) as (client, _):
        with caplog.at_level(logging.CRITICAL), pytest.raises(RequestFailedError) as caught:
            await client.request("m")
        assert caught.value.code == jsonrpc.INTERNAL_ERROR
        with caplog.at_level(logging.CRITICAL), pytest.raises(RequestFailedError):
            await client.request("m")


async def test_a_flood_of_our_own_notifications_lets_the_reader_run() -> None:
    """A writer that never has to wait must not keep a cancellation from being read."""
    told = 0
    has_begun = anyio.Event()

    async def flood(request: Request) -> Json:
        nonlocal told
        del request
        while True:
            await agent.notify("session/update", {"sessionId": "s"})
            told += 1
            has_begun.set()

    sink = Sink()
    with anyio.fail_after(LIMIT):
        async with Connection(sink, Script(on_request=flood)) as agent:
            await sink.incoming.send(jsonrpc.encode_request(1, "m"))
            await has_begun.wait()
            await sink.incoming.send(
                jsonrpc.encode_notification("$/cancel_request", {"requestId": 1})
            )
            await agent.wait_settled()
    assert told > 0


@in_memory
async def test_a_peer_that_reads_no_responses_has_to_wait() -> None:
    """Unknown methods are refused at once; their refusals must not pile up without end."""
    async with talk_with_bytes(limits=ConnectionLimits(unsent_responses=10)) as (_, peer):
        sent = 0
        with anyio.move_on_after(0.3):
            while sent < 1000:
                await peer.send(jsonrpc.encode_request(sent, "unknown"))
                sent += 1
        assert sent < 20
        for _ in range(sent):
            assert (await read(peer))["error"]["code"] == jsonrpc.METHOD_NOT_FOUND
        await peer.send(jsonrpc.encode_request("last", "unknown"))
        assert (await read(peer))["id"] is not None


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


async def test_a_request_that_was_not_sent_ends_with_the_peer() -> None:
    """An agent that closes its stdout and never reads must not keep a caller for ever."""
    there, back = os.pipe(), os.pipe()
    transport = StreamTransport(FdReceiveStream(back[0]), FdSendStream(there[1]))
    with anyio.fail_after(LIMIT):
        async with Connection(transport, Script()) as connection, BackgroundTasks() as tasks:
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


async def test_a_batch_of_very_many_entries_is_refused_as_a_whole() -> None:
    async with talk_with_bytes(takes_batches=True) as (_, peer):
        await peer.send(b"[%b]" % b",".join([b"1"] * 5000))
        answer = await read(peer)
    assert (answer["id"], answer["error"]["code"]) == (None, jsonrpc.INVALID_REQUEST)


async def test_the_id_of_a_broken_request_stands_in_its_refusal() -> None:
    async with talk_with_bytes() as (_, peer):
        await peer.send(b'{"jsonrpc":"2.0","id":4,"method":"m","params":7}')
        answer = await read(peer)
    assert (answer["id"], answer["error"]["code"]) == (4, jsonrpc.INVALID_REQUEST)


async def test_batches_can_be_disallowed_once_the_version_is_known() -> None:
    async with talk_with_bytes(takes_batches=True) as (connection, peer):
        connection.disallow_batches()
        await peer.send(b"[%b]" % jsonrpc.encode_request(1, "m"))
        assert (await read(peer))["id"] is None


async def test_a_response_that_cannot_be_sent_does_not_end_the_connection() -> None:
    there, back = os.pipe(), os.pipe()
    transport = StreamTransport(FdReceiveStream(there[0]), FdSendStream(back[1]))
    served = anyio.Event()

    async def serve(request: Request) -> Json:
        if request.id == 2:
            served.set()
        return {}

    with anyio.fail_after(LIMIT):
        async with Connection(transport, Script(serve)) as connection:
            os.close(back[0])
            os.write(there[1], b"".join(jsonrpc.encode_request(n, "m") + b"\n" for n in range(3)))
            await served.wait()
            await connection.wait_settled()
            with pytest.raises(ConnectionClosedError):
                await connection.notify("anybody?")
            assert connection.is_open
            os.close(there[1])
            await connection.wait_closed()


async def test_requests_fail_if_the_peer_stops_reading() -> None:
    """They leave together, after `request` has taken them: nobody may wait for ever."""
    there, back = os.pipe(), os.pipe()
    transport = StreamTransport(FdReceiveStream(back[0]), FdSendStream(there[1]))
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
                answers = [jsonrpc.encode_result(n, {}) + b"\n" for n in range(1, 6)]
                os.write(back[1], b"".join(answers))
            assert failed == 5
            # The peer says no more, but it has not left: it may still be heard.
            assert connection.is_open
    os.close(back[1])


async def test_responses_that_are_ready_are_sent_before_the_connection_closes() -> None:
    has_begun = anyio.Event()

    async def begin(request: Request) -> Json:
        if request.id == 2:
            has_begun.set()
        return {"said": request.method}

    incoming, writer = os.pipe()
    reader, outgoing = os.pipe()
    transport = StreamTransport(FdReceiveStream(incoming), FdSendStream(outgoing))
    with anyio.fail_after(LIMIT):
        async with Connection(transport, Script(begin)) as connection:
            lines = [jsonrpc.encode_request(n, "m") + b"\n" for n in (1, 2)]
            os.write(writer, b"".join(lines))
            await has_begun.wait()
            await connection.notify("bye")
    assert os.read(reader, 65536).splitlines() == [
        jsonrpc.encode_result(1, {"said": "m"}),
        jsonrpc.encode_result(2, {"said": "m"}),
        jsonrpc.encode_notification("bye"),
    ]
    os.close(writer)
    os.close(reader)
