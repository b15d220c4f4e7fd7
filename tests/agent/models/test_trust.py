"""Connections that are safe, and those that could not be."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from acp_agent.models.errors import ServiceFailedError
from tests.agent.models.provider import LIMIT, replied
from tests.agent.models.test_http import GO, model_at


@asynccontextmanager
async def serving(answer: Callable[[SocketStream], Awaitable[object]]) -> AsyncGenerator[str]:
    """Let `answer` meet whoever connects; yield the address."""

    async def meet(stream: SocketStream) -> None:
        async with stream:
            await answer(stream)

    with anyio.fail_after(LIMIT):
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, meet)
            yield f"https://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
            tasks.cancel_scope.cancel()


async def failure(url: str) -> ServiceFailedError:
    """Return how asking at `url` fails."""
    with pytest.raises(ServiceFailedError) as caught:
        await replied(model_at(url), GO)
    return caught.value


async def test_who_does_not_speak_tls_is_told_and_not_asked_again() -> None:
    async def answer(stream: SocketStream) -> None:
        await stream.receive()
        await stream.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(answer) as url:
        problem = await failure(url)
    assert "it does not speak TLS as we do" in str(problem)
    assert not problem.is_transient


async def test_whose_certificate_nobody_knows_is_told_and_not_asked_again(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(tmp_path))

    async def answer(stream: SocketStream) -> None:
        with pytest.raises((ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream)):
            await TLSStream.wrap(stream, server_side=True, ssl_context=context)

    async with serving(answer) as url:
        problem = await failure(url)
    assert "its certificate is not trusted, self-signed certificate" in str(problem)
    assert "SSL_CERT_FILE" in str(problem)
    assert not problem.is_transient


def self_signed(folder: Path) -> Path:
    """Return a file with a key and a certificate that nobody else vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    day = timedelta(days=1)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime.now(UTC) - day)
        .not_valid_after(datetime.now(UTC) + day)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    path = folder / "self.pem"
    path.write_bytes(secret + certificate.public_bytes(pem))
    return path


async def test_certificates_that_are_not_there_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    with pytest.raises(ServiceFailedError, match=r"^The certificates that SSL_CERT_FILE or"):
        await replied(model_at("https://192.0.2.1"), GO)
