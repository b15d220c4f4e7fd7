"""An MCP server that is a program, spoken to over its stdin and stdout.

The SDK's `stdio_client` is not used: it bounds neither a line nor a server's stderr, which it
writes to a file, ends the transport at the first byte that is no UTF-8, has fixed times for the
end of a server, and does not find processes that have left the server's group.

Source: MCP, Transports, "stdio"; MCP, Lifecycle, "Shutdown".
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from acp_agent.mcp.declarations import Limits, StdioServer
from acp_agent.mcp.messages import read_message
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import FrameTooLongError, describe_exit
from acp_protocol.framing import LineFramer
from acp_protocol.host.process import ChildProcess, spawn
from acp_protocol.host.sanitize import single_line

Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]
"""What a session of the SDK reads from, and what it writes to."""
FarStreams: TypeAlias = tuple[
    MemoryObjectSendStream[SessionMessage | Exception], MemoryObjectReceiveStream[SessionMessage]
]
"""The other ends."""


@contextmanager
def stream_pair(buffer: int = 0) -> Generator[tuple[Streams, FarStreams]]:
    """Open both ends, and close them at the end; `buffer` messages for the session may wait."""
    to_session, at_session = anyio.create_memory_object_stream[SessionMessage | Exception](buffer)
    session_writes, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    with to_session, at_session, session_writes, from_session:
        yield (at_session, session_writes), (to_session, from_session)


logger = logging.getLogger(__name__)

EXIT_WAIT: Final = 0.5
"""Seconds for a server that has closed its stdout to be gone."""
MINUTE: Final = 60.0
"""Seconds in which so many lines of a server's stderr are logged."""
LOG_LINES: Final = 200
"""Lines of a server's stderr in a minute; the others are counted."""
LOG_WIDTH: Final = 500
"""Characters of one line of a server that are logged."""
LOG_HELD: Final = 4 * LOG_WIDTH
"""Bytes of an unfinished line of stderr that are held."""
MAX_INVALID_LOGGED: Final = 5
"""Lines of stdout that are no messages and are logged; the others are only left out."""


@asynccontextmanager
async def open_process(
    server: StdioServer, cwd: Path, limits: Limits, on_end: Callable[[str], None]
) -> AsyncGenerator[Streams]:
    """Run a server in `cwd`; on leaving, end it and all that it has started.

    `on_end` hears why the server's stream has ended, before it does.

    Raises:
        AgentStartError: its command cannot be started.
    """
    stderr = StderrLog(server.id)
    with stream_pair() as (session_side, (to_session, from_session)):
        async with (
            spawn(
                server.command,
                cwd=cwd,
                env=get_default_environment() | dict(server.env),
                on_stderr=stderr.feed,
                grace=limits.kill_after,
                is_peer=True,
            ) as child,
            BackgroundTasks() as tasks,
        ):
            pump = _Pump(server.id, child, to_session, on_end)
            tasks.start_soon(pump.read, LineFramer(limits.message_size))
            tasks.start_soon(pump.write, from_session)
            try:
                yield session_side
            finally:
                pump.is_leaving = True
                stderr.log_left_out()
                with anyio.CancelScope(shield=True):
                    with suppress(OSError, anyio.BrokenResourceError):
                        await child.stdin.aclose()
                    with anyio.move_on_after(limits.eof_grace):
                        await child.wait()
                    await child.terminate(limits.kill_after)


class StderrLog:
    """Writes a server's stderr to our log, line by line, so many in a minute at most."""

    def __init__(self, server: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin; `clock` tells the time in seconds."""
        self._server = server
        self._clock = clock
        self._unfinished = b""
        self._since = clock()
        self._logged = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; of a line that is too long, log the beginning."""
        *lines, rest = (self._unfinished + chunk).split(b"\n")
        self._unfinished = rest[:LOG_HELD]
        for line in lines:
            text = line.decode(errors="replace").rstrip()
            if text and self._has_room():
                logger.warning("MCP server %s: %s", self._server, single_line(text, LOG_WIDTH))

    def _has_room(self) -> bool:
        """Count a line; say how many were left out once a minute is over."""
        now = self._clock()
        if now - self._since >= MINUTE:
            self.log_left_out()
            self._since, self._logged = now, 0
        self._logged += 1
        return self._logged <= LOG_LINES

    def log_left_out(self) -> None:
        """Say how many lines of this minute were left out, if any were."""
        if (left_out := self._logged - LOG_LINES) > 0:
            logger.warning("MCP server %s: … %s more lines", self._server, left_out)


class _Pump:
    """Moves messages between a server's pipes and the session of the SDK."""

    def __init__(
        self,
        server: str,
        child: ChildProcess,
        to_session: MemoryObjectSendStream[SessionMessage | Exception],
        on_end: Callable[[str], None],
    ) -> None:
        self._server = server
        self._child = child
        self._to_session = to_session
        self._on_end = on_end
        self._invalid_count = 0
        self.is_leaving = False

    async def read(self, framer: LineFramer) -> None:
        async with self._to_session:
            try:
                while not self.is_leaving:
                    for line in framer.feed(await self._child.stdout.receive()):
                        await self._forward(line)
            except FrameTooLongError as problem:
                self._end(f"sent too much: {problem}")
            except (anyio.EndOfStream, anyio.ClosedResourceError, OSError):
                self._end(await self._exit("closed its output"))
            except anyio.BrokenResourceError:
                # The session has closed; a server that cannot write may not be able to end.
                self.is_leaving = True
        with suppress(
            anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError
        ):
            while True:
                await self._child.stdout.receive()

    async def write(self, from_session: MemoryObjectReceiveStream[SessionMessage]) -> None:
        try:
            async for each in from_session:
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._child.stdin.send(line.encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            self._end(await self._exit("reads no more"))
            # A caller does not wait for the answer to what was not read.
            await self._to_session.aclose()

    async def _forward(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = read_message(line)
        except ValueError:
            self._invalid_count += 1
            if self._invalid_count <= MAX_INVALID_LOGGED:
                shown = single_line(line[:LOG_HELD].decode(errors="replace"), LOG_WIDTH)
                logger.warning("MCP server %s said no message: %s", self._server, shown)
            return
        await self._to_session.send(SessionMessage(message))

    async def _exit(self, otherwise: str) -> str:
        with anyio.move_on_after(EXIT_WAIT):
            return describe_exit(await self._child.wait())
        return otherwise

    def _end(self, reason: str) -> None:
        if not self.is_leaving:
            self._on_end(reason)
