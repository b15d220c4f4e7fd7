"""The admin endpoints: what they return, who may read them, and their sockets."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import stat
import subprocess
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import product
from pathlib import Path

import anyio
import anyio.abc
import httpx
import pytest

from acp_agent.continuum.admin import LIMITS, AdminSocket, token_file
from acp_agent.continuum.agent_card import agent_json
from acp_agent.mcp.servers import McpSettings
from acp_agent.services import AgentServices
from acp_agent.sessions.manager import SessionManager
from acp_agent.settings.keys import settings_with
from acp_agent.settings.providers import SettingsError
from acp_agent.store.errors import StoreError
from acp_protocol.jsonrpc import encode_request
from acp_protocol.version import SCHEMA_ID, VERSION
from tests.agent.client import open_session
from tests.agent.continuum.admin_client import ENVIRONMENT, TOKEN, admin_client, serving_admin
from tests.agent.test_cli import COMMAND, LIMIT, Agent, ran, running

ENDPOINTS = ("/admin/acp/status", "/admin/acp/sessions", "/admin/acp/agent.json", "/elsewhere", "/")
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
BEARER = f"Bearer {TOKEN}"


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a short name, as sockets need one."""
    return tmp_path_factory.mktemp("s")


async def test_status_of_an_agent() -> None:
    settings = settings_with({"sessions.max_concurrent": 3, "model.name": "ollama:x"})
    async with serving_admin(settings=settings) as opened, admin_client(opened) as client:
        status = (await client.get("/admin/acp/status")).json()
    capabilities = status.pop("capabilities")
    assert capabilities["loadSession"] is True
    assert status == {
        "enabled": True,
        "version": VERSION,
        "schema": SCHEMA_ID,
        "transport": [{"type": "stdio"}],
        "protocolVersion": None,
        "model": "ollama:x",
        "sessions": {"open": 0, "asleep": 0, "limit": 3},
    }


async def test_sessions_are_listed_without_their_messages(cwd: Path) -> None:
    async with (
        open_session(cwd) as session,
        serving_admin(agent=session.client.server) as opened,
        admin_client(opened) as client,
    ):
        await session.turn("read notes.md")
        answer = await client.get("/admin/acp/sessions")
        [listed] = answer.json()["sessions"]
        status = (await client.get("/admin/acp/status")).json()
    assert listed.pop("updatedAt").endswith("+00:00")
    assert listed.pop("historyLength") >= 2
    assert listed == {
        "sessionId": session.id,
        "cwd": str(cwd),
        "title": "read notes.md",
        "mode": "ask",
        "model": "demo",
        "running": False,
        "asleep": False,
    }
    assert "milk" not in answer.text
    assert status["protocolVersion"] == 1
    assert status["sessions"]["open"] == 1


async def test_suspended_session_is_listed_as_before(cwd: Path) -> None:
    async with (
        open_session(cwd) as session,
        serving_admin(agent=session.client.server) as opened,
        admin_client(opened) as client,
    ):
        await session.turn("read notes.md")
        [before] = (await client.get("/admin/acp/sessions")).json()["sessions"]
        assert session.client.server.sessions is not None
        await session.client.server.sessions.suspend(
            session.client.server.sessions.awake[session.id]
        )
        [after] = (await client.get("/admin/acp/sessions")).json()["sessions"]
        status = (await client.get("/admin/acp/status")).json()
    assert after == before | {"asleep": True}
    assert status["sessions"] == {"open": 1, "asleep": 1, "limit": 10}


async def test_control_characters_in_titles_are_escaped(cwd: Path) -> None:
    async with (
        open_session(cwd) as session,
        serving_admin(agent=session.client.server) as opened,
        admin_client(opened) as client,
    ):
        await session.turn("help \x1b]52;c;x\x07 \x7f \x9b2J \u202e \U000e0041")
        answer = await client.get("/admin/acp/sessions")
    assert answer.content.isascii()
    assert answer.text.isprintable()
    assert "\u202e" in answer.json()["sessions"][0]["title"]


async def test_agent_json_is_what_the_command_prints() -> None:
    settings = settings_with({"agent.name": "Mine"})
    async with serving_admin(settings=settings) as opened, admin_client(opened) as client:
        answer = await client.get("/admin/acp/agent.json")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == agent_json(settings, McpSettings())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/admin/acp/status", 405),
        ("DELETE", "/admin/acp/sessions", 405),
        ("GET", "/admin/acp/", 404),
        ("GET", "/admin/acp/../../etc/passwd", 404),
        ("HEAD", "/admin/acp/status", 200),
    ],
)
async def test_endpoints_are_read_only(method: str, path: str, status: int) -> None:
    async with serving_admin() as opened, admin_client(opened) as client:
        answer = await client.request(method, path)
    assert answer.status_code == status


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
async def test_request_needs_host_origin_and_token(headers: dict[str, str], status: int) -> None:
    """At every endpoint, as a plain request and as one for a web socket."""
    async with serving_admin() as opened, admin_client(opened, None) as client:
        port = opened.address.rpartition(":")[2]
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
async def test_request_for_no_host_or_for_two_is_refused(lines: str) -> None:
    async with serving_admin() as opened:
        host, _, port = opened.address.removeprefix("http://").rpartition(":")
        stream = await anyio.connect_tcp(host, int(port))
        async with stream:
            told = lines.replace("{port}", port) + f"Authorization: {BEARER}\r\n"
            await stream.send(f"GET /admin/acp/status HTTP/1.1\r\n{told}\r\n".encode())
            answer = await stream.receive()
    assert answer.split()[1] in {b"400", b"403"}


async def test_preflight_request_is_refused() -> None:
    async with serving_admin() as opened, admin_client(opened, None) as client:
        headers = {
            "Origin": "http://evil.example",
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "authorization",
        }
        answer = await client.options("/admin/acp/status", headers=headers)
    assert answer.status_code == 403
    assert not any(name.startswith("access-control") for name in answer.headers)


async def test_responses_are_not_cached() -> None:
    async with serving_admin() as opened, admin_client(opened) as client:
        for endpoint in ENDPOINTS:
            answer: httpx.Response = await client.get(endpoint)
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "server" not in answer.headers


async def test_unix_socket_is_for_its_user_alone(folder: Path) -> None:
    path = folder / "admin"
    async with serving_admin(f"unix:{path}") as opened, admin_client(opened) as client:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert (await client.get("/admin/acp/status")).status_code == 200
        assert (await client.get("/", headers={"Host": "evil.example"})).status_code == 403
    assert not path.exists()
    async with serving_admin(f"unix:{path}") as opened, admin_client(opened, None) as client:
        assert (await client.get("/admin/acp/status")).status_code == 401


async def test_stale_unix_socket_is_replaced_and_nothing_else(folder: Path) -> None:
    path = folder / "admin"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    async with serving_admin(f"unix:{path}") as opened:
        with pytest.raises(SettingsError, match="cannot be used: address already in use"):
            AdminSocket(opened.address, ENVIRONMENT, "ADMIN")
    (folder / "file").write_text("mine")
    with pytest.raises(SettingsError, match="cannot be used"):
        AdminSocket(f"unix:{folder}/file", ENVIRONMENT, "ADMIN")
    assert (folder / "file").read_text() == "mine"


async def test_ipv6_works_too() -> None:
    async with serving_admin("[::1]:0") as opened, admin_client(opened) as client:
        assert opened.address.startswith("http://[::1]:")
        assert (await client.get("/admin/acp/status")).status_code == 200


async def test_agent_runs_on_if_the_token_file_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    async with (
        serving_admin(environment={}) as opened,
        admin_client(opened, opened.token) as client,
    ):
        assert (await client.get("/admin/acp/status")).status_code == 200
    assert "the token file cannot be written: no space left on device" in caplog.text


async def test_silent_connections_are_closed() -> None:
    limits = replace(LIMITS, head_s=0.05)
    async with serving_admin(limits=limits) as opened, AsyncExitStack() as stack:
        port = int(opened.address.rpartition(":")[2])
        idle = [
            await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
            for _ in range(20)
        ]
        await idle[0].send(b"GET / HT")
        for each in idle:
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await each.receive()
        async with admin_client(opened) as client:
            assert (await client.get("/admin/acp/status")).status_code == 200


async def test_one_connection_too_many_is_closed() -> None:
    async with serving_admin() as opened, AsyncExitStack() as stack:
        port = int(opened.address.rpartition(":")[2])

        async def connected() -> anyio.abc.SocketStream:
            return await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))

        silent, *_ = [await connected() for _ in range(LIMITS.sockets)]
        late = await connected()
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await late.receive()
        await silent.aclose()
        async with admin_client(opened) as client:
            assert (await client.get("/admin/acp/status")).status_code == 200


@pytest.mark.parametrize("sent", [b"Hello!\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 32 * 1024])
async def test_what_is_no_request_is_refused(sent: bytes) -> None:
    async with serving_admin() as opened:
        port = int(opened.address.rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(sent)
            assert (await stream.receive()).split()[1] == b"400"


async def test_connection_that_cannot_be_accepted_does_not_end_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accept = socket.socket.accept

    def fail_once(listener: socket.socket) -> tuple[socket.socket, object]:
        monkeypatch.setattr(socket.socket, "accept", accept)
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket.socket, "accept", fail_once)
    asyncio.get_running_loop().set_exception_handler(ignore)
    async with serving_admin() as opened, admin_client(opened) as client:
        assert (await client.get("/admin/acp/status")).status_code == 200


def ignore(*_: object) -> None:
    """Take what the event loop reports, which would fail the test."""


class FailingAgent:
    services = AgentServices()
    version = None

    @property
    def sessions(self) -> SessionManager:
        raise StoreError("broken")


async def test_failing_endpoint_does_not_end_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    async with serving_admin(agent=FailingAgent()) as opened, admin_client(opened) as client:
        assert (await client.get("/admin/acp/status")).status_code == 500
    assert "a request failed" in caplog.text


def test_address_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SettingsError, match=f"admin.listen: {listen} cannot be used: address"):
            AdminSocket(listen, {}, "ADMIN")


def test_each_socket_has_a_token_of_its_own() -> None:
    sockets = [AdminSocket("127.0.0.1:0", {}, "ADMIN") for _ in range(2)]
    for opened in sockets:
        opened.listener.socket.close()
    assert sockets[0].token != sockets[1].token


def test_running_agent_serves_endpoints_and_its_client(
    cwd: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    pipe = subprocess.PIPE
    command = [*COMMAND, "--admin", "127.0.0.1:0"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        agent = Agent(process, cwd)
        path = Path(said.strip().rpartition("token in ")[2])
        told = json.loads(path.read_text())
        assert told["address"] in said
        assert told["token"] not in said
        headers = {"Authorization": f"Bearer {told['token']}"}
        url = f"{told['address']}/admin/acp/sessions"
        answer = httpx.get(url, headers=headers, trust_env=False)
        assert [each["sessionId"] for each in answer.json()["sessions"]] == [agent.session_id]
        assert httpx.get(url, trust_env=False).status_code == 401
        assert all(message["jsonrpc"] == "2.0" for message in agent.rest())
        assert process.wait(LIMIT) == 0
    assert list(folder.iterdir()) == []


def test_nothing_listens_by_default(cwd: Path) -> None:
    with running(cwd) as agent:
        table = Path(f"/proc/{agent.process.pid}/net/tcp")
        links = [each.readlink() for each in Path(f"/proc/{agent.process.pid}/fd").iterdir()]
        inodes = {str(link)[8:-1] for link in links if str(link).startswith("socket:")}
        listening_ = [line.split()[9] for line in table.read_text().splitlines() if " 0A " in line]
    assert not inodes & set(listening_)


def test_second_agent_with_the_same_address_serves_its_client() -> None:
    asked = encode_request(0, "initialize", {"protocolVersion": 1}) + b"\n"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = ran("--admin", f"127.0.0.1:{taken.getsockname()[1]}", stdin=asked)
    assert done.returncode == 0
    assert b"address already in use. It serves no status endpoints.\n" in done.stderr
    assert json.loads(done.stdout)["result"]["protocolVersion"] == 1


@pytest.mark.parametrize("listen", ["0.0.0.0:80", "unix:/missing/admin"])
def test_invalid_address_ends_the_agent_at_its_start(listen: str) -> None:
    done = ran("--admin", listen)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_invalid_token_ends_the_agent_at_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACP_AGENT_ADMIN_TOKEN", TOKEN[:5])
    done = ran("--admin", "127.0.0.1:0")
    assert done.returncode == 2
    assert b"at least 16" in done.stderr


def test_token_file_is_for_its_user_alone_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with token_file("http://x", "t") as path:
        assert path.is_relative_to(tmp_path)
        assert json.loads(path.read_text()) == {"address": "http://x", "token": "t"}
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("runtime", [None, "/missing", "relative"])
def test_without_a_runtime_directory_the_token_file_is_still_private(
    runtime: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    if runtime is not None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    with token_file("http://x", "t") as path:
        assert path.is_absolute()
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()
