"""Which connection an HTTP exchange belongs to, and so which recording it is in.

A connection has an id only once the server has answered `initialize` or the upgrade. One that is
refused leaves its recording to the next attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from anyio.abc import TaskGroup

from acp_inspector.http_proxy.connection import ProxyConnection, connection_named
from acp_inspector.http_proxy.headers import Headers
from acp_inspector.proxy.session import ProxySession
from acp_inspector.recording.format import RecordingExistsError
from acp_protocol.errors import AcpError

MAX_CONNECTIONS: Final = 256
"""Connections that are recorded at once; the one that was not used for longest is ended first."""
IDLE_S: Final = 3600.0
"""Seconds without a request after which a connection ends once another one comes."""
MAX_NAMES: Final = 1000
"""Names of recordings that are tried for a connection, if files of these names exist."""


class ProxyConnections:
    """All connections through the proxy."""

    def __init__(
        self,
        first: ProxySession,
        open_session: Callable[[int], ProxySession],
        url: str,
        tasks: TaskGroup,
        warn: Callable[[str], None],
        limit: int = MAX_CONNECTIONS,
    ) -> None:
        """Begin.

        Args:
            first: The recording and the control of the first connection.
            open_session: Opens those of a later one; gets its number.
            url: That of the server.
            tasks: Runs what outlives a request.
            warn: Warns the user.
            limit: Most connections that are recorded at once.
        """
        self._open_session = open_session
        self._url = url
        self._tasks = tasks
        self._warn = warn
        self._limit = limit
        self._count = 1
        self._by_id: dict[str, ProxyConnection] = {}
        self._free: list[ProxyConnection] = []
        """Those that have not begun."""
        self._live: list[ProxyConnection] = []
        """All, oldest first."""
        self._is_over = False
        self._opening = asyncio.Lock()
        self._add(first)

    async def take(self, headers: Headers, *, opens: bool) -> tuple[ProxyConnection, bool]:
        """Return the connection of a request, and whether the request is to begin it.

        `opens` is set for `initialize`, and for a WebSocket.
        """
        named = connection_named(headers)
        if named is not None and (known := self._by_id.get(named)) is not None:
            return known, False
        async with self._opening:
            if not (opens or named is not None):
                # It belongs to none: it is shown with the next one, or else with the last.
                if not self._free and not self._live:
                    await self._new()
                return (self._free or self._live)[-1], False
            if not self._free:
                await self._new()
            connection = self._free.pop(0)
        connection.is_claimed = True
        connection.last_used = asyncio.get_running_loop().time()
        connection.begin()
        return connection, True

    def settle(
        self, connection: ProxyConnection, headers: Headers, status: int, answer: Headers
    ) -> None:
        """Take note of the response to a request that was to begin a connection."""
        given = connection_named(answer)
        if given is None and status < 400:
            given = connection_named(headers)
        if given is not None:
            connection.id = given
            self._by_id[given] = connection
        elif status != 101:
            connection.is_claimed = False
            self._free.append(connection)

    def end(self, connection: ProxyConnection) -> None:
        """End a connection, as soon as nothing is open on it any more."""
        connection.is_over = True
        self.release(connection)

    def release(self, connection: ProxyConnection) -> None:
        """Take note that an exchange is done."""
        if connection.is_over and not connection.open and connection in self._live:
            self._forget(connection)
            self._tasks.start_soon(self._close, connection)

    def close(self) -> None:
        """End all connections; what is open on them is broken off."""
        self._is_over = True
        for connection in [*self._live]:
            connection.abort("the proxy ends")
            self._forget(connection)
            self._tasks.start_soon(connection.close)

    async def _close(self, connection: ProxyConnection) -> None:
        """Close a connection; open the next one if none is left, for observers to attach to."""
        await connection.close()
        async with self._opening:
            if not (self._live or self._is_over):
                await self._new()
                if self._is_over:
                    self.close()

    def _forget(self, connection: ProxyConnection) -> None:
        self._live.remove(connection)
        if connection in self._free:
            self._free.remove(connection)
        if connection.id is not None and self._by_id.get(connection.id) is connection:
            del self._by_id[connection.id]

    async def _new(self) -> None:
        now = asyncio.get_running_loop().time()
        idle = [each for each in self._live if not each.open and each.is_claimed]
        is_full = len(self._live) >= self._limit
        for place, each in enumerate(sorted(idle, key=lambda each: each.last_used)):
            if now - each.last_used > IDLE_S or (is_full and place == 0):
                self.end(each)
        self._add(await asyncio.to_thread(self._session))

    def _add(self, session: ProxySession) -> None:
        connection = ProxyConnection(self._count, session, self._url, self._tasks)
        self._live.append(connection)
        self._free.append(connection)

    def _session(self) -> ProxySession:
        """Open what the next connection is recorded with; nothing if that is not possible."""
        if len(self._live) >= self._limit:
            self._warn(f"more than {self._limit} connections are open; the next is not recorded")
            return ProxySession()
        last: AcpError | None = None
        for _ in range(MAX_NAMES):
            self._count += 1
            try:
                return self._open_session(self._count)
            except RecordingExistsError as problem:
                last = problem
            except AcpError as problem:
                last = problem
                break
        self._warn(f"{last}; the next connection goes on without a recording")
        return ProxySession()
