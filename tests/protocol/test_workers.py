"""Tasks that serve one request after the other."""

from __future__ import annotations

import random
from contextlib import suppress

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError, TimeLimitError
from acp_protocol.handling import Followed
from acp_protocol.jsonrpc import Json, Notification, Request
from tests.protocol import talks
from tests.protocol.talks import LIMIT, Script, read, talk_with_bytes

pytestmark = pytest.mark.usefixtures("over_every_wire")


async def test_a_cancelled_request_takes_none_of_the_others_along() -> None:
    begun = anyio.Event()

    async def serve(request: Request) -> Json:
        if request.method == "long":
            begun.set()
            await anyio.sleep_forever()
        return {"said": request.method}

    async with talk_with_bytes(Script(on_request=serve)) as (_, peer):
        for number in range(3):
            await peer.send(jsonrpc.request_line(number, "short"))
            assert (await read(peer))["id"] == number
        await peer.send(jsonrpc.request_line("a", "long"))
        await begun.wait()
        await peer.send(jsonrpc.request_line("b", "short"))
        assert (await read(peer))["id"] == "b"
        await peer.send(jsonrpc.notification_line("$/cancel_request", {"requestId": "a"}))
        answer = await read(peer)
        assert (answer["id"], answer["error"]["code"]) == ("a", jsonrpc.REQUEST_CANCELLED)
        for number in range(3):
            await peer.send(jsonrpc.request_line(number, "short"))
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
            return Followed({}, lambda: self.connection.notify("after", {"sessionId": "after"}))
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


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_handlers_do_every_question_ends_and_a_session_keeps_its_order(
    seed: int,
) -> None:
    moods = random.Random(seed)
    sides = [Moody(moods), Moody(moods)]
    ours, theirs = talks.pair()

    async def ask(connection: Connection) -> None:
        for _ in range(10):
            with suppress(RequestFailedError, TimeLimitError):
                session = {"sessionId": f"s{moods.randrange(3)}"} if moods.randrange(2) else {}
                limit = moods.choice([None, None, 0.001])
                await connection.request("m", session, time_limit=limit)

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
            assert not one.faults
            assert not other.faults
