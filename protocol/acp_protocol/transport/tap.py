"""A transport that reports every frame to an observer, which can neither change nor delay it."""

from __future__ import annotations

from collections.abc import Callable

from acp_protocol.framing import Side, opposite
from acp_protocol.transport.base import Transport


class TapTransport:
    """Calls `on_frame` with each frame of `inner` and its sender; `side` is our own side.

    It is called before a frame of ours is sent, so that a request is always reported before its
    response. It runs inline and must be quick.
    """

    def __init__(
        self, inner: Transport, side: Side, on_frame: Callable[[Side, bytes], object]
    ) -> None:
        self._inner = inner
        self._side: Side = side
        self._observe = on_frame

    async def send(self, line: bytes) -> None:
        self._observe(self._side, line)
        await self._inner.send(line)

    async def receive(self) -> bytes:
        line = await self._inner.receive()
        self._observe(opposite(self._side), line)
        return line

    async def aclose(self) -> None:
        await self._inner.aclose()
