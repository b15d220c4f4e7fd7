"""ACP over HTTP without I/O: the response that a request gets, and the stream of a frame.

A server has one `ServedConnection` for each connection; `read_post` judges a request before it. The
frames of the agent wait in `EventStream`s until a client reads them. What the published draft
leaves open is done as the TypeScript SDK does it; what others do is accepted.

| frame of the agent                              | stream                                        |
|-------------------------------------------------|-----------------------------------------------|
| response to `initialize`                        | none: it is the body of its POST              |
| response to `session/load`                      | of the connection                             |
| response to another request with a session      | of that session, which the header names       |
| response to a request without one               | of the connection                             |
| request, notification with `params.sessionId`   | of that session                               |
| any other                                       | of the connection                             |

Source: ACP, RFD "Streamable HTTP and WebSocket transport"; the durable transport proposal for event
ids; HTML, "Server-sent events".
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from acp_protocol.dialects.base import session_in
from acp_protocol.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorResponse,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode_error,
    frozen_dataclass,
    id_key,
    message_of,
    parse,
    read_message,
)

CONNECTION_HEADER: Final = "acp-connection-id"
SESSION_HEADER: Final = "acp-session-id"
VERSION_HEADER: Final = "acp-protocol-version"
LAST_EVENT_HEADER: Final = "last-event-id"
EVENT_STREAM: Final = "text/event-stream"
JSON_TYPE: Final = "application/json"
MAX_ID: Final = 1024
"""Characters of the id of a session or of a request, at most."""
MAX_COUNTED: Final = 4096
"""Sessions of one connection that are counted, at most."""
SESSION_METHODS: Final = frozenset(
    {
        "session/cancel",
        "session/close",
        "session/delete",
        "session/fork",
        "session/load",
        "session/prompt",
        "session/resume",
        "session/set_config_option",
        "session/set_mode",
        "session/set_model",
    }
)
"""Methods that need a session, in the header or in their params."""
# A union would be made anew for each message.
_CALLS: Final = (Request, Notification)
_RESPONSES: Final = (SuccessResponse, ErrorResponse)


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What one connection may hold."""

    body: int = 32 * 2**20
    """Bytes of a request's body, and of one WebSocket message."""
    unread: int = 64 * 2**20
    """Bytes that wait for readers; the agent waits while there are more."""
    replay: int = 2**20
    """Bytes that are kept after they were read, for `Last-Event-ID`."""
    streams: int = 1024
    """Sessions with unread frames and without a reader."""
    readers: int = 256
    """Streams that are read at once."""
    stall_s: float = 60.0
    """Seconds that the agent waits for a reader before the connection ends."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The response to a request."""

    status: int
    body: bytes = b""
    media_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Posted:
    """A message that a client has posted."""

    message: Message
    raw: bytes
    connection: str | None
    """The connection that it names; None opens one."""
    session: str | None
    """The session that its header names."""


def refusal(status: int, reason: str) -> Reply:
    """Return a refusal whose body is a reason as a sentence; the full stop is added."""
    return Reply(status, f"{reason}.".encode(), "text/plain; charset=utf-8")


def error_reply(status: int, code: int, reason: str, request: RequestId = None) -> Reply:
    """Return a response whose body is an error of JSON-RPC."""
    return Reply(status, encode_error(request, code, reason), JSON_TYPE)


def too_large(limits: HttpLimits) -> Reply:
    return refusal(413, f"The body is larger than {limits.body} bytes")


def read_post(
    headers: Mapping[str, str], body: bytes, limits: HttpLimits, *, has_connection: bool = True
) -> Posted | Reply:
    """Return the message of a POST, or why it is refused before any connection sees it.

    `headers` have names in lower case. With `has_connection` they have to name the connection.
    """
    if len(body) > limits.body:
        return too_large(limits)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON_TYPE:
        return refusal(415, f"The Content-Type has to be {JSON_TYPE}")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        return refusal(415, "The body may not be compressed")
    try:
        value = parse(body)
    except ValueError as problem:
        return error_reply(400, PARSE_ERROR, f"The body cannot be read: {problem}")
    if not isinstance(value, dict):
        what = "an array; ACP has no batches" if isinstance(value, list) else "no object"
        return error_reply(400, INVALID_REQUEST, f"The body is {what}")
    message = message_of(value, body)
    connection, session = headers.get(CONNECTION_HEADER), headers.get(SESSION_HEADER)
    if isinstance(message, Request) and message.method == "initialize":
        if connection is not None:
            return refusal(400, f"initialize opens a connection; send it without {_CONNECTION}")
        if message.id is None:
            return refusal(400, "initialize needs an id")
    elif connection is None and has_connection:
        return refusal(400, f"{_CONNECTION} is missing; a connection begins with initialize")
    return Posted(message, body, connection, session)


_CONNECTION: Final = "Acp-Connection-Id"
_SESSION: Final = "Acp-Session-Id"


@frozen_dataclass
class SseEvent:
    """One event of a stream."""

    number: int
    """It rises from event to event within the connection."""
    frame: bytes
    history: str | None = None
    """The session whose history it ends, which other events tell."""

    def encode(self) -> bytes:
        r"""Return its bytes. They are ASCII: some clients break on a character cut in two."""
        return b"id: %d\ndata: %b\n\n" % (self.number, ascii_json(self.frame))


KEEP_ALIVE: Final = b":\n\n"
"""A comment, which says that the stream is alive."""
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_NEWLINES: Final = re.compile(r"[\r\n]+")


def comment(text: str) -> bytes:
    """Return a comment, which readers of the events skip and people may read."""
    return b": %b\n\n" % text.encode("ascii", "replace").replace(b"\n", b" ")


def ascii_json(frame: bytes) -> bytes:
    r"""Return JSON in one line of ASCII, with `\u` escapes; other frames are decoded first."""
    if frame.isascii() and b"\n" not in frame and b"\r" not in frame:
        return frame
    text = _NEWLINES.sub(" ", frame.decode("utf-8", "replace"))
    if not text.isascii():
        text = _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return text.encode()


@dataclass(slots=True)
class _Totals:
    """Sums over all streams of a connection."""

    unread: int = 0
    replay: int = 0


class EventStream:
    """The frames of one stream, in order; those that were read are kept a while for a new reader.

    `name` is the session's id; None for the stream of the connection.
    """

    def __init__(self, name: str | None, totals: _Totals, numbers: Iterator[int]) -> None:
        self.name = name
        self.has_reader = False
        self.is_writing = False
        """Whether events that were read last wait to be written."""
        self.replay = 0
        """Bytes that were read and are kept."""
        self._totals = totals
        self._numbers = numbers
        self._forgotten = 0
        """The number of the last event that is not kept any more."""
        self._last = 0
        self._read: deque[SseEvent] = deque()
        self._waiting: deque[SseEvent] = deque()

    @property
    def is_unread(self) -> bool:
        return bool(self._waiting)

    @property
    def following(self) -> SseEvent | None:
        """The next event, which is not read yet; None if none waits."""
        return self._waiting[0] if self._waiting else None

    @property
    def next_number(self) -> int | None:
        """The number of the next event; None if none waits."""
        return self._waiting[0].number if self._waiting else None

    def put(self, frame: bytes, history: str | None = None) -> None:
        number = next(self._numbers)
        if not self._last:
            # A stream of that name, of which nothing was left, may have been dropped before.
            self._forgotten = number - 1
        self._last = number
        self._waiting.append(SseEvent(number, frame, history))
        self._totals.unread += len(frame)

    def next(self) -> SseEvent | None:
        """Return the next event, which counts as read now; None if none waits."""
        if not self._waiting:
            return None
        event = self._waiting.popleft()
        self._read.append(event)
        self._count(event, 1)
        return event

    def put_back(self, events: Sequence[SseEvent]) -> None:
        """Make the events that were read last wait again: they could not be written."""
        for event in reversed(events):
            if self._read and self._read[-1] is event:
                self._return_last()
            else:
                # It is not kept any more, as it is larger than what may be.
                self._waiting.appendleft(event)
                self._totals.unread += len(event.frame)
                self._forgotten = min(self._forgotten, event.number - 1)

    def _return_last(self) -> None:
        event = self._read.pop()
        self._waiting.appendleft(event)
        self._count(event, -1)

    def forget(self, size: int) -> None:
        """Drop the oldest events that were read: one, and more until they have so many bytes."""
        dropped = 0
        while self._read:
            event = self._read.popleft()
            self._forgotten = event.number
            dropped += len(event.frame)
            if dropped >= size:
                break
        self._totals.replay -= dropped
        self.replay -= dropped

    def clear(self) -> None:
        while self.next() is not None:
            pass
        while self._read:
            self.forget(self.replay)

    def resume_after(self, last: str) -> bool:
        """Make all events after the one with that id wait again; return False if one is gone."""
        if not last.isdecimal() or not last.isascii() or len(last) > _MAX_DIGITS:
            return False
        if not self._forgotten <= int(last) <= self._last:
            return False
        while self._read and self._read[-1].number > int(last):
            self._return_last()
        return True

    def _count(self, event: SseEvent, sign: int) -> None:
        size = sign * len(event.frame)
        self._totals.unread -= size
        self._totals.replay += size
        self.replay += size


_MAX_DIGITS: Final = 18


class ServedConnection:
    """What a server keeps of one connection: its streams, and which request belongs to which.

    With `is_socket` it is a WebSocket, which has no streams: all frames go to the socket.
    """

    def __init__(self, limits: HttpLimits, *, is_socket: bool = False) -> None:
        self.is_socket = is_socket
        self._limits = limits
        self._totals = _Totals()
        self._numbers = count(1)
        self._streams: dict[str | None, EventStream] = {}
        self._unanswered: dict[tuple[str, RequestId], str | None] = {}
        """The stream of the response to each open request of the client."""
        self._agent_requests: dict[tuple[str, RequestId], str | None] = {}
        """The stream on which each open request of the agent was sent."""
        self._loads: dict[tuple[str, RequestId], str] = {}
        """The session of each open request whose response ends its history."""
        self._opening: tuple[str, RequestId] | None = None
        """The `initialize`, whose response is the body of its POST."""
        self._sessions: set[str] = set()
        self._stream(None)

    @property
    def unread(self) -> int:
        """Bytes that wait for readers."""
        return self._totals.unread

    @property
    def is_full(self) -> bool:
        """Whether the agent has to wait for readers."""
        return self.unread >= self._limits.unread

    @property
    def is_idle(self) -> bool:
        """Whether no request of the client waits for its response."""
        return not self._unanswered and self._opening is None

    @property
    def readers(self) -> int:
        return sum(stream.has_reader for stream in self._streams.values())

    @property
    def sessions(self) -> int:
        """Sessions that were named and not closed."""
        return len(self._sessions)

    @property
    def excess(self) -> str | None:
        """Why the connection has to end: more waits for readers than may; None if it need not."""
        limit = self._limits.streams
        if len(self._streams) <= limit:
            return None
        waiting = [each for each in self._streams.values() if each.is_unread]
        if sum(not each.has_reader and each.name is not None for each in waiting) > limit:
            return f"more than {limit} sessions have messages that the client does not read"
        return None

    def accept(self, posted: Posted) -> Reply | None:
        """Note a message of the client; return why it is refused, or None for the agent to get it.

        A refused message changes nothing.
        """
        message, header = posted.message, posted.session
        if header is not None and len(header) > MAX_ID:
            return refusal(400, f"{_SESSION} is longer than {MAX_ID} characters")
        if isinstance(message, _CALLS):
            return self._accept_call(message, header)
        if isinstance(message, _RESPONSES):
            key = id_key(message.id)
            stream = self._agent_requests.get(key)
            # The Python SDK's client names no session here.
            if stream is not None and header not in {None, stream}:
                return refusal(400, f"{_SESSION} is not that of the request")
            self._agent_requests.pop(key, None)
        return None

    def _accept_call(self, message: Request | Notification, header: str | None) -> Reply | None:
        named = session_in(message.params)
        # The Python SDK's client names the session of some methods in params alone.
        header = named if header is None else header
        if header is None and message.method in SESSION_METHODS:
            return refusal(400, f"{_SESSION} is missing for {message.method}")
        if named is not None and header != named:
            return refusal(400, f"{_SESSION} differs from params.sessionId")
        if isinstance(message, Request):
            if isinstance(message.id, str) and len(message.id) > MAX_ID:
                return refusal(400, f"The id of the request is longer than {MAX_ID} characters")
            self.note_request(message, header)
        return None

    def open(self, initialize: Request) -> None:
        """Note the `initialize` that opens the connection."""
        self._opening = id_key(initialize.id)

    def note_request(self, request: Request, header: str | None = None) -> None:
        """Note a request of the client, which the agent will get."""
        is_load = request.method == "session/load"
        self._unanswered[id_key(request.id)] = None if is_load else header
        session = session_in(request.params)
        if is_load and session is not None and not self.is_socket:
            self._loads[id_key(request.id)] = session
        if request.method in {"session/close", "session/delete"}:
            self._sessions.discard(session or "")
        elif session is not None:
            self._note_session(session)

    def put(self, frame: bytes) -> EventStream | None:
        """Add a frame of the agent to its stream, and return that.

        None: the frame is the response to `initialize`.
        """
        message = read_message(frame)
        if self._opening is not None and self.answers_initialize(message):
            return None
        stream = self._stream(self.note(message))
        stream.put(frame, self._history_ended_by(message))
        return stream

    def _history_ended_by(self, message: Message) -> str | None:
        if not self._loads or not isinstance(message, _RESPONSES):
            return None
        return self._loads.pop(id_key(message.id), None)

    def answers_initialize(self, message: Message) -> bool:
        """Return whether it is the response to the `initialize` that opens the connection."""
        is_response = isinstance(message, _RESPONSES)
        if not is_response or self._opening is None or id_key(message.id) != self._opening:
            return False
        self._opening = None
        return True

    def note(self, message: Message) -> str | None:
        """Note a message of the agent; return the session whose stream carries it, if any."""
        if isinstance(message, _RESPONSES):
            if isinstance(message, SuccessResponse):
                self._note_session(session_in(message.result))
            return self._unanswered.pop(id_key(message.id), None)
        if not isinstance(message, _CALLS):
            return None
        session = session_in(message.params)
        if isinstance(message, Request) and not self.is_socket:
            self._agent_requests[id_key(message.id)] = session
        return session

    def _note_session(self, session: str | None) -> None:
        if session is not None and len(self._sessions) < MAX_COUNTED:
            self._sessions.add(session)

    def next(self, stream: EventStream) -> SseEvent | None:
        """Return the next event of a stream, which counts as read now; None if none waits."""
        event = stream.next()
        # What is kept is dropped from the stream that has the most, and some more at once: looking
        # for it takes a while.
        if self._totals.replay > self._limits.replay:
            while (excess := self._totals.replay - self._limits.replay * 3 // 4) > 0:
                most = max(self._streams.values(), key=lambda each: each.replay)
                most.forget(min(excess, most.replay - self._totals.replay // len(self._streams)))
        return event

    def open_stream(self, headers: Mapping[str, str]) -> EventStream | Reply:
        """Return the stream that a GET opens, or why it is refused."""
        accepted = headers.get("accept", "*/*").lower()
        if not any(each in accepted for each in (EVENT_STREAM, "*/*", "text/*")):
            return refusal(406, f"Accept has to include {EVENT_STREAM}")
        session = headers.get(SESSION_HEADER)
        if session is not None and len(session) > MAX_ID:
            return refusal(400, f"{_SESSION} is longer than {MAX_ID} characters")
        if self.is_socket:
            return refusal(409, "The connection is a WebSocket, which gets all messages")
        stream = self._stream(session or None)
        if stream.has_reader:
            return refusal(409, "The stream has a reader already")
        if self.readers >= self._limits.readers:
            return refusal(
                429, f"{self._limits.readers} streams of the connection are read already"
            )
        last = headers.get(LAST_EVENT_HEADER)
        if last and not stream.resume_after(last):
            return refusal(409, "Events after the last one are gone; load the session again")
        stream.has_reader = True
        return stream

    def has_earlier(self, stream: EventStream) -> bool:
        """Return whether another stream, which is read, has an event from before the next here."""
        number = stream.next_number
        return number is not None and any(
            each.has_reader and each.next_number is not None and each.next_number < number
            for each in self._streams.values()
        )

    def is_early(self, stream: EventStream) -> bool:
        """Return whether the next event ends a history that is read, but not written to its end."""
        event = stream.following
        if event is None or event.history is None:
            return False
        ended = self._streams.get(event.history)
        if ended is None or ended is stream or not ended.has_reader:
            return False
        return ended.is_writing or (ended.next_number or event.number) < event.number

    def close_stream(self, stream: EventStream) -> None:
        """Note that a stream has no reader any more."""
        stream.has_reader = False
        if stream.name is not None and not stream.is_unread and not stream.replay:
            self._streams.pop(stream.name, None)

    def clear(self) -> None:
        """Drop all frames."""
        for stream in self._streams.values():
            stream.clear()

    def _remove(self, stream: EventStream) -> None:
        """Drop a stream with its frames."""
        stream.clear()
        self._streams.pop(stream.name, None)

    def _stream(self, name: str | None) -> EventStream:
        found = self._streams.get(name)
        if found is None:
            found = self._streams[name] = EventStream(name, self._totals, self._numbers)
        return found
