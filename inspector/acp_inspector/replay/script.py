"""What the client of a recording did, and what each of its frames followed.

`Run` reads the frames of one connection, recorded or live, and turns them into events. `Script`
derives from the events of a recording what each client frame waits for: never how much the agent
had sent, always what.

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
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from acp_inspector.journal import Frame
from acp_inspector.messages import Decoder
from acp_inspector.session.exchanges import Exchange, Exchanges
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
from acp_protocol.schema.vocabulary import ASYNCHRONOUS, CALL_UPDATES, FINAL_STATUSES

EventKind: TypeAlias = Literal[
    "call", "response", "request", "cancel", "text", "tool call", "update", "idle", "malformed"
]
"""`call`: a request or a notification of the client; `response`: of either side; `request`: of the
agent; `cancel`: the agent's `$/cancel_request`; `idle`: the end of a turn in version 2; the others
are notifications of the agent."""

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

    @property
    def params(self) -> Json:
        """The params of a request or notification; None for anything else."""
        return self.message.params if isinstance(self.message, Request | Notification) else None

    @property
    def is_reaction(self) -> bool:
        """Whether it is a sign of work in a turn, and neither a response nor the turn's end."""
        return self.kind in {"request", "cancel", "text", "tool call", "update"}


@dataclass(slots=True)
class SessionProgress:
    """How far one session is."""

    open_prompts: set[Hashable] = field(default_factory=set[Hashable])
    prompts: int = 0
    period: int = 0
    texts: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Characters by period and kind."""
    tool_calls: dict[str, int] = field(default_factory=dict[str, int])
    """The highest rank by id."""
    updates: set[Hashable] = field(default_factory=set[Hashable])
    """Period and kind of other updates."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """How many of these have come by kind."""

    def add_update(self, name: str) -> int:
        """Count an update; return how many of its kind there are."""
        self.updates.add((self.period, name))
        self.counts[name] = self.counts.get(name, 0) + 1
        return self.counts[name]


class LiveRun:
    """The events of one connection."""

    def __init__(self) -> None:
        self.decoder = Decoder()
        self.exchanges = Exchanges()
        self.sessions: dict[str | None, SessionProgress] = {}

    def session(self, id_: str | None) -> SessionProgress:
        return self.sessions.setdefault(id_, SessionProgress())

    @property
    def has_open_turn(self) -> bool:
        return any(session.open_prompts for session in self.sessions.values())

    @property
    def owes_response(self) -> bool:
        """Whether a request of the client has no response yet, or a turn has not ended."""
        waiting = (exchange.requester == "client" for exchange in self.exchanges.open())
        return any(waiting) or self.has_open_turn

    def apply(self, frame: Frame) -> list[Event]:
        """Read the next frame and return its events; an unreadable one is one event too."""
        paired = self.exchanges.pair(self.decoder.decode(frame))
        return [self._event(frame, message, exchange) for message, exchange in paired]

    def _event(self, frame: Frame, message: Message, exchange: Exchange | None) -> Event:
        match message:
            case Request(method=method, params=params):
                session = get_text(params, "sessionId")
                kind: EventKind = "call" if frame.side == "client" else "request"
                event = self._new(kind, frame, session, method, message)
                if kind == "call" and method == "session/prompt":
                    self._begin_turn(event, (frame.seq, id_key(message.id)))
                return event
            case SuccessResponse() | ErrorResponse():
                return self._response(frame, message, exchange)
            case Notification(method="session/update", params=params) if frame.side == "agent":
                return self._update(frame, message, get_text(params, "sessionId"), params)
            case Notification(method=method, params=params):
                session = get_text(params, "sessionId")
                if method == "$/cancel_request" and frame.side == "client":
                    session = self._session_of(get(params, "requestId"))
                if frame.side == "client":
                    return self._new("call", frame, session, method, message)
                if method == "$/cancel_request":
                    key = _id_key(get(params, "requestId"))
                    return self._new("cancel", frame, session, method, message, key)
                event = self._new("update", frame, session, method, message, method)
                event.amount = self.session(session).add_update(method)
                return event
            case _:
                return self._new("malformed", frame, None, "malformed message", message)

    def _new(
        self,
        kind: EventKind,
        frame: Frame,
        session: str | None,
        name: str,
        message: Message,
        key: Hashable = None,
    ) -> Event:
        period = self.session(session).period
        return Event(
            kind, frame.side, session, name, frame.seq, frame.time, message, key, period=period
        )

    def _session_of(self, request_id: Json) -> str | None:
        for exchange in self.exchanges.open():
            if exchange.requester == "client" and exchange.request.id == request_id:
                return exchange.session
        return None

    def _begin_turn(self, event: Event, key: Hashable) -> None:
        session = self.session(event.session)
        session.prompts += 1
        if not session.open_prompts:
            session.period = session.prompts
        session.open_prompts.add(key)
        event.period = session.period

    def _response(
        self, frame: Frame, message: SuccessResponse | ErrorResponse, exchange: Exchange | None
    ) -> Event:
        if exchange is None:
            return self._new("response", frame, None, "response to no request", message)
        method, session = exchange.request.method, exchange.session
        result = message.result if isinstance(message, SuccessResponse) else None
        if session is None and method.startswith("session/"):
            session = get_text(result, "sessionId")
        key = (exchange.request_frame.seq, id_key(exchange.request.id))
        event = self._new("response", frame, session, f"response to {method}", message, key)
        if exchange.has_ended_turn:
            self.session(session).open_prompts.discard(key)
        return event

    def _update(
        self, frame: Frame, message: Notification, session: str | None, params: Json
    ) -> Event:
        update = get(params, "update")
        name = get_text(update, "sessionUpdate") or "update of no kind"
        progress = self.session(session)
        event = self._new("update", frame, session, name, message, name)
        text = get_text(get(update, "content"), "text") if name.endswith("_chunk") else None
        call = get_text(update, "toolCallId") if name in CALL_UPDATES else None
        if name == "state_update" and get(update, "state") == "idle":
            event.kind = "idle"
            progress.open_prompts.clear()
        elif call is not None:
            status = get(update, "status")
            rank = _RANKS.get(status, 0) if isinstance(status, str) else 0
            event.kind, event.key = "tool call", call
            event.amount = max(progress.tool_calls.get(call, 0), rank)
            progress.tool_calls[call] = event.amount
        elif text is not None:
            event.kind = "text"
            key = (progress.period, name)
            event.amount = progress.texts[key] = progress.texts.get(key, 0) + len(text)
        else:
            event.amount = progress.add_update(name)
        return event


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


class Script:
    """The client's frames in order, and what the agent sent."""

    def __init__(self, frames: Sequence[Frame], *, has_gaps: bool = False) -> None:
        """Read the frames of one connection.

        `has_gaps`: frames may be missing, so a response without a request waits for a request that
        has the same id.
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
        """Each `session/cancel` of the client."""
        self.run = LiveRun()
        self._has_gaps = has_gaps
        self._cancels: dict[Hashable, Event] = {}
        """The cancellation of each request of the agent."""
        self._next: dict[str | None, int] = {}
        """For each session, the first event that no earlier frame of it has waited for."""
        self._last_call = 0.0
        for index, frame in enumerate(frames):
            open_sessions = {id_ for id_, each in self.run.sessions.items() if each.open_prompts}
            events = self.run.apply(frame)
            if frame.side == "client":
                self.steps.append(self._step(frame, index, events, open_sessions))
            else:
                for event in events:
                    self._add(event)

    @property
    def is_open_ended(self) -> bool:
        """Whether the recording ends in a turn."""
        return self.run.has_open_turn

    def turn_end(self, cancel: Event) -> float:
        """Return the number of the frame that ends a cancelled turn; infinity without one."""
        for event in self.events:
            is_end = event.kind == "idle" or event.name == "response to session/prompt"
            if event.seq > cancel.seq and event.session == cancel.session and is_end:
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
        self.cancels += [event for event in calls if event.name == "session/cancel"]
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
