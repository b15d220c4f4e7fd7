"""Agents behind nginx that share a database, while one after another is killed.

`FAILOVER_S=60` goes on for as many seconds.
"""

from __future__ import annotations

import logging
import os
import random
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from acp_inspector.session.items import UserMessage
from acp_protocol.connection import Connection
from acp_protocol.errors import AcpError, ConnectionClosedError
from acp_protocol.jsonrpc import Json, Notification
from acp_protocol.transport.base import TapTransport
from acp_protocol.transport.http_client import open_http
from acp_protocol.transport.remote import RemoteAgent
from acp_protocol.transport.websocket_client import open_websocket
from tests.agent.client import INITIALIZE, Client, ClientSession, items
from tests.agent.sessions.test_restore import holds
from tests.agent.test_cli import COMMAND
from tests.conftest import ROOT
from tests.postgres import PostgresServer

logger = logging.getLogger(__name__)

LIMIT = 30
SECONDS = float(os.environ.get("FAILOVER_S", "8"))
TOKEN = "0123456789abcdef-failover"
NAMES = "abc"
ADDRESSES = {f"10.0.0.1{place}:8765": name for place, name in enumerate(NAMES, 1)}
"""Of the agents in the example for nginx."""
MAX_FAILURES = 50
"""Connections in a row without a whole turn."""
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@pytest.fixture
def nginx() -> str:
    """The program."""
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    if (program := shutil.which("nginx", path=path)) is not None:
        return program
    if os.environ.get("CI"):
        pytest.fail("nginx is not installed")
    pytest.skip("nginx is not installed")


@pytest.fixture
def folder() -> Generator[Path]:
    """A directory for sockets, whose names may only be short."""
    with TemporaryDirectory(prefix="acp-net-") as name:
        yield Path(name)


@dataclass
class Agents:
    """Processes with the same database, each on a socket in a folder."""

    folder: Path
    storage: str
    options: tuple[str, ...] = ()
    running: dict[str, subprocess.Popen[str]] = field(
        default_factory=dict[str, "subprocess.Popen[str]"]
    )

    def start(self, name: str) -> None:
        """Start one; return when it listens."""
        command = [*COMMAND, "serve", "--no-config", "--http", f"unix:{self.folder / name}"]
        command += ["--sessions", self.storage, "--affinity", name, *self.options]
        process = self.running[name] = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "ACP_AGENT_HTTP_TOKEN": TOKEN},
        )
        assert process.stderr is not None
        assert "serves ACP" in process.stderr.readline()

    def kill(self, name: str) -> None:
        process = self.running[name]
        process.kill()
        process.communicate(timeout=LIMIT)


@contextmanager
def running_agents(folder: Path, storage: str, *options: str) -> Generator[Agents]:
    agents = Agents(folder, storage, options)
    try:
        for name in NAMES:
            agents.start(name)
        yield agents
    finally:
        for name in agents.running:
            agents.kill(name)


@contextmanager
def running_nginx(program: str, folder: Path) -> Generator[int]:
    """Run nginx with the example of the docs; yield its port."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
    example = (ROOT / "deploy" / "nginx.conf").read_text()
    example = example.replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    example = re.sub(r" *ssl_certificate.*\n", "", example)
    for address, name in ADDRESSES.items():
        assert address in example
        example = example.replace(address, f"unix:{folder / name}")
    (folder / "acp.conf").write_text(example)
    temporary = "".join(f"{kind}_temp_path {folder / kind};" for kind in TEMPORARY)
    # As root, its workers could not use sockets of root.
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"daemon off; {user} pid {folder / 'pid'}; error_log stderr notice; events {{}}"
        f"http {{ access_log off; {temporary} include {folder / 'acp.conf'}; }}"
    )
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if "start worker process " in line:
                    break
            yield port
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=LIMIT)


class Watch:
    """Counts the messages that come, over all clients."""

    def __init__(self) -> None:
        self._count = 0
        self._goal = 0
        self._reached = anyio.Event()

    def add(self) -> None:
        self._count += 1
        if self._count >= self._goal:
            self._reached.set()

    async def wait_for(self, more: int) -> None:
        """Return when so many more messages have come."""
        self._goal, self._reached = self._count + more, anyio.Event()
        await self._reached.wait()


class WatchedClient(Client):
    """A client that counts what comes."""

    watch: Watch

    async def handle_notification(self, notification: Notification) -> None:
        await super().handle_notification(notification)
        self.watch.add()


@dataclass
class Chat:
    """A client that goes on with one session whatever happens to its agent."""

    agent: RemoteAgent
    cwd: Path
    watch: Watch
    session: str | None = None
    seen: list[Json] = field(default_factory=list[Json])
    """What a user has seen of the session."""
    turns: int = 0
    connections: int = 0
    is_over: bool = False

    async def run(self) -> None:
        """Chat until it is over; connect again whenever the connection breaks."""
        failures = 0
        while not self.is_over:
            before = self.turns
            try:
                await self.connect()
            except AcpError:
                failures = 0 if self.turns > before else failures + 1
                if failures > MAX_FAILURES:
                    raise

    async def connect(self) -> None:
        """Open or load the session, which has all that was seen; chat until it is over."""
        client = WatchedClient(1, cwd=self.cwd)
        client.watch = self.watch
        open_transport = open_websocket if self.agent.is_websocket else open_http
        async with open_transport(self.agent) as transport:
            tapped = TapTransport(transport, "client", client.journal.wire)
            async with Connection(tapped, client) as client.connection:
                await client.ask("initialize", **INITIALIZE[1])
                self.connections += 1
                try:
                    await self._open(client)
                    await self._talk(client)
                finally:
                    if self.session is not None:
                        self._note(client)

    async def _open(self, client: Client) -> None:
        if self.session is None:
            self.session = (await client.new()).id
            return
        session = client.session(self.session)
        await session.reopen()
        # Over HTTP the response and the updates come on two streams, in any order.
        async with anyio.create_task_group() as tasks:

            async def wait_closed() -> None:
                await client.connection.wait_closed()
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait_closed)
            with anyio.move_on_after(LIMIT):
                await client.until(lambda: not self._missing(session))
                tasks.cancel_scope.cancel()
                return
            assert self._missing(session) == []
        raise ConnectionClosedError

    def _missing(self, session: ClientSession) -> list[Json]:
        """Return what was seen and has not come again, beside what has come in its place."""
        if len(session.updates) < len(self.seen):
            return self.seen
        told = items(session.conversation)
        pairs = zip_longest(self.seen, told[: len(self.seen)])
        return [pair for pair in pairs if pair[1] is None or not holds(*pair)]

    async def _talk(self, client: Client) -> None:
        assert self.session is not None
        session = client.session(self.session)
        while not self.is_over:
            await session.turn("/tour")
            self.turns += 1

    def _note(self, client: Client) -> None:
        assert self.session is not None
        found = items(client.session(self.session).conversation)
        while found and found[-1][0] == UserMessage.__name__:
            # A prompt that the agent may not have got.
            found.pop()
        if len(found) >= len(self.seen):
            self.seen = found


async def kill_agents(agents: Agents, watch: Watch) -> int:
    """Kill each agent at least once, and start it again; return how many were killed."""
    chance = random.Random(SECONDS)
    deadline = anyio.current_time() + SECONDS
    killed = 0
    while killed < len(NAMES) or anyio.current_time() < deadline:
        await watch.wait_for(chance.randrange(10, 100))
        name = NAMES[killed % len(NAMES)]
        await anyio.to_thread.run_sync(agents.kill, name)
        await anyio.to_thread.run_sync(agents.start, name)
        killed += 1
    return killed


@pytest.mark.long
async def test_clients_go_on_with_all_that_they_saw_while_agents_are_killed(
    postgres: PostgresServer, nginx: str, folder: Path, tmp_path: Path
) -> None:
    url = postgres.url(postgres.new_schema()).url
    watch, killed = Watch(), 0
    with (
        running_agents(folder, url, "--pace", "0.01", "--allow-host", "127.0.0.1") as agents,
        running_nginx(nginx, folder) as port,
        anyio.fail_after(SECONDS + 3 * LIMIT),
    ):
        address = f"127.0.0.1:{port}/acp"
        chats = [
            Chat(RemoteAgent(f"{scheme}://{address}", token=TOKEN), tmp_path / name, watch)
            for name, scheme in zip(NAMES, ("http", "ws", "http"), strict=True)
        ]
        for chat in chats:
            chat.cwd.mkdir()
        async with anyio.create_task_group() as tasks:
            for chat in chats:
                tasks.start_soon(chat.run)
            killed = await kill_agents(agents, watch)
            for chat in chats:
                chat.is_over = True
        for chat in chats:
            # Nothing is lost at the end either.
            await chat.connect()
    assert killed >= len(NAMES)
    assert sum(chat.connections for chat in chats) > 2 * len(chats)
    assert all(chat.turns for chat in chats)
    logger.info("%d killed; %s", killed, [(chat.turns, chat.connections) for chat in chats])
