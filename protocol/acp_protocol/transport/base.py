"""The contract of all transports; one suite of tests holds every implementation to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from acp_protocol.framing import Side, WireFrame, opposite, split_ending


class Transport(Protocol):
    """Moves frames, whole and in order, both ways."""

    async def send(self, line: bytes) -> None:
        """Send one frame (without its newline); return when there is room for the next.

        Callers take turns: two sends never run at once. A send that is cancelled has sent nothing,
        or its frame is sent whole before the next one: the stream is never cut inside a frame.

        Raises:
            ConnectionClosedError: the peer does not read any more, or the transport is closed.
        """
        ...

    async def receive(self) -> bytes:
        """Return the peer's next frame, without its newline.

        A frame that the end of the stream cut off is returned too.

        Raises:
            ConnectionClosedError: no more frames will come.
            FrameTooLongError: the peer's frame exceeds the limit; the transport cannot be used any
                more.
        """
        ...

    async def aclose(self) -> None:
        """Close both directions; closing twice is no error."""
        ...


@runtime_checkable
class FramedTransport(Transport, Protocol):
    """A transport that tells the bytes around its frames."""

    @property
    def received(self) -> WireFrame:
        """The frame that was received last, with the bytes around it."""
        ...

    def framed(self, line: bytes) -> WireFrame:
        """Return a frame with the bytes that are written around it."""
        ...


class ClosableTransport(FramedTransport, Protocol):
    """A transport whose sending end can be closed by itself."""

    async def close_sending(self) -> None:
        """Close one direction; what the peer sends is still received, where that is possible."""
        ...


def frame_to_send(transport: Transport, line: bytes) -> WireFrame:
    """Return a frame with the bytes that a transport writes around it, as far as it tells them."""
    if isinstance(transport, FramedTransport):
        return transport.framed(line)
    return WireFrame(b"", *split_ending(line))


def frame_received(transport: Transport, line: bytes) -> WireFrame:
    """Return the frame that was received last as `line`, with the bytes around it."""
    if isinstance(transport, FramedTransport):
        return transport.received
    return WireFrame(b"", *split_ending(line))


class TapTransport:
    """Calls `on_frame` with the sender of each frame, and the frame; `side` is our own side.

    The frame has the bytes that are around it in the stream.

    It is called before a frame of ours is sent, so that a request is always reported before its
    response. It can neither change nor delay a frame; it runs inline and must be quick.
    """

    def __init__(
        self, inner: ClosableTransport, side: Side, on_frame: Callable[[Side, WireFrame], object]
    ) -> None:
        self._inner = inner
        self._side: Side = side
        self._observe = on_frame

    @property
    def received(self) -> WireFrame:
        """The frame that was received last, with the bytes around it."""
        return self._inner.received

    def framed(self, line: bytes) -> WireFrame:
        """Return a frame with the bytes that are written around it."""
        return self._inner.framed(line)

    async def send(self, line: bytes) -> None:
        self._observe(self._side, self._inner.framed(line))
        await self._inner.send(line)

    async def receive(self) -> bytes:
        line = await self._inner.receive()
        self._observe(opposite(self._side), self._inner.received)
        return line

    async def close_sending(self) -> None:
        """Close one direction; what the peer sends is still received."""
        await self._inner.close_sending()

    async def aclose(self) -> None:
        await self._inner.aclose()
