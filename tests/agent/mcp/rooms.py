"""A session's room for MCP servers, opened directly, and real servers for it."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
from mcp.client import Client

from acp_agent.mcp.connection import McpConnection
from acp_agent.mcp.declarations import Limits, Server, StdioServer, WebServer
from acp_agent.mcp.servers import McpClient, McpServers
from acp_agent.tools.call import Content, Outcome
from acp_agent.world.terminals import RequestSender
from acp_agent.world.workspace import Workspace
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.host.process import ChildProcess, spawn
from acp_protocol.jsonrpc import Json
from tests.warm import WARM

LIMIT = 60.0
"""Seconds after which a talk counts as hung."""
WEATHER = str(Path(__file__).with_name("weather.py"))
LIMITS = Limits(spawn_timeout=40.0, call_timeout=40.0, eof_grace=0.1, kill_after=0.2)
"""Patient with servers that work, on a machine that has much to do; not with those that end."""


class Nobody:
    """A client that is not asked."""

    async def request(self, method: str, params: Json = None) -> Json:
        """Fail."""
        raise AssertionError(f"asked for {method}: {params}")


def weather_command(how: str) -> tuple[str, ...]:
    """Return the command of `weather.py`; a stubborn one is started cold.

    A program that is started warm ends a moment after its launcher, which is the process that the
    agent waits for.
    """
    return (*((sys.executable,) if how == "stubborn" else WARM), WEATHER, how)


def weather(how: str = "stdio", id_: str = "w", **env: str) -> StdioServer:
    """Return the server of `weather.py`."""
    return StdioServer(id_, weather_command(how), env)


def scripted(code: str, id_: str = "s") -> StdioServer:
    """Return a server that runs `code`, of which nothing has to be MCP."""
    return StdioServer(id_, (sys.executable, "-c", code))


@asynccontextmanager
async def opened(
    cwd: Path,
    *servers: Server,
    limits: Limits = LIMITS,
    client: RequestSender | None = None,
    additional: Sequence[Path] = (),
) -> AsyncGenerator[McpServers]:
    """Open a room, and close it at the end."""
    with anyio.fail_after(LIMIT):
        async with BackgroundTasks() as tasks:
            room, home = McpServers(), McpClient(client or Nobody(), tasks, limits)
            await room.open(servers, home, [cwd, *additional])
            try:
                yield room
            finally:
                await room.aclose()


@asynccontextmanager
async def on_web(
    cwd: Path, how: str, port: int = 0
) -> AsyncGenerator[tuple[WebServer, ChildProcess]]:
    """Run the server of `weather.py` at an address of this machine."""
    command = [*WARM, WEATHER, how, str(port)]
    async with spawn(command, cwd=cwd, on_stderr=lambda _: None, grace=0.2) as child:
        line = b""
        while not line.endswith(b"\n"):
            line += await child.stdout.receive(1)
        path = "sse" if how == "sse" else "mcp"
        url = f"http://127.0.0.1:{int(line)}/{path}"
        yield WebServer("w", url, is_sse=how == "sse"), child


@asynccontextmanager
async def listed_anew(room: McpServers) -> AsyncGenerator[None]:
    """At the end, wait until a server that has changed its tools meanwhile was asked for them."""
    changed = anyio.Event()

    def observe(connection: McpConnection) -> None:
        list_ = connection._list

        async def listed(client: Client) -> None:
            try:
                await list_(client)
            finally:
                changed.set()

        connection._list = listed

    for connection in room._connections:
        observe(connection)
    yield
    await changed.wait()


async def call(room: McpServers, tool: str, **arguments: Json) -> Outcome:
    """Call a tool as a turn does."""
    prepared = await room[tool].prepare(arguments, Workspace("s", Path.cwd()))

    async def report(content: Content) -> None:
        del content

    return await prepared.run(report)


class Log(logging.Handler):
    """What was logged, and a way to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._grew = anyio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage())
        self._grew.set()
        self._grew = anyio.Event()

    async def wait_for(self, text: str) -> str:
        """Return the first line that holds `text`."""
        while True:
            for line in self.lines:
                if text in line:
                    return line
            await self._grew.wait()


@contextmanager
def logged() -> Generator[Log]:
    """Listen to what the room logs."""
    log = Log()
    logger = logging.getLogger("acp_agent.mcp")
    logger.addHandler(log)
    try:
        yield log
    finally:
        logger.removeHandler(log)


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that is dead but not reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}
