"""Two connected transports in one process, for tests and for agents embedded in a client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Never, TypeAlias

import anyio

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.framing import WireFrame, split_ending
from acp_protocol.transport.base import Transport

Take: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Takes a frame; returns when there is room for the next."""


class MemoryStream:
    """One direction between two transports."""

    def __init__(self, waiting: int = 0) -> None:
        self.outgoing, self.incoming = anyio.create_memory_object_stream[bytes](waiting)
        self.take: Take | None = None
        """Gets the frames at once, while it is set."""

    @property
    def has_room(self) -> bool:
        """Whether a frame may wait for the other end."""
        found = self.outgoing.statistics()
        return found.current_buffer_used < found.max_buffer_size


class MemoryTransport:
    """One end of a pair; see `memory_pair`."""

    def __init__(self, outgoing: MemoryStream, incoming: MemoryStream) -> None:
        self._to_other = outgoing
        self._from_other = incoming
        self._outgoing = outgoing.outgoing
        self._incoming = incoming.incoming
        self._received = b""

    @property
    def received(self) -> WireFrame:
        """The frame that was received last, as a line."""
        return self.framed(self._received)

    def framed(self, line: bytes) -> WireFrame:
        """Return a frame as a line, which it would be in a stream."""
        return WireFrame(b"", *split_ending(line))

    async def send(self, line: bytes) -> None:
        try:
            if (take := self._to_other.take) is not None:
                await take(line)
                return
            if self._to_other.has_room:
                # Without a turn of the loop, which the other end needs only to receive it.
                self._outgoing.send_nowait(line)
            else:
                await self._outgoing.send(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionClosedError from None

    async def receive(self) -> bytes:
        try:
            try:
                self._received = self._incoming.receive_nowait()
            except anyio.WouldBlock:
                self._received = await self._incoming.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise ConnectionClosedError from None
        return self._received

    async def forward(self, take: Take) -> Never:
        """Let the other end call `take` with each frame that it sends, until that end closes.

        It saves the task of the other end from waiting for this one, frame by frame.

        Raises:
            ConnectionClosedError: no more frames will come.
        """
        try:
            while True:
                await take(self._incoming.receive_nowait())
        except anyio.WouldBlock:
            self._from_other.take = take
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise ConnectionClosedError from None
        try:
            while True:
                # Nothing comes here any more but the end.
                await take(await self.receive())
        finally:
            self._from_other.take = None

    async def close_sending(self) -> None:
        """Close one direction; what the other end sends is still received."""
        self._to_other.take = None
        self._outgoing.close()

    async def aclose(self) -> None:
        await self.close_sending()
        self._incoming.close()


def memory_pair(waiting: int = 0) -> tuple[MemoryTransport, MemoryTransport]:
    """Return two transports; each receives what the other one sends.

    `send` returns at once while at most `waiting` frames wait for the other end; 0: when that has
    received the frame.
    """
    there, back = MemoryStream(waiting), MemoryStream(waiting)
    return MemoryTransport(there, back), MemoryTransport(back, there)


async def forward(transport: Transport, take: Take) -> Never:
    """Call `take` with each frame of the other end, until that closes.

    Raises:
        ConnectionClosedError: no more frames will come.
    """
    if isinstance(transport, MemoryTransport):
        await transport.forward(take)
    while True:
        await take(await transport.receive())
