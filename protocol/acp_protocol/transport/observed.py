"""A transport that lets somebody see every frame, without being able to change or delay it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acp_protocol.framing import Side
from acp_protocol.transport import Transport
from acp_protocol.transport.eager import eager


class ObservedTransport:
    """Hands each frame of `inner` to `tell`, together with the side that sent it.

    What we send is told before its bytes leave, so that a question stands before its answer however
    fast that comes. `tell` runs in line and must be quick.
    """

    def __init__(self, inner: Transport, us: Side, tell: Callable[[Side, bytes], object]) -> None:
        self._inner = eager(inner)
        self._us: Side = us
        self._them: Side = "agent" if us == "client" else "client"
        self._tell = tell

    async def send(self, line: bytes) -> None:
        """Tell, then send."""
        self._tell(self._us, line)
        await self._inner.send(line)

    def begin(self, lines: Sequence[bytes]) -> bool:
        """Tell, then send."""
        for line in lines:
            self._tell(self._us, line)
        return self._inner.begin(lines)

    async def finish(self) -> None:
        """Send what was told already."""
        await self._inner.finish()

    def receive_nowait(self) -> bytes | None:
        """Tell what has come already."""
        line = self._inner.receive_nowait()
        if line is not None:
            self._tell(self._them, line)
        return line

    async def receive(self) -> bytes:
        """Receive, then tell."""
        line = await self._inner.receive()
        self._tell(self._them, line)
        return line

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()
