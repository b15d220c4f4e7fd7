"""Agents that know only pipes, for clients on a network: a process for each connection.

Messages pass as the other side has written them; only what is around them differs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import anyio

from acp_protocol.errors import AgentExitedError, ConnectionClosedError, describe_exit
from acp_protocol.framing import Framing
from acp_protocol.host.process import GRACE, ChildProcess, spawn
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.transport.base import Transport
from acp_protocol.transport.served_connections import OpenAgent
from acp_protocol.transport.stdio import StreamTransport

EXIT_WAIT_S: Final = 1.0
"""Seconds that an agent whose output has ended has to exit."""
MAX_LINE: Final = 8192
"""Bytes of a line of stderr that are printed at once."""
WriteLine = Callable[[str], object]


class PrefixedLines:
    """Writes a byte stream as lines, each with a prefix and safe to show."""

    def __init__(self, prefix: str, write: WriteLine) -> None:
        self._prefix = prefix
        self._write = write
        self._line = b""

    def feed(self, chunk: bytes) -> None:
        *lines, self._line = (self._line + chunk).split(b"\n")
        while len(self._line) > MAX_LINE:
            lines.append(self._line[:MAX_LINE])
            self._line = self._line[MAX_LINE:]
        for line in lines:
            text = line.removesuffix(b"\r").decode("utf-8", "replace")
            self._write(f"{self._prefix}{escape_controls(text)}\n")

    def finish(self) -> None:
        """Write the last line, if it has no end."""
        if self._line:
            self.feed(b"\n")


def process_for_each(
    command: Sequence[str],
    *,
    write: WriteLine,
    env: Mapping[str, str] | None = None,
    framing: Framing | None = None,
    grace: float = GRACE,
) -> OpenAgent:
    """Return what starts an agent by its command, and ends it and all that it has started.

    Args:
        command: what starts it; it is found as its words say, in the directory of this process.
        write: gets the lines of its stderr, and how it ended; they name its process.
        env: its variables; None: ours.
        framing: that of its frames; None: lines, until its first frame shows another.
        grace: seconds, see `ChildProcess.stop`.
    """

    @asynccontextmanager
    async def open_agent() -> AsyncGenerator[Transport]:
        early: list[bytes] = []
        errors: PrefixedLines | None = None

        def on_stderr(chunk: bytes) -> None:
            early.append(chunk) if errors is None else errors.feed(chunk)

        async with spawn(command, env=env, on_stderr=on_stderr, grace=grace, is_peer=True) as child:
            errors = PrefixedLines(f"agent {child.pid} | ", write)
            for chunk in early:
                errors.feed(chunk)
            try:
                yield _Process(child, framing)
            finally:
                await child.stop(grace)
                errors.finish()
                write(f"agent {child.pid} {describe_exit(child.exit_code)}\n")

    return open_agent


class _Process(StreamTransport):
    """The pipes of a process; the end of its output says how it exited."""

    def __init__(self, child: ChildProcess, framing: Framing | None) -> None:
        super().__init__(child.stdout, child.stdin, framing=framing)
        self._child = child

    async def send(self, line: bytes) -> None:
        """Send a message; in a line of its own, line breaks between its tokens become spaces."""
        if self.framing != "headers":
            line = line.translate(_IN_ONE_LINE)
        await super().send(line)

    async def receive(self) -> bytes:
        """Return the next message; empty lines are skipped."""
        try:
            while not (frame := await super().receive()).strip():
                pass
        except ConnectionClosedError:
            code: int | None = None
            with anyio.move_on_after(EXIT_WAIT_S):
                code = await self._child.wait()
            raise AgentExitedError(code, self._child.stderr_tail()) from None
        return frame


_IN_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")
