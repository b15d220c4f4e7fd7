"""The order of what came over the wire, lane by lane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from acp_protocol import jsonrpc, lanes
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.lanes import Lanes
from acp_protocol.transport.lines import LineTransport
from tests.protocol.talks import LIMIT, Script, read, talk_with_bytes

pytestmark = pytest.mark.usefixtures("over_pipes")


def step(name: str, done: list[str]) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        await anyio.lowlevel.checkpoint()
        done.append(name)

    return run


async def test_what_is_put_behind_an_entry_that_has_begun_waits_for_it() -> None:
    done: list[str] = []
    async with anyio.create_task_group() as tasks:
        open_lanes = Lanes(tasks)
        assert open_lanes.has_room("s")
        work_off = open_lanes.occupy("s", step("begun", done))
        assert not open_lanes.is_free("s")
        assert not open_lanes.is_free(None)
        assert open_lanes.is_free("other")
        await open_lanes.put("s", step("behind", done))
        await open_lanes.follow("s", lambda: done.append("answer"))
        await work_off()
        assert done == ["begun", "behind", "answer"]
        assert open_lanes.is_free(None)


async def test_an_entry_of_no_session_has_room_only_when_nothing_is_open() -> None:
    done: list[str] = []
    async with anyio.create_task_group() as tasks:
        open_lanes = Lanes(tasks)
        work_off = open_lanes.occupy(None, step("of none", done))
        assert not open_lanes.has_room(None)
        await open_lanes.put(None, step("the next", done))
        await work_off()
    assert done == ["of none", "the next"]


async def test_so_many_lanes_are_open_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LANES", 2)
    async with anyio.create_task_group() as tasks:
        open_lanes = Lanes(tasks)
        works = [open_lanes.occupy(name, step(name, [])) for name in "ab"]
        assert open_lanes.is_free("c")
        assert not open_lanes.has_room("c")
        for work_off in works:
            await work_off()
        assert open_lanes.has_room("c")


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
        assert isinstance(peer, LineTransport)

        async def ask() -> None:
            await connection.request("question", {"sessionId": "s"})
            order.append("answer")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            asked = await read(peer)
            notes = [
                jsonrpc.notification_line("note", {"sessionId": "s", "n": n}) for n in range(8)
            ]
            last = jsonrpc.notification_line("last", {"sessionId": "s", "n": 9})
            answer = jsonrpc.result_line(asked["id"], {})
            request = jsonrpc.request_line("r", "request", {"sessionId": "s"})
            peer.begin([*notes, answer, request, last])
            assert (await read(peer))["id"] == "r"
        while len(order) < 11:
            await anyio.lowlevel.checkpoint()
    notes_heard = [f"note {n}" for n in range(8)]
    assert order[:8] == notes_heard
    assert set(order[8:]) == {"answer", "request", "last 9"}
    assert order.index("request") < order.index("last 9")


async def test_a_session_whose_handler_waits_holds_up_no_other() -> None:
    release = anyio.Event()
    heard: list[str] = []

    async def hear(notification: Notification) -> None:
        if notification.params["sessionId"] == "slow":
            await release.wait()
        heard.append(notification.params["sessionId"])

    with anyio.fail_after(LIMIT):
        async with talk_with_bytes(Script(on_notification=hear)) as (_, peer):
            assert isinstance(peer, LineTransport)
            sessions = ["slow", "a", "slow", "b"]
            peer.begin([jsonrpc.notification_line("n", {"sessionId": s}) for s in sessions])
            while len(heard) < 2:
                await anyio.lowlevel.checkpoint()
            assert heard == ["a", "b"]
            release.set()
            while len(heard) < 4:
                await anyio.lowlevel.checkpoint()
    assert heard == ["a", "b", "slow", "slow"]
