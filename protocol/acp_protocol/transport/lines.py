"""Frames over a pair of byte streams: what `stdio` and `process` have in common."""

from __future__ import annotations

from collections import deque

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.framing import FRAME_LIMIT, LineFramer

CHUNK: int = 65536
"""Bytes asked for in one read."""


class LineTransport:
    """Newline-delimited frames over two byte streams, which it owns.

    Source: ACP, Transports, "stdio".
    """

    def __init__(
        self, incoming: ByteReceiveStream, outgoing: ByteSendStream, *, limit: int = FRAME_LIMIT
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._framer = LineFramer(limit)
        self._lines: deque[bytes] = deque()
        self._has_ended = False

    async def send(self, line: bytes) -> None:
        """Write `line` and its newline at once."""
        try:
            await self._outgoing.send(line + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionClosedError from None

    async def receive(self) -> bytes:
        """Return the next line; the last one may lack its newline."""
        while not self._lines:
            await self._read()
        return self._lines.popleft()

    async def aclose(self) -> None:
        """Close both streams."""
        await self._outgoing.aclose()
        await self._incoming.aclose()

    async def _read(self) -> None:
        if self._has_ended:
            raise ConnectionClosedError
        try:
            chunk = await self._incoming.receive(CHUNK)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._has_ended = True
            if rest := self._framer.rest():
                self._lines.append(rest)
        else:
            self._lines.extend(self._framer.feed(chunk))
