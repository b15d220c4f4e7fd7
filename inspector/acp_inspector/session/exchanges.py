"""Pairs requests with their responses, for the whole inspector.

Each side has its own ids, so a pending prompt of the client and a pending request of the agent may
share an id. Responses that match no open request are kept as faults, never dropped.

Source: JSON-RPC 2.0, "Response object", "Batch"; ACP, Cancellation.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal, TypeAlias, cast

from acp_inspector.journal import Frame
from acp_inspector.messages import DecodedFrame
from acp_protocol.framing import Side, opposite
from acp_protocol.json_values import get, get_text
from acp_protocol.jsonrpc import (
    REQUEST_CANCELLED,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    id_key,
    is_request_id,
)

Ending: TypeAlias = Literal["open", "result", "error", "cancelled"]
FaultKind: TypeAlias = Literal["orphan", "double", "late", "reused"]
_Key: TypeAlias = tuple[Side, tuple[str, RequestId]]

MAX_EXACT_INTEGER: Final = 2**53
"""Floats do not represent every integer above this."""
MAX_LOOKED_AT: Final = 100
"""Open requests among which the cause of a wrong response is sought."""
MARK_INTERVAL: Final = 256
"""Least requests and responses between two marks of the open requests."""


@dataclass(slots=True, eq=False)
class Exchange:
    """A request and, once received, its response."""

    request_frame: Frame
    request: Request
    response_frame: Frame | None = None
    ending: Ending = "open"
    """How it ended; `cancelled` by an error of that code, or by a result that says so."""
    code: int | None = None
    """That of an error response."""
    cancel_frame: Frame | None = None
    """The `$/cancel_request` that named it."""
    is_moot: bool = False
    """Its turn ended before the response."""
    has_ended_turn: bool = False
    """Whether it is a prompt whose response ended the turn."""

    @property
    def requester(self) -> Side:
        return self.request_frame.side

    @property
    def session(self) -> str | None:
        return get_text(self.request.params, "sessionId")

    @property
    def latency(self) -> float | None:
        """Seconds from request to response; None while it is open."""
        if self.response_frame is None:
            return None
        return self.response_frame.time - self.request_frame.time


@dataclass(frozen=True, slots=True)
class ExchangeFault:
    """A request or a response that breaks the pairing."""

    kind: FaultKind
    """`orphan`: there is no such request; `double`: it has a response already; `late`: no one
    waits for it any more; `reused`: another open request has the same id."""
    frame: Frame
    id: RequestId
    exchange: Exchange | None
    """The affected exchange, if known."""
    why: str
    """The reason in a few words."""


PairedMessage: TypeAlias = tuple[Message, Exchange | None]
"""A message, and the exchange that it belongs to."""


class Exchanges:
    """Pairs the requests and responses of one connection as its frames come.

    The rules, in one place:

    - Each side has its own ids, and `1` is not `"1"`.
    - Of several open requests with one id the oldest is answered first.
    - The messages of a batch are paired one by one.
    - What a dialect sends as a request or a response, and means as neither, is paired as sent.
    - `restart` begins a new process: requests open then never get a response.

    By default it keeps every exchange: `all`, `open_at` and `of` cover the whole connection. For a
    connection that runs for days use `is_lean`, which keeps only the open requests and the newest
    frame of each side, and `max_open`, above which the oldest open request is forgotten.
    """

    def __init__(
        self,
        *,
        is_lean: bool = False,
        max_open: int | None = None,
        max_request_bytes: int | None = None,
    ) -> None:
        """Begin a connection.

        Args:
            is_lean: Keep no history: `all` and `faults` stay empty, `open_at` is not available,
                and frames are kept without their bytes once their side has sent a later request
                or response.
            max_open: Most open requests kept at once; None: no limit.
            max_request_bytes: Size up to which a lean request keeps its params; None: any size.
        """
        self.all: list[Exchange] = []
        """Every exchange, in the order of the requests."""
        self.faults: list[ExchangeFault] = []
        self.version: Json = 1
        """The protocol version that was agreed on."""
        self._is_lean = is_lean
        self._max_open = max_open
        self._max_request_bytes = max_request_bytes
        self._open_count = 0
        self._open: dict[_Key, deque[Exchange]] = {}
        """Open requests by key; several only if an id was reused too early."""
        self._are_reused = False
        """Whether an id was ever reused; if not, open requests are in order of arrival."""
        self._closed: dict[_Key, Exchange] = {}
        self._broken: dict[_Key, Frame] = {}
        """Frames with malformed requests; they may get a response."""
        self._concerns: dict[str | None, list[Exchange]] = {}
        """Requests of the agent in each session since its last turn ended."""
        self._by_frame: dict[int, tuple[Exchange, ...]] = {}
        self._batches: set[int] = set()
        self._indexed: dict[
            Side, tuple[int, Mapping[tuple[bool, tuple[str, RequestId]], Exchange]]
        ] = {}
        """The exchanges of the batch of each side that was looked at last, by its messages."""
        self._newest: dict[Side, int] = {}
        """The newest frame of each side, for a lean history."""
        self._steps: list[tuple[int, Exchange]] = []
        """Each request and each response, as it came."""
        self._marks: list[tuple[int, tuple[Exchange, ...]]] = [(0, ())]
        """The number of steps so far, and the requests open then."""

    def pair(self, decoded: DecodedFrame) -> tuple[PairedMessage, ...]:
        """Add the next frame; return its messages, each with its exchange.

        Each response to a known request gets it: see `DecodedFrame.request`. What is paired as it
        was sent is not among the messages; `all_of` returns its exchange.
        """
        frame = decoded.frame
        parts = decoded.parts if decoded.unmeant is None else decoded.paired
        if len(parts) == 1:
            # Most frames are updates, which belong to no exchange.
            message = parts[0].meaning
            if isinstance(message, Notification) and message.method != "$/cancel_request":
                return ((message, None),)
        paired: list[PairedMessage] = []
        for part in parts:
            message = part.meaning
            exchange = self._apply(frame, message)
            paired.append((message, exchange))
            if exchange is not None and not isinstance(message, Request):
                decoded.set_request(part, exchange.request, exchange.request_frame)
            if exchange is not None and exchange.code is not None and part.error is not None:
                # Shown as it was sent, whatever a dialect means by it.
                exchange.code = part.error.code
        if self._is_lean and (old := self._newest.get(frame.side)) is not None:
            for exchange in self._by_frame.pop(old, ()):
                self._shrink(exchange)
            self._batches.discard(old)
        self._newest[frame.side] = frame.seq
        if exchanges := tuple(exchange for _, exchange in paired if exchange is not None):
            self._by_frame[frame.seq] = exchanges
        if decoded.has_parts:
            self._batches.add(frame.seq)
        return tuple(paired if decoded.unmeant is None else paired[:-1])

    def decoded(self, frame: Frame, message: Message | None = None) -> DecodedFrame:
        """Return a frame as it was sent, which `apply` has added, with the requests it responds to.

        Args:
            frame: The frame.
            message: Its message, if the caller has already parsed it.
        """
        exchange = self.of(frame)
        if exchange is not None and exchange.request_frame.seq == frame.seq:
            return DecodedFrame(frame, exchange.request)
        decoded = DecodedFrame(frame, message)
        if exchange is not None:
            decoded.request, decoded.request_frame = exchange.request, exchange.request_frame
        elif self.all_of(frame):
            # The frame may be that of one message of an array.
            for part in decoded.parts:
                found = self.of_message(frame, part.meaning)
                if found is not None and not isinstance(part.meaning, Request):
                    decoded.set_request(part, found.request, found.request_frame)
        return decoded

    def apply(self, frame: Frame, message: Message | None = None) -> Exchange | None:
        """Add the next frame, as sent; return the exchange that it opens or closes.

        The messages of a batch are added too; `all_of` returns their exchanges.

        Args:
            frame: The next one.
            message: Its message, if the caller has already parsed it.
        """
        self.pair(DecodedFrame(frame, message))
        return self.of(frame)

    def restart(self, n: int) -> None:
        """Begin a new connection with entry `n`: requests open now never get a response.

        A journal may hold several processes, one after the other; each has ids of its own.
        """
        lost = self.open()
        self.version = 1
        self._open.clear()
        self._open_count = 0
        self._closed.clear()
        self._broken.clear()
        self._concerns.clear()
        for exchange in [] if self._is_lean else lost:
            self._step(n, exchange)

    def of(self, frame: Frame) -> Exchange | None:
        """Return the exchange that a frame belongs to; None for a batch."""
        if frame.seq in self._batches:
            return None
        found = self._by_frame.get(frame.seq)
        return found[0] if found else None

    def of_message(self, frame: Frame, message: Message) -> Exchange | None:
        """Return the exchange of one message of a batch, whose frame has the batch's number."""
        if not isinstance(message, Request | SuccessResponse | ErrorResponse):
            return None
        known = self._indexed.get(frame.side)
        if known is None or known[0] != frame.seq:
            index: dict[tuple[bool, tuple[str, RequestId]], Exchange] = {}
            for each in self.all_of(frame):
                is_own = each.request_frame.seq == frame.seq
                index.setdefault((is_own, id_key(each.request.id)), each)
            known = self._indexed[frame.side] = frame.seq, index
        return known[1].get((isinstance(message, Request), id_key(message.id)))

    def all_of(self, frame: Frame) -> tuple[Exchange, ...]:
        """Return the exchanges that a frame belongs to: several for a batch."""
        return self._by_frame.get(frame.seq, ())

    def open(self) -> list[Exchange]:
        """Return the requests that have no response yet, oldest first.

        After the last frame of a connection these are the ones whose responses are missing.
        """
        waiting = [exchange for each in self._open.values() for exchange in each]
        if self._are_reused:
            waiting.sort(key=lambda exchange: exchange.request_frame.seq)
        return waiting

    def open_request(self, side: Side, id_: Json) -> Exchange | None:
        """Return the oldest request of a side that has this id and no response yet."""
        found = (
            self._open.get((side, id_key(cast("RequestId", id_)))) if is_request_id(id_) else None
        )
        return found[0] if found else None

    def unanswered(self) -> list[Exchange]:
        """Return the requests that have no response so far, those of ended processes too."""
        return [exchange for exchange in self.all if exchange.response_frame is None]

    def open_at(self, n: int) -> list[Exchange]:
        """Return the requests that had no response yet after frame `n`, oldest first."""
        end = bisect_right(self._steps, n, key=lambda step: step[0])
        made, marked = self._marks[bisect_right(self._marks, end, key=lambda mark: mark[0]) - 1]
        waiting = dict.fromkeys(marked)
        for at, exchange in self._steps[made:end]:
            if exchange.request_frame.seq == at:
                waiting[exchange] = None
            else:
                waiting.pop(exchange, None)
        return list(waiting)

    def _apply(self, frame: Frame, message: Message) -> Exchange | None:
        match message:
            case Request():
                return self._ask(frame, message)
            case SuccessResponse() | ErrorResponse():
                return self._answer(frame, message)
            case Notification(method="$/cancel_request", params=params):
                self._withdraw(frame, get(params, "requestId"))
            case InvalidMessage(id=id_, is_response=False) if id_ is not None and not self._is_lean:
                self._broken[frame.side, id_key(id_)] = frame
            case _:
                pass
        return None

    def _ask(self, frame: Frame, request: Request) -> Exchange:
        key: _Key = (frame.side, id_key(request.id))
        exchange = Exchange(frame, request)
        waiting = self._open.setdefault(key, deque())
        if not self._is_lean:
            if waiting:
                self._are_reused = True
                why = f"frame {waiting[-1].request_frame.seq} has this id too, and no response yet"
                self.faults.append(ExchangeFault("reused", frame, request.id, waiting[-1], why))
            self.all.append(exchange)
            self._step(frame.seq, exchange)
            if frame.side == "agent":
                self._concerns.setdefault(exchange.session, []).append(exchange)
        waiting.append(exchange)
        self._open_count += 1
        if self._max_open is not None and self._open_count > self._max_open:
            self._take(next(iter(self._open)))
        return exchange

    def _shrink(self, exchange: Exchange) -> None:
        """Forget the bytes of a lean exchange, and params that are too large."""
        frame, request, limit = exchange.request_frame, exchange.request, self._max_request_bytes
        params = request.params if limit is None or len(frame.data) <= limit else None
        exchange.request_frame = replace(frame, data=b"")
        exchange.request = replace(request, params=params, raw=b"")

    def _take(self, key: _Key) -> Exchange:
        """Remove and return the oldest open request of a key."""
        waiting = self._open[key]
        # Peers usually respond in order: the oldest request with an id is the likeliest.
        exchange = waiting.popleft()
        if not waiting:
            del self._open[key]
        self._open_count -= 1
        return exchange

    def _answer(self, frame: Frame, response: SuccessResponse | ErrorResponse) -> Exchange | None:
        sender = opposite(frame.side)
        key: _Key = (sender, id_key(response.id))
        if key not in self._open:
            # An error without an id is the response to a frame that could not be read.
            is_for_noise = response.id is None and isinstance(response, ErrorResponse)
            is_known = self._broken.pop(key, None) is not None or is_for_noise
            if not is_known and not self._is_lean:
                self._fault(frame, response, self._closed.get(key))
            return None
        exchange = self._take(key)
        exchange.response_frame = frame
        exchange.ending = ending_of(response)
        exchange.code = response.code if isinstance(response, ErrorResponse) else None
        if sender == "client":
            self._note_agreement(exchange, response)
        if self._is_lean:
            return exchange
        self._closed[key] = exchange
        if why := _lateness(exchange):
            self.faults.append(ExchangeFault("late", frame, response.id, exchange, why))
        self._step(frame.seq, exchange)
        if exchange.has_ended_turn:
            # Version 1: requests of the agent in a turn need no response after its end.
            for each in self._concerns.pop(exchange.session, ()):
                each.is_moot = each.response_frame is None
        return exchange

    def _note_agreement(
        self, exchange: Exchange, response: SuccessResponse | ErrorResponse
    ) -> None:
        method = exchange.request.method
        if method == "session/prompt":
            exchange.has_ended_turn = ends_turn(response, self.version)
        elif method == "initialize" and isinstance(response, SuccessResponse):
            self.version = get(response.result, "protocolVersion")

    def _fault(
        self, frame: Frame, response: SuccessResponse | ErrorResponse, before: Exchange | None
    ) -> None:
        if before is not None and before.response_frame is not None:
            first, request = before.response_frame.seq, before.request_frame.seq
            why = f"frame {first} is the response to frame {request} already"
            self.faults.append(ExchangeFault("double", frame, response.id, before, why))
        else:
            why = self._mistake(frame, response)
            self.faults.append(ExchangeFault("orphan", frame, response.id, None, why))

    def _mistake(self, frame: Frame, response: SuccessResponse | ErrorResponse) -> str:
        """Return the likely mistake behind an orphan response."""
        sender, id_ = opposite(frame.side), response.id
        if (frame.side, id_key(id_)) in self._open:
            return f"only the {frame.side} itself has sent a request with this id"
        twin: RequestId = str(id_)
        if isinstance(id_, str):
            twin = int(id_) if id_.isdecimal() and len(id_) < 19 else None
        if twin is not None and (sender, id_key(twin)) in self._open:
            return "the id of the request is of another type"
        if isinstance(id_, int) and self._was_rounded(sender, id_):
            return "the id of the request has more digits: it was read as a float"
        return f"the {sender} has sent no request with this id"

    def _was_rounded(self, sender: Side, id_: int) -> bool:
        if abs(id_) < MAX_EXACT_INTEGER:
            return False
        ids = (key[1][1] for key in islice(self._open, MAX_LOOKED_AT) if key[0] == sender)
        return any(isinstance(each, int) and _as_float(each) == _as_float(id_) for each in ids)

    def _withdraw(self, frame: Frame, id_: Json) -> None:
        if not isinstance(id_, str | int):
            return
        # An earlier cancel of this id has cancelled all requests that had it until then.
        for exchange in reversed(self._open.get((frame.side, id_key(id_)), ())):
            if exchange.cancel_frame is not None:
                break
            exchange.cancel_frame = frame

    def _step(self, n: int, exchange: Exchange) -> None:
        self._steps.append((n, exchange))
        made, marked = self._marks[-1]
        # A mark after as many steps as the last mark has items: all marks together stay no longer
        # than all steps.
        if len(self._steps) - made >= max(MARK_INTERVAL, len(marked)):
            self._marks.append((len(self._steps), tuple(self.open())))


def ends_turn(response: SuccessResponse | ErrorResponse, version: Json) -> bool:
    """Return whether the response to a prompt ends its turn.

    In version 2 it names the message that was taken, and work on it begins. A recording may lack
    the version.
    """
    if isinstance(response, ErrorResponse) or get(response.result, "stopReason") is not None:
        return True
    return version != 2 and get_text(response.result, "messageId") is None


def ending_of(response: SuccessResponse | ErrorResponse) -> Ending:
    """Return how a response ends its exchange."""
    if isinstance(response, ErrorResponse):
        return "cancelled" if response.code == REQUEST_CANCELLED else "error"
    result = response.result
    outcome = get(get(result, "outcome"), "outcome")
    words = {str(get(result, "stopReason")), str(outcome), str(get(result, "action"))}
    return "cancelled" if words & {"cancelled", "cancel"} else "result"


def _as_float(number: int) -> float:
    return float(number) if abs(number) < 2**1000 else math.inf


def _lateness(exchange: Exchange) -> str:
    """Return why a response comes too late; empty if it does not."""
    if exchange.ending == "cancelled":
        return ""
    if exchange.cancel_frame is not None:
        return f"frame {exchange.cancel_frame.seq} has cancelled the request"
    return "its turn was over" if exchange.is_moot else ""
