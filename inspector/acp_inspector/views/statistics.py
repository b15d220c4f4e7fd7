"""Counts, bytes, rates and times, by method, by session and by turn.

Each frame is counted once, on arrival; percentiles are computed on demand.
"""

from __future__ import annotations

import math
import statistics
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.journal import Frame
from acp_inspector.session.events import (
    CallChanged,
    Malformed,
    NotificationSent,
    RequestSent,
    ResponseReceived,
    SessionEvent,
    Updated,
)
from acp_inspector.session.exchanges import Ending, Exchange
from acp_protocol.framing import Side
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import (
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
)
from acp_protocol.schema.vocabulary import MESSAGE_CHUNKS
from acp_protocol.schema.words import UpdateKind

STREAMED: Final[frozenset[UpdateKind]] = frozenset(
    {
        *MESSAGE_CHUNKS,
        *("session_message_chunk", "tool_call_content_chunk", "terminal_output_chunk"),
    }
)
"""Updates that count for the rate of chunks."""
BOUNDS: Final = tuple(10**power * step for power in range(-4, 3) for step in (1, 2, 5))
"""Seconds up to which each bar of a histogram goes: 100 µs, 200 µs, 500 µs, 1 ms … 500 s."""


@dataclass(frozen=True, slots=True)
class DurationSummary:
    """Durations in a few numbers, in seconds; None where there are none."""

    count: int
    total: float
    minimum: float | None = None
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    maximum: float | None = None


class Histogram:
    """A growing set of durations, in seconds."""

    __slots__ = ("_bars", "_summary", "_values")

    def __init__(self) -> None:
        self._values = array("d")
        self._summary: DurationSummary | None = None
        """Cached until the next value, because screens query it repeatedly."""
        self._bars = [0] * (len(BOUNDS) + 1)

    def __len__(self) -> int:
        return len(self._values)

    def add(self, seconds: float) -> None:
        self._values.append(seconds)
        self._summary = None
        self._bars[bisect_left(BOUNDS, seconds)] += 1

    def summary(self) -> DurationSummary:
        """Return their summary; percentiles interpolate between values."""
        values = self._values
        if not values:
            return DurationSummary(0, 0.0)
        if self._summary is None:
            total, count = math.fsum(values), len(values)
            # All percentiles of a single value are that value.
            several = [*values, *values] if count == 1 else values
            cuts = statistics.quantiles(several, n=100, method="inclusive")
            percentiles = cuts[49], cuts[89], cuts[98]
            self._summary = DurationSummary(
                count, total, min(values), total / count, *percentiles, max(values)
            )
        return self._summary

    def histogram(self) -> list[tuple[float | None, int]]:
        """Return the non-empty bars: upper bound in seconds, and count.

        The bound None counts everything above the last one.
        """
        bounds = (*BOUNDS, None)
        return [(bound, count) for bound, count in zip(bounds, self._bars, strict=True) if count]


MAX_COST: Final = 1e15
"""Larger costs are wrong and not counted."""


@dataclass(slots=True)
class MethodStatistics:
    """Counts of one method; of `session/update`, of one kind of update."""

    side: Side
    """The side that sends it."""
    method: str
    update: str
    """The kind of update; empty for anything else."""
    count: int = 0
    """Requests or notifications."""
    bytes: int = 0
    """Of these and of their responses."""
    endings: dict[Ending, int] = field(default_factory=dict[Ending, int])
    """The endings of its exchanges; `open` for pending ones."""
    latencies: Histogram = field(default_factory=Histogram)

    def add(self, size: int) -> None:
        """Count a request or notification of `size` bytes."""
        self.count += 1
        self.bytes += size

    def close(self, exchange: Exchange, size: int) -> None:
        self.bytes += size
        # A filter may have excluded the request.
        self.endings["open"] = max(self.endings.get("open", 0) - 1, 0)
        self.endings[exchange.ending] = self.endings.get(exchange.ending, 0) + 1
        if exchange.latency is not None:
            self.latencies.add(exchange.latency)


@dataclass(slots=True)
class Counts:
    """Counts of a session, of a turn, or of the whole connection."""

    frames: int = 0
    bytes: dict[Side, int] = field(default_factory=lambda: {"client": 0, "agent": 0})
    """Bytes by sender."""
    malformed: int = 0
    errors: int = 0
    """Error responses."""
    chunks: int = 0
    streamed: float = 0.0
    """Seconds between consecutive chunks with no request between them."""
    gaps: int = 0
    """The number of such gaps."""
    tool_calls: dict[str, str] = field(default_factory=dict[str, str])
    """The last status of each tool call."""
    approvals: Histogram = field(default_factory=Histogram)
    """Seconds from permission requests to their responses."""
    usage: Json = None
    """The last `usage_update`."""
    cost_before: float | None = None
    """The cost of the session before it."""
    began: float | None = None
    """Seconds since the journal began, of the first frame."""
    last: float | None = None
    """The same of the last frame."""
    _chunk: float | None = None
    _frame: int = 0

    @property
    def chunk_rate(self) -> float | None:
        """Chunks per second while streaming; None if there are too few."""
        return self.gaps / self.streamed if self.gaps and self.streamed > 0 else None

    @property
    def failed_calls(self) -> int:
        return sum(status == "failed" for status in self.tool_calls.values())

    @property
    def cost(self) -> float | None:
        """The cost since it began; None if unknown."""
        amount = amount_of(self.usage)
        return None if amount is None else amount - (self.cost_before or 0.0)

    def take(self, frame: Frame, share: int) -> None:
        """Count a frame, or a message's share of the bytes of a batch."""
        self.frames += frame.seq != self._frame
        self._frame = frame.seq
        self.bytes[frame.side] += share
        self.began = frame.time if self.began is None else self.began
        self.last = frame.time

    def update(self, event: Updated) -> None:
        if event.kind in STREAMED:
            at = event.frame.time
            self.chunks += 1
            if self._chunk is not None:
                self.streamed += at - self._chunk
                self.gaps += 1
            self._chunk = at
        elif isinstance(event, CallChanged) and (key := get_string(event.update, "toolCallId")):
            status = get_string(event.update, "status")
            self.tool_calls[key] = status or self.tool_calls.get(key, "pending")
        elif event.kind == "usage_update":
            self.usage = event.update

    def respond(self, response: Message, exchange: Exchange | None) -> None:
        """Count a response, with its exchange if it has a request."""
        self.interrupt()
        self.errors += isinstance(response, ErrorResponse)
        is_consent = exchange and exchange.request.method == "session/request_permission"
        if exchange and is_consent and exchange.latency is not None:
            self.approvals.add(exchange.latency)

    def interrupt(self) -> None:
        """End the stream of chunks: the next chunk begins a new one."""
        self._chunk = None


class Statistics:
    """Counts the frames of one connection."""

    def __init__(self) -> None:
        self.methods: dict[tuple[Side, str, str], MethodStatistics] = {}
        self.sessions: dict[str, Counts] = {}
        self.turns: dict[int, Counts] = {}
        """By the number of the turn."""
        self.total = Counts()

    def apply(self, frame: Frame, facts: Sequence[SessionEvent]) -> None:
        """Count the next frame, with the fact of each of its messages."""
        self.total.take(frame, len(frame.data))
        share = len(frame.data) // max(len(facts), 1)
        for fact in facts:
            self._count(fact, share, (self.total, *self._places(fact, share)))

    def _places(self, fact: SessionEvent, share: int) -> list[Counts]:
        """Return the counts of a session and of its turn after counting the frame."""
        if fact.session is None:
            return []
        whole = self.sessions.get(fact.session)
        if whole is None:
            whole = self.sessions[fact.session] = Counts()
        places = [whole]
        if fact.turn is not None:
            if fact.turn.number not in self.turns:
                self.turns[fact.turn.number] = Counts(cost_before=amount_of(whole.usage))
            places.append(self.turns[fact.turn.number])
        for tally in places:
            tally.take(fact.frame, share)
        return places

    def _count(self, fact: SessionEvent, share: int, tallies: tuple[Counts, ...]) -> None:
        side = fact.frame.side
        match fact:
            case Updated():
                self._method(side, "session/update", fact.kind).add(share)
                for tally in tallies:
                    tally.update(fact)
            case NotificationSent(message=Notification(method=method)):
                self._method(side, method).add(share)
            case RequestSent(message=Request(method=method)):
                counts = self._method(side, method)
                counts.add(share)
                counts.endings["open"] = counts.endings.get("open", 0) + 1
                for tally in tallies:
                    tally.interrupt()
            case ResponseReceived(exchange=exchange, message=message):
                if exchange is not None:
                    self._method(exchange.requester, exchange.request.method).close(exchange, share)
                for tally in tallies:
                    tally.respond(message, exchange)
            case Malformed(message=message):
                self.total.malformed += isinstance(message, InvalidMessage)
            case _:
                pass

    def _method(self, side: Side, method: str, update: str = "") -> MethodStatistics:
        key = (side, method, update)
        if key not in self.methods:
            self.methods[key] = MethodStatistics(*key)
        return self.methods[key]


def amount_of(usage: Json) -> float | None:
    amount = get(get(usage, "cost"), "amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        return None
    return float(amount) if abs(amount) < MAX_COST else None
