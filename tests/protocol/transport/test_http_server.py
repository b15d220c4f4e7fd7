"""Agents over HTTP and WebSocket, by real sockets."""

from __future__ import annotations

from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from acp_protocol.jsonrpc import encode_request, parse
from tests.protocol.transport.served_agent import (
    BEARER,
    Serving,
    http_peer,
    serving,
)


async def test_a_turn_over_http_with_a_permission() -> None:
    async with serving() as server, http_peer(server) as peer, peer.stream() as connection:
        assert (await peer.post("session/new", {})).status_code == 202
        session = (await connection())["result"]["sessionId"]
        async with peer.stream(session) as said:
            params = {"sessionId": session, "prompt": "ask"}
            posted = await peer.post("session/prompt", params, session)
            assert (posted.status_code, posted.content) == (202, b"")
            assert (await said())["params"]["text"] == "ask"
            asked = await said()
            chosen = {"outcome": {"outcome": "selected"}}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": chosen}
            assert (await peer.post_message(answer)).status_code == 400
            assert (await peer.post_message(answer, session)).status_code == 202
            assert (await said())["params"]["text"] == "selected"
            assert (await said())["result"] == {"stopReason": "end_turn"}


async def test_a_turn_over_a_websocket() -> None:
    async with serving() as server, socket_of(server) as socket:
        assert socket.response is not None
        assert socket.response.headers["Acp-Connection-Id"]
        assert (await call(socket, "initialize", {"protocolVersion": 1}))["result"]
        session = (await call(socket, "session/new", {}))["result"]["sessionId"]
        prompt = encode_request(7, "session/prompt", {"sessionId": session, "prompt": "hi"})
        await socket.send(prompt.decode())
        assert parse(str(await socket.recv()).encode())["params"]["text"] == "hi"
        assert parse(str(await socket.recv()).encode())["id"] == 7


def socket_of(server: Serving, **options: Any) -> connect:
    options = {"additional_headers": BEARER, "proxy": None} | options
    return connect(server.socket_url, **options)


async def call(socket: ClientConnection, method: str, params: Any) -> Any:
    await socket.send(encode_request(1, method, params).decode())
    return parse(str(await socket.recv()).encode())
