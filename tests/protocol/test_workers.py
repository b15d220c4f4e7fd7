"""Tasks that serve one request after the other."""

from __future__ import annotations

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Json, Request
from tests.protocol.talks import Script, read, talk_with_bytes

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
