"""The client over a WebSocket, against a scripted server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from acp_inspector.journal import Frame, Journal, JournalEvent
from acp_protocol.errors import ConnectionClosedError, FrameTooLongError
from acp_protocol.transport.remote import RemoteAgent, RemoteClosedError, RemoteLimits
from acp_protocol.transport.websocket_client import open_websocket

LIMIT = 10.0
"""Seconds after which a test counts as hung."""
Serve = Callable[[ServerConnection], Awaitable[None]]
Judge = Callable[[ServerConnection, Request], Response | None]


@asynccontextmanager
async def socket_server(
    handle: Serve | None = None, judge: Judge | None = None, **options: Any
) -> AsyncGenerator[str]:
    """Run a server; yield its URL."""

    async def echo(socket: ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    with anyio.fail_after(LIMIT):
        async with serve(
            handle or echo, "127.0.0.1", 0, process_request=judge, **options
        ) as server:
            yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/acp"


def refusal(status: int, body: bytes = b"", **headers: str) -> Judge:
    def judge(socket: ServerConnection, request: Request) -> Response | None:
        named = Headers({name.replace("_", "-"): value for name, value in headers.items()})
        named["Content-Length"] = str(len(body))
        return Response(status, "Status", named, body)

    return judge


async def reason(handle: Serve) -> ConnectionClosedError:
    """Return why a connection ended that a server has handled."""
    async with socket_server(handle) as url, open_websocket(RemoteAgent(url)) as transport:
        with pytest.raises(ConnectionClosedError) as caught:
            await transport.receive()
        with pytest.raises(ConnectionClosedError):
            await transport.send(b"{}")
        assert str(transport.closed_error()) == str(caught.value)
        return caught.value


async def test_each_message_is_a_text_frame() -> None:
    got: list[str | bytes] = []

    async def handle(socket: ServerConnection) -> None:
        got.append(await socket.recv())
        await socket.send('{"a":\r\n"\u2028"}')

    async with socket_server(handle) as url, open_websocket(RemoteAgent(url)) as transport:
        await transport.send('{"ü":1}'.encode())
        assert await transport.receive() == '{"a":  "\u2028"}'.encode()
    assert got == ['{"ü":1}']


async def test_binary_frames_are_ignored_and_recorded() -> None:
    """RFD: ignore; TypeScript and Rust: warn."""

    async def handle(socket: ServerConnection) -> None:
        await socket.send(b"\x00\xff")
        await socket.send("{}")

    journal = Journal()
    async with (
        socket_server(handle) as url,
        open_websocket(RemoteAgent(url), observer=journal) as transport,
    ):
        assert await transport.receive() == b"{}"
    kinds = [each.data["kind"] for each in events(journal) if each.name == "ws_message"]
    assert kinds == ["binary", "text"]
    assert [each.data for each in journal.entries if isinstance(each, Frame)] == [b"\0\xff", b"{}"]


async def test_the_default_limit_is_not_that_of_the_library() -> None:
    """Python's client ends with 1009 above 1 MiB; we take 64 MiB."""
    long = b'"%b"' % (b"x" * 33 * 2**20)
    async with (
        socket_server(max_size=None, compression=None) as url,
        open_websocket(RemoteAgent(url)) as transport,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(transport.send, long)
        assert await transport.receive() == long


async def test_a_frame_beyond_the_limit_ends_the_connection() -> None:
    async with (
        socket_server() as url,
        open_websocket(RemoteAgent(url), limits=RemoteLimits(frame=100)) as transport,
    ):
        await transport.send(b"x" * 101)
        with pytest.raises(FrameTooLongError, match="limit of 100 bytes"):
            await transport.receive()
        with pytest.raises(ConnectionClosedError, match="limit of 100 bytes"):
            await transport.send(b"{}")


@pytest.mark.parametrize(
    ("code", "said", "words", "can_return"),
    [
        (1000, "", "has ended the connection (1000)", True),
        (1001, "shutting down", "goes away (1001): shutting down", True),
        (1002, "initialize first", "violated the protocol (1002): initialize first", False),
        (1008, "too many\x1b sessions", "limit was exceeded (1008): too many sessions", False),
        (1009, "", "message is too long (1009)", False),
        (1011, "", "the server failed (1011)", True),
        (4000, "mine", "has ended the connection (4000): mine", False),
    ],
)
async def test_close_codes_are_explained(
    code: int, said: str, words: str, can_return: bool
) -> None:
    async def handle(socket: ServerConnection) -> None:
        await socket.close(code, said)

    ended = await reason(handle)
    assert words in str(ended)
    assert isinstance(ended, RemoteClosedError)
    assert ended.can_return == can_return


async def test_an_end_without_a_code_is_an_end() -> None:
    """TypeScript: no code (1005) when the agent has ended or after DELETE."""

    async def handle(socket: ServerConnection) -> None:
        await socket.send("{}")
        async with socket.send_context():
            socket.protocol.send_close()
        await socket.wait_closed()

    async with socket_server(handle) as url, open_websocket(RemoteAgent(url)) as transport:
        await transport.receive()
        with pytest.raises(ConnectionClosedError, match=r"ended the connection \(1005\)"):
            await transport.receive()


async def test_a_broken_connection_may_have_lost_messages() -> None:
    async def handle(socket: ServerConnection) -> None:
        socket.transport.abort()

    assert "may be lost (1006)" in str(await reason(handle))


async def test_a_server_that_does_not_respond_to_pings_is_left() -> None:
    """Ping: the servers send none, and a half-open socket would be waited for without end."""
    limits = RemoteLimits(ping_s=0.05, silence_s=0.05, close_s=0.05)
    journal, is_left = Journal(), anyio.Event()

    async def stop_reading(socket: ServerConnection) -> None:
        socket.transport.pause_reading()
        await is_left.wait()
        socket.transport.abort()

    async with (
        socket_server(stop_reading) as url,
        open_websocket(RemoteAgent(url), limits=limits, observer=journal) as transport,
    ):
        with pytest.raises(RemoteClosedError) as caught:
            await transport.receive()
        is_left.set()
    assert str(caught.value) == "the server does not respond any more (1006)"
    assert caught.value.can_return
    end = events(journal)[-1]
    assert (end.name, end.data["code"]) == ("ws_close", 1006)


async def test_invalid_text_ends_the_connection() -> None:
    async def handle(socket: ServerConnection) -> None:
        await socket.send(b"\xff", text=True)
        await socket.wait_closed()

    assert isinstance(await reason(handle), RemoteClosedError)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, b"who?", ["401 Unauthorized", "who?", "--token-env"]),
        (403, b"", ["403 Forbidden", "origins"]),
        (404, b"", ["404 Not Found", "/acp"]),
        (400, b"", ["opens no WebSocket (400", "http://"]),
        (426, b"", ["opens no WebSocket (426", "http://"]),
        (200, b"hello", ["opens no WebSocket (200", "http://"]),
        (429, b"", ["too much to do"]),
        (503, b"", ["takes no requests now"]),
    ],
)
async def test_a_refused_upgrade_is_explained(status: int, body: bytes, words: list[str]) -> None:
    """Rust: 403 for an `Origin` that is not listed; plain handlers: 400 (Python) or 426."""
    journal = Journal()
    async with socket_server(judge=refusal(status, body)) as url:
        with pytest.raises(RemoteClosedError) as caught:
            async with open_websocket(RemoteAgent(url), observer=journal):
                pass
    for word in words:
        assert word in str(caught.value)
    assert [each.data.get("status") for each in events(journal)] == [None, status]


async def test_the_upgrade_has_headers_and_token_and_no_origin() -> None:
    """Rust refuses any `Origin` that is not listed, so none is sent."""
    seen: list[Request] = []

    def judge(socket: ServerConnection, request: Request) -> None:
        seen.append(request)

    journal = Journal()
    own = {"X-Team": "s3cret", "Cookie": "a=s3cret"}
    async with socket_server(judge=judge) as url:
        agent = RemoteAgent(f"{url}?k=s3cret", own, "s3cret")
        async with open_websocket(agent, observer=journal):
            pass
    headers = seen[0].headers
    assert headers["Authorization"] == "Bearer s3cret"
    assert headers["X-Team"] == "s3cret"
    assert headers["Cookie"] == "a=s3cret"
    assert "Origin" not in headers
    assert seen[0].path == "/acp?k=s3cret"
    assert "s3cret" not in str(journal.entries)


async def test_a_redirect_to_the_same_origin_is_followed_with_its_cookies() -> None:
    def judge(socket: ServerConnection, request: Request) -> Response | None:
        if request.path == "/new":
            return (
                None if request.headers.get("Cookie") == "to=b" else refusal(400)(socket, request)
            )
        port = socket.local_address[1]
        target = f"http://127.0.0.1:{port}/new"
        return refusal(307, location=target, set_cookie="to=b; Path=/")(socket, request)

    async with socket_server(judge=judge) as url, open_websocket(RemoteAgent(url)) as transport:
        await transport.send(b"{}")
        assert await transport.receive() == b"{}"


async def test_another_origin_gets_nothing() -> None:
    """The library would follow, and keep all headers but `Authorization` and `Cookie`."""
    seen: list[Request] = []

    def note(socket: ServerConnection, request: Request) -> None:
        seen.append(request)

    async with (
        socket_server(judge=note) as other,
        socket_server(judge=refusal(302, location=other.replace("ws:", "http:"))) as url,
    ):
        with pytest.raises(RemoteClosedError, match="another origin"):
            async with open_websocket(RemoteAgent(url, {"X-Key": "s3cret"})):
                pass
    assert not seen


async def test_a_server_that_is_not_there_is_explained() -> None:
    async with socket_server() as url:
        pass
    with pytest.raises(RemoteClosedError, match="connection refused") as caught:
        async with open_websocket(RemoteAgent(url)):
            pass
    assert caught.value.hint == "is the server running?"


async def test_a_silent_server_is_waited_for_only_so_long() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        limits = RemoteLimits(connect_s=0.05)
        with pytest.raises(RemoteClosedError, match=r"no WebSocket within 0\.05 s"):
            async with open_websocket(RemoteAgent(f"ws://127.0.0.1:{port}/"), limits=limits):
                pass


def events(journal: Journal) -> list[JournalEvent]:
    return [each for each in journal.entries if isinstance(each, JournalEvent)]
