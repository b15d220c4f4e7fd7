"""Our client with our server, over HTTP/1.1, HTTP/2 and WebSocket."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
import trustme

from acp_inspector.journal import Journal, JournalEvent
from acp_inspector.lint.engine import lint
from acp_protocol.connection import Connection
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.handler import Handler
from acp_protocol.jsonrpc import Json, Notification, Request, encode_request
from acp_protocol.transport.http_protocols import SocketLimits
from acp_protocol.transport.http_runner import TlsFiles
from acp_protocol.transport.opening import open_agent
from acp_protocol.transport.remote import RemoteAgent, RemoteClosedError, RemoteLimits
from tests.protocol.transport.served_agent import TOKEN, Serving, serving

LIMITS = RemoteLimits(retry_s=0.01, max_retry_s=0.1, stream_give_up_s=0.5)
SCHEMES = ("http", "ws", "https", "wss")


class Client(Handler):
    """Allows whatever is asked, and keeps what it is told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def handle_request(self, request: Request) -> Json:
        return {"outcome": {"outcome": "selected"}}

    async def handle_notification(self, notification: Notification) -> None:
        params: Any = notification.params
        self.texts.append(params["text"])


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[TlsFiles, Path]:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    return TlsFiles(folder / "cert.pem", folder / "key.pem"), folder / "ca.pem"


def url_of(server: Serving, scheme: str) -> str:
    return f"{scheme}://{server.url.partition('://')[2]}"


@asynccontextmanager
async def connected(
    server: Serving, scheme: str, journal: Journal, token: str | None = TOKEN
) -> AsyncGenerator[tuple[Connection, Client]]:
    client = Client()
    agent = RemoteAgent(url_of(server, scheme), token=token)
    async with (
        open_agent(agent, observer=journal, limits=LIMITS) as opened,
        Connection(opened.transport, client) as connection,
    ):
        yield connection, client


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_turn_with_a_permission(
    scheme: str, tls: tuple[TlsFiles, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tls[1]))
    journal = Journal()
    is_secure = scheme in {"https", "wss"}
    async with (
        serving(tls=tls[0] if is_secure else None) as server,
        connected(server, scheme, journal) as (connection, client),
    ):
        await connection.request("initialize", {"protocolVersion": 1})
        session: Any = await connection.request("session/new", {})
        prompt: Json = {**session, "prompt": "ask"}
        answer = await connection.request("session/prompt", prompt)
        assert answer == {"stopReason": "end_turn"}
        assert client.texts == ["ask", "selected"]
    versions = {
        each.data.get("version")
        for each in journal.entries
        if isinstance(each, JournalEvent) and each.name == "http_request"
    }
    assert versions == {None, "HTTP/2"} if scheme == "https" else {"HTTP/1.1"}
    found = {each.rule.name for each in lint(journal.entries).findings}
    # The small agent says less than an agent has to, but nothing is wrong with what carries it.
    assert not {name for name in found if "http" in name or "stream" in name} - {"not-http2"}
    assert TOKEN not in str(journal.entries)


@pytest.mark.parametrize("scheme", ["https", "wss"])
async def test_an_unknown_certificate_is_not_trusted(
    scheme: str, tls: tuple[TlsFiles, Path]
) -> None:
    async with serving(tls=tls[0]) as server:
        with pytest.raises(ConnectionClosedError, match="is not trusted") as caught:
            async with connected(server, scheme, Journal()) as (connection, _):
                await connection.request("initialize", {"protocolVersion": 1})
        assert "SSL_CERT_FILE" in str(caught.value)


@pytest.mark.parametrize("scheme", ["https", "wss"])
async def test_a_certificate_for_another_host_is_not_trusted(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    for host in ("other.example", "192.0.2.1"):
        files = TlsFiles(tmp_path / f"{host}.pem", tmp_path / f"{host}.key")
        issued = authority.issue_cert(host)
        files.certificate.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(files.key)
        async with serving(tls=files) as server:
            with pytest.raises(ConnectionClosedError, match="is not trusted") as caught:
                async with connected(server, scheme, Journal()) as (connection, _):
                    await connection.request("initialize", {"protocolVersion": 1})
        assert "one that the certificate names" in caught.value.hint
        assert "SSL_CERT_FILE" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_a_server_with_tls_is_not_reached_without(
    scheme: str, tls: tuple[TlsFiles, Path]
) -> None:
    async with serving(tls=tls[0]) as server:
        with pytest.raises(ConnectionClosedError) as caught:
            async with connected(server, scheme, Journal()) as (connection, _):
                await connection.request("initialize", {"protocolVersion": 1})
    assert "https://" in caught.value.hint


@pytest.mark.parametrize("scheme", ["https", "wss"])
async def test_a_server_without_tls_is_not_reached_with_it(scheme: str) -> None:
    """It answers at once: the first message of TLS has no end of a line to wait for."""
    async with serving(limit_s=SocketLimits().head_s / 2) as server:
        with pytest.raises(ConnectionClosedError, match="does not speak TLS") as caught:
            async with connected(server, scheme, Journal()) as (connection, _):
                await connection.request("initialize", {"protocolVersion": 1})
    plain = scheme.removesuffix("s")
    assert caught.value.hint == f"{plain}:// is without TLS"


@pytest.mark.parametrize("scheme", ["https", "wss"])
async def test_a_server_that_ends_what_is_not_encrypted_yet_may_have_no_tls(scheme: str) -> None:
    async def hang_up(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, hang_up)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        with pytest.raises(RemoteClosedError, match="while it was opened") as caught:
            async with open_agent(RemoteAgent(f"{scheme}://127.0.0.1:{port}/")) as opened:
                await opened.transport.send(encode_request(0, "initialize", {}))
                await opened.transport.receive()
        assert caught.value.can_return
        assert "is without TLS" in caught.value.hint
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_a_wrong_path_is_explained(scheme: str) -> None:
    async with serving() as server:
        agent = RemoteAgent(f"{url_of(server, scheme)}/more", token=TOKEN)
        with pytest.raises(ConnectionClosedError, match="404 Not Found") as caught:
            async with (
                open_agent(agent, limits=LIMITS) as opened,
                Connection(opened.transport, Client()) as connection,
            ):
                await connection.request("initialize", {"protocolVersion": 1})
    assert "/acp" in caught.value.hint


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_a_wrong_token_is_explained(scheme: str) -> None:
    async with serving() as server:
        with pytest.raises(ConnectionClosedError, match="401 Unauthorized"):
            async with connected(server, scheme, Journal(), "wrong") as (connection, _):
                await connection.request("initialize", {"protocolVersion": 1})


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_the_end_of_the_server_is_the_end_of_the_connection(scheme: str) -> None:
    async with (
        serving(drain_s=0.05) as server,
        connected(server, scheme, Journal()) as (connection, _),
    ):
        await connection.request("initialize", {"protocolVersion": 1})
        server.stop.set()
        with anyio.fail_after(60):
            await connection.wait_closed()
        with pytest.raises(ConnectionClosedError) as caught:
            await connection.request("session/new", {})
    assert str(caught.value) != str(ConnectionClosedError())


def test_a_reason_can_be_raised_again() -> None:
    reason = RemoteClosedError("it broke", hint="try", can_return=True)
    assert (str(reason.again()), reason.again().can_return) == ("it broke; try", True)
