"""Agents over HTTP and WebSocket, by real sockets."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import httpx
import pytest
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from acp_protocol.errors import AgentStartError, ConnectionClosedError, FrameTooLongError
from acp_protocol.jsonrpc import Json, encode_notification, encode_request, encode_result, parse
from acp_protocol.transport import Transport
from acp_protocol.transport.http import HttpLimits
from acp_protocol.transport.http_protocols import SocketLimits
from acp_protocol.transport.served_connections import Connections, ServerLimits
from acp_protocol.transport.websocket_server import serve_socket
from tests.protocol.transport.served_agent import (
    BEARER,
    LIMIT,
    TOKEN,
    HttpPeer,
    Serving,
    SmallAgent,
    agent_that,
    http_client,
    http_peer,
    serving,
    small_agent,
)

INITIALIZE = encode_request(0, "initialize", {"protocolVersion": 1})
JSON = {"Content-Type": "application/json"}


async def test_a_turn_over_http_with_a_permission() -> None:
    async with serving() as server, http_peer(server) as peer, peer.stream() as connection:
        assert (await peer.post("session/new", {})).status_code == 202
        session = (await connection())["result"]["sessionId"]
        async with peer.stream(session) as said:
            params: Json = {"sessionId": session, "prompt": "ask"}
            posted = await peer.post("session/prompt", params, session)
            assert (posted.status_code, posted.content) == (202, b"")
            assert (await said())["params"]["text"] == "ask"
            asked = await said()
            chosen = {"outcome": {"outcome": "selected"}}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": chosen}
            assert (await peer.post_message(answer, "another")).status_code == 400
            assert (await peer.post_message(answer, session)).status_code == 202
            assert (await said())["params"]["text"] == "selected"
            assert (await said())["result"] == {"stopReason": "end_turn"}


async def test_initialize_opens_a_connection_with_a_cookie_for_its_process() -> None:
    async with serving() as server, http_client() as client:
        peers = [HttpPeer(server.url, client) for _ in range(2)]
        first, second = [await peer.initialize() for peer in peers]
        assert first.headers["Content-Type"] == "application/json"
        assert first.headers["Cache-Control"] == "no-store"
        assert first.json()["result"]["protocolVersion"] == 1
        assert peers[0].id != peers[1].id
        cookie = first.headers["Set-Cookie"]
        assert cookie.startswith("acp_affinity=")
        assert {"Path=/acp", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))
        assert second.headers["Set-Cookie"] == cookie
    async with serving() as server, http_client() as client:
        other = await HttpPeer(server.url, client).initialize()
        assert other.headers["Set-Cookie"] != cookie


async def test_an_error_of_initialize_leaves_the_connection_open() -> None:
    class Refusing(SmallAgent):
        async def handle_request(self, request: Any) -> Json:
            if request.params != {"protocolVersion": 1}:
                request.method = "unknown"
            return await super().handle_request(request)

    async with serving(lambda: small_agent(Refusing())) as server, http_client() as client:
        content = encode_request(0, "initialize", {})
        answer = await client.post(server.url, content=content, headers=JSON)
        assert answer.status_code == 200
        assert "error" in answer.json()
        assert len(server.connections) == 1
        named = JSON | {"Acp-Connection-Id": answer.headers["Acp-Connection-Id"]}
        posted = await client.post(server.url, content=encode_request(1, "x"), headers=named)
        assert posted.status_code == 202


@asynccontextmanager
async def no_agent() -> AsyncGenerator[Transport]:
    raise AgentStartError("it cannot be started")
    yield  # pyright: ignore[reportUnreachable] - it has to be a generator


async def die(agent: Transport) -> None:
    await agent.aclose()


async def be_mute(agent: Transport) -> None:
    await anyio.sleep_forever()


dying_agent, mute_agent = agent_that(die), agent_that(be_mute)


@pytest.mark.parametrize(
    ("agent", "status"), [(no_agent, 500), (dying_agent, 500), (mute_agent, 504)]
)
async def test_initialize_that_the_agent_never_answers(agent: Any, status: int) -> None:
    limits = ServerLimits(initialize_s=0.2)
    async with serving(agent, server_limits=limits) as server, http_client() as client:
        answer = await client.post(server.url, content=INITIALIZE, headers=JSON)
        assert answer.status_code == status
        assert (answer.json()["id"], answer.json()["error"]["code"]) == (0, -32603)
        assert "Acp-Connection-Id" not in answer.headers
        await server.connections.wait_closed()

        async with socket_of(server) as socket:
            await socket.send(INITIALIZE.decode())
            answered = json.loads(await socket.recv())
            assert (answered["id"], answered["error"]["code"]) == (0, -32603)
            assert await close_code(socket) == 1011


async def test_a_client_that_gives_up_initialize_leaves_no_connection() -> None:
    async with serving(mute_agent) as server, http_client() as client:
        with anyio.move_on_after(0.3) as limit:
            await client.post(server.url, content=INITIALIZE, headers=JSON)
        assert limit.cancelled_caught
        await server.connections.wait_closed()


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD", "TRACE"])
async def test_other_methods_are_refused(method: str) -> None:
    async with serving() as server, http_client() as client:
        answer = await client.request(method, server.url)
        assert answer.status_code == 405
        assert answer.headers["Allow"] == "GET, POST, DELETE"


async def test_a_connection_that_is_not_named_or_not_known() -> None:
    async with serving() as server, http_client() as client:
        stranger = HttpPeer(server.url, client)
        events = {"Accept": "text/event-stream"}
        unknown = {"Acp-Connection-Id": "x"}
        resumed = unknown | {"Last-Event-ID": "1-7"}
        for headers, status in (({}, 400), (unknown, 404), (resumed, 404)):
            content = encode_request(1, "session/list")
            posted = await client.post(server.url, content=content, headers=JSON | headers)
            read = await client.get(server.url, headers=events | headers)
            deleted = await client.delete(server.url, headers=headers)
            assert [each.status_code for each in (posted, read, deleted)] == [status] * 3
            wrong = await client.get(server.url, headers={"Accept": "text/html"} | headers)
            assert wrong.status_code == 406
        assert "This process has no such connection. Open a new one" in posted.text
        assert stranger.id == ""


async def test_a_connection_says_why_it_has_ended_while_its_agent_still_ends() -> None:
    """A client opens its stream again at once, before the agent has ended."""
    may_end = anyio.Event()

    @asynccontextmanager
    async def slow_to_end() -> AsyncGenerator[Transport]:
        async with small_agent() as agent:
            try:
                yield agent
            finally:
                with anyio.CancelScope(shield=True):
                    await may_end.wait()

    async with serving(slow_to_end) as server, http_peer(server) as peer:
        await peer.client.delete(peer.url, headers=peer.headers())
        events = {"Accept": "text/event-stream"}
        refused = await peer.client.get(peer.url, headers=peer.headers() | events)
        may_end.set()
    assert refused.status_code == 404
    assert refused.text == "The connection has ended: the client ended it. Open a new one."


async def test_delete_ends_the_connection_its_streams_and_its_agent() -> None:
    async with serving() as server, http_peer(server) as peer, peer.stream() as connection:
        answer = await peer.client.delete(peer.url, headers=peer.headers())
        assert (answer.status_code, answer.content) == (202, b"")
        with pytest.raises(StopAsyncIteration):
            await connection()
        await server.connections.wait_closed()
        again = await peer.client.delete(peer.url, headers=peer.headers())
        assert again.status_code == 404
        assert again.text == "The connection has ended: the client ended it. Open a new one."


async def test_what_an_agent_said_before_it_died_is_read() -> None:
    async def run(agent: Transport) -> None:
        await agent.receive()
        await agent.send(encode_result(0, {}))
        await agent.receive()
        await agent.send(encode_notification("last/words", {"text": "bye"}))
        await agent.aclose()

    async with (
        serving(agent_that(run)) as server,
        http_peer(server) as peer,
        peer.stream() as connection,
    ):
        await peer.post("x")
        assert (await connection())["params"]["text"] == "bye"
        with pytest.raises(StopAsyncIteration):
            await connection()
        assert (await peer.post("x")).text.startswith("The connection has ended: the agent ended")


async def test_a_stream_begins_at_once_and_is_kept_alive_by_comments() -> None:
    limits = ServerLimits(keep_alive_s=0.05)
    async with serving(server_limits=limits) as server, http_peer(server) as peer:
        headers = peer.headers() | {"Accept": "text/event-stream"}
        async with peer.client.stream("GET", peer.url, headers=headers) as response:
            assert response.headers["Content-Type"] == "text/event-stream"
            assert response.headers["Cache-Control"] == "no-store"
            assert response.headers["X-Accel-Buffering"] == "no"
            chunks = response.aiter_bytes()
            assert [await anext(chunks) for _ in range(3)] == [b":\n\n"] * 3


async def test_a_second_reader_is_refused_until_the_first_has_gone() -> None:
    async with serving() as server, http_peer(server) as peer:
        headers = peer.headers() | {"Accept": "text/event-stream"}
        async with peer.stream():
            answer = await peer.client.get(peer.url, headers=headers)
            assert answer.status_code == 409
        while True:
            async with peer.client.stream("GET", peer.url, headers=headers) as response:
                if response.status_code == 200:
                    break


async def test_a_reader_that_comes_back_misses_nothing() -> None:
    async with serving() as server, http_peer(server) as peer:
        headers = peer.headers("s1") | {"Accept": "text/event-stream"}
        for text in ("one", "two", "three"):
            await peer.post("session/prompt", {"sessionId": "s1", "prompt": text}, "s1")
        lines: list[str] = []
        async with peer.client.stream("GET", peer.url, headers=headers) as response:
            async for line in response.aiter_lines():
                lines.append(line)
                if "three" in line:
                    break
        first = next(line for line in lines if line.startswith("id: ")).removeprefix("id: ")
        await peer.post("session/prompt", {"sessionId": "s1", "prompt": "four"}, "s1")
        again: list[str] = []
        with anyio.fail_after(10):
            while not again:
                named = headers | {"Last-Event-ID": first}
                async with peer.client.stream("GET", peer.url, headers=named) as response:
                    if response.status_code == 409:
                        # The server has not seen yet that the first reader has left.
                        continue
                    async for line in response.aiter_lines():
                        again.append(line)
                        if "four" in line:
                            break
    assert [line for line in lines if line.startswith("data")][1:] == [
        line for line in again if line.startswith("data") and "four" not in line
    ][: len([line for line in lines if line.startswith("data")]) - 1]


@pytest.mark.parametrize("chunk", [1, 7])
async def test_characters_of_events_are_never_cut(chunk: int) -> None:
    async with serving() as server, http_peer(server) as peer:
        await peer.post("session/prompt", {"sessionId": "s", "prompt": "ü😀"}, "s")
        headers = peer.headers("s") | {"Accept": "text/event-stream"}
        async with peer.client.stream("GET", peer.url, headers=headers) as response:
            async for piece in response.aiter_bytes(chunk):
                assert piece.isascii()
                if piece == b"}" or b"}" in piece:
                    break


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
async def test_the_id_of_a_session_may_have_other_letters(encoding: str) -> None:
    async with serving() as server, http_peer(server) as peer:
        headers = [*peer.headers().items(), *JSON.items()]
        named = [(name.encode(), value.encode()) for name, value in headers]
        named.append((b"Acp-Session-Id", "sé".encode(encoding)))
        content = encode_request(1, "session/prompt", {"sessionId": "sé", "prompt": "x"})
        answer = await peer.client.post(peer.url, content=content, headers=named)
        assert answer.status_code == 202


async def test_a_header_that_comes_twice_names_nothing() -> None:
    async with serving() as server, http_peer(server) as peer:
        headers = [*(peer.headers() | JSON).items(), *peer.headers().items()]
        content = encode_request(1, "session/list")
        answer = await peer.client.post(peer.url, content=content, headers=headers)
        assert answer.status_code == 404


async def test_bodies_have_a_limit() -> None:
    limits = HttpLimits(body=1000)
    async with serving(limits=limits) as server, http_peer(server) as peer:
        answer = await peer.post("x", {"text": "x" * 1000})
        assert answer.status_code == 413

        async def chunks() -> AsyncGenerator[bytes]:
            for _ in range(100):
                yield b"x" * 100

        answer = await peer.client.post(peer.url, content=chunks(), headers=peer.headers() | JSON)
        assert answer.status_code == 413


@pytest.mark.parametrize("length", ["1001", "9" * 18])
async def test_a_body_that_is_announced_too_large_is_not_waited_for(length: str) -> None:
    async with serving(limits=HttpLimits(body=1000)) as server:
        parts = urlsplit(server.url)
        assert parts.hostname is not None
        assert parts.port is not None
        async with await anyio.connect_tcp(parts.hostname, parts.port) as stream:
            head = (
                f"POST /acp HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
            )
            await stream.send(head.encode())
            assert (await stream.receive()).startswith(b"HTTP/1.1 413 ")


async def test_all_bodies_together_have_a_limit() -> None:
    limits = ServerLimits(bodies=500)
    async with serving(server_limits=limits) as server, http_peer(server) as peer:
        assert (await peer.post("x", {"text": "x" * 500})).status_code == 503
        assert (await peer.post("x", {"text": "x" * 300})).status_code == 202


async def test_a_body_that_does_not_come_is_given_up() -> None:
    async with serving(server_limits=ServerLimits(body_s=0.1)) as server:
        host = server.base.removeprefix("http://")
        head = f"POST /acp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n"
        async with await anyio.connect_tcp("127.0.0.1", int(host.split(":")[1])) as stream:
            await stream.send(f"{head}Content-Length: 9\r\n\r\n{{".encode())
            assert (await stream.receive()).startswith(b"HTTP/1.1 408")


async def test_one_connection_too_many_comes_again_later() -> None:
    limits = ServerLimits(connections=1)
    async with serving(server_limits=limits) as server, http_peer(server) as peer:
        second = await HttpPeer(server.url, peer.client).initialize()
        assert (second.status_code, second.headers["Retry-After"]) == (503, "1")
        with pytest.raises(InvalidStatus, match="503"):
            async with socket_of(server):
                pass
        await peer.client.delete(peer.url, headers=peer.headers())
        await server.connections.wait_closed()
        assert (await HttpPeer(server.url, peer.client).initialize()).status_code == 200


async def test_a_connection_that_nobody_attends_to_ends() -> None:
    limits = ServerLimits(unattended_s=0.2)
    async with serving(server_limits=limits) as server, http_peer(server) as peer:
        async with peer.stream():
            await anyio.sleep(0.5)
            assert len(server.connections) == 1
        await server.connections.wait_closed()
        answer = await peer.post("session/list")
        assert "has ended: no stream was read for 0.2 s" in answer.text


async def test_the_agent_waits_while_the_client_does_not_read_and_the_connection_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The memory that a slow reader takes is bounded, and so is the time."""
    said: list[int] = []

    async def flood(agent: Transport) -> None:
        await agent.receive()
        await agent.send(encode_result(0, {}))
        while True:
            params: Json = {"sessionId": "s", "text": "x" * 1000}
            frame = encode_notification("session/update", params)
            await agent.send(frame)
            said.append(len(frame))

    limits = HttpLimits(unread=50_000, stall_s=0.3)
    async with serving(agent_that(flood), limits=limits) as server, http_peer(server) as peer:
        await server.connections.wait_closed()
        assert 50_000 <= sum(said) <= 65_000
        answer = await peer.post("session/list")
        assert "has ended: the client has read nothing for 0.3 s" in answer.text
    # The agent that sends once more has not failed.
    assert [each.getMessage() for each in caplog.records if "failed" in each.getMessage()] == []


async def test_too_many_sessions_that_nobody_reads_end_the_connection_with_a_reason() -> None:
    async def open_many(agent: Transport) -> None:
        await agent.receive()
        await agent.send(encode_result(0, {}))
        await agent.receive()
        with suppress(ConnectionClosedError):
            for number in range(4):
                params: Json = {"sessionId": f"s{number}"}
                await agent.send(encode_notification("session/update", params))
            await anyio.sleep_forever()

    async with (
        serving(agent_that(open_many), limits=HttpLimits(streams=3)) as server,
        http_peer(server) as peer,
    ):
        headers = peer.headers() | {"Accept": "text/event-stream"}
        async with peer.client.stream("GET", peer.url, headers=headers) as response:
            await peer.post("x")
            said = await response.aread()
        reason = "more than 3 sessions have messages that the client does not read"
        assert said.decode().endswith(f": the connection ended: {reason}\n\n")
        assert reason in (await peer.post("x")).text


async def test_a_request_waits_for_room_but_a_notification_and_a_response_do_not() -> None:
    agent = SmallAgent()
    limits = HttpLimits(unread=300)
    async with (
        serving(lambda: small_agent(agent), limits=limits) as server,
        http_peer(server) as peer,
    ):
        params: Json = {"sessionId": "s", "prompt": "hold" + "x" * 300}
        await peer.post("session/prompt", params, "s")
        with anyio.move_on_after(0.2) as limit:
            await peer.post("session/list")
        assert limit.cancelled_caught
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
        assert (await peer.post_message(cancel, "s")).status_code == 202
        result: Json = {"jsonrpc": "2.0", "id": 99, "result": {}}
        assert (await peer.post_message(result)).status_code == 202
        async with peer.stream("s"):
            assert (await peer.post("session/list")).status_code == 202


async def test_a_turn_over_a_websocket() -> None:
    async with serving() as server, socket_of(server) as socket:
        assert socket.response is not None
        assert socket.response.headers["Acp-Connection-Id"]
        assert socket.response.headers["Set-Cookie"].startswith("acp_affinity=")
        assert (await call(socket, "initialize", {"protocolVersion": 1}))["result"]
        session = (await call(socket, "session/new", {}))["result"]["sessionId"]
        prompt = encode_request(7, "session/prompt", {"sessionId": session, "prompt": "hü"})
        await socket.send(prompt.decode())
        assert json.loads(await socket.recv())["params"]["text"] == "hü"
        assert json.loads(await socket.recv())["id"] == 7


@pytest.mark.parametrize(
    "message",
    [
        encode_request(1, "session/new", {}),
        encode_notification("initialize", {}),
        encode_request(None, "initialize", {}),
    ],
)
async def test_a_websocket_begins_with_initialize(message: bytes) -> None:
    async with serving() as server, socket_of(server) as socket:
        await socket.send(message.decode())
        assert await close_code(socket) == 1002


@pytest.mark.parametrize(
    ("message", "code"), [("{", -32700), ("7", -32600), ("[]", -32600), ("{}", -32600)]
)
async def test_what_is_no_message_is_answered_over_a_websocket(message: str, code: int) -> None:
    """Before `initialize` and after it; responses without a request and binary frames are not."""
    async with serving() as server, socket_of(server) as socket:
        for _ in range(2):
            await socket.send(encode_result(3, {}).decode())
            await socket.send(b"binary")
            await socket.send(message)
            answer = json.loads(await socket.recv())
            assert (answer["id"], answer["error"]["code"]) == (None, code)
            assert "result" in await call(socket, "initialize", {}) or True
        repeated = await call(socket, "initialize", {})
        assert repeated["error"]["code"] == -32600


async def test_a_websocket_by_its_id_over_http() -> None:
    async with serving() as server, socket_of(server) as socket, http_client() as client:
        assert socket.response is not None
        peer = HttpPeer(server.url, client)
        peer.id = socket.response.headers["Acp-Connection-Id"]
        events = peer.headers() | {"Accept": "text/event-stream"}
        assert (await peer.post("session/list")).status_code == 404
        await call(socket, "initialize", {})
        assert (await peer.post("session/new", {}, id_=8)).status_code == 202
        assert json.loads(await socket.recv())["id"] == 8
        assert (await client.get(server.url, headers=events)).status_code == 409
        assert (await client.delete(server.url, headers=peer.headers())).status_code == 202
        assert await close_code(socket) in {1000, 1005}
        assert (await client.delete(server.url, headers=peer.headers())).status_code == 404


async def test_a_websocket_that_sends_nothing_is_closed() -> None:
    limits = ServerLimits(body_s=0.1)
    async with serving(server_limits=limits) as server, socket_of(server) as socket:
        assert await close_code(socket) == 1002


async def test_a_websocket_of_an_agent_that_ends_is_closed() -> None:
    async def run(agent: Transport) -> None:
        request = parse(await agent.receive())
        await agent.send(encode_result(request["id"], {}))
        await agent.receive()
        await agent.aclose()

    async with serving(agent_that(run)) as server, socket_of(server) as socket:
        assert "result" in await call(socket, "initialize", {})
        await socket.send(encode_request(1, "x").decode())
        assert await close_code(socket) in {1000, 1005}


async def test_a_message_of_the_agent_beyond_the_limit_closes_a_websocket_with_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Boastful(Transport):
        def __init__(self, inner: Transport) -> None:
            self.inner = inner
            self.is_over = False

        async def send(self, line: bytes) -> None:
            self.is_over = b"initialize" not in line
            await self.inner.send(line)

        async def receive(self) -> bytes:
            frame = await self.inner.receive()
            if self.is_over:
                raise FrameTooLongError(1000)
            return frame

        async def aclose(self) -> None:
            await self.inner.aclose()

    @asynccontextmanager
    async def boastful() -> AsyncGenerator[Transport]:
        async with small_agent() as inner:
            yield Boastful(inner)

    async with serving(boastful) as server, socket_of(server) as socket:
        await call(socket, "initialize", {})
        await socket.send(encode_request(1, "session/list").decode())
        assert await close_code(socket) == 1011
        assert socket.close_reason == "a frame is longer than the limit of 1000 bytes"
    assert "a request failed" not in caplog.text


class Flood(Transport):
    """Says more and more once it was spoken to, and never waits."""

    def __init__(self) -> None:
        self.begun = anyio.Event()

    async def send(self, line: bytes) -> None:
        self.begun.set()

    async def receive(self) -> bytes:
        if not self.begun.is_set():
            await self.begun.wait()
        return encode_notification("x")

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def flood() -> AsyncGenerator[Transport]:
    yield Flood()


async def test_a_client_that_vanishes_from_a_websocket_amid_a_flood_is_no_failure() -> None:
    sent: list[str] = []

    async def receive() -> MutableMapping[str, Any]:
        if not sent:
            return {"type": "websocket.connect"}
        if len(sent) > 1:
            await anyio.sleep_forever()
        await anyio.lowlevel.checkpoint()
        return {"type": "websocket.receive", "text": encode_request(0, "initialize").decode()}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message["type"])
        if sent.count("websocket.send") == 2:
            raise OSError

    connections = Connections(flood)
    scope: dict[str, Any] = {"type": "websocket", "subprotocols": [], "headers": []}
    with anyio.fail_after(LIMIT):
        async with connections.running():
            await serve_socket(connections, WebSocket(scope, receive, send))
    assert sent == ["websocket.accept", "websocket.send", "websocket.send"]


async def test_a_websocket_whose_client_does_not_read_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    limits, socket_limits = HttpLimits(stall_s=0.3), SocketLimits(close_s=0.1)
    async with (
        serving(limits=limits, socket_limits=socket_limits) as server,
        socket_of(server, max_queue=1, max_size=None) as socket,
    ):
        await call(socket, "initialize", {})
        prompt = encode_request(1, "session/prompt", {"sessionId": "s", "prompt": "x" * 5_000_000})
        with suppress(ConnectionClosed):
            for _ in range(8):
                await socket.send(prompt.decode())
        await server.connections.wait_closed()
        await close_code(socket)
    assert "ends: the client has read nothing for 0.3 s" in caplog.text


async def test_a_websocket_message_of_many_megabytes_passes() -> None:
    async with serving() as server, socket_of(server, max_size=None) as socket:
        await call(socket, "initialize", {})
        text = "x" * (20 * 2**20)
        prompt = encode_request(1, "session/prompt", {"sessionId": "s", "prompt": text})
        await socket.send(prompt.decode())
        assert json.loads(await socket.recv())["params"]["text"] == text


async def test_a_websocket_message_beyond_the_limit_closes_it() -> None:
    limits = HttpLimits(body=1000)
    async with serving(limits=limits) as server, socket_of(server) as socket:
        await socket.send("x" * 1001)
        assert await close_code(socket) == 1009


async def test_a_page_gets_in_by_subprotocol() -> None:
    offered = [Subprotocol("acp"), Subprotocol(f"acp.bearer.{TOKEN}")]
    async with (
        serving() as server,
        socket_of(server, subprotocols=offered, additional_headers={}) as socket,
    ):
        assert socket.subprotocol == "acp"
        assert "result" in await call(socket, "initialize", {})


async def test_the_end_lets_turns_finish_and_refuses_new_clients() -> None:
    async with (
        serving() as server,
        http_peer(server) as peer,
        peer.stream("s") as said,
        socket_of(server) as socket,
    ):
        await call(socket, "initialize", {})
        await peer.post("session/prompt", {"sessionId": "s", "prompt": "hold"}, "s")
        assert (await said())["params"]["text"] == "hold"
        server.stop.set()
        while (await peer.client.get(server.base + "/healthz")).status_code == 200:
            pass
        refused = await HttpPeer(server.url, peer.client).initialize()
        assert (refused.status_code, refused.text) == (503, "The server ends")
        cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
        assert (await peer.post_message(cancel, "s")).status_code == 202
        assert (await said())["result"] == {"stopReason": "end_turn"}
        with pytest.raises(StopAsyncIteration):
            await said()
        assert await close_code(socket) == 1001


async def test_the_end_waits_for_turns_no_longer_than_it_may() -> None:
    async with serving(drain_s=0.1) as server, http_peer(server) as peer, peer.stream("s") as said:
        await peer.post("session/prompt", {"sessionId": "s", "prompt": "hold"}, "s")
        assert (await said())["params"]["text"] == "hold"
        server.stop.set()
        with pytest.raises(StopAsyncIteration):
            await said()
        with pytest.raises(httpx.TransportError):
            while True:
                await peer.client.get(server.base + "/healthz")


def socket_of(server: Serving, **options: Any) -> connect:
    options = {"additional_headers": BEARER, "proxy": None} | options
    return connect(server.socket_url, **options)


async def call(socket: ClientConnection, method: str, params: Any) -> Any:
    await socket.send(encode_request(1, method, params).decode())
    return json.loads(await socket.recv())


async def close_code(socket: ClientConnection) -> int | None:
    """Return the code with which the server closes the WebSocket."""
    with pytest.raises(ConnectionClosed):
        while True:
            await socket.recv()
    return socket.close_code
