"""Makes a transport that knows only how to wait look like one that does at once what it can."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from acp_protocol.transport import EagerTransport, Transport


def eager(transport: Transport) -> EagerTransport:
    """Return `transport` itself if it is eager, and one that stands for it otherwise."""
    return transport if isinstance(transport, EagerTransport) else WaitingTransport(transport)


class WaitingTransport:
    """Leaves all of the work to be awaited."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self._begun: deque[bytes] = deque()

    def begin(self, lines: Sequence[bytes]) -> bool:
        """Keep `lines` for `finish`."""
        self._begun.extend(lines)
        return not self._begun

    async def finish(self) -> None:
        """Send what was begun."""
        while self._begun:
            await self.inner.send(self._begun.popleft())

    async def send(self, line: bytes) -> None:
        """Send what was begun, and `line`."""
        self.begin((line,))
        await self.finish()

    def receive_nowait(self) -> bytes | None:
        """Return None: what has come is not known."""
        return None

    async def receive(self) -> bytes:
        """Return the next frame of the inner transport."""
        return await self.inner.receive()

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self.inner.aclose()
