"""Questions and their answers, paired per direction and by the type of their ids.

Each side has its own ids, so a prompt of the client and a question of the agent may bear the same
one at the same time. Answers that fit no open question are kept as faults, never dropped.

Source: JSON-RPC 2.0, "Response object", "Batch"; ACP, Cancellation.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    REQUEST_CANCELLED,
    Batch,
    Failure,
    Json,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
    id_key,
    read_message,
)

Ending: TypeAlias = Literal["open", "result", "error", "cancelled"]
FaultKind: TypeAlias = Literal["orphan", "double", "late", "reused"]
_Key: TypeAlias = tuple[Side, tuple[str, RequestId]]

EXACT: Final = 2**53
"""From here on a float does not hold every integer."""
STRIDE: Final = 256
"""Questions and answers between two marks of what was open, at least."""


@dataclass(slots=True, eq=False)
class Exchange:
    """A request, and its answer once it came."""

    question: Frame
    request: Request
    answer: Frame | None = None
    ending: Ending = "open"
    """How it ended; `cancelled` by an error of that code, or by a result that says so."""
    code: int | None = None
    """That of an error answer."""
    withdrawn: Frame | None = None
    """The `$/cancel_request` that named it."""
    is_moot: bool = False
    """Its turn was over before it was answered."""

    @property
    def asker(self) -> Side:
        """Who asked."""
        return self.question.side

    @property
    def session(self) -> str | None:
        """The session that it is about."""
        found = _member(self.request.params, "sessionId")
        return found if isinstance(found, str) else None

    @property
    def latency(self) -> float | None:
        """Seconds from question to answer; None while it is open."""
        return None if self.answer is None else self.answer.at - self.question.at


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with how a frame asks or answers."""

    kind: FaultKind
    """`orphan`: nobody asked; `double`: it was answered before; `late`: nobody waited any more;
    `reused`: it asks with an id that still waits for its answer."""
    frame: Frame
    id: RequestId
    exchange: Exchange | None
    """The one that is meant, where that is known."""
    why: str
    """In a few words."""


class Exchanges:
    """Pairs the frames of one connection as they come."""

    def __init__(self) -> None:
        self.all: list[Exchange] = []
        """Every exchange, by its question."""
        self.faults: list[Fault] = []
        self._open: dict[_Key, deque[Exchange]] = {}
        """By key; more than one only where an id was used again too early."""
        self._are_reused = False
        """Whether an id ever was: else what is open stands in the order in which it was asked."""
        self._closed: dict[_Key, Exchange] = {}
        self._broken: dict[_Key, Frame] = {}
        """Frames that ask for something, but not as they should; they may be answered."""
        self._concerns: dict[str | None, list[Exchange]] = {}
        """What the agent has asked in each session since its last turn ended."""
        self._by_frame: dict[int, Exchange] = {}
        self._batches: dict[int, tuple[Exchange, ...]] = {}
        self._steps: list[tuple[int, Exchange]] = []
        """Each question and each answer, as it came."""
        self._marks: list[tuple[int, tuple[Exchange, ...]]] = [(0, ())]
        """How many steps had been made, and what was open then."""

    def apply(self, frame: Frame, message: Message | None = None) -> Exchange | None:
        """Take the next frame; return the exchange that it opens or closes.

        The entries of a batch are taken too, but for them `all_of` has to be asked.

        Args:
            frame: The next one.
            message: What it says, where the caller has read it already.
        """
        said = message or read_message(frame.raw)
        if isinstance(said, Batch):
            self.apply_all(frame, said.entries)
            return None
        exchange = self._apply(frame, said)
        if exchange is not None:
            self._by_frame[frame.n] = exchange
        return exchange

    def apply_all(self, frame: Frame, messages: Sequence[Message]) -> tuple[Exchange, ...]:
        """Take the next frame, which says several things; return the exchanges they belong to."""
        found = [self._apply(frame, message) for message in messages]
        exchanges = tuple(exchange for exchange in found if exchange is not None)
        if exchanges:
            self._batches[frame.n] = exchanges
        return exchanges

    def restart(self, n: int) -> None:
        """Begin a new connection with entry `n`: what is open now is never answered.

        A journal may hold several processes, one after the other; each has ids of its own.
        """
        lost = self.open()
        self._open.clear()
        self._closed.clear()
        self._broken.clear()
        self._concerns.clear()
        for exchange in lost:
            self._step(n, exchange)

    def of(self, frame: Frame) -> Exchange | None:
        """Return the exchange that a frame belongs to; None for a batch."""
        return self._by_frame.get(frame.n)

    def all_of(self, frame: Frame) -> tuple[Exchange, ...]:
        """Return the exchanges that a frame belongs to: several for a batch."""
        one = self._by_frame.get(frame.n)
        return self._batches.get(frame.n, ()) if one is None else (one,)

    def open(self) -> list[Exchange]:
        """Return the questions that still wait for their answer, oldest first.

        After the last frame of a connection these are the ones whose answers are missing.
        """
        waiting = [exchange for each in self._open.values() for exchange in each]
        if self._are_reused:
            waiting.sort(key=lambda exchange: exchange.question.n)
        return waiting

    def open_at(self, n: int) -> list[Exchange]:
        """Return the questions that waited for their answer after frame `n`, oldest first."""
        end = bisect_right(self._steps, n, key=lambda step: step[0])
        made, marked = self._marks[bisect_right(self._marks, end, key=lambda mark: mark[0]) - 1]
        waiting = dict.fromkeys(marked)
        for at, exchange in self._steps[made:end]:
            if exchange.question.n == at:
                waiting[exchange] = None
            else:
                waiting.pop(exchange, None)
        return list(waiting)

    def _apply(self, frame: Frame, message: Message) -> Exchange | None:
        match message:
            case Request():
                return self._ask(frame, message)
            case Result() | Failure():
                return self._answer(frame, message)
            case Notification(method="$/cancel_request", params=params):
                self._withdraw(frame, _member(params, "requestId"))
            case Malformed(id=id_, is_answer=False) if id_ is not None:
                self._broken[frame.side, id_key(id_)] = frame
            case _:
                pass
        return None

    def _ask(self, frame: Frame, request: Request) -> Exchange:
        key: _Key = (frame.side, id_key(request.id))
        exchange = Exchange(frame, request)
        waiting = self._open.setdefault(key, deque())
        if waiting:
            self._are_reused = True
            why = f"frame {waiting[-1].question.n} asked with this id and has no answer yet"
            self.faults.append(Fault("reused", frame, request.id, waiting[-1], why))
        waiting.append(exchange)
        self.all.append(exchange)
        if frame.side == "agent":
            self._concerns.setdefault(exchange.session, []).append(exchange)
        self._step(frame.n, exchange)
        return exchange

    def _answer(self, frame: Frame, answer: Result | Failure) -> Exchange | None:
        asker = other(frame.side)
        key: _Key = (asker, id_key(answer.id))
        waiting = self._open.get(key)
        if waiting is None:
            # An error without an id is how a frame is answered that could not be read.
            is_for_noise = answer.id is None and isinstance(answer, Failure)
            if self._broken.pop(key, None) is None and not is_for_noise:
                self._fault(frame, answer, self._closed.get(key))
            return None
        # Peers answer in order more often than not: the oldest of one id is the likeliest.
        exchange = waiting.popleft()
        if not waiting:
            del self._open[key]
        self._closed[key] = exchange
        exchange.answer = frame
        exchange.ending = ending_of(answer)
        exchange.code = answer.code if isinstance(answer, Failure) else None
        if why := _lateness(exchange):
            self.faults.append(Fault("late", frame, answer.id, exchange, why))
        self._step(frame.n, exchange)
        if asker == "client" and exchange.request.method == "session/prompt":
            self._end_turn(exchange, answer)
        return exchange

    def _fault(self, frame: Frame, answer: Result | Failure, before: Exchange | None) -> None:
        if before is not None and before.answer is not None:
            why = f"frame {before.answer.n} has answered frame {before.question.n} already"
            self.faults.append(Fault("double", frame, answer.id, before, why))
        else:
            self.faults.append(
                Fault("orphan", frame, answer.id, None, self._mistake(frame, answer))
            )

    def _mistake(self, frame: Frame, answer: Result | Failure) -> str:
        """Return what the sender may have mixed up."""
        asker = other(frame.side)
        if (frame.side, id_key(answer.id)) in self._open:
            return f"only the {frame.side} itself has asked with this id"
        twin: RequestId = str(answer.id)
        if isinstance(answer.id, str):
            twin = int(answer.id) if answer.id.isdecimal() and len(answer.id) < 19 else None
        if twin is not None and (asker, id_key(twin)) in self._open:
            return "the question's id is of another type"
        if isinstance(answer.id, int) and self._was_rounded(asker, answer.id):
            return "the question's id has more digits: it was read as a float"
        return f"the {asker} has asked nothing with this id"

    def _was_rounded(self, asker: Side, id_: int) -> bool:
        if abs(id_) < EXACT:
            return False
        asked = (key[1][1] for key in self._open if key[0] == asker)
        return any(isinstance(each, int) and _as_float(each) == _as_float(id_) for each in asked)

    def _withdraw(self, frame: Frame, id_: Json) -> None:
        if not isinstance(id_, str | int):
            return
        # Whoever withdrew an id before withdrew all that had been asked with it until then.
        for exchange in reversed(self._open.get((frame.side, id_key(id_)), ())):
            if exchange.withdrawn is not None:
                break
            exchange.withdrawn = frame

    def _end_turn(self, prompt: Exchange, answer: Result | Failure) -> None:
        """Version 1: what the agent asked for the turn's sake is nobody's question any more."""
        if isinstance(answer, Result) and _member(answer.result, "stopReason") is None:
            return
        for exchange in self._concerns.pop(prompt.session, ()):
            exchange.is_moot = exchange.answer is None

    def _step(self, n: int, exchange: Exchange) -> None:
        self._steps.append((n, exchange))
        made, marked = self._marks[-1]
        # As many steps as the last mark is long keep all marks together as long as all steps.
        if len(self._steps) - made >= max(STRIDE, len(marked)):
            self._marks.append((len(self._steps), tuple(self.open())))


def other(side: Side) -> Side:
    """Return the side that is not `side`."""
    return "agent" if side == "client" else "client"


def ending_of(answer: Result | Failure) -> Ending:
    """Return how an answer ends its exchange."""
    if isinstance(answer, Failure):
        return "cancelled" if answer.code == REQUEST_CANCELLED else "error"
    stop, outcome = _member(answer.result, "stopReason"), _member(answer.result, "outcome")
    words = (stop, _member(outcome, "outcome"), _member(answer.result, "action"))
    return "cancelled" if {"cancelled", "cancel"}.intersection(map(str, words)) else "result"


def _as_float(number: int) -> float:
    return float(number) if abs(number) < 2**1000 else math.inf


def _lateness(exchange: Exchange) -> str:
    """Return why nobody waited for an answer any more; empty if somebody did."""
    if exchange.ending == "cancelled":
        return ""
    if exchange.withdrawn is not None:
        return f"frame {exchange.withdrawn.n} has withdrawn the question"
    return "its turn was over" if exchange.is_moot else ""


def _member(value: Json, name: str) -> Json:
    return cast("dict[str, Json]", value).get(name) if isinstance(value, dict) else None
