"""Who may ask, over a real socket: the table of security rule S1, for every endpoint."""

from __future__ import annotations

from itertools import product

import anyio
import httpx
import pytest

from tests.agent.admin.visitors import TOKEN, listening, visiting

ENDPOINTS = ("/admin/acp/status", "/admin/acp/sessions", "/admin/acp/agent.json", "/elsewhere", "/")
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
BEARER = f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": BEARER + "x"}, 401),
        ({"Authorization": BEARER[:-1]}, 401),
        ({"Authorization": "Bearer \xe9"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Cookie": f"token={TOKEN}"}, 401),
        ({"Authorization": BEARER, "Host": "evil.example"}, 403),
        ({"Authorization": BEARER, "Host": "localhost"}, 403),
        ({"Authorization": BEARER, "Host": "127.0.0.1.evil.example:{port}"}, 403),
        ({"Authorization": BEARER, "Host": ""}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Authorization": BEARER, "Origin": "http://evil.example"}, 403),
        ({"Authorization": BEARER, "Origin": "null"}, 403),
        ({"Authorization": BEARER, "Origin": "https://localhost:{port}"}, 403),
        ({"Authorization": BEARER, "Origin": "http://localhost:1"}, 403),
        ({"Authorization": BEARER}, 200),
        ({"authorization": f"bearer {TOKEN}"}, 200),
        ({"Authorization": BEARER, "Host": "LOCALHOST:{port}"}, 200),
        ({"Authorization": BEARER, "Origin": "http://localhost:{port}"}, 200),
    ],
)
async def test_only_who_bears_all_that_is_needed_is_let_through(
    headers: dict[str, str], status: int
) -> None:
    """At every endpoint, as a plain request and as one for a web socket."""
    async with listening() as listener, visiting(listener, None) as client:
        port = listener.address.rpartition(":")[2]
        for endpoint, extra in product(ENDPOINTS, ({}, UPGRADE)):
            sent = {name: value.replace("{port}", port) for name, value in headers.items()} | extra
            raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items()]
            answer = await client.get(endpoint, headers=raw)
            is_unknown = status == 200 and endpoint not in ENDPOINTS[:3]
            assert answer.status_code == (404 if is_unknown else status)
            assert (answer.headers.get("WWW-Authenticate") == "Bearer") == (status == 401)
            assert not any(name.startswith("access-control") for name in answer.headers)
            assert TOKEN not in answer.text


@pytest.mark.parametrize("lines", ["", "Host: localhost:{port}\r\nHost: 127.0.0.1:{port}\r\n"])
async def test_a_request_for_no_host_or_for_two_is_refused(lines: str) -> None:
    async with listening() as listener:
        host, _, port = listener.address.removeprefix("http://").rpartition(":")
        stream = await anyio.connect_tcp(host, int(port))
        async with stream:
            told = lines.replace("{port}", port) + f"Authorization: {BEARER}\r\n"
            await stream.send(f"GET /admin/acp/status HTTP/1.1\r\n{told}\r\n".encode())
            answer = await stream.receive()
    assert answer.split()[1] in {b"400", b"403"}


async def test_a_question_of_a_browser_beforehand_is_not_answered() -> None:
    async with listening() as listener, visiting(listener, None) as client:
        headers = {
            "Origin": "http://evil.example",
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "authorization",
        }
        answer = await client.options("/admin/acp/status", headers=headers)
    assert answer.status_code == 403
    assert not any(name.startswith("access-control") for name in answer.headers)


async def test_nothing_is_kept_by_whoever_passes_it_on() -> None:
    async with listening() as listener, visiting(listener) as client:
        for endpoint in ENDPOINTS:
            answer: httpx.Response = await client.get(endpoint)
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "server" not in answer.headers
