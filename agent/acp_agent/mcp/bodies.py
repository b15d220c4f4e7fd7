"""The bodies of what a server at an address responds, in bounds and as the SDK reads them.

Source: MCP, Transports, "Streamable HTTP"; HTML, "Server-sent events".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

import httpx2

from acp_agent.mcp.messages import mended
from acp_protocol.errors import FrameTooLongError
from acp_protocol.framing import LineFramer


class TooLongError(Exception):
    """A body holds more than it may."""


async def whole(response: httpx2.Response, limit: int) -> bytes:
    """Return a body of at most `limit` bytes; the response is closed then.

    Raises:
        TooLongError: it is longer.
        httpx2.TransportError: it has broken off.
    """
    body = bytearray()
    try:
        async with aclosing(_chunks(response)) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > limit:
                    raise TooLongError
    finally:
        await response.aclose()
    return bytes(body)


async def _chunks(response: httpx2.Response) -> AsyncGenerator[bytes]:
    async for chunk in response.aiter_raw():
        yield chunk


class Events(httpx2.AsyncByteStream):
    """A stream of events, each in bounds and mended; one too long is the last.

    Instead of that one comes what `refuse` returns.
    """

    def __init__(
        self, stream: httpx2.AsyncByteStream, limit: int, refuse: Callable[[], bytes]
    ) -> None:
        self._stream = stream
        self._limit = limit
        self._refuse = refuse
        self._event: list[bytes] = []
        self._size = 0
        self._framer = LineFramer(limit)
        self._ends_with_return = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                for line in self._framer.feed(self._plain(chunk)):
                    self._hold(line)
                    if not line:
                        yield self._taken()
        except FrameTooLongError:
            yield self._refuse()

    def _plain(self, chunk: bytes) -> bytes:
        """Return bytes in which each line ends as ours do."""
        if self._ends_with_return and chunk.startswith(b"\n"):
            # The other half of an end that was told already.
            chunk, self._ends_with_return = chunk[1:], False
        if chunk:
            self._ends_with_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _hold(self, line: bytes) -> None:
        self._size += len(line) + 1
        if self._size > self._limit:
            raise FrameTooLongError(self._limit)
        self._event.append(_mended(line) + b"\n")

    def _taken(self) -> bytes:
        event = b"".join(self._event)
        self._event.clear()
        self._size = 0
        return event

    async def aclose(self) -> None:
        """Close what the events come from."""
        await self._stream.aclose()


def _mended(line: bytes) -> bytes:
    """Return a line of an event; a message that stands on it is mended."""
    name, colon, value = line.partition(b":")
    if name != b"data" or not colon:
        return line
    return b"data: " + mended(value.removeprefix(b" "))


def message_event(message: bytes) -> bytes:
    """Return the event that carries a message."""
    return b"event: message\ndata: %b\n\n" % message
