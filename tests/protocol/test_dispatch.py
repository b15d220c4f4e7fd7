"""How messages reach handlers: in order per session, each in a task and context of its own."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from contextvars import ContextVar

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.errors import OperationTimeoutError, RequestFailedError
from acp_protocol.handler import ConnectionLimits, Response
from acp_protocol.jsonrpc import Json, Notification, Request
from tests.protocol import connected_peers
from tests.protocol.connected_peers import (
    LIMIT,
    Script,
    pipe_pair,
    read,
    send_together,
    talk,
    talk_with_bytes,
)

over_pipes = pytest.mark.usefixtures("over_pipes")
over_every_wire = pytest.mark.usefixtures("over_every_wire")
PARENT = f"00-{'1' * 32}-{'2' * 16}-01"
setting: ContextVar[str] = ContextVar("setting", default="unset")


@over_every_wire
async def test_context_variables_of_one_handler_do_not_reach_another() -> None:
    found: list[str] = []

    async def serve(request: Request) -> Json:
        found.append(setting.get())
        setting.set(f"request {request.method}")
        await anyio.lowlevel.checkpoint()
        return {"found": setting.get()}

    async def hear(notification: Notification) -> None:
        found.append(setting.get())
        setting.set(f"notification {notification.method}")
        await anyio.lowlevel.checkpoint()
        setting.set("later")

    async with talk(agent=Script(serve, hear)) as (client, _):
        for session in ({"sessionId": "s"}, {}):
            for name in "ab":
                assert await client.request(name, session) == {"found": f"request {name}"}
                await client.notify(name, session)
                await client.notify(name, session)
        await client.request("last")
    assert found == ["unset"] * 13


@over_every_wire
async def test_a_request_that_is_cancelled_before_its_turn_never_reaches_the_handler() -> None:
    release, blocked = anyio.Event(), anyio.Event()
    served: list[str] = []

    async def serve(request: Request) -> Json:
        served.append(request.method)
        return {}

    async def hear(notification: Notification) -> None:
        del notification
        blocked.set()
        await release.wait()

    async with talk_with_bytes(Script(serve, hear)) as (_, peer):
        await peer.send(jsonrpc.encode_notification("n", {"sessionId": "s"}))
        await blocked.wait()
        await peer.send(jsonrpc.encode_request(1, "m", {"sessionId": "s"}))
        await peer.send(jsonrpc.encode_notification("$/cancel_request", {"requestId": 1}))
        await peer.send(jsonrpc.encode_request(2, "other", {"sessionId": "t"}))
        assert (await read(peer))["id"] == 2
        release.set()
        assert (await read(peer))["error"]["code"] == jsonrpc.REQUEST_CANCELLED
    assert served == ["other"]


@over_pipes
async def test_a_message_of_no_session_waits_for_all_before_it_and_holds_up_all_after_it() -> None:
    """Whatever handlers wait for, and however many such messages come in a row."""
    order: list[int] = []
    running: set[str] = set()
    done = anyio.Event()

    async def hear(notification: Notification) -> None:
        session, number = notification.params.get("sessionId", ""), notification.params["n"]
        assert session not in running
        assert "" not in running
        assert session or not running
        running.add(session)
        for _ in range(number % 4):
            await anyio.lowlevel.checkpoint()
        running.remove(session)
        order.append(number)
        if len(order) == 60:
            done.set()

    async with talk_with_bytes(Script(on_notification=hear)) as (_, peer):
        sessions = [("a", "b", "", "c", "", "")[n % 6] for n in range(60)]
        params = [{"sessionId": s, "n": n} if s else {"n": n} for n, s in enumerate(sessions)]
        await send_together(peer, *(jsonrpc.encode_notification("n", each) for each in params))
        with anyio.fail_after(LIMIT):
            await done.wait()
    place = {number: at for at, number in enumerate(order)}
    for number in range(60):
        before = (
            range(number)
            if not sessions[number]
            else [n for n in range(number) if sessions[n] in {"", sessions[number]}]
        )
        assert all(place[n] < place[number] for n in before)


@pytest.mark.parametrize("over_every_wire", ["memory"], indirect=True)
async def test_reading_stops_while_messages_wait_in_too_many_sessions(
    over_every_wire: None,
) -> None:
    del over_every_wire
    release = anyio.Event()

    async def wait(notification: Notification) -> None:
        del notification
        await release.wait()

    script = Script(on_notification=wait)
    async with talk_with_bytes(script, ConnectionLimits(sessions=3)) as (client, peer):
        taken = 0
        with anyio.move_on_after(0.2):
            while taken < 100:
                params = {"sessionId": f"s{taken}"}
                await peer.send(jsonrpc.encode_notification("session/update", params))
                taken += 1
        assert taken < 6
        release.set()
        await peer.aclose()
        await client.wait_closed()
        assert len(script.heard) == taken


@over_pipes
async def test_a_request_starts_before_the_messages_after_it_are_handled() -> None:
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
            jsonrpc.encode_request(1, "first"),
            jsonrpc.encode_request(2, "second"),
            jsonrpc.encode_request(3, "third", {"sessionId": "s"}),
            jsonrpc.encode_notification("on the third", {"sessionId": "s"}),
        )
        await heard.wait()
        assert order == ["first", "second", "third", "on the third"]
        release.set()
        assert {(await read(peer))["id"] for _ in range(3)} == {1, 2, 3}


@over_pipes
async def test_cancelling_requests_does_not_affect_others() -> None:
    release = anyio.Event()

    async def serve(request: Request) -> Json:
        if request.method == "quick":
            return {}
        await release.wait()
        return {"said": request.id}

    async with talk_with_bytes(Script(serve)) as (_, peer):
        await send_together(
            peer,
            *(jsonrpc.encode_request(n, "slow") for n in range(5)),
            jsonrpc.encode_request("q", "quick"),
            *(jsonrpc.encode_notification("$/cancel_request", {"requestId": n}) for n in (1, 3)),
        )
        answers = [await read(peer) for _ in range(3)]
        assert {answer["id"] for answer in answers} == {"q", 1, 3}
        for answer in answers:
            if answer["id"] == "q":
                assert answer["result"] == {}
            else:
                assert answer["error"]["code"] == jsonrpc.REQUEST_CANCELLED
        release.set()
        assert {(await read(peer))["id"] for _ in range(3)} == {0, 2, 4}


@over_pipes
async def test_a_handler_may_use_timeouts_and_task_groups() -> None:
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


@over_pipes
async def test_handlers_that_send_requests_back_get_their_responses() -> None:
    async def ask_back(request: Request) -> Json:
        return await agent.request("back", {"depth": request.params["depth"]})

    async def ask_on(request: Request) -> Json:
        depth = request.params["depth"]
        return await client.request("on", {"depth": depth - 1}) if depth else {"at": "the bottom"}

    async with talk(Script(ask_on), Script(ask_back)) as (client, agent):
        assert await client.request("on", {"depth": 30}) == {"at": "the bottom"}


@over_pipes
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


@over_pipes
async def test_a_flood_of_requests_whose_responses_are_not_read_is_held_back() -> None:
    ours, theirs = pipe_pair()
    served = 0

    async def serve(request: Request) -> Json:
        nonlocal served
        served += 1
        return {"text": "x" * 10_000, "id": request.id}

    script = Script(serve)
    with anyio.fail_after(LIMIT):
        async with Connection(ours, script, limits=ConnectionLimits(unsent_responses=10)):
            sent = 0
            with anyio.move_on_after(0.3):
                while sent < 20_000:
                    await theirs.send(jsonrpc.encode_request(sent, "m" * 50))
                    sent += 1
            assert served < 100
            assert sent < 20_000
            for number in range(50):
                assert (await read(theirs))["id"] == number
    await theirs.aclose()


@over_pipes
@pytest.mark.parametrize("kind", ["notification", "request"])
@pytest.mark.parametrize("is_error", [False, True])
async def test_the_caller_resumes_before_the_messages_after_the_response_are_handled(
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
                jsonrpc.encode_error(id_, 1, "no") if is_error else jsonrpc.encode_result(id_, {})
            )
            behind = (
                jsonrpc.encode_request(1, "behind")
                if kind == "request"
                else jsonrpc.encode_notification("behind", {"sessionId": "s"})
            )
            await send_together(peer, answer, behind)
            await done.wait()
    assert order == ["refusal" if is_error else "answer", "behind"]


@over_pipes
@pytest.mark.parametrize("waits", [False, True])
async def test_a_session_is_handled_in_wire_order_whether_handlers_wait_or_not(
    waits: bool,
) -> None:
    order: list[str] = []

    async def hear(notification: Notification) -> None:
        # Each one longer than the next: without a lane the order would be reversed.
        for _ in range(10 - notification.params["n"] if waits else 0):
            await anyio.lowlevel.checkpoint()
        order.append(f"{notification.method} {notification.params['n']}")

    async def serve(request: Request) -> Json:
        order.append(request.method)
        return {}

    async with talk_with_bytes(Script(serve, hear)) as (connection, peer):

        async def ask() -> None:
            await connection.request("question", {"sessionId": "s"})
            order.append("answer")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            asked = await read(peer)
            notes = [
                jsonrpc.encode_notification("note", {"sessionId": "s", "n": n}) for n in range(8)
            ]
            last = jsonrpc.encode_notification("last", {"sessionId": "s", "n": 9})
            answer = jsonrpc.encode_result(asked["id"], {})
            request = jsonrpc.encode_request("r", "request", {"sessionId": "s"})
            await send_together(peer, *notes, answer, request, last)
            assert (await read(peer))["id"] == "r"
        while len(order) < 11:
            await anyio.lowlevel.checkpoint()
    notes_heard = [f"note {n}" for n in range(8)]
    assert order[:8] == notes_heard
    assert set(order[8:]) == {"answer", "request", "last 9"}
    assert order.index("request") < order.index("last 9")


@over_pipes
async def test_a_session_whose_handler_waits_does_not_delay_others() -> None:
    release = anyio.Event()
    heard: list[str] = []

    async def hear(notification: Notification) -> None:
        if notification.params["sessionId"] == "slow":
            await release.wait()
        heard.append(notification.params["sessionId"])

    with anyio.fail_after(LIMIT):
        async with talk_with_bytes(Script(on_notification=hear)) as (_, peer):
            sessions = ["slow", "a", "slow", "b"]
            await send_together(
                peer, *(jsonrpc.encode_notification("n", {"sessionId": s}) for s in sessions)
            )
            while len(heard) < 2:
                await anyio.lowlevel.checkpoint()
            assert heard == ["a", "b"]
            release.set()
            while len(heard) < 4:
                await anyio.lowlevel.checkpoint()
    assert heard == ["a", "b", "slow", "slow"]


@over_every_wire
async def test_a_cancelled_request_cancels_no_other() -> None:
    begun = anyio.Event()

    async def serve(request: Request) -> Json:
        if request.method == "long":
            begun.set()
            await anyio.sleep_forever()
        return {"said": request.method}

    async with talk_with_bytes(Script(on_request=serve)) as (_, peer):
        for number in range(3):
            await peer.send(jsonrpc.encode_request(number, "short"))
            assert (await read(peer))["id"] == number
        await peer.send(jsonrpc.encode_request("a", "long"))
        await begun.wait()
        await peer.send(jsonrpc.encode_request("b", "short"))
        assert (await read(peer))["id"] == "b"
        await peer.send(jsonrpc.encode_notification("$/cancel_request", {"requestId": "a"}))
        answer = await read(peer)
        assert (answer["id"], answer["error"]["code"]) == ("a", jsonrpc.REQUEST_CANCELLED)
        for number in range(3):
            await peer.send(jsonrpc.encode_request(number, "short"))
            assert (await read(peer))["result"] == {"said": "short"}


class Moody:
    """Answers at once, late, long, not at all or with a question; notes who was heard when."""

    def __init__(self, moods: random.Random) -> None:
        self.moods = moods
        self.connection: Connection
        self.heard: dict[str, list[int]] = {}

    async def handle_request(self, request: Request) -> Json:
        mood = self.moods.randrange(6)
        if mood == 0:
            raise RequestFailedError(1, "no")
        if mood == 1:
            return Response({}, lambda: self.connection.notify("after", {"sessionId": "after"}))
        if mood == 2:
            return {"text": "x" * self.moods.choice([10, 5_000, 200_000])}
        for _ in range(mood if mood > 3 else 0):
            await anyio.lowlevel.checkpoint()
        if mood == 5 and not request.params.get("back"):
            await self.connection.request("back", {"back": True, "sessionId": "s"})
        return {"said": request.method}

    async def handle_notification(self, notification: Notification) -> None:
        if (number := notification.params.get("n")) is not None:
            for _ in range(self.moods.randrange(3)):
                await anyio.lowlevel.checkpoint()
            self.heard.setdefault(notification.params["sessionId"], []).append(number)


@over_every_wire
@pytest.mark.parametrize("seed", range(8))
async def test_every_request_ends_and_sessions_keep_their_order_whatever_handlers_do(
    seed: int,
) -> None:
    moods = random.Random(seed)
    sides = [Moody(moods), Moody(moods)]
    ours, theirs = connected_peers.pair()

    async def ask(connection: Connection) -> None:
        for _ in range(10):
            with suppress(RequestFailedError, OperationTimeoutError):
                session = {"sessionId": f"s{moods.randrange(3)}"} if moods.randrange(2) else {}
                limit = moods.choice([None, None, 0.001])
                await connection.request("m", session, timeout=limit)

    async def tell(connection: Connection) -> None:
        for number in range(50):
            await connection.notify("n", {"sessionId": "told", "n": number})

    with anyio.fail_after(2 * LIMIT):
        async with Connection(ours, sides[0]) as one, Connection(theirs, sides[1]) as other:
            sides[0].connection, sides[1].connection = one, other
            async with anyio.create_task_group() as tasks:
                for connection in (one, other):
                    tasks.start_soon(tell, connection)
                    for _ in range(6):
                        tasks.start_soon(ask, connection)
            await one.wait_settled()
            await other.wait_settled()
            while not all(len(side.heard.get("told", [])) == 50 for side in sides):
                await anyio.lowlevel.checkpoint()
            assert [side.heard["told"] for side in sides] == [[*range(50)]] * 2
            assert not one.violations
            assert not other.violations


async def cancelled_elsewhere() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


@over_every_wire
async def test_a_cancelled_error_from_elsewhere_fails_only_its_handler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def serve(request: Request) -> Json:
        if request.method == "followed":
            return Response({"ok": 1}, cancelled_elsewhere)
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


@over_every_wire
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
        await peer.send(jsonrpc.encode_request(1, "m", {"sessionId": "a"}))
        await begun.wait()
        await peer.send(jsonrpc.encode_notification("session/update", {"sessionId": "b"}))
        await blocked.wait()
        await peer.send(jsonrpc.encode_notification("$/cancel_request", {"requestId": 1}))
        assert (await read(peer))["error"]["code"] == jsonrpc.REQUEST_CANCELLED


class Observer(Script):
    """A handler that does not wait for anything; fails at every notification "bad"."""

    def observe_notification(self, notification: Notification) -> None:
        self.heard.append(notification)
        if notification.method == "bad":
            raise ValueError("a bug")


@over_every_wire
async def test_an_observer_hears_all_in_order_also_after_its_own_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    observer = Observer()
    async with talk(agent=observer) as (client, agent):
        for number in range(300):
            method = "bad" if number == 7 else "n"
            await client.notify(method, {"sessionId": "ab"[number % 2], "n": number})
        with suppress(RequestFailedError):
            await client.request("last")
        assert agent.is_open
    assert [each.params["n"] for each in observer.heard] == list(range(300))
    assert "handling bad failed" in caplog.text


@over_pipes
async def test_a_caller_goes_on_before_an_observer_hears_what_came_after_the_response() -> None:
    observer = Observer()
    async with talk_with_bytes(observer) as (connection, peer):

        async def answer() -> None:
            asked = await read(peer)
            await send_together(
                peer,
                jsonrpc.encode_notification("before"),
                jsonrpc.encode_result(asked["id"], {}),
                jsonrpc.encode_notification("after"),
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer)
            await connection.request("m", {"sessionId": "s"})
            assert [each.method for each in observer.heard] == ["before"]
