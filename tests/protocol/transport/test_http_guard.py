"""Who may use a server: token, host and origin of each request, and what pages get."""

from __future__ import annotations

from itertools import product

import anyio
import pytest
from websockets.asyncio.client import connect

from acp_protocol.transport.http_guard import Access, configured_token
from tests.protocol.transport.served_agent import BEARER, TOKEN, http_client, serving

PAGE = "https://pages.example:8443"
REQUESTS = (
    *(("GET", path) for path in ("/acp", "/metrics", "/", "/elsewhere", "/acp/x")),
    *((method, "/acp") for method in ("POST", "DELETE", "PUT")),
)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": BEARER["Authorization"] + "x"}, 401),
        ({"Authorization": BEARER["Authorization"][:-1]}, 401),
        ({"Authorization": "Bearer \xe9"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Cookie": f"token={TOKEN}"}, 401),
        ({"Sec-WebSocket-Protocol": f"acp.bearer.{TOKEN}x"}, 401),
        (BEARER | {"Host": "evil.example"}, 403),
        (BEARER | {"Host": "localhost"}, 403),
        (BEARER | {"Host": "127.0.0.1.evil.example:{port}"}, 403),
        (BEARER | {"Host": ""}, 403),
        ({"Host": "evil.example"}, 403),
        (BEARER | {"Origin": "http://evil.example"}, 403),
        (BEARER | {"Origin": "null"}, 403),
        (BEARER | {"Origin": PAGE + "0"}, 403),
        (BEARER | {"Origin": "https://localhost:{port}"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        (BEARER, 200),
        ({"authorization": f"bearer {TOKEN}"}, 200),
        (BEARER | {"Host": "LOCALHOST:{port}"}, 200),
        (BEARER | {"Origin": "http://localhost:{port}"}, 200),
        (BEARER | {"Origin": PAGE}, 200),
    ],
)
async def test_a_request_needs_token_host_and_origin(headers: dict[str, str], status: int) -> None:
    """At every path, by every method, and for the upgrade to a WebSocket."""
    async with serving(origins=(PAGE,)) as server, http_client(headers={}) as client:
        port = server.base.rpartition(":")[2]
        sent = {name: value.replace("{port}", port) for name, value in headers.items()}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items()]
        client.headers.pop("Authorization")
        for method, path in REQUESTS:
            answer = await client.request(method, server.base + path, headers=raw)
            if status == 200:
                assert answer.status_code not in {401, 403}
            else:
                assert answer.status_code == status, (method, path)
            assert answer.headers.get("WWW-Authenticate") == ("Bearer" if status == 401 else None)
            assert TOKEN not in answer.text
            assert "server" not in answer.headers
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
        found = await upgrade(server.socket_url, sent)
        assert found == (101 if status == 200 else status)


async def upgrade(url: str, headers: dict[str, str]) -> int:
    """Return the status of the response to a request for a WebSocket."""
    host = url.split("/")[2]
    lines = {"Host": host, "Connection": "Upgrade", "Upgrade": "websocket"} | headers
    lines |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    head = "GET /acp HTTP/1.1\r\n" + "".join(f"{name}: {lines[name]}\r\n" for name in lines)
    async with await anyio.connect_tcp("127.0.0.1", int(host.rpartition(":")[2])) as stream:
        await stream.send((head + "\r\n").encode("latin-1"))
        return int((await stream.receive()).split()[1])


@pytest.mark.parametrize(
    ("offered", "is_served"),
    [
        (["acp", f"acp.bearer.{TOKEN}"], True),
        ([f"acp.bearer.{TOKEN}"], True),
        (["acp"], False),
        (["acp", "acp.bearer.wrong"], False),
        (["acp.bearer.wrong", f"acp.bearer.{TOKEN}"], False),
        ([TOKEN], False),
    ],
)
async def test_the_token_of_a_websocket_may_be_a_subprotocol(
    offered: list[str], is_served: bool
) -> None:
    headers = {"Sec-WebSocket-Protocol": ", ".join(offered)}
    async with serving() as server:
        assert await upgrade(server.socket_url, headers) == (101 if is_served else 401)


async def test_the_subprotocol_is_no_way_in_for_other_requests() -> None:
    async with serving() as server, http_client() as client:
        client.headers.pop("Authorization")
        headers = {"Sec-WebSocket-Protocol": f"acp, acp.bearer.{TOKEN}"}
        assert (await client.get(server.url, headers=headers)).status_code == 401


@pytest.mark.parametrize("lines", ["", "Host: localhost:{port}\r\nHost: 127.0.0.1:{port}\r\n"])
async def test_a_request_for_no_host_or_for_two_is_refused(lines: str) -> None:
    async with serving() as server:
        port = server.base.rpartition(":")[2]
        async with await anyio.connect_tcp("127.0.0.1", int(port)) as stream:
            told = lines.replace("{port}", port) + f"Authorization: Bearer {TOKEN}\r\n"
            await stream.send(f"GET /metrics HTTP/1.1\r\n{told}\r\n".encode())
            assert (await stream.receive()).split()[1] in {b"400", b"403"}


async def test_health_needs_no_token_and_no_host_but_is_for_no_page() -> None:
    async with serving() as server, http_client() as client:
        client.headers.pop("Authorization")
        healthy = await client.get(server.base + "/healthz", headers={"Host": "10.0.0.7:1"})
        assert (healthy.status_code, healthy.text) == (200, "ok\n")
        page = {"Origin": "http://evil.example"}
        assert (await client.get(server.base + "/healthz", headers=page)).status_code == 403
        assert (await client.post(server.base + "/healthz")).status_code == 405


PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "acp-connection-id,acp-session-id,authorization,content-type",
}


async def test_a_listed_page_may_use_the_server() -> None:
    async with serving(origins=(PAGE,)) as server, http_client() as client:
        client.headers.pop("Authorization")
        answer = await client.options(server.url, headers=PREFLIGHT | {"Origin": PAGE})
        assert answer.status_code == 200
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
        assert answer.headers["Access-Control-Allow-Methods"] == "GET, POST, DELETE"
        allowed = answer.headers["Access-Control-Allow-Headers"].lower().split(", ")
        names = ("acp-connection-id", "acp-session-id", "acp-protocol-version", "authorization")
        assert {*names, "content-type", "last-event-id"} <= set(allowed)
        answer = await client.post(server.url, headers=BEARER | {"Origin": PAGE})
        assert answer.status_code == 415
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
        exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
        assert "Acp-Connection-Id" in exposed
        # A page may read that its token is wrong.
        answer = await client.post(server.url, headers={"Origin": PAGE})
        assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (401, PAGE)


async def test_other_pages_get_nothing_that_lets_them_read() -> None:
    async with serving() as server, http_client() as client:
        client.headers.pop("Authorization")
        for headers, page in product((PREFLIGHT, {}, BEARER), ("https://evil.example", PAGE)):
            answer = await client.options(server.url, headers=headers | {"Origin": page})
            assert answer.status_code == 403
            assert not any(name.startswith("access-control") for name in answer.headers)


async def test_metrics_count_connections_messages_and_requests() -> None:
    async with serving() as server, http_client() as client:
        await client.get(server.base + "/nowhere")
        async with connect(server.socket_url, additional_headers=BEARER, proxy=None):
            answer = await client.get(server.base + "/metrics")
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    lines = answer.text.splitlines()
    assert lines[-1] == "# EOF"
    assert {
        "# TYPE acp_connections gauge",
        "acp_connections 1",
        "acp_websockets 1",
        "acp_sessions 0",
        "acp_streams 0",
        "acp_unread_bytes 0",
        "acp_opened_connections_total 1",
        'acp_messages_total{direction="in"} 0',
        'acp_message_bytes_total{direction="out"} 0',
        'acp_http_requests_total{status="101"} 1',
        'acp_http_requests_total{status="404"} 1',
    } <= set(lines)
    assert TOKEN not in answer.text


def test_a_token_of_the_environment_is_used_if_it_can_be() -> None:
    assert configured_token("T", {"T": " 0123456789abcdef\n"}) == "0123456789abcdef"
    assert configured_token("T", {}) is None
    assert configured_token("T", {"T": " "}) is None
    for token in ("short", "0123456789 abcdef", "0123456789abcdé!"):
        with pytest.raises(ValueError, match="T must hold at least 16") as refused:
            configured_token("T", {"T": token})
        assert token not in str(refused.value)


def test_each_server_has_a_token_of_its_own_which_is_not_shown() -> None:
    first, second = Access(), Access()
    assert first.token != second.token
    assert len(first.token) >= 40
    assert first.token not in repr(first)
