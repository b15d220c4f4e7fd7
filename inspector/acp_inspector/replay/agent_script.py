"""The agent of a recording as a script: what it sends, and what each message waits for.

Each request of the recorded client has a scene: the messages that the agent sent because of it, in
their order. Recordings do not say why an agent sent something, so the scene is found by session: an
update belongs to the open prompt of its session, or else to the last request about that session.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from acp_inspector.compare.likeness import Content, content
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.messages import DecodedFrame
from acp_inspector.session.events import (
    RequestSent,
    SessionEvent,
    TurnEnded,
)
from acp_inspector.session.exchanges import Exchange, Exchanges
from acp_inspector.session.fold import Sessions
from acp_inspector.session.turn import SessionTurn
from acp_protocol.dialects.base import session_in
from acp_protocol.json_values import as_list, as_object, as_text, get, get_string, get_text
from acp_protocol.jsonrpc import (
    INVALID_REQUEST,
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    id_key,
    message_spans,
)
from acp_protocol.schema.vocabulary import ASYNCHRONOUS, CANCELLING

MAX_FOLLOWED: Final = 64
"""Messages of the client that came before one of the agent by chance and are waited for."""


@dataclass(slots=True, eq=False)
class Cue:
    """A message of the recorded client."""

    at: int
    """Its place among the messages of both sides."""
    frame: Frame
    message: Message
    method: str
    """Its method; the `type` of an object that is no JSON-RPC; empty for a response."""
    params: Json
    session: str | None
    turn: SessionTurn | None = None
    """The turn of a prompt."""
    opened: str | None = None
    """The session that the response to it names."""
    scene: list[ScriptLine] | None = None
    """What the agent sends because of it; None if it is neither a request nor such an object."""
    is_answered: bool = False
    """Whether the recording has its response."""
    refusal: ScriptLine | None = None
    """The error response without an id that it got, if the agent could not read it."""
    is_used: bool = False
    """Whether the live client has sent it."""
    is_waived: bool = False
    """Whether it is not waited for any more."""
    _content: Content | None = None

    @property
    def id(self) -> RequestId:
        return None if isinstance(self.message, Notification | Batch) else self.message.id

    @property
    def content(self) -> Content:
        """What it is about."""
        if self._content is None:
            self._content = content(self.params)
        return self._content

    @property
    def name(self) -> str:
        return f"{self.method or 'a response'} (recorded frame {self.frame.seq})"


@dataclass(slots=True, eq=False)
class ScriptLine:
    """A message of the recorded agent."""

    at: int
    frame: Frame
    message: Message
    value: Json
    """The message as JSON; None if it is none."""
    raw: bytes
    """Its bytes, which are a part of the frame if it was sent in an array."""
    is_in_array: bool = False
    """Whether it was sent in an array."""
    is_response: bool = False
    """Whether it is the response to the request of its scene."""
    reply: Cue | None = None
    """The recorded client's response, if it is a request that has one."""
    needs: list[Cue] = field(default_factory=list[Cue])
    """What the agent waited for."""
    follows: list[Cue] = field(default_factory=list[Cue])
    """What came before it by chance, such as a prompt in another session."""
    pause: float = 0.0
    """Seconds since the last of what it waited for."""

    @property
    def name(self) -> str:
        match self.message:
            case Request(method=method) | Notification(method=method):
                what = method
            case SuccessResponse() | ErrorResponse():
                what = "a response"
            case _:
                what = "a malformed message"
        return f"{what} (recorded frame {self.frame.seq})"


class AgentScript:
    """The scenes of one connection."""

    def __init__(
        self, entries: Sequence[Entry], *, is_complete: bool = True, dialect: str | None = None
    ) -> None:
        """Read a connection.

        Args:
            entries: Its entries.
            is_complete: Nothing is missing at its end.
            dialect: The dialect of its frames; None: it is recognised.
        """
        self.dialect = dialect
        self.entries: list[Entry] = list(entries)
        self.cues: list[Cue] = []
        """All messages of the client."""
        self.opening: list[ScriptLine] = []
        """What the agent sent before the client sent anything."""
        self.astray: list[Cue] = []
        """Responses to no request."""
        self.requests: dict[str, list[Cue]] = {}
        """The messages with a scene, by method."""
        self.others: dict[str, list[Cue]] = {}
        """Notifications, by method."""
        self.arrays: dict[int, int] = {}
        """The arrays of the agent, by frame: how many messages each has that are no response."""
        self.sessions: set[str] = set()
        self.is_complete = is_complete
        self.notes: list[str] = []
        """What is missing or wrong in the recording."""
        self._open: list[Cue] = []
        self._last: dict[str | None, Cue] = {}
        self._cues: dict[Exchange, Cue] = {}
        """Requests of the client."""
        self._replies: dict[Exchange, Cue] = {}
        """Responses of the client."""
        self._agent_requests: dict[Exchange, tuple[ScriptLine, list[ScriptLine]]] = {}
        """Requests of the agent, each with its scene."""
        self._ends: set[int] = set()
        """The frames in which turns end."""
        self._read()
        self._link()
        self.has_agent_left = self._left()

    @property
    def frames(self) -> list[Frame]:
        return [entry for entry in self.entries if isinstance(entry, Frame)]

    def _read(self) -> None:
        exchanges, sessions = Exchanges(), Sessions(self.dialect)
        read: list[tuple[Frame, Message, Json, Exchange | None]] = []
        raws: list[bytes] = []
        """The bytes of each message, also in an array."""
        turns: list[SessionTurn | None] = []
        for frame in self.frames:
            decoded = sessions.decoder.decode(frame)
            empty = InvalidMessage("an empty batch", INVALID_REQUEST, frame.data)
            # The messages as they were sent, since they are sent again.
            paired = exchanges.pair(DecodedFrame(frame, decoded.message)) or ((empty, None),)
            values = as_list(decoded.value) or [decoded.value] * len(paired)
            read += (
                (frame, message, value, exchange)
                for (message, exchange), value in zip(paired, values, strict=True)
            )
            is_array = isinstance(decoded.message, Batch) and bool(decoded.value)
            spans = message_spans(frame.data) if is_array else [(0, len(frame.data))]
            raws += (frame.data[start:end] for start, end in spans)
            meant = sessions.exchanges.pair(decoded)
            events = [event for each in meant for event in sessions.apply(frame, *each)]
            turns += self._turns_of(events, len(paired))
        results = {
            exchange: message.result
            for _, message, _, exchange in read
            if exchange is not None and isinstance(message, SuccessResponse)
        }
        for at, (frame, message, value, exchange) in enumerate(read):
            if frame.side == "client":
                self._add_cue(at, frame, message, value, exchange, results).turn = turns[at]
            else:
                self._add_line(at, frame, message, value, exchange, raws[at])
        self._note_gaps(exchanges)

    def _turns_of(self, events: Iterable[SessionEvent], count: int) -> list[SessionTurn | None]:
        """Return the turn that each of the messages of a frame begins or joins, if it is a prompt.

        A dialect may send in one message what several official ones say.
        """
        found: list[SessionTurn | None] = []
        for event in events:
            match event:
                case RequestSent(message=Request(method="session/prompt"), turn=turn):
                    found.append(turn)
                case TurnEnded(frame=frame):
                    self._ends.add(frame.seq)
                case _ if event.is_fact:
                    found.append(None)
                case _:
                    pass
        turn = next(filter(None, found), None)
        return found if len(found) == count else [turn] * count

    def _add_cue(
        self,
        at: int,
        frame: Frame,
        message: Message,
        value: Json,
        exchange: Exchange | None,
        results: Mapping[Exchange, Json],
    ) -> Cue:
        method, params = "", value
        has_scene = False
        match message:
            case Request():
                method, params, has_scene = message.method, message.params, True
            case Notification():
                method, params = message.method, message.params
            case InvalidMessage(is_response=False):
                # A dialect has prompts without JSON-RPC.
                method = get_text(value, "method") or get_string(value, "type")
                has_scene = bool(method)
            case _:
                pass
        cue = Cue(at, frame, message, method, params, session_in(params))
        self.cues.append(cue)
        if cue.session is not None:
            self.sessions.add(cue.session)
        if isinstance(message, SuccessResponse | ErrorResponse):
            if exchange is not None:
                self._replies[exchange] = cue
            else:
                self.astray.append(cue)
        elif not has_scene:
            self.others.setdefault(method, []).append(cue)
        else:
            if exchange is not None:
                self._cues[exchange] = cue
                cue.opened = session_in(results.get(exchange))
                cue.is_answered = exchange.response_frame is not None
            cue.scene = []
            self.requests.setdefault(method, []).append(cue)
            self._open.append(cue)
            for session in {cue.session, cue.opened, None}:
                self._last[session] = cue
        return cue

    def _add_line(
        self,
        at: int,
        frame: Frame,
        message: Message,
        value: Json,
        exchange: Exchange | None,
        raw: bytes,
    ) -> None:
        line = ScriptLine(at, frame, message, value, raw, len(raw) < len(frame.data))
        if isinstance(message, ErrorResponse) and message.id is None and exchange is None:
            self._add_refusal(line)
            return
        if isinstance(message, Request) and exchange is not None:
            scene = self._scene_of(message)
            self._agent_requests[exchange] = line, scene
        elif exchange is not None and (cue := self._cues.get(exchange)) is not None:
            line.is_response = True
            scene = cue.scene if cue.scene is not None else self.opening
            # In version 2 a turn goes on after the response to its prompt.
            if cue.turn is None or isinstance(message, ErrorResponse):
                self._close(cue)
        else:
            scene = self._scene_of(message)
        scene.append(line)
        if not line.is_response and line.is_in_array:
            self.arrays[frame.seq] = self.arrays.get(frame.seq, 0) + 1
        if frame.seq in self._ends:
            for cue in [each for each in self._open if each.turn is not None]:
                if cue.turn is not None and cue.turn.ended == frame.seq:
                    self._close(cue)

    def _add_refusal(self, line: ScriptLine) -> None:
        """Add the error response to a message that the agent could not read.

        In a batch the endpoint makes them.
        """
        if line.message.raw:
            for cue in reversed(self.cues):
                if isinstance(cue.message, InvalidMessage) and cue.refusal is None:
                    cue.refusal = line
                    if cue.scene is not None:
                        cue.scene.append(line)
                    break

    def _close(self, cue: Cue) -> None:
        if cue in self._open:
            self._open.remove(cue)

    def _scene_of(self, message: Message) -> list[ScriptLine]:
        """Return the scene that a message of the agent belongs to."""
        params = message.params if isinstance(message, Request | Notification) else None
        session = session_in(params)
        found = [each for each in self._open if session in {None, each.session, each.opened}]
        kind = get_text(get(params, "update"), "sessionUpdate")
        is_apart = kind in ASYNCHRONOUS
        likely = [each for each in found if (each.turn is not None) is not is_apart]
        cues = likely or found
        cue = cues[-1] if cues else self._last.get(session, self._last.get(None))
        return self.opening if cue is None or cue.scene is None else cue.scene

    def _link(self) -> None:
        """Set what each message waits for."""
        own: dict[Cue, list[ScriptLine]] = {}
        """The scene that waits for each response of the client."""
        for exchange, (line, scene) in self._agent_requests.items():
            line.reply = self._replies.get(exchange)
            if line.reply is not None:
                own[line.reply] = scene
        scenes = [(None, self.opening), *((cue, cue.scene) for cue in self.cues if cue.scene)]
        for owner, scene in scenes:
            at, time = (-1, 0.0) if owner is None else (owner.at, owner.frame.time)
            for line in scene:
                for cue in self._between(at, line.at):
                    if cue in own:
                        line.needs += [cue] if own[cue] is scene else []
                    elif cue.method in CANCELLING:
                        line.needs += [cue] if owner is not None and cancels(cue, owner) else []
                    elif cue.scene is not None or isinstance(cue.message, Notification):
                        line.follows.append(cue)
                line.follows = line.follows[-MAX_FOLLOWED:]
                time = max([time, *(each.frame.time for each in (*line.needs, *line.follows))])
                line.pause = max(0.0, line.frame.time - time)
                at, time = line.at, max(time, line.frame.time)

    def _between(self, start: int, end: int) -> list[Cue]:
        low = bisect_right(self.cues, start, key=lambda cue: cue.at)
        return self.cues[low : bisect_left(self.cues, end, key=lambda cue: cue.at)]

    def _note_gaps(self, exchanges: Exchanges) -> None:
        lacking = [cue for cue in self._cues.values() if not cue.is_answered]
        if lacking and not self.is_complete:
            names = ", ".join(cue.name for cue in lacking[:3])
            self.notes.append(
                f"the recording lacks the response to {names}: the client gets an error"
            )
        self.notes += [f"frame {fault.frame.seq}: {fault.why}" for fault in exchanges.faults[:3]]
        if more := len(exchanges.faults[3:]):
            self.notes.append(f"and {more} more responses or requests that match no other")
        if self.cues and "initialize" not in self.requests:
            self.notes.append("the recording lacks initialize: the client gets a minimal response")

    def _left(self) -> bool:
        """Return whether the agent ended while a request of the client was open."""
        events = [each for each in self.entries if isinstance(each, JournalEvent)]
        ends = [each for each in events if each.name in {"eof", "exit"}]
        is_first = bool(ends) and ends[0].data.get("from") != "client"
        return is_first and any(not cue.is_answered for cue in self._cues.values())


def places(params: Json) -> list[str]:
    """Return the directories that params name."""
    members = as_object(params)
    cwd = as_text(members.get("cwd", members.get("working_dir")))
    more = as_list(members.get("additionalDirectories"))
    named = [cwd, *(each for each in more if isinstance(each, str))]
    return [each.rstrip("/") for each in named if each and each.strip("/")]


def cancels(cue: Cue, owner: Cue) -> bool:
    """Return whether a message cancels a request, or something in its session."""
    named = get(cue.params, "requestId")
    if cue.method == "$/cancel_request":
        return isinstance(named, str | int) and id_key(named) == id_key(owner.id)
    return cue.session is None or cue.session == owner.session
