"""A transport that translates between official ACP version 1 and a peer's dialect."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.detect import DialectDetector
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.framing import Side, opposite
from acp_protocol.transport.base import Transport
from acp_protocol.transport.stdio import StreamTransport

HISTORY_LENGTH: Final = 64
"""Frames before the dialect was recognised that are kept for it."""
HISTORY_FRAME_BYTES: Final = 65536
"""Bytes of a frame that is kept, at most."""


class DialectTransport:
    """Frames of `inner` in official version 1; what is sent is written in the dialect.

    `side` is our own side. Without `dialect` the peer gets official frames until a frame of its own
    shows its dialect; then `on_detected` is called once with the dialect's name, before `receive`
    returns that frame. Requests that only the dialect has get their response here.
    """

    def __init__(
        self,
        inner: Transport,
        side: Side,
        dialect: Dialect | None = None,
        on_detected: Callable[[str], object] | None = None,
    ) -> None:
        self._inner = inner
        self._side: Side = side
        self._peer_side: Side = opposite(side)
        self._dialect = dialect
        self._on_detected = on_detected
        self._detector = DialectDetector()
        self._history: deque[tuple[Side, bytes]] = deque(maxlen=HISTORY_LENGTH)
        self._inbox: deque[bytes] = deque()
        self._outbox: deque[bytes] = deque()
        self._sending = anyio.Lock(fast_acquire=True)
        self._is_closed = False

    @property
    def dialect(self) -> str | None:
        """The name of the dialect; None for official ACP."""
        return None if self._dialect is None else self._dialect.name

    @property
    def translator(self) -> Dialect | None:
        """What translates; None for official ACP."""
        return self._dialect

    async def send(self, line: bytes) -> None:
        if self._dialect is not None:
            self._outbox.extend(self._dialect.write(line, self._side))
        else:
            self._remember(self._side, line)
            self._outbox.append(line)
        await self._flush()
        if self._is_closed:
            raise ConnectionClosedError

    async def receive(self) -> bytes:
        """Return the next frame in official version 1, after sending replies of the dialect."""
        while True:
            # A send that was cancelled may have left frames here. A task that is sending sends
            # these too, and reading must not wait until the peer reads.
            if self._outbox and not self._sending.locked():
                with suppress(ConnectionClosedError):
                    await self._flush()
            if self._inbox:
                return self._inbox.popleft()
            self._accept(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _accept(self, raw: bytes) -> None:
        if self._dialect is None and not self._detector.is_settled(self._peer_side):
            self._detect(raw)
        if self._dialect is None:
            self._inbox.append(raw)
            return
        translation = self._dialect.read(raw, self._peer_side)
        self._inbox.extend(translation.forward)
        self._outbox.extend(translation.replies)

    def _detect(self, raw: bytes) -> None:
        if isinstance(self._inner, StreamTransport):
            self._detector.framing = self._inner.framing
        name = self._detector.feed(raw, self._peer_side)
        if name is None:
            self._remember(self._peer_side, raw)
            return
        # Dialects are rare, and importing them would slow down every start.
        from acp_protocol.dialects.registry import open_dialect

        self._dialect = open_dialect(name, str(Path.cwd()))
        # The dialect needs the earlier requests to understand their responses.
        for side, frame in self._history:
            if side == self._side:
                self._dialect.write(frame, side)
            else:
                self._dialect.read(frame, side)
        self._history.clear()
        if self._on_detected is not None:
            self._on_detected(name)

    def _remember(self, side: Side, frame: bytes) -> None:
        if self._detector.is_settled(self._peer_side):
            self._history.clear()
        elif len(frame) <= HISTORY_FRAME_BYTES:
            self._history.append((side, frame))

    async def _flush(self) -> None:
        async with self._sending:
            while self._outbox:
                try:
                    await self._inner.send(self._outbox.popleft())
                except ConnectionClosedError:
                    self._outbox.clear()
                    self._is_closed = True
                    raise
