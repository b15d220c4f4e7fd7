"""Two connected transports in one process, for tests and for agents embedded in a client."""

from __future__ import annotations

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.framing import WireFrame, split_ending


class MemoryTransport:
    """One end of a pair; see `memory_pair`."""

    def __init__(
        self,
        outgoing: MemoryObjectSendStream[bytes],
        incoming: MemoryObjectReceiveStream[bytes],
    ) -> None:
        self._outgoing = outgoing
        self._incoming = incoming
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
            await self._outgoing.send(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionClosedError from None

    async def receive(self) -> bytes:
        try:
            self._received = await self._incoming.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise ConnectionClosedError from None
        return self._received

    async def close_sending(self) -> None:
        """Close one direction; what the other end sends is still received."""
        self._outgoing.close()

    async def aclose(self) -> None:
        self._outgoing.close()
        self._incoming.close()


def memory_pair(waiting: int = 0) -> tuple[MemoryTransport, MemoryTransport]:
    """Return two transports; each receives what the other one sends.

    `send` returns at once while at most `waiting` frames wait for the other end; 0: when that has
    received the frame.
    """
    left_out, right_in = anyio.create_memory_object_stream[bytes](waiting)
    right_out, left_in = anyio.create_memory_object_stream[bytes](waiting)
    return MemoryTransport(left_out, left_in), MemoryTransport(right_out, right_in)
