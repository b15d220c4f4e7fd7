"""The one fold from the messages of a connection to what happened in its sessions.

When a turn begins and ends is defined here, for both versions and all dialects:

- A prompt begins a turn. In version 2 it joins the turn that runs in its session, if any; and a
  `state_update` other than `idle` begins a turn if none runs.
- A response with a stop reason ends the turn of its prompt. In version 1 a result without one does
  so too; in version 2 it says that the prompt was taken, and the turn goes on
  (`exchanges.ends_turn`).
- An error response ends it too, unless other prompts are in the turn or the agent has reported that
  it runs (version 2).
- In version 2 a `state_update` `idle` ends the turn. Before the agent has begun to work on it, an
  `idle` without a stop reason is about the time before its prompt.
- In a connection that has agreed on version 1, a `state_update` is no sign of a turn.
- Closing or deleting a session ends its turns, except for those whose prompt still has to get its
  response. The end of the process ends all turns.

Only the agent changes sessions with `session/update`, and only the client with prompts.

Source: ACP, Prompt Turn; Session Setup; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.session.events import (
    UPDATES,
    Malformed,
    NotificationSent,
    RequestSent,
    ResponseReceived,
    SessionClosed,
    SessionEvent,
    SessionOpened,
    StateChanged,
    TurnBegan,
    TurnEnded,
    Updated,
)
from acp_inspector.session.exchanges import Exchange, Exchanges, PairedMessage
from acp_inspector.session.turn import AGENT_ENDED, SESSION_CLOSED, SessionTurn
from acp_protocol.dialects.base import Dialect
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import get, get_int, get_string, get_text
from acp_protocol.jsonrpc import (
    AnyResponse,
    ErrorResponse,
    Json,
    Message,
    Notification,
    Request,
    SuccessResponse,
)
from acp_protocol.schema.vocabulary import CLOSING, OPENING, RESTORING

_UPDATES: Final = cast("Mapping[str, type[Updated]]", UPDATES)


@dataclass(slots=True, eq=False)
class Session:
    """How far one session is."""

    id: str | None
    """None: what names no session."""
    is_open: bool = False
    """Whether it was opened by a response, and is not being opened again or closed."""
    prompts: int = 0
    """Prompts so far."""
    period: int = 0
    """The number of the prompt that began the current or last work; 0 before any."""
    received_at: float = 0.0
    """When its agent sent an update or a request last, in seconds since the journal began."""
    turns: dict[SessionTurn, None] = field(default_factory=dict[SessionTurn, None])
    """The turns that run, oldest first; of version 2 one at most."""

    @property
    def turn(self) -> SessionTurn | None:
        """The newest turn that runs."""
        return next(reversed(self.turns), None)


class Sessions:
    """What has happened in a connection so far; never raises on what a peer sends."""

    def __init__(
        self, dialect: Dialect | str | None = None, *, exchanges: Exchanges | None = None
    ) -> None:
        """Begin a connection.

        Args:
            dialect: the dialect of its frames, or its name; None: recognise it.
            exchanges: pairs its requests and responses; by default all are kept.
        """
        self.decoder = Decoder(dialect)
        self.decoded: DecodedFrame | None = None
        """The last frame."""
        self.exchanges = Exchanges() if exchanges is None else exchanges
        self.sessions: dict[str | None, Session] = {}
        self.version = 1
        """The protocol version that was agreed on."""
        self._has_states = True
        """Whether `state_update` counts: unless version 1 was agreed on."""
        self._turns = 0
        """Turns that have begun, in all sessions."""
        self._prompts: dict[Exchange, SessionTurn] = {}
        """The turns of prompts without a response."""

    def session(self, id_: str | None) -> Session:
        """Return a session; one that nothing is known of has just begun."""
        found = self.sessions.get(id_)
        if found is None:
            found = self.sessions[id_] = Session(id_)
        return found

    def pair(self, frame: Frame) -> tuple[PairedMessage, ...]:
        """Decode the next frame; return its messages, each with its exchange, for `apply`."""
        self.decoded = self.decoder.decode(frame)
        return self.exchanges.pair(self.decoded)

    def fact_as_sent(self) -> RequestSent | ResponseReceived | None:
        """Return the fact of the last frame that none of its messages gives: see `unmeant`.

        It is none of the events, because it changes no session.
        """
        sent = None if self.decoded is None else self.decoded.unmeant
        if sent is None or self.decoded is None:
            return None
        exchange = next(iter(self.exchanges.all_of(sent.frame)), None)
        turn = self._turn(sent.session)
        if not isinstance(sent.meaning, Request):
            return ResponseReceived(sent.frame, sent.meaning, sent.session, turn, exchange)
        if self.decoded.parts:
            # The notification that it means has the fact.
            return None
        return RequestSent(sent.frame, sent.meaning, sent.session, turn, exchange)

    def feed(self, frame: Frame) -> list[SessionEvent]:
        """Read the next frame and return its events."""
        return self.apply_all(frame, self.pair(frame))

    def apply_all(self, frame: Frame, paired: Iterable[PairedMessage]) -> list[SessionEvent]:
        """Read the messages that `pair` has returned; return their events."""
        events: list[SessionEvent] = []
        for message, exchange in paired:
            events += self.apply(frame, message, exchange)
        return events

    def read(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, list[SessionEvent]]]:
        """Read the entries of a recording; yield each with its events."""
        for entry in entries:
            if isinstance(entry, JournalEvent):
                self.note(entry)
            yield entry, self.feed(entry) if isinstance(entry, Frame) else []

    def apply(
        self, frame: Frame, message: Message, exchange: Exchange | None
    ) -> list[SessionEvent]:
        """Read the next message of those that `pair` has returned; return its events."""
        match message:
            case Notification(method="session/update", params=params) if frame.side == "agent":
                return self._update(frame, message, params)
            case Notification(params=params):
                id_ = session_in(params)
                return [NotificationSent(frame, message, id_, self._turn(id_))]
            case Request():
                return self._request(frame, message, exchange)
            case SuccessResponse() | ErrorResponse():
                return self._response(frame, message, exchange)
            case _:
                return [Malformed(frame, message, None, None)]

    def note(self, event: JournalEvent) -> list[SessionTurn]:
        """Take what an event says of the connection; return the turns that end."""
        if event.begins_connection:
            return self.restart(event.seq, event.time)
        self.decoder.note(event)
        return []

    def restart(self, n: int, at: float) -> list[SessionTurn]:
        """Begin a new connection with entry `n`; return the turns that end, which are all.

        Args:
            n: Number of the entry that reports the new process.
            at: Its time, in seconds since the journal began.
        """
        self.decoder.restart()
        self.exchanges.restart(n)
        self.version, self._has_states = 1, True
        self._prompts.clear()
        ended: list[SessionTurn] = []
        for session in self.sessions.values():
            session.is_open = False
            for turn in session.turns:
                turn.end(n, at, error=AGENT_ENDED)
            ended += session.turns
            session.turns.clear()
        return ended

    def _turn(self, id_: str | None) -> SessionTurn | None:
        session = self.sessions.get(id_)
        return session.turn if session is not None else None

    # Requests

    def _request(
        self, frame: Frame, request: Request, exchange: Exchange | None
    ) -> list[SessionEvent]:
        id_ = session_in(request.params)
        if frame.side == "client":
            if request.method == "session/prompt":
                return self._prompt(frame, request, self.session(id_), exchange)
            if id_ is not None and request.method in RESTORING:
                self.session(id_).is_open = False
        elif id_ in self.sessions:
            self.sessions[id_].received_at = frame.time
        return [RequestSent(frame, request, id_, self._turn(id_), exchange)]

    def _prompt(
        self, frame: Frame, request: Request, session: Session, exchange: Exchange | None
    ) -> list[SessionEvent]:
        session.prompts += 1
        began: list[SessionEvent] = []
        turn = session.turn
        if turn is None or self.version != 2:
            turn = self._begin(frame, session)
            began = [TurnBegan(frame, request, session.id, turn)]
        turn.prompts += 1
        turn.unanswered += 1
        if exchange is not None:
            self._prompts[exchange] = turn
        return [RequestSent(frame, request, session.id, turn, exchange), *began]

    def _begin(self, frame: Frame, session: Session, *, is_prompted: bool = True) -> SessionTurn:
        if not session.turns:
            session.period = session.prompts
        self._turns += 1
        turn = SessionTurn(self._turns, session.id or "", frame.seq, frame.time, is_prompted)
        session.turns[turn] = None
        return turn

    # Responses

    def _response(
        self, frame: Frame, response: AnyResponse, exchange: Exchange | None
    ) -> list[SessionEvent]:
        if exchange is None:
            return [ResponseReceived(frame, response, None, None, None)]
        method, id_ = exchange.request.method, session_in(exchange.request.params)
        result = response.result if isinstance(response, SuccessResponse) else None
        if id_ is None and method.startswith("session/"):
            # It precedes everything else in the session that it opens.
            id_ = session_in(result)
        if exchange.requester == "agent":
            return [ResponseReceived(frame, response, id_, self._turn(id_), exchange)]
        if method == "session/prompt":
            return self._prompt_response(frame, response, self.session(id_), exchange)
        fact = ResponseReceived(frame, response, id_, self._turn(id_), exchange)
        if method == "initialize" and isinstance(response, SuccessResponse):
            version = get_int(result, "protocolVersion")
            self.version = 2 if version == 2 else 1
            self._has_states = version != 1
        elif method in OPENING and isinstance(response, SuccessResponse):
            # A result that names no session opens the one of the request, even if it is null.
            return [fact, *self._opened(frame, response, session_in(result) or id_, exchange)]
        elif method in CLOSING and isinstance(response, SuccessResponse):
            return [fact, *self._closed(frame, response, id_)]
        return [fact]

    def _opened(
        self, frame: Frame, response: AnyResponse, id_: str | None, exchange: Exchange
    ) -> list[SessionEvent]:
        session = self.session(id_)
        session.is_open = True
        return [SessionOpened(frame, response, id_, session.turn, exchange)]

    def _closed(self, frame: Frame, response: AnyResponse, id_: str | None) -> list[SessionEvent]:
        session = self.session(id_)
        session.is_open = False
        events: list[SessionEvent] = [SessionClosed(frame, response, id_, session.turn)]
        for turn in [each for each in session.turns if not each.unanswered]:
            turn.end(frame.seq, frame.time, error=SESSION_CLOSED)
            del session.turns[turn]
            events.append(TurnEnded(frame, response, id_, turn))
        return events

    def _prompt_response(
        self, frame: Frame, response: AnyResponse, session: Session, exchange: Exchange
    ) -> list[SessionEvent]:
        turn = self._prompts.pop(exchange, None)
        fact = ResponseReceived(frame, response, session.id, turn, exchange)
        if turn is None:
            return [fact]
        turn.unanswered -= 1
        turn.prompts -= isinstance(response, ErrorResponse)
        if not exchange.has_ended_turn or turn not in session.turns:
            return [fact]
        if isinstance(response, ErrorResponse):
            if turn.prompts or turn.has_run:
                return [fact]
            code = response.code if exchange.code is None else exchange.code
            error = str(RequestFailedError(code, response.message, response.data))
            turn.end(frame.seq, frame.time, error=error)
        else:
            result = response.result
            stop_reason = get_text(result, "stopReason") or None
            turn.end(frame.seq, frame.time, stop_reason, None, get(result, "usage"))
        del session.turns[turn]
        return [fact, TurnEnded(frame, response, session.id, turn)]

    # Updates

    def _update(self, frame: Frame, message: Message, params: Json) -> list[SessionEvent]:
        id_, update = session_in(params), get(params, "update")
        kind = get_string(update, "sessionUpdate")
        session = self.session(id_)
        session.received_at = frame.time
        turn = session.turn
        if turn is not None:
            turn.update(frame, kind)
        event = _UPDATES.get(kind, Updated)
        if event is StateChanged and self._has_states:
            return self._state(frame, message, session, update)
        return [event(frame, message, id_, turn, kind, update)]

    def _state(
        self, frame: Frame, message: Message, session: Session, update: Json
    ) -> list[SessionEvent]:
        turn, meant = session.turn, list[SessionEvent]()
        stop_reason = get_text(update, "stopReason") or None
        if get(update, "state") != "idle":
            if turn is None:
                turn = self._begin(frame, session, is_prompted=False)
                meant = [TurnBegan(frame, message, session.id, turn)]
            turn.has_run = True
        elif turn is not None and (turn.is_under_way or stop_reason is not None):
            error = _error_text(get(update, "error"))
            turn.end(frame.seq, frame.time, stop_reason, error, get(update, "usage"))
            del session.turns[turn]
            meant = [TurnEnded(frame, message, session.id, turn)]
        kind = "state_update"
        return [StateChanged(frame, message, session.id, turn, kind, update), *meant]


def session_in(params: Json) -> str | None:
    """Return the session that params or a result name; None without one."""
    return get_text(params, "sessionId") or None


def _error_text(error: Json) -> str | None:
    if error is None:
        return None
    return f"{get_text(error, 'message') or ''} ({get(error, 'code')})"
