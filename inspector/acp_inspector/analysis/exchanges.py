"""Questions and their answers, paired per direction and by the type of their ids.

Source: JSON-RPC 2.0, "Response object".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Batch,
    Failure,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
    id_key,
    read_message,
)


@dataclass(slots=True)
class Exchange:
    """A request, and its answer once it came."""

    question: Frame
    request: Request
    answer: Frame | None = None

    @property
    def latency(self) -> float | None:
        """Seconds from question to answer; None while it is open."""
        return None if self.answer is None else self.answer.at - self.question.at


class Exchanges:
    """Pairs the frames of one connection as they come."""

    def __init__(self) -> None:
        self._open: dict[tuple[Side, tuple[str, RequestId]], Exchange] = {}
        self._by_frame: dict[int, Exchange] = {}

    def apply(self, frame: Frame, message: Message | None = None) -> Exchange | None:
        """Take the next frame; return the exchange that it opens or closes.

        `message` is what the frame says, where the caller has read it already.
        """
        match message or read_message(frame.raw):
            case Request() as request:
                exchange = Exchange(frame, request)
                self._open[frame.side, id_key(request.id)] = exchange
            case Result(id=id_) | Failure(id=id_):
                asker: Side = "agent" if frame.side == "client" else "client"
                found = self._open.pop((asker, id_key(id_)), None)
                if found is None:
                    return None
                exchange = found
                exchange.answer = frame
            case Notification() | Batch() | Malformed():
                return None
            case _ as unexpected:
                assert_never(unexpected)
        self._by_frame[frame.n] = exchange
        return exchange

    def of(self, frame: Frame) -> Exchange | None:
        """Return the exchange that a frame belongs to."""
        return self._by_frame.get(frame.n)

    def open(self) -> list[Exchange]:
        """Return the questions that still wait for their answer, oldest first."""
        return list(self._open.values())
