"""Frames over a pair of byte streams: what `stdio` and `process` have in common."""

from __future__ import annotations

from collections import deque

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.framing import (
    FRAME_LIMIT,
    AnyFramer,
    Framing,
    HeaderFramer,
    LineFramer,
    frame_bytes,
)


class LineTransport:
    """Frames over two byte streams, which it owns; each frame is a line unless `framing` differs.

    With `framing` None it follows the peer: lines until the peer's first frame shows its framing.

    Source: ACP, Transports, "stdio"; OpenOxide, "Local Transport".
    """

    def __init__(
        self,
        incoming: ByteReceiveStream,
        outgoing: ByteSendStream,
        *,
        limit: int = FRAME_LIMIT,
        framing: Framing | None = "lines",
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._framer = _open_framer(framing, limit)
        self._frames: deque[bytes] = deque()
        self._has_ended = False

    @property
    def framing(self) -> Framing | None:
        """The framing that is used; None while the peer has not shown it."""
        return self._framer.framing

    async def send(self, line: bytes) -> None:
        """Write `line` in its framing, at once."""
        try:
            await self._outgoing.send(frame_bytes(line, self._framer.framing or "lines"))
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
                    return rest
            else:
                self._frames.extend(self._framer.feed(chunk))
        return self._frames.popleft()

    async def aclose(self) -> None:
        """Close both streams."""
        await self._outgoing.aclose()
        await self._incoming.aclose()


def _open_framer(framing: Framing | None, limit: int) -> LineFramer | HeaderFramer | AnyFramer:
    match framing:
        case "lines":
            return LineFramer(limit)
        case "headers":
            return HeaderFramer(limit)
        case None:
            return AnyFramer(limit)
