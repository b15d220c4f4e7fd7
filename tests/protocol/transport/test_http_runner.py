"""Servers on sockets: TLS and HTTP/2, sockets of files, and what clients cannot make them hold."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
import stat
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import httpx
import pytest
import trustme
from h2.config import H2Configuration
from h2.connection import H2Connection
from websockets.asyncio.client import connect

from acp_protocol.jsonrpc import Json, encode_notification, encode_result
from acp_protocol.transport import Transport
from acp_protocol.transport.http import HttpLimits
from acp_protocol.transport.http_protocols import UNSENT_BYTES, SocketLimits, SparingTransport
from acp_protocol.transport.http_runner import Listener, ListenError, TlsFiles
from acp_protocol.transport.served_connections import Connections, ServerLimits
from tests.protocol.transport.served_agent import (
    BEARER,
    TOKEN,
    HttpPeer,
    agent_that,
    http_client,
    http_peer,
    serving,
)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[TlsFiles, ssl.SSLContext]:
    """A certificate of this machine, and what trusts it."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    files = TlsFiles(folder / "cert.pem", folder / "key.pem")
    issued.private_key_pem.write_to_path(files.key)
    files.certificate.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return files, context


@pytest.mark.parametrize(("http2", "version"), [(True, "HTTP/2"), (False, "HTTP/1.1")])
async def test_a_turn_over_tls(
    tls: tuple[TlsFiles, ssl.SSLContext], http2: bool, version: str
) -> None:
    files, context = tls
    async with (
        serving(tls=files) as server,
        http_peer(server, verify=context, http2=http2) as peer,
        peer.stream("s") as said,
    ):
        assert server.url.startswith("https://")
        params: Json = {"sessionId": "s", "prompt": "hü"}
        posted = await peer.post("session/prompt", params, "s")
        assert (posted.status_code, posted.http_version) == (202, version)
        assert (await said())["params"]["text"] == "hü"
        assert (await said())["result"] == {"stopReason": "end_turn"}
        large = await peer.post("session/prompt", {"sessionId": "s", "prompt": "x" * 10**6}, "s")
        assert large.status_code == 202
        assert len((await said())["params"]["text"]) == 10**6
        origin = {"Origin": server.base}
        assert (await peer.client.get(server.base + "/metrics", headers=origin)).status_code == 200


async def test_a_websocket_over_tls(tls: tuple[TlsFiles, ssl.SSLContext]) -> None:
    files, context = tls
    async with (
        serving(tls=files) as server,
        connect(
            server.socket_url, additional_headers=BEARER, proxy=None, ssl=context
        ) as connection,
    ):
        assert server.socket_url.startswith("wss://")
        await connection.send("{")
        assert "-32700" in str(await connection.recv())


async def test_a_websocket_that_is_just_closing_does_not_fail_the_end(
    tls: tuple[TlsFiles, ssl.SSLContext],
) -> None:
    files, context = tls
    async with serving(tls=files) as server:
        connection = await connect(
            server.socket_url, additional_headers=BEARER, proxy=None, ssl=context
        )
        # A client that says farewell, and reads nothing of what comes back: TLS waits for it.
        connection.transport.pause_reading()
        connection.protocol.send_close()
        connection.send_data()
        await anyio.wait_all_tasks_blocked()
        server.stop.set()
        await anyio.wait_all_tasks_blocked()
        connection.transport.abort()
        await connection.wait_closed()


@pytest.mark.parametrize("is_secure", [False, True])
async def test_the_limits_of_requests_do_not_end_a_websocket(
    tls: tuple[TlsFiles, ssl.SSLContext], is_secure: bool
) -> None:
    limits = SocketLimits(head_s=0.05, keep_alive_s=0.05)
    files, context = tls if is_secure else (None, None)
    async with (
        serving(socket_limits=limits, tls=files) as server,
        connect(
            server.socket_url, additional_headers=BEARER, proxy=None, ssl=context
        ) as connection,
    ):
        end = anyio.current_time() + 4 * limits.head_s
        while anyio.current_time() < end:
            await connection.send("{")
            assert "-32700" in str(await connection.recv())


async def test_a_websocket_whose_client_does_not_respond_to_a_ping_is_closed() -> None:
    """Peers need not send pings (TypeScript sends none), but all of them respond."""
    limits = SocketLimits(ping_s=0.05, pong_s=0.1, close_s=0.1)
    key = "\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    async with serving(socket_limits=limits) as server, raw_connection(server.base) as stream:
        host = server.base.partition("//")[2]
        named = f"Host: {host}\r\nAuthorization: Bearer {TOKEN}\r\nUpgrade: websocket"
        await stream.send(
            f"GET /acp HTTP/1.1\r\n{named}\r\nConnection: Upgrade{key}\r\n\r\n".encode()
        )
        head, _, frames = (await rest(stream)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ")
    assert frames.startswith(b"\x89\x04")
    assert b"ping timeout" in frames


async def flood(agent: Transport) -> None:
    """Answer `initialize`, and then say 30 MB in one session, as fast as it is taken."""
    await agent.receive()
    await agent.send(encode_result(0, {}))
    params: Json = {"sessionId": "s", "text": "x" * 10_000}
    for _ in range(3000):
        await agent.send(encode_notification("session/update", params))
    await anyio.sleep_forever()


async def wait_stuck(connections: Connections) -> int:
    """Return how much was sent, once the agent waits for its reader."""
    while True:
        sent = connections.counts.sent_bytes
        with anyio.move_on_after(0.3):
            await anyio.sleep_forever()
        if connections.unread >= 100_000 and connections.counts.sent_bytes == sent:
            return sent


async def test_a_slow_reader_makes_its_agent_wait_and_is_left_in_the_end() -> None:
    limits = HttpLimits(unread=100_000, stall_s=2)
    async with (
        serving(
            agent_that(flood), limits=limits, server_limits=ServerLimits(last_comment_s=0.1)
        ) as server,
        http_peer(server) as peer,
        raw_connection(server.base) as stream,
    ):
        head = peer.headers("s") | BEARER | {"Host": server.base.partition("//")[2]}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        await stream.send(f"GET /acp HTTP/1.1\r\n{lines}\r\n".encode())
        # The rest is in the buffers of the two ends of the socket.
        assert await wait_stuck(server.connections) < 20_000_000
        await server.connections.wait_closed()
        while server.connections.counts.streams:
            await anyio.sleep(0.01)


async def test_a_slow_reader_of_a_websocket_may_read_the_rest_after_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run(agent: Transport) -> None:
        await agent.receive()
        await agent.send(encode_result(0, {}))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.send, encode_notification("u", {"text": "x" * 2**23}))
            await anyio.wait_all_tasks_blocked()
            await agent.aclose()

    limits = SocketLimits(close_s=1)
    async with (
        serving(agent_that(run), socket_limits=limits) as server,
        raw_connection(server.base) as stream,
    ):
        await stream.send(f"{UPGRADE}\r\n".replace("HOST", server.base.partition("//")[2]).encode())
        await stream.receive()
        opening = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
        await stream.send(bytes([0x81, 0x80 | len(opening), 0, 0, 0, 0]) + opening)
        while server.connections.counts.sockets or not server.connections.counts.opened:
            await anyio.sleep(0.01)
        await rest(stream)
        await anyio.sleep(limits.close_s)
    assert not caplog.records


async def test_a_slow_reader_of_a_stream_of_http2_makes_its_agent_wait(
    tls: tuple[TlsFiles, ssl.SSLContext],
) -> None:
    """It reads from the socket, but grants nothing to the stream."""
    files, context = tls
    context.set_alpn_protocols(["h2"])
    async with (
        serving(agent_that(flood), tls=files, limits=HttpLimits(unread=100_000)) as server,
        http_peer(server, verify=context, http2=True) as peer,
        await anyio.connect_tcp(
            "127.0.0.1",
            int(server.base.rpartition(":")[2]),
            ssl_context=context,
            tls_hostname="localhost",
            tls_standard_compatible=False,
        ) as stream,
        anyio.create_task_group() as tasks,
    ):
        client = H2Connection()
        client.initiate_connection()
        pseudo = {":method": "GET", ":path": "/acp", ":scheme": "https"}
        pseudo[":authority"] = server.base.partition("//")[2]
        named = {name.lower(): value for name, value in (peer.headers("s") | BEARER).items()}
        client.send_headers(1, list((pseudo | named).items()), end_stream=True)
        await stream.send(client.data_to_send())

        async def read() -> None:
            while True:
                client.receive_data(await stream.receive())
                await stream.send(client.data_to_send() or b"")

        tasks.start_soon(read)
        assert await wait_stuck(server.connections) < 400_000
        tasks.cancel_scope.cancel()


async def test_a_socket_of_a_file_is_for_its_user_alone(tmp_path_factory: Any) -> None:
    path: Path = tmp_path_factory.mktemp("s") / "acp"
    async with serving(address=f"unix:{path}") as server:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        transport = httpx.AsyncHTTPTransport(uds=str(path))
        async with http_client(transport=transport) as client:
            peer = HttpPeer("http://localhost/acp", client)
            assert (await peer.initialize()).status_code == 200
            foreign = {"Host": "evil.example"}
            assert (await client.get(peer.url, headers=foreign)).status_code == 403
        assert len(server.connections) == 1
    assert not path.exists()


def test_a_socket_that_nobody_listens_on_is_replaced_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("s")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "acp"))
    with (
        Listener(f"unix:{folder}/acp"),
        pytest.raises(ListenError, match="address already in use") as refused,
    ):
        Listener(f"unix:{folder}/acp")
    assert refused.value.is_in_use
    (folder / "file").write_text("mine")
    with pytest.raises(ListenError, match="cannot be used"):
        Listener(f"unix:{folder}/file")
    assert (folder / "file").read_text() == "mine"


async def test_small_messages_leave_at_once() -> None:
    accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    class Accepting(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            found: socket.socket = transport.get_extra_info("socket")
            accepted.set_result(bool(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            transport.close()

    with Listener("127.0.0.1:0") as listener:
        loop = asyncio.get_running_loop()
        async with (
            await loop.create_server(Accepting, sock=listener.socket),
            await anyio.connect_tcp(*listener.socket.getsockname()),
        ):
            assert await accepted


class WrittenParts(asyncio.Transport):
    """Notes what is written together, and when reading pauses."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.parts.append(bytes(data))

    def close(self) -> None:
        self.parts.append(b"closed")

    def pause_reading(self) -> None:
        self.parts.append(b"paused")

    def resume_reading(self) -> None:
        self.parts.append(b"resumed")


async def test_messages_of_one_turn_are_written_together_and_in_order() -> None:
    inner = WrittenParts()
    joined = SparingTransport(inner, asyncio.get_running_loop())
    for number in range(5):
        joined.write(b"%d" % number)
    await anyio.lowlevel.checkpoint()
    assert inner.parts == [b"0", b"1234"]
    joined.write(b"5")
    joined.write(b"6" * UNSENT_BYTES)
    assert len(inner.parts) == 4, "what is large does not wait"
    joined.write(b"7")
    joined.write(b"8")
    joined.close()
    assert inner.parts[4:] == [b"7", b"8", b"closed"]


async def test_reading_pauses_once_something_comes_while_it_should() -> None:
    inner = WrittenParts()
    sparing = SparingTransport(inner, asyncio.get_running_loop())
    sparing.note_received()
    sparing.pause_reading()
    sparing.resume_reading()
    assert inner.parts == [], "nothing has come meanwhile"
    sparing.pause_reading()
    sparing.note_received()
    sparing.note_received()
    assert inner.parts == [b"paused"]
    sparing.resume_reading()
    sparing.note_received()
    assert inner.parts == [b"paused", b"resumed"]


async def test_ipv6_works_too() -> None:
    async with serving(address="[::1]:0") as server, http_peer(server):
        assert server.url.startswith("http://[::1]:")


@asynccontextmanager
async def raw_connection(base: str) -> AsyncGenerator[anyio.abc.SocketStream]:
    async with await anyio.connect_tcp("127.0.0.1", int(base.rpartition(":")[2])) as stream:
        yield stream


async def rest(stream: anyio.abc.ByteReceiveStream) -> bytes:
    """Return what comes until the server closes the connection."""
    found = b""
    try:
        while True:
            found += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return found


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /", b"\x16\x03\x01"]
)
async def test_a_connection_that_sends_no_whole_request_is_closed(sent: bytes) -> None:
    limits = SocketLimits(head_s=0.1, keep_alive_s=1)
    async with serving(socket_limits=limits) as server, raw_connection(server.base) as stream:
        await stream.send(sent)
        await rest(stream)


async def test_a_body_that_nobody_asked_for_does_not_keep_a_connection() -> None:
    limits = SocketLimits(head_s=0.1, keep_alive_s=1)
    async with serving(socket_limits=limits) as server, raw_connection(server.base) as stream:
        await stream.send(b"POST /acp HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
        assert (await rest(stream)).startswith(b"HTTP/1.1 403 ")


async def test_one_connection_of_the_network_too_many_is_closed() -> None:
    async with (
        serving(socket_limits=SocketLimits(sockets=3)) as server,
        AsyncExitStack() as stack,
    ):
        streams = [await stack.enter_async_context(raw_connection(server.base)) for _ in range(4)]
        request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        for stream in streams[:3]:
            await stream.send(request)
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
        assert await rest(streams[3]) == b""


async def test_giant_heads_are_refused() -> None:
    async with serving() as server, raw_connection(server.base) as stream:
        await stream.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 80_000)
        assert (await rest(stream)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("http2", [True, False])
async def test_giant_heads_are_refused_over_tls(
    tls: tuple[TlsFiles, ssl.SSLContext], http2: bool
) -> None:
    files, context = tls
    async with serving(tls=files) as server, http_client(verify=context, http2=http2) as client:
        headers = {"X": "x" * 80_000}
        if http2:
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(server.base + "/healthz", headers=headers)
        else:
            refused = await client.get(server.base + "/healthz", headers=headers)
            assert refused.status_code == 400
        assert (await client.get(server.base + "/healthz")).status_code == 200


def test_the_system_closes_connections_whose_other_end_has_gone() -> None:
    """What was accepted is probed, and given up when what is sent is not taken."""
    with (
        Listener("127.0.0.1:0") as listener,
        socket.create_connection(listener.socket.getsockname()),
    ):
        accepted, _ = listener.socket.accept()
        with accepted:
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            timeout = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            assert 0 < timeout <= 120_000


@pytest.mark.parametrize("kind", ["plain", "http/1.1", "h2"])
async def test_letters_that_are_not_escaped_in_a_path_are_refused(
    kind: str, tls: tuple[TlsFiles, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    files, context = tls
    context.set_alpn_protocols([kind])
    async with serving(tls=None if kind == "plain" else files) as server:
        host = server.base.partition("//")[2]
        async with await anyio.connect_tcp(
            "127.0.0.1",
            int(host.rpartition(":")[2]),
            tls=kind != "plain",
            ssl_context=None if kind == "plain" else context,
            tls_standard_compatible=False,
        ) as stream:
            head = b"GET /\xff HTTP/1.1\r\nHost: %b\r\n\r\n" % host.encode()
            if kind == "h2":
                peer = H2Connection(H2Configuration(header_encoding=None))
                peer.initiate_connection()
                pairs = {":method": "GET", ":scheme": "https", ":authority": host, ":path": "/\xff"}
                named = [(name.encode(), value.encode("latin-1")) for name, value in pairs.items()]
                peer.send_headers(1, named, end_stream=True)
                head = peer.data_to_send()
            await stream.send(head)
            said = await rest(stream)
    assert said.startswith(b"HTTP/1.1 400 ") or kind == "h2"
    assert not caplog.records


UPGRADE = (
    f"GET /acp HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer {TOKEN}\r\n"
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(f"{UPGRADE}Cookie: {'x' * 9000}\r\n\r\n", id="long line"),
        pytest.param(f"{UPGRADE}Content-Length: 5\r\n\r\nhello", id="body"),
        pytest.param(f"{UPGRADE}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunks"),
        pytest.param(UPGRADE.replace("/acp", "/acp?\xff") + "\r\n", id="letters"),
    ],
)
async def test_an_upgrade_that_cannot_be_read_is_refused(
    head: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It must not hold its connection, to which no limit of requests applies any more."""
    async with serving() as server, raw_connection(server.base) as stream:
        await stream.send(head.replace("HOST", server.base.partition("//")[2]).encode("latin-1"))
        assert (await rest(stream)).startswith(b"HTTP/1.1 400 ")
    assert not caplog.records


async def test_what_is_no_request_behind_an_open_stream_ends_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What follows a request waits for its response, and only so much may wait."""
    async with (
        serving() as server,
        http_peer(server) as peer,
        raw_connection(server.base) as stream,
    ):
        head = peer.headers("s") | BEARER | {"Host": server.base.partition("//")[2]}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        await stream.send(f"GET /acp HTTP/1.1\r\n{lines}\r\n".encode())
        assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")
        with suppress(anyio.BrokenResourceError):
            while True:
                await stream.send(b"x" * 2**16)
        assert b"400" not in await rest(stream)
    assert not caplog.records


SMUGGLED = f"GET /metrics HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("Content-Length: 0\r\nContent-Length: {length}\r\n", id="two lengths"),
        pytest.param("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n", id="both"),
        pytest.param("Transfer-Encoding: chunked, identity\r\n", id="unknown encoding"),
        pytest.param("Transfer-Encoding : chunked\r\n", id="space before the colon"),
        pytest.param("Content-Length: +{length}\r\n", id="sign"),
        pytest.param("X: a\r\n Content-Length: {length}\r\n", id="folded line"),
        pytest.param("X: a\rContent-Length: {length}\r\n", id="bare carriage return"),
    ],
)
@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_a_smuggled_request_is_not_answered(
    lines: str, is_encrypted: bool, tls: tuple[TlsFiles, ssl.SSLContext]
) -> None:
    """A request whose end two servers would see at different places: one response at most."""
    files, context = tls
    context.set_alpn_protocols(["http/1.1"])
    async with serving(tls=files if is_encrypted else None) as server, AsyncExitStack() as stack:
        host = server.base.partition("//")[2]
        smuggled = SMUGGLED.replace("HOST", host)
        head = f"POST /acp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        sent = head + lines.replace("{length}", str(len(smuggled))) + "\r\n0\r\n\r\n" + smuggled
        stream = await anyio.connect_tcp(
            "127.0.0.1",
            int(host.rpartition(":")[2]),
            tls=is_encrypted,
            ssl_context=context if is_encrypted else None,
            tls_standard_compatible=False,
            tls_hostname="localhost" if is_encrypted else None,
        )
        await stack.enter_async_context(stream)
        await stream.send(sent.encode())
        answer = b""
        try:
            while True:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
        assert b"acp_connections" not in answer
        assert answer.count(b"HTTP/1.1 ") <= 1


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("Transfer-Encoding: gzip, chunked\r\n", id="list"),
        pytest.param("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", id="two lines"),
    ],
)
async def test_a_compressed_transfer_is_refused_as_not_implemented(lines: str) -> None:
    """Its body would be taken as it is, still compressed."""
    async with serving() as server, raw_connection(server.base) as stream:
        host = server.base.partition("//")[2]
        head = f"POST /acp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n{lines}\r\n"
        await stream.send(f"{head}0\r\n\r\n".encode())
        refused = await rest(stream)
    assert refused.startswith(b"HTTP/1.1 501 ")
    assert refused.endswith(b"Only chunked is possible as Transfer-Encoding.")


@pytest.mark.long
async def test_ten_thousand_attempts_without_a_token_cost_bounded_memory() -> None:
    """Requests and upgrades, on connections of their own and on kept ones."""

    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    request = b"POST /acp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n{}"
    upgrade = (
        b"GET /acp HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    async with serving(limit_s=300) as server, http_peer(server) as peer:
        host = server.base.partition("//")[2].encode()

        async def attempt(number: int) -> None:
            async with raw_connection(server.base) as stream:
                sent = (upgrade if number % 2 else request).replace(b"HOST", host)
                await stream.send(sent)
                assert (await stream.receive()).startswith(b"HTTP/1.1 401 ")

        async def attempts(first: int, last: int) -> None:
            for begin in range(first, last, 50):
                async with anyio.create_task_group() as tasks:
                    for number in range(begin, begin + 50):
                        tasks.start_soon(attempt, number)

        await attempts(0, 1000)
        before = resident()
        await attempts(1000, 10_000)
        assert resident() - before < 20 * 2**20
        assert len(server.connections) == 1
        assert (await peer.post("session/list")).status_code == 202
