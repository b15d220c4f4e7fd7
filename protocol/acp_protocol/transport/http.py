"""ACP over HTTP without I/O: the response that a request gets, and the stream of a frame.

A server has one `ServedConnection` for each connection; `read_post` judges a request before it. The
frames of the agent wait in `EventStream`s until a client reads them. What the published draft
leaves open is done as the TypeScript SDK does it; what others do is accepted.

Source: ACP, RFD "Streamable HTTP and WebSocket transport"; the durable transport proposal for event
ids; HTML, "Server-sent events".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorResponse,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode_error,
    id_key,
    parse,
    read_message,
)

CONNECTION_HEADER: Final = "acp-connection-id"
SESSION_HEADER: Final = "acp-session-id"
VERSION_HEADER: Final = "acp-protocol-version"
EVENT_STREAM: Final = "text/event-stream"
JSON_TYPE: Final = "application/json"
MAX_SESSION_ID: Final = 1024
"""Characters of a session's id in a header, at most."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection may hold."""

    body: int = 32 * 2**20
    """Bytes of a request's body, and of one WebSocket message."""
    unread: int = 64 * 2**20
    """Bytes that wait for readers; the agent waits while there are more."""
    replay: int = 2**20
    """Bytes of each stream that are kept after they were read, for `Last-Event-ID`."""
    streams: int = 1024
    """Streams of sessions with unread frames."""
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
    return Reply(status, reason.encode(), "text/plain; charset=utf-8")


def read_post(headers: Mapping[str, str], body: bytes, limits: Limits) -> Posted | Reply:
    """Return the message of a POST, or why it is refused before any connection sees it.

    `headers` have names in lower case.
    """
    if len(body) > limits.body:
        return refusal(413, f"The body is larger than {limits.body} bytes")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != JSON_TYPE:
        return refusal(415, f"The Content-Type has to be {JSON_TYPE}")
    try:
        value = parse(body)
    except ValueError as problem:
        frame = encode_error(None, PARSE_ERROR, f"The body is not JSON: {problem}")
        return Reply(400, frame, JSON_TYPE)
    if not isinstance(value, dict):
        what = "an array of messages" if isinstance(value, list) else "no object"
        return Reply(400, encode_error(None, INVALID_REQUEST, f"The body is {what}"), JSON_TYPE)
    message = read_message(body)
    connection, session = headers.get(CONNECTION_HEADER), headers.get(SESSION_HEADER)
    if isinstance(message, Request) and message.method == "initialize":
        if connection is not None:
            return refusal(400, f"A connection begins with initialize, without {CONNECTION_HEADER}")
        if message.id is None:
            return refusal(400, "initialize needs an id")
    elif connection is None:
        return refusal(400, f"{CONNECTION_HEADER} is missing; a connection begins with initialize")
    if session is not None and len(session) > MAX_SESSION_ID:
        return refusal(400, f"{SESSION_HEADER} is longer than {MAX_SESSION_ID} characters")
    return Posted(message, body, connection, session)


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream."""

    id: str
    frame: bytes

    def encode(self) -> bytes:
        r"""Return its bytes. They are ASCII: some clients break on a character cut in two."""
        return b"id: %b\ndata: %b\n\n" % (self.id.encode(), ascii_json(self.frame))


KEEP_ALIVE: Final = b":\n\n"
"""A comment, which says that the stream is alive."""


def ascii_json(frame: bytes) -> bytes:
    r"""Return JSON in one line of ASCII, with `\u` escapes; other frames are decoded first."""
    text = frame.decode("utf-8", "replace")
    if text.isascii() and "\n" not in text and "\r" not in text:
        return text.encode()
    text = text.replace("\r", " ").replace("\n", " ")
    return "".join(c if c.isascii() else _escaped(c) for c in text).encode()


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


class EventStream:
    """The frames of one stream, in order; those that were read are kept a while for a new reader.

    `name` is the session's id; None for the stream of the connection.
    """

    def __init__(self, name: str | None, kept: int) -> None:
        self.name = name
        self.unread = 0
        """Bytes that wait."""
        self.has_reader = False
        self._kept = kept
        self._read_bytes = 0
        self._read: deque[Event] = deque()
        self._waiting: deque[Event] = deque()
        self._number = 0

    def put(self, frame: bytes) -> None:
        self._number += 1
        self._waiting.append(Event(str(self._number), frame))
        self.unread += len(frame)

    def next(self) -> Event | None:
        """Return the next event, which counts as read now; None if none waits."""
        if not self._waiting:
            return None
        event = self._waiting.popleft()
        self.unread -= len(event.frame)
        self._read.append(event)
        self._read_bytes += len(event.frame)
        while self._read_bytes > self._kept:
            self._read_bytes -= len(self._read.popleft().frame)
        return event

    def put_back(self) -> None:
        """Let the event that was read last wait again: it could not be written."""
        if self._read:
            self._return_last()

    def resume_after(self, last: str) -> bool:
        """Let all events after the one with that id wait again; return False if one is gone."""
        if not last.isdecimal() or int(last) > self._number:
            return False
        first = self._read[0] if self._read else self._waiting[0] if self._waiting else None
        oldest = self._number + 1 if first is None else int(first.id)
        if int(last) + 1 < oldest:
            return False
        while self._read and int(self._read[-1].id) > int(last):
            self._return_last()
        return True

    def _return_last(self) -> None:
        event = self._read.pop()
        self._read_bytes -= len(event.frame)
        self._waiting.appendleft(event)
        self.unread += len(event.frame)


class ServedConnection:
    """What a server keeps of one connection: its streams, and which request belongs to which."""

    def __init__(self, id: str, limits: Limits) -> None:  # noqa: A002
        self.id = id
        self._limits = limits
        self._streams: dict[str | None, EventStream] = {None: EventStream(None, limits.replay)}
        self._sessions: set[str] = set()
        self._posted: dict[tuple[str, RequestId], str | None] = {}
        """The stream of the response to each open request of the client."""
        self._asked: dict[tuple[str, RequestId], str | None] = {}
        """The stream on which each open request of the agent was sent."""
        self._opening: tuple[str, RequestId] | None = None
        """The `initialize`, whose response is the body of its POST."""

    @property
    def unread(self) -> int:
        """Bytes that wait for readers."""
        return sum(stream.unread for stream in self._streams.values())

    @property
    def is_full(self) -> bool:
        """Whether the agent has to wait for readers."""
        return self.unread >= self._limits.unread

    @property
    def has_too_many_streams(self) -> bool:
        """Whether more sessions have frames that nobody reads than there may be."""
        waiting = sum(1 for each in self._streams.values() if each.unread and not each.has_reader)
        return waiting > self._limits.streams

    def accept(self, posted: Posted) -> Reply | None:
        """Note a message of the client; return why it is refused, or None for the agent to get it.

        A refused message changes nothing.
        """
        message, header = posted.message, posted.session
        if isinstance(message, Request | Notification):
            named = get_text(message.params, "sessionId")
            if named is not None and header is None:
                return refusal(400, f"{SESSION_HEADER} is missing for {message.method}")
            if named is not None and header != named:
                return refusal(400, f"{SESSION_HEADER} differs from params.sessionId")
            if isinstance(message, Request):
                if message.method == "initialize" and self._opening is None:
                    self._opening = id_key(message.id)
                else:
                    on_connection = message.method == "session/load"
                    self._posted[id_key(message.id)] = None if on_connection else header
            if header is not None:
                self._sessions.add(header)
        elif isinstance(message, SuccessResponse | ErrorResponse):
            key = id_key(message.id)
            if key in self._asked and self._asked[key] is not None and self._asked[key] != header:
                return refusal(400, f"{SESSION_HEADER} is not that of the request")
            self._asked.pop(key, None)
        return None

    def put(self, frame: bytes) -> EventStream | None:
        """Add a frame of the agent to its stream, and return that.

        None: the frame is the response to `initialize`.
        """
        message = read_message(frame)
        name: str | None = None
        if isinstance(message, SuccessResponse | ErrorResponse):
            key = id_key(message.id)
            if key == self._opening and key not in self._posted:
                self._opening = None
                return None
            name = self._posted.pop(key, None)
            if isinstance(message, SuccessResponse):
                self._note_session(message.result)
        elif isinstance(message, Request | Notification):
            name = get_text(message.params, "sessionId")
            if isinstance(message, Request):
                self._asked[id_key(message.id)] = name
        stream = self._stream(name)
        stream.put(frame)
        return stream

    def knows(self, session: str) -> bool:
        """Return whether the session was opened here, or was named by the client or the agent."""
        return session in self._sessions or session in self._streams

    def open_stream(self, headers: Mapping[str, str], *, is_kept: bool) -> EventStream | Reply:
        """Return the stream that a GET opens, or why it is refused.

        `is_kept` says that the session is in the store, if the connection does not know it.
        """
        accepted = headers.get("accept", "*/*").lower()
        if not any(each in accepted for each in (EVENT_STREAM, "*/*", "text/*")):
            return refusal(406, f"Accept has to include {EVENT_STREAM}")
        session = headers.get(SESSION_HEADER)
        if session is not None and not (self.knows(session) or is_kept):
            return refusal(404, "There is no such session")
        stream = self._stream(session)
        if stream.has_reader:
            return refusal(409, "The stream has a reader already")
        last = headers.get("last-event-id")
        if last and not stream.resume_after(last):
            return refusal(404, "The events after the last one are gone; load the session again")
        stream.has_reader = True
        return stream

    def _note_session(self, result: Json) -> None:
        opened = get_text(result, "sessionId")
        if opened is not None:
            self._sessions.add(opened)

    def _stream(self, name: str | None) -> EventStream:
        found = self._streams.get(name)
        if found is None:
            found = self._streams[name] = EventStream(name, self._limits.replay)
        return found
