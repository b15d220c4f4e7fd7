"""Frames over a pair of byte streams: what `stdio` and `process` have in common."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Sequence
from typing import Protocol, runtime_checkable

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

CHUNK: int = 65536
"""Bytes asked for in one read."""


@runtime_checkable
class _Chunks(Protocol):
    """A stream of bytes that can be awaited without a coroutine between."""

    def chunk(self) -> Awaitable[bytes | None]: ...


@runtime_checkable
class _Beginning(Protocol):
    """A stream of bytes that writes at once what it has room for."""

    def begin(self, item: bytes) -> bool: ...

    async def finish(self) -> None: ...


class LineTransport:
    """Frames over two byte streams, which it owns; each is a line unless told otherwise.

    With `framing` None the peer decides: it is answered as it speaks, and in lines until it does.

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
        self._chunk = incoming.chunk if isinstance(incoming, _Chunks) else self._receive_chunk
        self._beginning = outgoing if isinstance(outgoing, _Beginning) else None
        self._begun = b""
        """What waits for `finish`, of a stream that begins nothing."""
        self._framer = _open_framer(framing, limit)
        self._frames: deque[bytes] = deque()
        self._has_ended = False

    @property
    def framing(self) -> Framing | None:
        """How frames are kept apart; None while the peer has not shown it."""
        return self._framer.framing

    def begin(self, lines: Sequence[bytes]) -> bool:
        """Write `lines` and what frames them, as far as there is room."""
        if self._framer.framing == "headers":
            data = b"".join([frame_bytes(line, "headers") for line in lines])
        else:
            # One copy for one line, which is what mostly comes.
            data = b"%b\n" % (lines[0] if len(lines) == 1 else b"\n".join(lines))
        if self._beginning is None:
            self._begun += data
            return False
        try:
            return self._beginning.begin(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionClosedError from None

    async def finish(self) -> None:
        """Write what is left."""
        try:
            if self._beginning is not None:
                await self._beginning.finish()
            elif self._begun:
                data, self._begun = self._begun, b""
                await self._outgoing.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionClosedError from None

    async def send(self, line: bytes) -> None:
        """Write `line` and what frames it at once."""
        if not self.begin((line,)):
            await self.finish()

    def receive_nowait(self) -> bytes | None:
        """Return the next frame that was read already."""
        return self._frames.popleft() if self._frames else None

    async def receive(self) -> bytes:
        """Return the next frame; the last one may lack its end."""
        while not self._frames:
            if self._has_ended:
                raise ConnectionClosedError
            try:
                chunk = await self._chunk()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                chunk = None
            if chunk:
                self._frames.extend(self._framer.feed(chunk))
            else:
                self._has_ended = True
                if rest := self._framer.rest():
                    return rest
        return self._frames.popleft()

    async def aclose(self) -> None:
        """Close both streams."""
        await self._outgoing.aclose()
        await self._incoming.aclose()

    async def _receive_chunk(self) -> bytes:
        return await self._incoming.receive(CHUNK)


def _open_framer(framing: Framing | None, limit: int) -> LineFramer | HeaderFramer | AnyFramer:
    match framing:
        case "lines":
            return LineFramer(limit)
        case "headers":
            return HeaderFramer(limit)
        case None:
            return AnyFramer(limit)
