"""What a client over HTTP has to know, without I/O: headers, streams to open, what statuses mean.

A client has one `ClientConnection` for each connection. It takes any message from any stream,
because implementations differ in where they send responses and updates.

Source: ACP, RFD "Streamable HTTP and WebSocket transport", as implementations have it.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import urljoin, urlsplit

from acp_protocol.dialects.base import session_in
from acp_protocol.errors import FrameTooLongError
from acp_protocol.framing import MAX_FRAME_BYTES
from acp_protocol.json_values import as_object, get, get_int, get_text
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    Batch,
    ErrorResponse,
    InvalidMessage,
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
from acp_protocol.transport.http import (
    CONNECTION_HEADER,
    EVENT_STREAM,
    JSON_TYPE,
    SESSION_HEADER,
    VERSION_HEADER,
)

BODY_SHOWN: Final = 200
"""Characters of a response's body in an error, at most."""
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
KEEPING_METHOD: Final = frozenset({307, 308})
"""Redirects after which the same method is used."""
LATER: Final = frozenset({429, 503})
"""Statuses of a request that was not taken and may be sent again."""
_PASSING_STATUSES: Final = LATER | {502, 504}
_ENDING: Final = frozenset({"session/close", "session/delete"})
"""Requests after which a session has no more messages."""
_PASSING: Final = _ENDING | {
    *("session/archive", "session/unarchive", "session/set_title", "session/status"),
}
"""Requests about a session that need not be open."""


@dataclass(frozen=True, slots=True)
class Post:
    """A message of ours with what its POST needs."""

    frame: bytes
    message: Message
    session: str | None = None
    """The session in its header."""
    is_opening: bool = False
    """Whether it is the `initialize` that opens the connection."""

    @property
    def request_id(self) -> RequestId:
        """The id that a response has to have; None if there is none to come."""
        return self.message.id if isinstance(self.message, Request) else None

    @property
    def is_request(self) -> bool:
        return isinstance(self.message, Request)

    @property
    def gets_error(self) -> bool:
        """Whether it gets an error in place of a response: a request, or what is no message."""
        if isinstance(self.message, InvalidMessage):
            return not self.message.is_response
        return isinstance(self.message, Request | Batch)

    @property
    def name(self) -> str:
        """What it is, for messages."""
        match self.message:
            case Request(method=method) | Notification(method=method):
                return method
            case SuccessResponse() | ErrorResponse():
                return "a response"
            case _:
                return "a message"


@dataclass(frozen=True, slots=True)
class StreamChanges:
    """The sessions whose streams a message makes necessary, or needless."""

    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


NO_CHANGES: Final = StreamChanges()


@dataclass
class ClientConnection:
    """What a client keeps of one connection."""

    id: str | None = None
    """Given by the server with the response to `initialize`."""
    version: int | None = None
    """The protocol version that was agreed on."""
    has_begun: bool = False
    """Whether an `initialize` was sent."""
    _kept: set[str] = field(default_factory=set[str])
    """Sessions that are open, and so need a stream until they are closed."""
    _bare: set[str] = field(default_factory=set[str])
    """Sessions that the server refuses to know by a header."""
    _agent_requests: dict[tuple[str, RequestId], str | None] = field(
        default_factory=dict[tuple[str, RequestId], str | None]
    )
    """The session's stream on which each open request of the agent came."""
    _open: dict[tuple[str, RequestId], Request] = field(
        default_factory=dict[tuple[str, RequestId], Request]
    )
    """Our requests that have no response yet."""

    @property
    def open_requests(self) -> list[Request]:
        """Our requests that have no response yet."""
        return list(self._open.values())

    def post(self, frame: bytes) -> Post:
        """Return how a frame of ours is posted; it counts as sent."""
        message = read_message(frame)
        session: str | None = None
        is_opening = False
        if isinstance(message, Request | Notification):
            session = session_in(message.params)
            if isinstance(message, Request):
                self._open[id_key(message.id)] = message
                is_opening = message.method == "initialize" and self.id is None
                self.has_begun |= is_opening
                if session is not None and message.method not in _PASSING:
                    self._kept.add(session)
        elif isinstance(message, SuccessResponse | ErrorResponse):
            session = self._agent_requests.pop(id_key(message.id), None)
        return Post(frame, message, session, is_opening)

    def headers(self, post: Post) -> dict[str, str]:
        headers = {"content-type": JSON_TYPE, "accept": f"{JSON_TYPE}, {EVENT_STREAM}"}
        session = None if post.session in self._bare else post.session
        return headers | self._named(session)

    def stream_headers(self, session: str | None, last_event: str = "") -> dict[str, str]:
        """Return the headers of the GET for a stream; None: that of the connection."""
        headers = {"accept": EVENT_STREAM, "cache-control": "no-store"}
        resumed = {"last-event-id": last_event} if last_event else {}
        return headers | resumed | self._named(session)

    def delete_headers(self) -> dict[str, str]:
        return self._named(None)

    def opened(self, headers: Mapping[str, str], message: Message) -> None:
        """Note the response to `initialize`; a refused one may come without an id."""
        result = message.result if isinstance(message, SuccessResponse) else None
        self.id = headers.get(CONNECTION_HEADER) or get_text(result, "connectionId")
        self.version = get_int(result, "protocolVersion")

    def received(self, message: Message, stream: str | None) -> StreamChanges:
        """Note a message of the agent that came on a stream; return which streams that changes."""
        match message:
            case Request():
                self._agent_requests[id_key(message.id)] = stream
            case Notification(method="session/update", params=params):
                update = get(params, "update")
                child = get_text(update, "sessionId")
                if get_text(update, "sessionUpdate") == "subagent_update" and child is not None:
                    return self._keep(child)
            case SuccessResponse() | ErrorResponse():
                return self._answered(message)
            case _:
                pass
        return NO_CHANGES

    def history_ended_by(self, message: Message) -> str | None:
        """Return the session whose history ends with a response, which may come beside it."""
        if isinstance(message, SuccessResponse | ErrorResponse):
            request = self._open.get(id_key(message.id))
            if request is not None and request.method == "session/load":
                return session_in(request.params)
        return None

    def forget_header(self, session: str) -> bool:
        """Send no more headers for a session; return False if none was sent already."""
        if session in self._bare:
            return False
        self._bare.add(session)
        return True

    def settled(self, post: Post) -> None:
        """Note that a request will have no response of the agent."""
        if post.is_request:
            self._open.pop(id_key(post.request_id), None)

    def _answered(self, message: SuccessResponse | ErrorResponse) -> StreamChanges:
        request = self._open.pop(id_key(message.id), None)
        result = message.result if isinstance(message, SuccessResponse) else None
        opened = session_in(result)
        named = None if request is None else session_in(request.params)
        if request is not None and named is not None:
            if request.method in _ENDING and isinstance(message, SuccessResponse):
                self._kept.discard(named)
            if named not in self._kept and not self._has_open_request(named):
                return StreamChanges(closed=(named,))
        return NO_CHANGES if opened is None else self._keep(opened)

    def _has_open_request(self, session: str) -> bool:
        """Return whether a request about a session is open."""
        return any(session_in(each.params) == session for each in self._open.values())

    def _keep(self, session: str) -> StreamChanges:
        self._kept.add(session)
        return StreamChanges(opened=(session,))

    def _named(self, session: str | None) -> dict[str, str]:
        found = {
            CONNECTION_HEADER: self.id,
            SESSION_HEADER: session,
            VERSION_HEADER: None if self.version is None else str(self.version),
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a status means, for people."""

    status: int
    reason: str
    hint: str = ""
    is_passing: bool = False
    """Whether it may be otherwise in a moment."""
    detail: str = ""
    """What the server says about it, in one line."""

    def error_frame(self, id_: RequestId) -> bytes:
        """Return an error response in place of the one that will not come."""
        text = f"{self.reason}; {self.hint}" if self.hint else self.reason
        return encode_error(id_, INTERNAL_ERROR, text, {"httpStatus": self.status})


_MEANINGS: Final[Mapping[int, tuple[str, str]]] = {
    400: ("the server does not take the request", ""),
    401: (
        "the server requires authentication",
        "name the variable that holds the token with --token-env, or give a --header",
    ),
    403: (
        "the server refuses this user, or this origin",
        "check the token, and the hosts and origins that the server allows",
    ),
    404: ("there is nothing at this URL", "does its path end in /acp?"),
    405: ("nothing at this URL takes the request", "does its path end in /acp?"),
    406: ("the server sends no streams of events", "try ws:// or wss:// in place of http"),
    409: ("the request conflicts with another", ""),
    413: ("the message is longer than the server takes", ""),
    415: ("the server does not take JSON", "is it an ACP endpoint?"),
    426: ("the server speaks WebSocket only", "use ws:// or wss:// in place of http"),
    429: ("the server has too much to do", "try again later"),
    500: ("the server failed", ""),
    501: ("the server does not have this", ""),
    502: ("the proxy before the server does not reach it", ""),
    503: ("the server takes no requests now", "try again later"),
    504: ("the agent behind the server did not respond in time", ""),
}


def refusal_of(status: int, body: bytes = b"", media_type: str = "") -> Refusal:
    """Return what a status and a body mean."""
    words, hint = _MEANINGS.get(status, ("", ""))
    if not words:
        words = "the server failed" if status >= 500 else "the server did not do it"
    try:
        phrase = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = str(status)
    detail = _detail(body, media_type).removesuffix(".")
    if detail.lower() == phrase.partition(" ")[2].lower():
        detail = ""
    more = f": {detail}" if detail else ""
    is_passing = status in _PASSING_STATUSES
    return Refusal(status, f"{words} ({phrase}){more}", hint, is_passing, detail)


def _detail(body: bytes, media_type: str) -> str:
    """Return what the body of a refusal says in one line; pages for browsers say nothing."""
    kind = media_type.partition(";")[0].strip().lower()
    text = body.decode("utf-8", "replace")
    if kind == JSON_TYPE or text.lstrip().startswith("{"):
        try:
            value = as_object(parse(body))
        except ValueError:
            return ""
        error = value.get("error")
        text = get_text(error, "message") or get_text(value, "error") or ""
        text = text or get_text(value, "message") or get_text(value, "detail") or ""
    elif "html" in kind:
        return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= BODY_SHOWN else f"{line[:BODY_SHOWN]}…"


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that `Retry-After` names; `now` is in seconds since 1970."""
    if not value:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def redirected(url: str, status: int, location: str | None, method: str) -> str | Refusal:
    """Return the URL to which a request is sent again, or why it is not.

    Only the same origin gets what the request has, and only by the same method.
    """
    try:
        target = urljoin(url, location or "")
        origin, new_origin = _origin(url), _origin(target)
    except ValueError:
        return Refusal(status, "the server redirects to something that is not a URL")
    if not location:
        return Refusal(status, f"the server redirects ({status}) to no URL")
    if origin != new_origin:
        scheme, host, port = new_origin
        place = f"{scheme}://{host}:{port}"
        return Refusal(
            status,
            f"the server redirects ({status}) to another origin, {place}",
            "it gets no credentials; give its URL if you trust it",
        )
    if method != "GET" and status not in KEEPING_METHOD:
        path = urlsplit(target).path
        return Refusal(status, f"the server redirects ({status}) to {path}", "give that URL")
    return target


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme.lower(), parts.scheme.lower())
    return scheme, (parts.hostname or "").lower(), parts.port or (443 if scheme == "https" else 80)


def response_in(body: bytes) -> ErrorResponse | SuccessResponse | None:
    """Return the JSON-RPC response in a body; None if it is none."""
    message = read_message(body) if body.strip() else None
    return message if isinstance(message, ErrorResponse | SuccessResponse) else None


def is_structure(raw: bytes) -> bool:
    """Return whether a frame is a JSON object or array, and so may be a message."""
    try:
        return isinstance(parse(raw), dict | list)
    except ValueError:
        return False


class EventBytes:
    r"""Prepares the bytes of an event stream for a decoder: one kind of line ending, no mark.

    A lone `\r` ends a line at once, where a decoder has to wait for the next byte.

    Source: HTML, "Parsing an event stream".
    """

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self._limit = limit
        self._start: bytes | None = b""
        """The first bytes, while they may be a byte order mark."""
        self._is_after_return = False
        self._is_after_newline = True
        self._size = 0
        """Bytes since the last blank line."""
        self.has_comments = False
        """Whether the server sends comments, which say that the stream is alive."""

    def feed(self, chunk: bytes) -> bytes:
        """Return the next bytes.

        Raises:
            FrameTooLongError: an event is longer than the limit.
        """
        chunk = self._without_mark(chunk)
        if self._is_after_return and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._is_after_return = False
            if not chunk:
                return b""
        if b"\r" in chunk:
            self._is_after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if chunk:
            self._measure(chunk)
        return chunk

    def _without_mark(self, chunk: bytes) -> bytes:
        if self._start is None:
            return chunk
        begun = self._start + chunk
        if len(begun) < len(BOM_UTF8) and BOM_UTF8.startswith(begun):
            self._start = begun
            return b""
        self._start = None
        return begun.removeprefix(BOM_UTF8)

    def _measure(self, chunk: bytes) -> None:
        self.has_comments |= b"\n:" in chunk or (self._is_after_newline and chunk.startswith(b":"))
        blank = chunk.rfind(b"\n\n")
        if blank >= 0:
            self._size = len(chunk) - blank - 2
        elif self._is_after_newline and chunk.startswith(b"\n"):
            self._size = len(chunk) - 1
        else:
            self._size += len(chunk)
        self._is_after_newline = chunk.endswith(b"\n")
        if self._size > self._limit:
            raise FrameTooLongError(self._limit)
