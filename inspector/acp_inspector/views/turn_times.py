"""Where the time of a turn went: to a person, to tools, or to the agent and its model.

Each moment counts once: a person who is asked comes first, then tools. What is left is the agent's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from acp_inspector.session.events import CallChanged, RequestSent, ResponseReceived, SessionEvent
from acp_inspector.session.exchanges import Exchange
from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.subjects import permitted_call
from acp_protocol.json_values import get_string
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import FINAL_STATUSES, USER_METHODS

_STEPS: Final = (RequestSent, ResponseReceived, CallChanged)


@dataclass(frozen=True, slots=True)
class Step:
    """A request of the agent or a tool call, from begin to end."""

    n: int
    """The frame that began it."""
    began_at: float
    """Seconds since the journal began."""
    seconds: float
    title: str = ""
    """That of the tool call; not escaped."""
    exchange: Exchange | None = None
    """None for a tool call."""
    status: str = ""
    """The last one of a tool call."""
    last: int | None = None
    """The frame that ended it; None: it goes on."""


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """The seconds of a turn, by what they were spent on."""

    person: float = 0.0
    """A permission or an elicitation waited for a person."""
    tools: float = 0.0
    """A tool call was in progress, or the client did what the agent had requested."""
    agent: float = 0.0
    """The rest: the agent and its model."""
    longest: Step | None = None
    """What took longest of the first two."""

    def __add__(self, other: TimeSplit) -> TimeSplit:
        steps = [step for step in (self.longest, other.longest) if step is not None]
        return TimeSplit(
            self.person + other.person,
            self.tools + other.tools,
            self.agent + other.agent,
            max(steps, key=lambda step: step.seconds, default=None),
        )


class TurnTimes:
    """The times of all turns of a connection."""

    def __init__(self) -> None:
        self._clocks: dict[int, _TurnClock] = {}
        """By the number of the turn."""

    def apply(self, events: Iterable[SessionEvent]) -> None:
        """Add what the next frame means."""
        for event in events:
            # Nothing else changes on what time is spent.
            if event.turn is None or not isinstance(event, _STEPS):
                continue
            clock = self._clocks.get(event.turn.number)
            if clock is None:
                clock = self._clocks[event.turn.number] = _TurnClock(event.turn.began_at)
            clock.apply(event)

    def of(self, turn: SessionTurn, now: float) -> TimeSplit:
        """Return how the time of a turn was spent, until its end or until now."""
        clock = self._clocks.get(turn.number)
        end = now if turn.ended_at is None else turn.ended_at
        return (_TurnClock(turn.began_at) if clock is None else clock).until(end)

    def calls(self, turn: SessionTurn, now: float) -> list[Step]:
        """Return the tool calls of a turn; those that have not ended go on until `now`."""
        clock = self._clocks.get(turn.number)
        return [] if clock is None else clock.calls_until(now)

    def waits(self, turn: SessionTurn, now: float) -> tuple[tuple[float, float], ...]:
        """Return when a turn waited for a person, from and until."""
        clock = self._clocks.get(turn.number)
        return () if clock is None else clock.waits_until(now)


@dataclass(slots=True)
class _Call:
    """A tool call that has not ended."""

    n: int
    began_at: float
    agent: float
    """The seconds that were counted for the agent when it began."""
    title: str = ""
    is_running: bool = False


class _TurnClock:
    def __init__(self, at: float) -> None:
        self._ended: list[Step] = []
        """The tool calls that have ended."""
        self._at = at
        self._split = TimeSplit()
        self._waits: list[tuple[float, float]] = []
        """When a person was waited for; one stretch ends before the next begins."""
        self._people: dict[Exchange, None] = {}
        """Open requests that a person answers."""
        self._requests: dict[Exchange, None] = {}
        """Other open requests of the agent."""
        self._calls: dict[str, _Call] = {}

    def apply(self, event: SessionEvent) -> None:
        self._split = self.until(event.frame.time)
        if self._people:
            self._waits = [*self.waits_until(event.frame.time)]
        self._at = max(self._at, event.frame.time)
        match event:
            case RequestSent(exchange=Exchange(requester="agent") as exchange):
                asks_person = exchange.request.method in USER_METHODS
                (self._people if asks_person else self._requests)[exchange] = None
            case ResponseReceived(exchange=Exchange(requester="agent") as exchange):
                self._end_request(exchange)
            case CallChanged(update=update):
                self._change_call(event.frame.seq, update)
            case _:
                pass

    def until(self, at: float) -> TimeSplit:
        """Return how the time until then was spent, if nothing else has happened."""
        spent, split = max(at - self._at, 0.0), self._split
        if self._people:
            return replace(split, person=split.person + spent)
        if self._requests or any(call.is_running for call in self._calls.values()):
            return replace(split, tools=split.tools + spent)
        return replace(split, agent=split.agent + spent)

    def waits_until(self, at: float) -> tuple[tuple[float, float], ...]:
        """Return when a person was waited for until then."""
        if not self._people or at <= self._at:
            return tuple(self._waits)
        before = self._waits[:-1] if self._waits and self._waits[-1][1] == self._at else self._waits
        begin = self._waits[-1][0] if len(before) < len(self._waits) else self._at
        return (*before, (begin, at))

    def calls_until(self, at: float) -> list[Step]:
        """Return the tool calls that have ended, then those that have not."""
        running = [
            Step(each.n, each.began_at, max(at - each.began_at, 0.0), each.title)
            for each in self._calls.values()
        ]
        return [*self._ended, *running]

    def _end_request(self, exchange: Exchange) -> None:
        if exchange in self._people:
            del self._people[exchange]
            call = self._calls.get(permitted_call(exchange.request))
            if call is not None and not call.is_running:
                # What it does begins here, unless it says that it has begun.
                call.began_at, call.agent = self._at, self._split.agent
        self._requests.pop(exchange, None)
        began = exchange.request_frame
        last = None if exchange.response_frame is None else exchange.response_frame.seq
        spent = self._at - began.time
        self._note(Step(began.seq, began.time, spent, exchange=exchange, last=last))

    def _change_call(self, n: int, update: Json) -> None:
        key, status = get_string(update, "toolCallId"), get_string(update, "status")
        if not key or (key not in self._calls and status in FINAL_STATUSES):
            return
        call = self._calls.setdefault(key, _Call(n, self._at, self._split.agent))
        call.title = get_string(update, "title") or call.title
        if status == "in_progress" and not call.is_running:
            call.is_running, call.began_at = True, self._at
        elif status in FINAL_STATUSES:
            del self._calls[key]
            # The user is waited for no more, even if the request is still open.
            for exchange in [each for each in self._people if permitted_call(each.request) == key]:
                del self._people[exchange]
            if not call.is_running:
                self._spent_on(call)
            spent = self._at - call.began_at
            step = Step(call.n, call.began_at, spent, call.title, status=status, last=n)
            self._ended.append(step)
            self._note(step)

    def _spent_on(self, call: _Call) -> None:
        """Count for tools what the agent has spent since a call began that never said so."""
        split = self._split
        spent = max(split.agent - call.agent, 0.0)
        agent = split.agent - spent
        self._split = replace(split, tools=split.tools + spent, agent=agent)
        for other in self._calls.values():
            other.agent = min(other.agent, agent)

    def _note(self, step: Step) -> None:
        self._split += TimeSplit(longest=step)
