"""The open connections of a server, each with its agent, over HTTP and WebSocket.

An agent is read from only while there is room for what it says: a client that does not read makes
it wait, and ends its connection if it goes on.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, TypeAlias, cast

import anyio
from anyio.abc import TaskGroup

from acp_protocol.concurrency import BackgroundTasks, Change
from acp_protocol.errors import AcpError, AgentExitedError, ConnectionClosedError
from acp_protocol.transport.base import Transport
from acp_protocol.transport.http import HttpLimits, Reply, ServedConnection, refusal
from acp_protocol.transport.memory import Take, forward

logger = logging.getLogger(__name__)

OpenAgent: TypeAlias = Callable[[], AbstractAsyncContextManager[Transport]]
"""Starts the agent of a connection; what it yields is the client's end of it.

Its `receive` may raise `AgentExitedError` instead of `ConnectionClosedError`, which says more.
"""
AFFINITY_COOKIE: Final = "acp_affinity"
"""nginx reads no cookie whose name has a hyphen."""
MAX_ENDED: Final = 256
"""Ended connections whose reason is remembered, for the clients that still name them."""
UNATTENDED_CHECKS: Final = 4
"""Looks for unattended connections, within `unattended_s`."""
NewState: TypeAlias = Callable[..., ServedConnection]
"""Makes what a server keeps of a connection; gets `Limits`, and `is_socket`."""
EndedBy: TypeAlias = Literal["agent", "client", "protocol", "limit", "error", "shutdown"]
CLOSE_CODES: Final[Mapping[EndedBy, int]] = {
    "agent": 1000,
    "client": 1000,
    "shutdown": 1001,
    "protocol": 1002,
    "limit": 1008,
    "error": 1011,
}
"""The code that closes a WebSocket, by what ends its connection."""


def new_affinity() -> str:
    """Return a value of the cookie that no other process has."""
    return secrets.token_urlsafe(16)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What all connections together may take, and how long."""

    connections: int = 1024
    bodies: int = 256 * 2**20
    """Bytes of bodies that are being read or wait for their agent."""
    initialize_s: float = 30.0
    """Seconds that an agent may take to start and to answer `initialize`."""
    body_s: float = 60.0
    """Seconds that a client may take to send a body, or the first message of a WebSocket."""
    keep_alive_s: float = 15.0
    """Seconds between comments on a stream that has nothing else to say."""
    silence_s: float = math.inf
    """Seconds after which a connection ends that carries no message and has no open request."""
    last_comment_s: float = 5.0
    """Seconds that a stream may take for what its ended connection has left to say."""
    history_s: float = 5.0
    """Seconds that the response to `session/load` waits while nothing of the history is taken."""
    unattended_s: float = 600.0
    """Seconds after which a connection over HTTP ends that has no reader and gets no request."""


@dataclass(slots=True)
class ServerCounts:
    """What a server has open, and what it has moved."""

    streams: int = 0
    sockets: int = 0
    opened: int = 0
    """Connections, in all."""
    received_messages: int = 0
    received_bytes: int = 0
    sent_messages: int = 0
    sent_bytes: int = 0

    def received(self, size: int) -> None:
        """Count a message of a client."""
        self.received_messages += 1
        self.received_bytes += size

    def sent(self, size: int, messages: int = 1) -> None:
        """Count messages to a client."""
        self.sent_messages += messages
        self.sent_bytes += size


class OpenConnection:
    """A connection and its agent."""

    def __init__(self, state: ServedConnection) -> None:
        self.id = secrets.token_urlsafe(24)
        self.state = state
        self.is_initialized = False
        """Whether `initialize` was answered, and other messages may follow."""
        self.opening: bytes | None = None
        """The response to `initialize`."""
        self.ended_by: EndedBy | None = None
        self.reason = ""
        self.scope = anyio.CancelScope()
        self.agent: Transport | None = None
        self.active_at = time.monotonic()
        """When the last message passed."""
        self.attended_at = time.monotonic()
        """When the client last sent a request or left a stream."""
        self._sending = asyncio.Lock()
        self._ended = anyio.Event()
        self._changed = Change()
        self._hurried = Change()
        self._written = Change()

    @property
    def is_attended(self) -> bool:
        """Whether the client reads at least one stream, or has a WebSocket."""
        return self.state.is_socket or self.state.readers > 0

    def notify(self) -> None:
        """Wake all that wait: a frame came or was read, or the connection opened or ended."""
        self.active_at = time.monotonic()
        self._changed.notify()

    async def wait_change(self) -> None:
        await self._changed.wait()

    def notify_written(self) -> None:
        """Wake what waits for the events of another stream: some were written, or will not be."""
        self._written.notify()

    async def wait_written(self) -> None:
        await self._written.wait()

    def hurry(self) -> None:
        """End the pauses of all writers."""
        self._hurried.notify()

    async def pause(self, seconds: float) -> None:
        """Wait, but no longer than until another writer has something that comes later."""
        with anyio.move_on_after(seconds):
            await self._hurried.wait()

    async def wait_end(self) -> EndedBy:
        """Return what has ended the connection, once something has."""
        await self._ended.wait()
        assert self.ended_by is not None
        return self.ended_by

    def end(self, by: EndedBy, reason: str) -> None:
        """End the connection and its agent at once, if it has not ended.

        What an agent has said before it ended is still read; else nothing is.
        """
        if self.ended_by is None:
            self.ended_by, self.reason = by, reason
            if by != "agent":
                self.state.clear()
        self._ended.set()
        self._written.notify()
        self.scope.cancel()
        self.notify()

    def end_with_agent(self, problem: ConnectionClosedError | AgentExitedError) -> None:
        """End the connection because the agent has ended."""
        is_known = isinstance(problem, AgentExitedError)
        self.end("agent", problem.summary if is_known else "the agent ended")

    def fail(self, problem: AcpError) -> None:
        """End the connection because of an error of the agent, and log that."""
        logger.warning("the agent of connection %s… failed: %s", self.id[:6], problem)
        self.end("error", str(problem))

    def check_open(self) -> None:
        """Refuse what the agent says after the end.

        Raises:
            ConnectionClosedError: the connection has ended.
        """
        if self.ended_by is not None:
            raise ConnectionClosedError

    async def send(self, frame: bytes) -> None:
        """Send a frame to the agent, once that has started.

        Raises:
            ConnectionClosedError: the agent has ended.
        """
        while self.agent is None and self.ended_by is None:
            await self.wait_change()
        async with self._sending:
            if self.agent is None or self.ended_by is not None:
                raise ConnectionClosedError
            await self.agent.send(frame)
            self.active_at = time.monotonic()

    async def open(self, initialize: bytes) -> None:
        """Send `initialize`; return once it is answered, or the connection has ended."""
        with suppress(ConnectionClosedError):
            # If the agent does not read any more, the end of its output says why.
            await self.send(initialize)
        while self.opening is None and self.ended_by is None:
            await self.wait_change()

    async def wait_room(self) -> None:
        """Return once the agent may say more, or the connection has ended."""
        while self.ended_by is None and self.state.is_full:
            await self.wait_change()

    async def wait_settled(self) -> None:
        """Return once no request waits for its response, and no reader for a frame."""
        state = self.state
        while self.ended_by is None and not (
            state.is_idle and not (state.unread and state.readers)
        ):
            await self.wait_change()


@dataclass
class Connections:
    """The connections of a server; they can be opened inside `running`."""

    open_agent: OpenAgent
    limits: HttpLimits = field(default_factory=HttpLimits)
    server_limits: ServerLimits = field(default_factory=ServerLimits)
    path: str = "/acp"
    """Where the endpoint is, for the cookie."""
    affinity: str = field(default_factory=new_affinity)
    """The value of the cookie, by which a load balancer knows this process."""
    counts: ServerCounts = field(default_factory=ServerCounts)
    dialect: str | None = None
    """The dialect of the clients; some have an HTTP of their own."""

    def __post_init__(self) -> None:
        self._open: dict[str, OpenConnection] = {}
        self._ended: OrderedDict[str, str] = OrderedDict()
        self._tasks: TaskGroup | None = None
        self._closed = anyio.Event()
        """Set, and replaced, when a connection is closed."""
        self.is_ending = False
        """Whether no more connections are opened; those that are open go on."""

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Run the agents of the connections; end all of them at the end of the block."""
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._end_unattended)
            try:
                yield
            finally:
                self.end_all()
                await self.wait_closed()
                self._tasks.cancel_scope.cancel()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def sessions(self) -> int:
        """Sessions of all connections."""
        return sum(each.state.sessions for each in self._open.values())

    @property
    def unread(self) -> int:
        """Bytes that wait for readers, over all connections."""
        return sum(each.state.unread for each in self._open.values())

    async def wait_settled(self) -> None:
        """Return once no request waits for its response, and no reader for a frame."""
        for connection in list(self._open.values()):
            await connection.wait_settled()

    def end_all(self) -> None:
        """End all connections, because the server ends."""
        self.is_ending = True
        for connection in list(self._open.values()):
            connection.end("shutdown", "the server ends")

    async def wait_closed(self) -> None:
        """Return once no connection is open."""
        while self._open:
            await self._closed.wait()

    async def _end_unattended(self) -> None:
        """End connections whose clients have left without a word."""
        limit = self.server_limits.unattended_s
        while True:
            await anyio.sleep(limit / UNATTENDED_CHECKS)
            latest = time.monotonic() - limit
            for each in list(self._open.values()):
                if not each.is_attended and each.attended_at <= latest:
                    self.end_for_limit(each, f"no stream was read for {limit:g} s")

    def end_if_unattended(self, agent: Transport, reason: str) -> bool:
        """End the connection of an agent if its client reads nothing; return whether it ends."""
        for each in list(self._open.values()):
            if each.agent is agent and not each.is_attended:
                self.end_for_limit(each, reason)
                return True
        return False

    def headers(self, connection: OpenConnection) -> dict[str, str]:
        """Return what a client gets with its connection: the id, and the way to this process."""
        cookie = f"{AFFINITY_COOKIE}={self.affinity}; Path={self.path}; HttpOnly; SameSite=Lax"
        return {"Acp-Connection-Id": connection.id, "Set-Cookie": cookie}

    def new(
        self, *, is_socket: bool = False, new_state: NewState = ServedConnection
    ) -> OpenConnection | Reply:
        """Return a new connection; its agent is started by `start`. Or return why there is none."""
        if self.is_ending or self._tasks is None:
            return busy("The server ends")
        if len(self) >= self.server_limits.connections:
            return busy(f"{self.server_limits.connections} connections are open")
        connection = OpenConnection(new_state(self.limits, is_socket=is_socket))
        self._open[connection.id] = connection
        self.counts.opened += 1
        return connection

    def start(self, connection: OpenConnection, take: Take | None = None) -> None:
        """Start the agent of a connection.

        `take` gets what it says; None: it waits in streams until it is read.
        """
        assert self._tasks is not None
        take = take or partial(self._put, connection)
        self._tasks.start_soon(self._run, connection, take)

    def find(self, id_: str | None) -> OpenConnection | Reply:
        """Return the connection that a client names, or why there is none."""
        if id_ is None:
            return refusal(400, "Acp-Connection-Id is missing")
        connection = self._open.get(id_)
        if connection is None or connection.ended_by or not connection.is_initialized:
            return self.unknown(id_)
        connection.attended_at = time.monotonic()
        return connection

    def unknown(self, id_: str) -> Reply:
        """Return the response to a client that names a connection that is not open here."""
        ending, reason = self._open.get(id_), self._ended.get(id_)
        if ending is not None and ending.ended_by is not None:
            reason = ending.reason
        if reason is not None:
            return refusal(404, f"The connection has ended: {reason}. Open a new one")
        return refusal(404, "This process has no such connection. Open a new one with initialize")

    def close(self, connection: OpenConnection) -> None:
        """Forget a connection that has ended."""
        if self._open.pop(connection.id, None) is not None:
            self._closed.set()
            self._closed = anyio.Event()
            self._ended[connection.id] = connection.reason
            if len(self._ended) > MAX_ENDED:
                self._ended.popitem(last=False)

    def end_for_limit(self, connection: OpenConnection, reason: str) -> None:
        """End a connection that takes more than it may, and log that."""
        logger.warning("connection %s… ends: %s", connection.id[:6], reason)
        connection.end("limit", reason)

    def end_stalled(self, connection: OpenConnection) -> None:
        """End a connection whose client does not read what the agent says."""
        reason = f"the client has read nothing for {self.limits.stall_s:g} s"
        self.end_for_limit(connection, reason)

    async def _run(self, connection: OpenConnection, take: Take) -> None:
        """Run the agent of a connection until either of them ends."""
        try:
            with connection.scope:
                async with self.open_agent() as connection.agent, BackgroundTasks() as tasks:
                    connection.notify()
                    if self.server_limits.silence_s < math.inf:
                        tasks.start_soon(self._end_silent, connection)
                    try:
                        await forward(connection.agent, take)
                    except (ConnectionClosedError, AgentExitedError) as problem:
                        connection.end_with_agent(problem)
        except AcpError as problem:
            if not _is_late(connection, problem):
                connection.fail(problem)
        except Exception as problem:
            # One connection must not end the others.
            if not _is_late(connection, problem):
                logger.exception("connection %s… failed", connection.id[:6])
                connection.end("error", "internal error")
        finally:
            connection.end("agent", "the agent ended")
            self.close(connection)

    async def _put(self, connection: OpenConnection, frame: bytes) -> None:
        """Put what the agent says where it is read; return once there is room for more."""
        connection.check_open()
        if connection.state.put(frame) is None and connection.opening is None:
            connection.opening = frame
        connection.notify()
        if (excess := connection.state.excess) is not None:
            self.end_for_limit(connection, excess)
        if connection.state.is_full:
            await self._wait_room(connection)

    async def _end_silent(self, connection: OpenConnection) -> None:
        """End a connection once nothing was sent for too long."""
        limit = self.server_limits.silence_s
        while (rest := connection.active_at + limit - time.monotonic()) > 0:
            await anyio.sleep(rest)
            if not connection.state.is_idle:
                connection.active_at = time.monotonic()
        self.end_for_limit(connection, f"nothing was sent for {limit:g} s")

    async def _wait_room(self, connection: OpenConnection) -> None:
        """Return once the client has read enough; end the connection if it reads nothing."""
        while connection.state.is_full:
            with anyio.move_on_after(self.limits.stall_s) as limit:
                await connection.wait_change()
            if limit.cancelled_caught:
                self.end_stalled(connection)
                return


def _is_late(connection: OpenConnection, problem: Exception) -> bool:
    """Return whether an agent of this process has only sent something after the end."""
    if connection.ended_by is None:
        return False
    if isinstance(problem, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", problem)
        return group.split(ConnectionClosedError)[1] is None
    return isinstance(problem, ConnectionClosedError)


def busy(reason: str) -> Reply:
    """Return the response to a request that may come again later."""
    return Reply(503, reason.encode(), "text/plain; charset=utf-8", {"Retry-After": "1"})
