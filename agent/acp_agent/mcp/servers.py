"""All MCP servers of one session: opened side by side, called as tools, closed together.

The SDK is imported when a session names a server, and not before: it takes a second.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from acp_agent.mcp.declarations import Limits, Server
from acp_agent.tools.call import Tool
from acp_agent.world.elicitation import ServerElicitation
from acp_agent.world.terminals import RequestSender
from acp_protocol.jsonrpc import Json

if TYPE_CHECKING:
    from acp_agent.mcp.acp_transport import AcpTransports
    from acp_agent.mcp.connection import McpConnection


CLOSING: Final = 4.0
"""Seconds for taking leave of the servers; programs get theirs to end besides."""

_LOG_LEVELS: Final = {
    "mcp": logging.CRITICAL,
    "client": logging.CRITICAL,
    "httpx2": logging.WARNING,
}
"""Loggers of the SDK: its tracebacks and addresses are no words for a user, who gets ours."""


@dataclass(frozen=True, slots=True)
class McpSettings:
    """What the configuration says of MCP servers."""

    configured: Sequence[Server] = ()
    """Servers that each session has, see `configured_servers`."""
    allowed: Collection[str] = ()
    """Ids of the servers that may be used, wherever they come from; empty allows all."""
    limits: Limits = field(default_factory=Limits)


class McpClient:
    """What the servers of all sessions of a connection share: the client, and who owns their tasks.

    `tasks` outlives the sessions: a server's task ends with its session, or with the group.
    """

    def __init__(
        self, client: RequestSender, tasks: TaskGroup, limits: Limits | None = None
    ) -> None:
        self.tasks = tasks
        self.limits = limits or Limits()
        self._client = client
        self._transports: AcpTransports | None = None

    def acp_transports(self) -> AcpTransports:
        """Return the way to the servers that the client itself serves."""
        if self._transports is None:
            from acp_agent.mcp.acp_transport import AcpTransports

            self._transports = AcpTransports(self._client)
        return self._transports

    def notified(self, params: Mapping[str, Json]) -> None:
        """Take an `mcp/message` notification of the client."""
        if self._transports is not None:
            self._transports.notified(params)


class McpServers(Mapping[str, Tool]):
    """The servers of a session, seen as their tools by name, behind the agent's `own`.

    The tools are those of now: a server may change its list at any time. What a server that has
    ended once offered stays, and calling it tells why it cannot be called.
    """

    def __init__(
        self, own: Mapping[str, Tool] = MappingProxyType({}), relay: ServerElicitation | None = None
    ) -> None:
        self._own = own
        self.relay = relay or ServerElicitation()
        """By which servers ask the user."""
        self._connections: tuple[McpConnection, ...] = ()
        self._closing = CLOSING
        self._declared: tuple[Server, ...] = ()
        self._directories: tuple[Path, ...] = ()
        self._changing = anyio.Lock()
        self._is_closed = False

    def adopt(self, tools: Mapping[str, Tool]) -> None:
        """Take more tools for the agent's own."""
        self._own = {**self._own, **tools}

    def has(self, servers: Sequence[Server]) -> bool:
        """Whether these are the servers that were opened last."""
        return tuple(servers) == self._declared

    @property
    def is_changing(self) -> bool:
        """Whether others are about to be opened instead."""
        return self._changing.locked()

    async def changed(self) -> None:
        """Return when those are open that were to be."""
        async with self._changing:
            pass

    async def change(
        self, servers: Sequence[Server], home: McpClient, directories: Sequence[Path]
    ) -> None:
        """Close all, and open `servers` instead, unless they are the same."""
        async with self._changing:
            if self.has(servers) or self._is_closed:
                return
            await self._leave()
            if not self._is_closed:
                await self.open(servers, home, directories)

    async def move(self, directories: Sequence[Path]) -> None:
        """Tell the servers where the session works from now on, if that has changed."""
        moved = tuple(directories)
        if moved != self._directories:
            self._directories = moved
            async with anyio.create_task_group() as tasks:
                for connection in self._connections:
                    tasks.start_soon(connection.notify_roots_changed)

    async def open(
        self, servers: Sequence[Server], home: McpClient, directories: Sequence[Path]
    ) -> None:
        """Start `servers` and return when each is ready or has failed, see `warnings`.

        They start in the first of `directories` and learn that the session works in all of them.
        Cancelled, it leaves nothing behind.
        """
        self._declared, self._connections = tuple(servers), ()
        self._directories = tuple(directories)
        if not servers:
            return
        from acp_agent.mcp.connection import McpConnection

        for name, level in _LOG_LEVELS.items():
            logging.getLogger(name).setLevel(level)
        limit = home.limits.spawn_timeout
        self._closing = CLOSING + home.limits.eof_grace + 2 * home.limits.kill_after
        self._connections = tuple(
            McpConnection(
                server, home.limits, self.relay, lambda: self._directories, home.acp_transports
            )
            for server in servers
        )
        for connection in self._connections:
            home.tasks.start_soon(connection.run)
        try:
            with anyio.move_on_after(limit):
                for connection in self._connections:
                    await connection.has_opened.wait()
            for connection in self._connections:
                if not connection.has_opened.is_set():
                    connection.give_up(f"was not ready within {limit:g} s")
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise

    @property
    def failures(self) -> dict[str, str]:
        """Why servers cannot be used, by their ids; the words fit behind the id."""
        return {
            connection.id: connection.failure
            for connection in self._connections
            if connection.failure is not None
        }

    @property
    def counts(self) -> dict[str, int]:
        """How many tools each server has that can be used, by their ids."""
        return {
            connection.id: len(connection.tools)
            for connection in self._connections
            if connection.failure is None
        }

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """What the user is to know of the servers: titles, and what follows from each."""
        fallen = [
            (f"The MCP server {id_} {reason}", "Its tools cannot be used.")
            for id_, reason in self.failures.items()
        ]
        return fallen + [
            each for connection in self._connections if (each := connection.left_out) is not None
        ]

    async def aclose(self) -> None:
        """Close everything for good, side by side; every wait is bounded."""
        self._is_closed = True
        await self._leave()

    async def _leave(self) -> None:
        for connection in self._connections:
            connection.leave()
        with anyio.move_on_after(self._closing):
            for connection in self._connections:
                await connection.has_ended.wait()

    def __getitem__(self, name: str) -> Tool:
        """Return the tool of that name."""
        return self._tools()[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in the order in which servers were named and tools listed."""
        return iter(self._tools())

    def __len__(self) -> int:
        """Return how many tools there are."""
        return len(self._tools())

    def _tools(self) -> dict[str, Tool]:
        tools = dict(self._own)
        for connection in self._connections:
            tools |= {name: tool for name, tool in connection.tools.items() if name not in tools}
        return tools
