"""Requests that nobody sends on purpose: each gets a response that is no 500, and none hangs."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

import anyio
import pytest

from acp_protocol.transport.served_connections import ServerLimits
from tests.protocol.transport.served_agent import TOKEN, HttpPeer, http_client, serving

pytestmark = pytest.mark.long

REQUESTS: Final = int(os.environ.get("FUZZ_EXAMPLES", "300"))
LIMIT: Final = 10.0
"""Seconds for one request."""
METHODS: Final = (b"POST", b"POST", b"POST", b"GET", b"DELETE", b"OPTIONS", b"PUT", b"po st", b"")
PATHS: Final = (
    b"/acp",
    b"/acp",
    b"/acp",
    b"/acp?a=%00",
    b"/healthz",
    b"/metrics",
    b"/%2e%2e/",
    b"*",
)
VALUES: Final = (
    b"",
    b"x",
    b"\xff\xfe",
    b"1" * 70_000,
    b"a, b",
    b"0",
    b"-1",
    b"{}",
    b"\t",
    "é".encode(),
)
NAMES: Final = (
    b"Acp-Connection-Id",
    b"Acp-Session-Id",
    b"Acp-Protocol-Version",
    b"Accept",
    b"Content-Type",
    b"Content-Length",
    b"Transfer-Encoding",
    b"Last-Event-ID",
    b"Authorization",
    b"Host",
    b"Origin",
    b"Upgrade",
    b"Connection",
    b"Sec-WebSocket-Key",
    b"Sec-WebSocket-Version",
    b"Sec-WebSocket-Protocol",
    b"Cookie",
    b"Expect",
)
BODIES: Final = (
    b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}',
    b'{"jsonrpc":"2.0","id":8,"method":"session/new","params":{}}',
    b'{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"s1","prompt":"x"}}',
    b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b"[]",
    b"[[[[",
    b"{" * 2000,
    b'{"id":NaN}',
    b'"\xed\xa0\x80"',
    b"\xff" * 50,
    b"null",
    b"",
)


def request(random: Random, host: str, connection: str) -> bytes:
    """Return a request with some of it wrong."""
    body = random.choice(BODIES)
    if random.random() < 0.3:
        at = random.randrange(len(body) + 1)
        body = body[:at] + random.randbytes(random.randint(1, 4)) + body[at + 1 :]
    headers = [
        (b"Host", host.encode()),
        (b"Authorization", f"Bearer {TOKEN}".encode()),
        (b"Content-Type", b"application/json"),
        (b"Accept", b"text/event-stream"),
        (b"Acp-Connection-Id", connection.encode()),
        (b"Content-Length", b"%d" % len(body)),
    ]
    for _ in range(random.randrange(4)):
        headers.pop(random.randrange(len(headers)))
    for _ in range(random.randrange(4)):
        place = random.randrange(len(headers) + 1)
        headers.insert(place, (random.choice(NAMES), random.choice(VALUES)))
    start = b"%b %b HTTP/%b" % (
        random.choice(METHODS),
        random.choice(PATHS),
        random.choice((b"1.1", b"1.1", b"1.1", b"1.0", b"2.0", b"9")),
    )
    lines = [start, *(b"%b: %b" % header for header in headers)]
    raw = b"\r\n".join(lines) + b"\r\n\r\n" + body
    return raw[: random.randrange(len(raw))] if random.random() < 0.1 else raw


def status(address: tuple[str, int], raw: bytes) -> bytes:
    """Send a request and half-close; return the first bytes of what comes back, if anything."""
    with socket.create_connection(address, LIMIT) as opened:
        try:
            opened.sendall(raw)
            opened.shutdown(socket.SHUT_WR)
            return opened.recv(64)
        except TimeoutError:
            raise
        except OSError:
            # The server does not read what it refuses.
            return b""


def frames(random: Random) -> bytes:
    """Return bytes that may be frames of a WebSocket."""
    found = b""
    for _ in range(random.randrange(1, 6)):
        payload = random.choice(BODIES)
        first = random.choice((0x81, 0x82, 0x01, 0x80, 0x88, 0x89, 0x8A, 0xF1, 0x83))
        mask = random.randbytes(4)
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        masked = bytes(each ^ mask[at % 4] for at, each in enumerate(payload))
        found += bytes([first]) + length + mask + masked
    if random.random() < 0.3:
        at = random.randrange(len(found))
        found = found[:at] + random.randbytes(3) + found[at:]
    return found


def upgrade(address: tuple[str, int], random: Random) -> bytes:
    """Open a WebSocket and send what may be frames; return the first bytes of the response."""
    head = (
        f"GET /acp HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with socket.create_connection(address, LIMIT) as opened:
        opened.sendall(head.encode())
        found = opened.recv(64)
        try:
            opened.sendall(frames(random))
            opened.shutdown(socket.SHUT_WR)
            while opened.recv(4096):
                pass
        except TimeoutError:
            raise
        except OSError:
            pass
        return found


async def _try(send: Callable[[Random], bytes], seed: int, problems: list[str]) -> None:
    for number in range(REQUESTS):
        random = Random(f"{seed} {number}")
        try:
            found = await anyio.to_thread.run_sync(send, random)
        except TimeoutError:
            problems.append(f"request {number} of seed {seed} hangs")
            continue
        if found[9:12] == b"500":
            problems.append(f"request {number} of seed {seed}: {found!r}")


@pytest.mark.parametrize("seed", [1])
async def test_no_request_hangs_or_fails_inside(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    problems: list[str] = []
    limits = ServerLimits(connections=64, body_s=2)
    async with serving(server_limits=limits, limit_s=60 + REQUESTS) as server:
        host = server.base.removeprefix("http://")
        name, _, port = host.rpartition(":")
        address = (name, int(port))
        async with http_client() as client:
            peer = HttpPeer(server.url, client)
            await peer.initialize()
            await _try(
                lambda random: status(address, request(random, host, peer.id)), seed, problems
            )
            await _try(partial(upgrade, address), seed, problems)
            # A mutated DELETE may have ended the first one.
            other = HttpPeer(server.url, client)
            answer = await other.initialize()
            assert answer.status_code == 200
            async with other.stream() as next_message:
                assert (await other.post("session/new")).status_code == 202
                assert (await next_message())["result"]["sessionId"]
    assert problems == []
    assert [each.getMessage() for each in caplog.records if each.exc_info] == []
    assert threading.active_count() < 64
