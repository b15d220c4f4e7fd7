"""A transport whose peer speaks a dialect, of which its user notices nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import anyio

from acp_protocol.dialects.dialect import Dialect
from acp_protocol.dialects.recognition import Recognition
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.framing import Side
from acp_protocol.transport import Transport
from acp_protocol.transport.eager import eager
from acp_protocol.transport.lines import LineTransport

REMEMBERED: Final = 64
"""Frames of the time before a dialect was recognised that it is told of."""
REMEMBERED_SIZE: Final = 65536
"""Bytes of the longest such frame."""


class TranslatedTransport:
    """Frames of `inner` in official v1; what is sent goes out in the dialect.

    Without a dialect the peer is listened to until it is recognised, and told the official words
    until then; `on_recognised` gets the dialect's name once, before the frame that gave it away
    comes out of `receive`. What the dialect wants answered that official ACP does not is answered
    here.
    """

    def __init__(
        self,
        inner: Transport,
        us: Side,
        dialect: Dialect | None = None,
        on_recognised: Callable[[str], None] | None = None,
    ) -> None:
        self._inner = eager(inner)
        self._us: Side = us
        self._them: Side = "agent" if us == "client" else "client"
        self._dialect = dialect
        self._on_recognised = on_recognised
        self._recognition = Recognition()
        self._before: deque[tuple[Side, bytes]] = deque(maxlen=REMEMBERED)
        self._inbox: deque[bytes] = deque()
        self._outbox: deque[bytes] = deque()
        self._turn = anyio.Lock(fast_acquire=True)
        self._is_inner_busy = False
        """Whether what was begun last went to the inner transport, and not all of it has left."""
        self._is_closed = False

    @property
    def dialect(self) -> str | None:
        """The name of the dialect that is spoken; None for the official words."""
        return None if self._dialect is None else self._dialect.name

    def begin(self, lines: Sequence[bytes]) -> bool:
        """Send what says `lines` in the dialect, as far as there is room."""
        if self._is_official:
            self._is_inner_busy = not self._inner.begin(lines)
            return not self._is_inner_busy
        for line in lines:
            if self._dialect is None:
                self._keep(self._us, line)
                self._outbox.append(line)
            else:
                self._outbox.extend(self._dialect.write(line, self._us))
        return False

    async def finish(self) -> None:
        """Send what is left, in the order in which it was said."""
        if self._is_inner_busy:
            await self._inner.finish()
            return
        await self._flush()
        if self._is_closed:
            raise ConnectionClosedError

    async def send(self, line: bytes) -> None:
        """Send what says `line` in the dialect."""
        if not self.begin((line,)):
            await self.finish()

    def receive_nowait(self) -> bytes | None:
        """Return the next frame in official v1 that has come, if nothing is to be sent first."""
        if self._outbox:
            return None
        if self._inbox:
            return self._inbox.popleft()
        return self._inner.receive_nowait() if self._is_official else None

    async def receive(self) -> bytes:
        """Return the next frame in official v1, after having sent what its sender must get."""
        while True:
            # Frames to be sent may be left over from a call that was cancelled.
            if self._outbox:
                await self._reply()
            if self._inbox:
                return self._inbox.popleft()
            if self._is_official:
                return await self._inner.receive()
            self._take(await self._inner.receive())

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    @property
    def _is_official(self) -> bool:
        """Whether nothing is left to be recognised, or to be sent from before that was known."""
        is_settled = self._dialect is None and self._recognition.has_settled(self._them)
        return is_settled and not self._outbox and not self._turn.locked()

    def _take(self, raw: bytes) -> None:
        if self._dialect is None and not self._recognition.has_settled(self._them):
            self._listen(raw)
        if self._dialect is None:
            self._inbox.append(raw)
            return
        reading = self._dialect.read(raw, self._them)
        self._inbox.extend(reading.onward)
        self._outbox.extend(reading.back)

    def _listen(self, raw: bytes) -> None:
        if isinstance(self._inner, LineTransport):
            self._recognition.framing = self._inner.framing
        name = self._recognition.see(raw, self._them)
        if name is None:
            self._keep(self._them, raw)
            return
        # Dialects are rare, and what they bring along takes time at every start.
        from acp_protocol.dialects.catalogue import open_dialect

        self._dialect = open_dialect(name)
        # What was asked before has to be known where the answer comes now.
        for side, frame in self._before:
            if side == self._us:
                self._dialect.write(frame, side)
            else:
                self._dialect.read(frame, side)
        self._before.clear()
        if self._on_recognised is not None:
            self._on_recognised(name)

    def _keep(self, side: Side, frame: bytes) -> None:
        if self._recognition.has_settled(self._them):
            self._before.clear()
        elif len(frame) <= REMEMBERED_SIZE:
            self._before.append((side, frame))

    async def _reply(self) -> None:
        # Whoever sends now sends these too, and reading must not wait until the peer reads.
        if not self._turn.locked():
            with suppress(ConnectionClosedError):
                await self._flush()

    async def _flush(self) -> None:
        async with self._turn:
            while self._outbox:
                try:
                    await self._inner.send(self._outbox.popleft())
                except ConnectionClosedError:
                    self._outbox.clear()
                    self._is_closed = True
                    raise
