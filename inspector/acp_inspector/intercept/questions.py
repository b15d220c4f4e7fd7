"""The questions of a connection that runs for days: only those that are open, and not too many."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from acp_inspector.analysis.exchanges import Exchange, Exchanges
from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Failure, Message, Request, RequestId, Result, id_key, read_message

OPEN_LIMIT: Final = 1000
"""Questions that are remembered at once; the oldest are forgotten."""
SIZE_LIMIT: Final = 1 << 16
"""Bytes of a question whose params are remembered; of longer ones it is the method alone."""


class Questions(Exchanges):
    """Knows the exchange of the newest frame of each side, and no other."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: OrderedDict[tuple[Side, tuple[str, RequestId]], Exchange] = OrderedDict()
        self._newest: dict[Side, tuple[int, Exchange | None]] = {}

    def apply(self, frame: Frame, message: Message | None = None) -> Exchange | None:
        """Take the next frame; return the exchange that it opens or closes."""
        exchange: Exchange | None = None
        match message or read_message(frame.raw):
            case Request() as request:
                exchange = Exchange(frame, request)
                self._asked[frame.side, id_key(request.id)] = self._lean(exchange)
                while len(self._asked) > OPEN_LIMIT:
                    self._asked.popitem(last=False)
            case Result(id=id_) | Failure(id=id_):
                asker: Side = "agent" if frame.side == "client" else "client"
                exchange = self._asked.pop((asker, id_key(id_)), None)
                if exchange is not None:
                    exchange.answer = frame
            case _:
                pass
        self._newest[frame.side] = frame.n, exchange
        return exchange

    def of(self, frame: Frame) -> Exchange | None:
        """Return the exchange of a frame, if that is the newest of its side."""
        n, exchange = self._newest.get(frame.side, (0, None))
        return exchange if n == frame.n else None

    def open(self) -> list[Exchange]:
        """Return the questions that are remembered, oldest first."""
        return list(self._asked.values())

    def _lean(self, exchange: Exchange) -> Exchange:
        request = exchange.request
        params = request.params if len(request.raw) <= SIZE_LIMIT else None
        return Exchange(
            replace(exchange.question, raw=b""), replace(request, params=params, raw=b"")
        )
