"""Byte streams as a transport: our stdin and stdout, or the pipes of a child process.

Source: ACP, Transports, "stdio".
"""

from __future__ import annotations

import os
import sys
from collections import deque

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.framing import (
    MAX_FRAME_BYTES,
    AutoFramer,
    Framing,
    HeaderFramer,
    LineFramer,
    WireFrame,
    encode_frame,
    split_ending,
    wire_frame,
)
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream


class StreamTransport:
    """Frames over two byte streams, which it owns; each frame is a line unless `framing` differs.

    With `framing` None it follows the peer: lines until the peer's first frame shows its framing.

    Source: ACP, Transports, "stdio"; OpenOxide, "Local Transport".
    """

    def __init__(
        self,
        incoming: ByteReceiveStream,
        outgoing: ByteSendStream,
        *,
        limit: int = MAX_FRAME_BYTES,
        framing: Framing | None = "lines",
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        framers = {"lines": LineFramer, "headers": HeaderFramer, None: AutoFramer}
        self._framer: LineFramer | HeaderFramer | AutoFramer = framers[framing](limit)
        self._frames: deque[WireFrame | bytes] = deque()
        """What has come; plain lines, of which there are many, as bytes."""
        self._has_ended = False
        self._received: WireFrame | bytes = b""

    @property
    def framing(self) -> Framing | None:
        """The framing that is used; None while the peer has not shown it."""
        return self._framer.framing

    @property
    def received(self) -> WireFrame:
        """The frame that was received last, with the bytes around it."""
        received = self._received
        return WireFrame(b"", *split_ending(received)) if isinstance(received, bytes) else received

    def framed(self, line: bytes) -> WireFrame:
        """Return a frame with the bytes that are written around it."""
        return wire_frame(line, self._framer.framing or "lines")

    async def send(self, line: bytes) -> None:
        try:
            await self._outgoing.send(encode_frame(line, self._framer.framing or "lines"))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionClosedError from None

    async def receive(self) -> bytes:
        """Return the next frame; the last one may lack its end."""
        while not self._frames:
            if self._has_ended:
                raise ConnectionClosedError
            try:
                chunk = await self._incoming.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._has_ended = True
                if rest := self._framer.rest():
                    self._frames.append(WireFrame(b"", rest, b""))
            else:
                self._split(chunk)
        received = self._received = self._frames.popleft()
        return received if isinstance(received, bytes) else received.content

    def _split(self, chunk: bytes) -> None:
        if self._framer.framing == "lines":
            self._frames.extend(self._framer.feed(chunk))
            return
        self._frames.extend(self._framer.split(chunk))
        if self._framer.problem is not None:
            raise self._framer.problem

    async def close_sending(self) -> None:
        """Close one direction; what the peer sends is still received."""
        await self._outgoing.aclose()

    async def aclose(self) -> None:
        await self._outgoing.aclose()
        await self._incoming.aclose()


def open_stdio(*, framing: Framing | None = "lines") -> StreamTransport:
    """Return our stdin and stdout as a transport; see `StreamTransport` for `framing`.

    From then on `print` and child processes write to stderr, because stdout is for frames only, and
    child processes have an empty stdin.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return StreamTransport(FdReceiveStream(incoming), FdSendStream(outgoing), framing=framing)
