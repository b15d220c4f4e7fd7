"""What the client of a recording did, and what each of its frames followed.

`ConnectionEvents` reads the frames of one connection, recorded or live. `ClientScript` derives from
the events of a recording what each client frame waits for: never how much the agent had sent,
always what.

- A response waits for its request, and for the calls that the client had sent before it in its
  session.
- A request or a notification waits for all earlier client frames of its session, and for the
  responses that had come before it. Between turns it waits for the end of the turn. Within a turn
  it waits for the reactions that preceded it: the same text, the tool calls in the same state, the
  requests of the agent. If there was none, it followed only time.
- A frame without a session waits for all earlier client frames, and a frame of a session for the
  earlier ones without a session.

Source: docs/design/replay.md, "Order".
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast

from acp_inspector.journal import Frame
from acp_inspector.session.events import (
    CallChanged,
    Malformed,
    NotificationSent,
    RequestSent,
    ResponseReceived,
    SessionEvent,
    StateChanged,
    TurnEnded,
    Updated,
)
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.fold import Session, Sessions
from acp_protocol.framing import Side
from acp_protocol.json_values import get, get_text
from acp_protocol.jsonrpc import (
    ErrorResponse,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    id_key,
)
from acp_protocol.schema.vocabulary import ASYNCHRONOUS, FINAL_STATUSES

EventKind: TypeAlias = Literal[
    "call", "response", "request", "cancel", "text", "tool call", "update", "idle", "malformed"
]
"""`call`: a request or a notification of the client; `response`: of either side; `request`: of the
agent; `cancel`: the agent's `$/cancel_request`; `idle`: the agent rests (version 2); the others are
notifications of the agent."""

_RANKS: Final = {"in_progress": 1, **dict.fromkeys(FINAL_STATUSES, 2)}
"""How far a tool call is by its status; anything else is 0."""


@dataclass(slots=True, eq=False)
class Event:
    """One thing that a side did."""

    kind: EventKind
    side: Side
    session: str | None
    name: str
    seq: int
    """The number of its frame."""
    time: float
    message: Message
    key: Hashable = None
    """Identifies it: the request of a response, the id of a tool call."""
    amount: int = 0
    """Characters of the text so far, the rank of the tool call's status, or how many updates of
    its kind have come so far."""
    period: int = 0
    """The number of the prompt that began the current work of its session; 0 before any."""
    ends_turn: bool = False

    @property
    def params(self) -> Json:
        """The params of a request or notification; None for anything else."""
        return self.message.params if isinstance(self.message, Request | Notification) else None

    @property
    def is_reaction(self) -> bool:
        """Whether it is a sign of work in a turn, and neither a response nor the turn's end."""
        return self.kind in {"request", "cancel", "text", "tool call", "update"}


class ConnectionEvents:
    """The events of one connection."""

    def __init__(self, dialect: str | None = None) -> None:
        """Begin; without `dialect` it is recognised."""
        self._sessions = Sessions(dialect)
        self._amounts: dict[Hashable, int] = {}
        """How much has come: the amount of the last event of each session and key."""

    @property
    def exchanges(self) -> Exchanges:
        return self._sessions.exchanges

    def session(self, id_: str | None) -> Session:
        return self._sessions.session(id_)

    def amount(self, session: str | None, *key: Hashable) -> int:
        """Return how much has come of something in a session.

        It is named by one of these keys:

        - `text`, period, kind: characters,
        - `tool call`, id: the highest rank of its status,
        - `update`, period, kind: other updates,
        - `update`, kind: the same in all periods.
        """
        return self._amounts.get((session, *key), 0)

    @property
    def sessions(self) -> Iterable[str | None]:
        """The sessions that were named so far, in this order."""
        return self._sessions.sessions

    @property
    def working(self) -> set[str | None]:
        """The sessions in which a turn runs."""
        return {id_ for id_, session in self._sessions.sessions.items() if session.turns}

    @property
    def owes_response(self) -> bool:
        """Whether a request of the client has no response yet, or a turn has not ended."""
        waiting = (exchange.requester == "client" for exchange in self.exchanges.open())
        return any(waiting) or bool(self.working)

    def apply(self, frame: Frame) -> list[Event]:
        """Read the next frame and return its events; an unreadable one is one event too."""
        events: list[Event] = []
        for each in self._sessions.feed(frame):
            if isinstance(each, TurnEnded):
                events[-1].ends_turn = True
            elif (event := self._event(each)) is not None:
                events.append(event)
        return events

    def _event(self, event: SessionEvent) -> Event | None:
        """Return the event of a message; None for what follows from the message."""
        is_client = event.frame.side == "client"
        match event:
            case RequestSent():
                return self._new("call" if is_client else "request", event)
            case ResponseReceived(exchange=exchange):
                if exchange is None:
                    return self._new("response", event, "response to no request")
                key = (exchange.request_frame.seq, id_key(exchange.request.id))
                return self._new("response", event, f"response to {exchange.request.method}", key)
            case NotificationSent():
                return self._notification(event, is_client=is_client)
            case Malformed():
                return self._new("malformed", event, "malformed message")
            case Updated():
                return self._update(event)
            case _:
                return None

    def _new(
        self, kind: EventKind, event: SessionEvent, name: str = "", key: Hashable = None
    ) -> Event:
        frame, message = event.frame, event.message
        if isinstance(message, Request | Notification):
            name = name or message.method
        period = self.session(event.session).period
        return Event(
            kind, frame.side, event.session, name, frame.seq, frame.time, message, key,
            period=period,
        )  # fmt: skip

    def _notification(self, event: NotificationSent, *, is_client: bool) -> Event:
        message = cast("Notification", event.message)
        request_id = get(message.params, "requestId")
        if is_client:
            if message.method == "$/cancel_request":
                event = replace(event, session=self._session_of(request_id))
            return self._new("call", event)
        if message.method == "$/cancel_request":
            return self._new("cancel", event, key=_id_key(request_id))
        found = self._new("update", event, key=message.method)
        return self._count_update(found)

    def _session_of(self, request_id: Json) -> str | None:
        for exchange in self.exchanges.open():
            if exchange.requester == "client" and exchange.request.id == request_id:
                return exchange.session
        return None

    def _update(self, event: Updated) -> Event:
        name, update = event.kind or "update of no kind", event.update
        found = self._new("update", event, name, name)
        text = get_text(get(update, "content"), "text") if name.endswith("_chunk") else None
        call = get_text(update, "toolCallId") if isinstance(event, CallChanged) else None
        is_idle = isinstance(event, StateChanged) and get(update, "state") == "idle"
        if is_idle and (event.turn is None or event.turn.ended is not None):
            found.kind = "idle"
        elif call is not None:
            status = get(update, "status")
            rank = _RANKS.get(status, 0) if isinstance(status, str) else 0
            found.kind, found.key = "tool call", call
            found.amount = max(self.amount(event.session, "tool call", call), rank)
            self._amounts[event.session, "tool call", call] = found.amount
        elif text is not None:
            found.kind = "text"
            found.amount = self._add(len(text), event.session, "text", found.period, name)
        else:
            self._count_update(found)
        return found

    def _count_update(self, event: Event) -> Event:
        self._add(1, event.session, "update", event.period, event.name)
        event.amount = self._add(1, event.session, "update", event.name)
        return event

    def _add(self, amount: int, *key: Hashable) -> int:
        self._amounts[key] = self._amounts.get(key, 0) + amount
        return self._amounts[key]


@dataclass(slots=True, eq=False)
class ScriptStep:
    """A frame of the client."""

    frame: Frame
    index: int
    """Its position among all frames."""
    name: str
    sessions: frozenset[str | None]
    is_call: bool
    """Whether it has a request or a notification; a response otherwise."""
    needs: list[Event]
    """The events of the agent that it waits for."""
    after: float
    """The recorded time of the last thing that it followed."""
    requests: list[Event]
    """What it responds to."""
    orphan: RequestId = None
    """The id of a response whose request is missing in the recording."""
    follows_time: bool = False
    """Whether it was sent within a turn in which nothing had happened since the last call."""


class ClientScript:
    """The client's frames in order, and what the agent sent."""

    def __init__(
        self, frames: Sequence[Frame], *, has_gaps: bool = False, dialect: str | None = None
    ) -> None:
        """Read the frames of one connection.

        Args:
            frames: The frames.
            has_gaps: Frames may be missing, so a response without a request waits for a request
                that has the same id.
            dialect: The dialect of the frames; None: it is recognised.
        """
        self.frames = frames
        self.steps: list[ScriptStep] = []
        self.requests: list[Event] = []
        """What the agent requested."""
        self.responses: dict[Hashable, Event] = {}
        """The agent's responses, by the frame and the id of their request."""
        self.tool_calls: dict[tuple[str | None, Hashable], Event] = {}
        """The first update of each tool call, by session and id."""
        self.events: list[Event] = []
        """All events of the agent."""
        self.cancels: list[Event] = []
        """Each `session/cancel` of the client in a session with a turn."""
        self.run = ConnectionEvents(dialect)
        self._has_gaps = has_gaps
        self._cancels: dict[Hashable, Event] = {}
        """The cancellation of each request of the agent."""
        self._next: dict[str | None, int] = {}
        """For each session, the first event that no earlier frame of it has waited for."""
        self._last_call = 0.0
        for index, frame in enumerate(frames):
            open_sessions = self.run.working
            events = self.run.apply(frame)
            if frame.side == "client":
                self.steps.append(self._step(frame, index, events, open_sessions))
            else:
                for event in events:
                    self._add(event)

    @property
    def is_open_ended(self) -> bool:
        """Whether the recording ends in a turn."""
        return bool(self.run.working)

    def turn_end(self, cancel: Event) -> float:
        """Return the number of the frame that ends a cancelled turn; infinity without one."""
        for event in self.events:
            if event.seq > cancel.seq and event.session == cancel.session and event.ends_turn:
                return event.seq
        return math.inf

    def _add(self, event: Event) -> None:
        self.events.append(event)
        match event.kind:
            case "request":
                event.key = len(self.requests)
                self.requests.append(event)
            case "response" if event.key is not None:
                self.responses.setdefault(event.key, event)
            case "cancel":
                # The key becomes that of the request.
                open_ = (each for each in reversed(self.requests) if request_id(each) == event.key)
                found = next(open_, None)
                event.key = None if found is None else found.key
                self._cancels[event.key] = event
            case "tool call":
                self.tool_calls.setdefault((event.session, event.key), event)
            case _:
                pass

    def _step(
        self, frame: Frame, index: int, events: Sequence[Event], open_sessions: set[str | None]
    ) -> ScriptStep:
        calls = [event for event in events if event.kind != "response"]
        self.cancels += [
            event
            for event in calls
            if event.name == "session/cancel" and event.session in self.run.working
        ]
        requests: list[Event] = []
        orphan: RequestId = None
        for event in events:
            if event.kind == "response":
                found = self._request_of(event)
                requests += [] if found is None else [found]
                if found is None and self._has_gaps and _response_id(event) is not None:
                    orphan = _response_id(event)
        is_call = bool(calls) or not (requests or orphan is not None)
        # A request that the agent cancels gets its response after that.
        needs = requests + [
            self._cancels[each.key] for each in requests if each.key in self._cancels
        ]
        sessions = frozenset(event.session for event in events) or frozenset({None})
        if is_call:
            needs += self._preceding(sessions, open_sessions)
        name = " and ".join(dict.fromkeys(event.name for event in events)) or "a line"
        times = [event.time for event in needs]
        after = max([*times, self._last_call])
        self._last_call = frame.time if is_call else self._last_call
        signs = (each for each in needs if each.is_reaction and each.name not in ASYNCHRONOUS)
        follows_time = is_call and bool(sessions & open_sessions) and not any(signs)
        return ScriptStep(
            frame, index, name, sessions, is_call, needs, after, requests, orphan, follows_time
        )

    def _request_of(self, response: Event) -> Event | None:
        for request in reversed(self.requests):
            if response.key == (request.seq, request_id(request)):
                return request
        return None

    def _preceding(
        self, sessions: Iterable[str | None], open_sessions: set[str | None]
    ) -> list[Event]:
        """Return what a call of these sessions followed and no earlier one has waited for."""
        is_global = None in sessions
        begin = min(self._next.get(session, 0) for session in sessions)
        found: dict[Hashable, Event] = {}
        for event in self.events[begin:]:
            is_concerned = is_global or event.session is None or event.session in sessions
            # A call without a session reacts to no work of a session.
            is_other_work = is_global and event.is_reaction and event.session in open_sessions
            if event.kind == "malformed" or not is_concerned or is_other_work:
                continue
            if event.is_reaction and event.kind != "request":
                # Of the states of one text or tool call the last is needed.
                key = (event.session, event.period, event.kind, event.name, event.key)
                if event.kind == "tool call":
                    key = (event.session, event.key)
                found.pop(key, None)
                found[key] = event
            else:
                found[id(event)] = event
        for session in sessions:
            self._next[session] = len(self.events)
        return list(found.values())


def request_id(event: Event) -> Hashable:
    """Return a key for the id of a request; None for anything else."""
    return id_key(event.message.id) if isinstance(event.message, Request) else None


def _id_key(value: Json) -> Hashable:
    return id_key(value) if isinstance(value, str | int) else None


def _response_id(event: Event) -> RequestId:
    message = event.message
    return message.id if isinstance(message, SuccessResponse | ErrorResponse) else None
