"""The socket, and the agent that is looked at through it."""

from __future__ import annotations

import errno
import json
import socket
import stat
import subprocess
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import anyio.abc
import httpx
import pytest

from acp_agent.admin.listener import CONNECTIONS, Listener
from acp_agent.models.services import SettingsError
from acp_protocol.jsonrpc import request_line
from tests.agent.admin.visitors import ENVIRONMENT, TOKEN, listening, visiting
from tests.agent.test_main import COMMAND, LIMIT, Agent, ran, running


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a short name, as sockets need one."""
    return tmp_path_factory.mktemp("s")


async def test_a_socket_of_this_machine_is_for_its_user_alone(folder: Path) -> None:
    path = folder / "admin"
    async with listening(f"unix:{path}") as listener, visiting(listener) as client:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert (await client.get("/admin/acp/status")).status_code == 200
        assert (await client.get("/", headers={"Host": "evil.example"})).status_code == 403
    assert not path.exists()
    async with listening(f"unix:{path}") as listener, visiting(listener, None) as client:
        assert (await client.get("/admin/acp/status")).status_code == 401


async def test_a_socket_that_was_left_behind_makes_room_and_no_other(folder: Path) -> None:
    path = folder / "admin"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    async with listening(f"unix:{path}") as listener:
        with pytest.raises(SettingsError, match="cannot be used: address already in use"):
            Listener(listener.address, ENVIRONMENT, "ADMIN")
    (folder / "file").write_text("mine")
    with pytest.raises(SettingsError, match="cannot be used"):
        Listener(f"unix:{folder}/file", ENVIRONMENT, "ADMIN")
    assert (folder / "file").read_text() == "mine"


async def test_the_newer_protocol_of_the_internet_works_too() -> None:
    async with listening("[::1]:0") as listener, visiting(listener) as client:
        assert listener.address.startswith("http://[::1]:")
        assert (await client.get("/admin/acp/status")).status_code == 200


async def test_a_disk_that_takes_no_token_ends_no_agent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(**_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    async with listening(environment={}) as listener, visiting(listener, listener.token) as client:
        assert (await client.get("/admin/acp/status")).status_code == 200
    assert "nobody can be told the token: no space left on device" in caplog.text


async def test_who_connects_and_says_nothing_takes_nobodys_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acp_agent.admin.listener.HEAD_WAIT", 0.05)
    async with listening() as listener, AsyncExitStack() as stack:
        port = int(listener.address.rpartition(":")[2])
        idle = [
            await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
            for _ in range(20)
        ]
        await idle[0].send(b"GET / HT")
        for each in idle:
            with pytest.raises(anyio.EndOfStream):
                await each.receive()
        async with visiting(listener) as client:
            assert (await client.get("/admin/acp/status")).status_code == 200


async def test_an_idle_connection_makes_room_for_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HEAD_WAIT", "KEEP_ALIVE"):
        monkeypatch.setattr(f"acp_agent.admin.listener.{name}", 600)
    request = (
        f"GET /admin/acp/status HTTP/1.1\r\nHost: {{}}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    )
    async with listening() as listener, AsyncExitStack() as stack:
        host = listener.address.removeprefix("http://")
        port = int(host.rpartition(":")[2])
        said = request.format(host).encode()

        async def connected() -> anyio.abc.SocketStream:
            return await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))

        async def answered(stream: anyio.abc.SocketStream) -> bytes:
            await stream.send(said)
            return (await stream.receive()).split(b"\r\n")[0]

        silent = await connected()
        first, *others = [await connected() for _ in range(CONNECTIONS - 1)]
        for each in (first, *others):
            assert await answered(each) == b"HTTP/1.1 200 OK"
        assert await answered(await connected()) == b"HTTP/1.1 200 OK"
        with pytest.raises(anyio.EndOfStream):
            while await first.receive():
                pass
        assert await answered(silent) == b"HTTP/1.1 200 OK"


def test_an_address_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SettingsError, match=f"admin.listen: {listen} cannot be used: address"):
            Listener(listen, {}, "ADMIN")


def test_each_run_has_a_token_of_its_own() -> None:
    listeners = [Listener("127.0.0.1:0", {}, "ADMIN") for _ in range(2)]
    for listener in listeners:
        listener.close()
    assert listeners[0].token != listeners[1].token


def test_a_running_agent_can_be_looked_at_and_still_speaks_to_its_client_alone(
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


def test_without_being_asked_nobody_listens(cwd: Path) -> None:
    with running(cwd) as agent:
        table = Path(f"/proc/{agent.process.pid}/net/tcp")
        links = [each.readlink() for each in Path(f"/proc/{agent.process.pid}/fd").iterdir()]
        inodes = {str(link)[8:-1] for link in links if str(link).startswith("socket:")}
        listening_ = [line.split()[9] for line in table.read_text().splitlines() if " 0A " in line]
    assert not inodes & set(listening_)


def test_the_second_agent_of_one_configuration_serves_without_being_looked_at() -> None:
    asked = request_line(0, "initialize", {"protocolVersion": 1}) + b"\n"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = ran("--admin", f"127.0.0.1:{taken.getsockname()[1]}", stdin=asked)
    assert done.returncode == 0
    assert b"address already in use. It serves without being looked at.\n" in done.stderr
    assert json.loads(done.stdout)["result"]["protocolVersion"] == 1


@pytest.mark.parametrize("listen", ["0.0.0.0:80", "unix:/missing/admin"])
def test_what_cannot_be_opened_is_told_before_anybody_is_served(listen: str) -> None:
    done = ran("--admin", listen)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_token_that_is_none_is_told_before_anybody_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACP_AGENT_ADMIN_TOKEN", TOKEN[:5])
    done = ran("--admin", "127.0.0.1:0")
    assert done.returncode == 2
    assert b"at least 16" in done.stderr
