"""Between pipes and the network: agents for clients elsewhere, and clients for agents elsewhere.

Messages pass as the other side has written them; only what is around them differs.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio

from acp_protocol.errors import (
    ConnectionClosedError,
    FrameTooLongError,
    TransportError,
    describe_exit,
)
from acp_protocol.framing import Framing
from acp_protocol.host.process import GRACE, ChildProcess, spawn
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import (
    ErrorResponse,
    Request,
    RequestId,
    SuccessResponse,
    id_key,
    read_message,
)
from acp_protocol.transport.base import Transport
from acp_protocol.transport.opening import exited
from acp_protocol.transport.remote import RemoteClosedError
from acp_protocol.transport.served_connections import OpenAgent
from acp_protocol.transport.stdio import StreamTransport

LAST_S: Final = 2.0
"""Seconds that an agent has to respond to a client that has left."""
MAX_NAMED: Final = 5
"""Open requests that an error names."""
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
            raise await exited(self._child) from None
        return frame


_IN_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")


class _OpenRequests:
    """The requests of a client that have no response yet."""

    def __init__(self) -> None:
        self._methods: dict[tuple[str, RequestId], str] = {}
        self._changed = anyio.Event()

    def sent(self, frame: bytes) -> None:
        message = read_message(frame)
        if isinstance(message, Request):
            self._methods[id_key(message.id)] = message.method

    def received(self, frame: bytes) -> None:
        message = read_message(frame)
        if isinstance(message, SuccessResponse | ErrorResponse):
            self._methods.pop(id_key(message.id), None)
            self._changed.set()
            self._changed = anyio.Event()

    async def wait_none(self) -> None:
        while self._methods:
            await self._changed.wait()

    def __str__(self) -> str:
        """Name those after which something may have changed."""
        names = [method for method in self._methods.values() if method != "initialize"]
        more = len(names) - MAX_NAMED
        return f"{', '.join(names[:MAX_NAMED])}{f' and {more} more' if more > 0 else ''}"


async def pass_messages(client: Transport, agent: Transport, *, last_s: float = LAST_S) -> None:
    """Pass the messages of both sides until one of them ends.

    Args:
        client: what a client is connected to.
        agent: the connection to an agent elsewhere.
        last_s: seconds that the agent has to respond to a client that has left.

    Raises:
        ConnectionClosedError: the agent has ended the connection, or it broke.
        FrameTooLongError: one of them sent a message beyond the limit.
    """
    requests = _OpenRequests()
    problems: list[TransportError] = []

    async def pass_up() -> None:
        try:
            while True:
                frame = await client.receive()
                if frame.strip():
                    requests.sent(frame)
                    # An end of the agent is noticed where its messages are received.
                    with suppress(ConnectionClosedError):
                        await agent.send(frame)
        except FrameTooLongError as problem:
            problems.append(problem)
        except ConnectionClosedError:
            with anyio.move_on_after(last_s):
                await requests.wait_none()
        tasks.cancel_scope.cancel()

    async def pass_down() -> None:
        try:
            while True:
                frame = await agent.receive()
                with suppress(ConnectionClosedError):
                    await client.send(frame)
                requests.received(frame)
        except (ConnectionClosedError, FrameTooLongError) as problem:
            problems.append(_completed(problem, requests))
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pass_up)
        tasks.start_soon(pass_down)
    if problems:
        raise problems[0]


def _completed(problem: TransportError, requests: _OpenRequests) -> TransportError:
    """Add to the end of a connection what cannot be known any more."""
    names = str(requests)
    if not names or not isinstance(problem, ConnectionClosedError):
        return problem
    text = f"{problem.summary}; it is not known whether the agent has done what these ask: {names}"
    return RemoteClosedError(text, hint=problem.hint)
