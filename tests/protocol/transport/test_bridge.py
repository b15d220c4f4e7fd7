"""Agents that know only pipes, behind a server: a real process for each connection."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from acp_protocol.framing import Framing
from acp_protocol.jsonrpc import encode_request
from acp_protocol.transport.bridge import PrefixedLines, process_for_each
from acp_protocol.transport.served_connections import ServerLimits
from tests.protocol.transport.served_agent import (
    BEARER,
    HttpPeer,
    Serving,
    http_client,
    http_peer,
    serving,
)

LINES = """
import json, os, signal, subprocess, sys

def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

for line in sys.stdin:
    message = json.loads(line)
    match message["method"]:
        case "initialize":
            send(id=message["id"], result={"pid": os.getpid(), "protocolVersion": 1})
        case "start":
            # It ignores the end of its parent's stdin.
            child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
            send(id=message["id"], result={"pid": child.pid})
        case "log":
            sys.stderr.write(message["params"]["text"])
            sys.stderr.flush()
            send(id=message["id"], result={})
        case "exit":
            sys.exit(message["params"]["code"])
        case "echo":
            send(id=message["id"], result=message["params"])
"""
HEADERS = """
import json, sys

def send(**message):
    data = json.dumps({"jsonrpc": "2.0", **message}, indent=1).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(data) + data)
    sys.stdout.buffer.flush()

while (header := sys.stdin.buffer.readline()).startswith(b"Content-Length: "):
    sys.stdin.buffer.readline()
    message = json.loads(sys.stdin.buffer.read(int(header[16:])))
    send(id=message["id"], result={"protocolVersion": 1, "method": message["method"]})
"""


class Written:
    """What was written, line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._changed = anyio.Event()

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_for(self, text: str) -> str:
        """Return the first line with that text."""
        while not (found := [line for line in self.lines if text in line]):
            await self._changed.wait()
        return found[0]


Bridge = Callable[..., Any]


@pytest.fixture
def written() -> Written:
    return Written()


@pytest.fixture
def bridge(tmp_path: Path, written: Written) -> Bridge:
    """Serve an agent that a script is."""

    @asynccontextmanager
    async def bridged(
        script: str = LINES,
        *,
        command: tuple[str, ...] = (),
        framing: Framing | None = None,
        grace: float = 2.0,
        **limits: Any,
    ) -> AsyncGenerator[Serving]:
        path = tmp_path / "agent.py"
        path.write_text(script)
        words = command or (sys.executable, "-I", "-S", str(path))
        open_agent = process_for_each(words, write=written, framing=framing, grace=grace)
        async with serving(open_agent, server_limits=ServerLimits(**limits)) as server:
            yield server

    return bridged


def socket_of(server: Serving) -> connect:
    return connect(server.socket_url, additional_headers=BEARER, proxy=None)


async def ask(peer: HttpPeer, method: str, params: Any = None) -> Any:
    """Return the result of a request that belongs to no session."""
    async with peer.stream() as connection:
        assert (await peer.post(method, params)).status_code == 202
        return (await connection())["result"]


async def test_each_connection_has_a_process_of_its_own(bridge: Bridge) -> None:
    async with bridge() as server, http_client() as client:
        pids: set[int] = set()
        for _ in range(2):
            opened = await HttpPeer(server.url, client).initialize()
            pids.add(opened.json()["result"]["pid"])
    assert len(pids) == 2


async def test_a_process_and_what_it_started_end_with_the_connection(
    bridge: Bridge, written: Written
) -> None:
    async with bridge() as server, http_peer(server) as peer:
        started: int = (await ask(peer, "start"))["pid"]
        assert is_running(started)
        ended = await peer.client.delete(peer.url, headers=peer.headers())
        assert ended.status_code == 202
        await written.wait_for("exited with code 0")
        assert not is_running(started)


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that was not reaped does not."""
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()[:1] not in {"", "Z"}


async def test_a_process_ends_with_its_websocket(bridge: Bridge, written: Written) -> None:
    async with bridge() as server:
        async with socket_of(server) as socket:
            await socket.send(encode_request(1, "initialize", {}).decode())
            assert json.loads(await socket.recv())["result"]["protocolVersion"] == 1
        await written.wait_for("exited with code 0")


async def test_stderr_has_the_process_before_each_line(bridge: Bridge, written: Written) -> None:
    async with bridge() as server, http_peer(server) as peer:
        await ask(peer, "log", {"text": "one\ntwo \x1b[31m"})
        await peer.post("exit", {"code": 0})
        ended = await written.wait_for("exited")
    pid = ended.split()[1]
    assert written.lines == [
        f"agent {pid} | one\n",
        f"agent {pid} | two ␛[31m\n",
        f"agent {pid} exited with code 0\n",
    ]


async def test_a_client_learns_how_the_agent_ended(bridge: Bridge, written: Written) -> None:
    async with bridge() as server, http_peer(server) as peer:
        await peer.post("exit", {"code": 3})
        await written.wait_for("exited with code 3")
        while len(server.connections):
            await anyio.lowlevel.checkpoint()
        late = await peer.post("echo", {})
        assert late.status_code == 404
        assert "the agent exited with code 3" in late.text


async def test_a_websocket_says_how_the_agent_ended(bridge: Bridge) -> None:
    async with bridge() as server, socket_of(server) as socket:
        await socket.send(encode_request(1, "initialize", {}).decode())
        await socket.recv()
        await socket.send(encode_request(2, "exit", {"code": 3}).decode())
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert "code 3" in closed.value.rcvd.reason


async def test_an_agent_that_cannot_start_is_an_error_of_initialize(bridge: Bridge) -> None:
    async with bridge(command=("no-such-program",)) as server, http_client() as client:
        answer = await HttpPeer(server.url, client).initialize()
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == -32603
    assert "cannot start no-such-program: there is no such command" in answer.text


async def test_an_agent_that_exits_at_once_is_an_error_of_initialize(bridge: Bridge) -> None:
    async with bridge("raise SystemExit(7)") as server, http_client() as client:
        answer = await HttpPeer(server.url, client).initialize()
    assert answer.status_code == 500
    assert "exited with code 7" in answer.json()["error"]["message"]


async def test_processes_are_bounded_in_number(bridge: Bridge) -> None:
    async with bridge(connections=1) as server, http_peer(server) as peer:
        other = await HttpPeer(server.url, peer.client).initialize()
        assert other.status_code == 503
        assert other.headers["Retry-After"]


async def test_an_idle_connection_ends(bridge: Bridge, written: Written) -> None:
    async with bridge(silence_s=0.2) as server, http_peer(server) as peer:
        await written.wait_for("exited with code 0")
        late = await peer.post("echo", {})
    assert late.status_code == 404
    assert "nothing was sent for 0.2 s" in late.text


async def test_a_connection_with_an_open_request_is_not_idle(
    bridge: Bridge, written: Written
) -> None:
    async with bridge(silence_s=0.1) as server, http_peer(server) as peer:
        # It gets no response.
        await peer.post("unknown", {})
        with anyio.move_on_after(0.5):
            await written.wait_for("exited")
        assert not written.lines


async def test_a_message_of_several_lines_is_one_line_for_the_agent(bridge: Bridge) -> None:
    async with bridge() as server, http_peer(server) as peer, peer.stream() as connection:
        body = '{"jsonrpc": "2.0",\r\n "id": 5,\n "method": "echo", "params": {"a": "x\\ny"}}'
        headers = peer.headers() | {"Content-Type": "application/json"}
        posted = await peer.client.post(peer.url, content=body, headers=headers)
        assert posted.status_code == 202
        assert (await connection())["result"] == {"a": "x\ny"}


async def test_an_agent_with_content_length_headers(bridge: Bridge) -> None:
    async with bridge(HEADERS, framing="headers") as server, http_client() as client:
        peer = HttpPeer(server.url, client)
        assert (await peer.initialize()).json()["result"]["method"] == "initialize"
        assert (await ask(peer, "other"))["method"] == "other"


async def test_an_agent_that_responds_with_a_header_gets_headers(bridge: Bridge) -> None:
    first = 'message = json.loads(sys.stdin.buffer.readline())\nsend(id=message["id"], result={})\n'
    script = HEADERS.replace("while (", f"{first}while (", 1)
    async with bridge(script) as server, http_peer(server) as peer:
        assert (await ask(peer, "other"))["method"] == "other"


async def test_a_process_is_ended_although_it_ignores_sigterm(
    bridge: Bridge, written: Written
) -> None:
    stubborn = LINES.replace(
        "for line", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nfor line", 1
    ).replace(
        'case "echo"', 'case "hang":\n            import time; time.sleep(600)\n        case "echo"'
    )
    async with bridge(stubborn, grace=0.2) as server, http_peer(server) as peer:
        await peer.post("hang", {})
        await peer.client.delete(peer.url, headers=peer.headers())
        assert signal.SIGKILL.name in await written.wait_for("was ended by")


def test_long_lines_of_stderr_are_written_in_parts() -> None:
    lines: list[str] = []
    errors = PrefixedLines("p | ", lines.append)
    errors.feed(b"x" * 20000)
    assert len(lines) == 2
    errors.finish()
    assert sum(line.count("x") for line in lines) == 20000
