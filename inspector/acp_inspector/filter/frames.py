"""The fields of an entry that filters read.

The message is parsed once, when the first field of it is read. Fields that are absent are None or
empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast

from acp_inspector.analysis.annotations import NO_NOTES, FrameNotes
from acp_inspector.analysis.exchanges import Exchange, Exchanges
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.jsonpath import JSONPath, Member, find_all
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode,
    parse,
    read_message,
)

FrameKind: TypeAlias = Literal[
    "request", "notification", "result", "error", "batch", "malformed", "stderr", "event"
]

_KINDS: Final[dict[type[Message], FrameKind]] = {
    Request: "request",
    Notification: "notification",
    SuccessResponse: "result",
    ErrorResponse: "error",
    Batch: "batch",
    InvalidMessage: "malformed",
}
_ENVELOPE: Final = frozenset({"id", "method", "params", "result"})
_ERROR: Final = frozenset({"code", "message", "data"})


class EntryFields:
    """The fields of one entry."""

    __slots__ = ("_document", "_entry", "_exchanges", "_message", "_notes")

    def __init__(
        self,
        entry: Entry,
        exchanges: Exchanges | None = None,
        *,
        message: Message | None = None,
        notes: FrameNotes = NO_NOTES,
    ) -> None:
        """Create the fields of `entry`.

        Args:
            entry: The entry.
            exchanges: Exchanges that include the entry; if None, a response has no request.
            message: The entry's message, if it is parsed already.
            notes: Findings, marks and the like for the entry.
        """
        self._entry: Entry | None = entry
        self._exchanges = exchanges
        self._message = message
        self._document: Json = None
        self._notes: FrameNotes | None = notes

    @property
    def entry(self) -> Entry:
        entry = self._entry
        assert entry is not None
        return entry

    @property
    def notes(self) -> FrameNotes:
        return self._notes or NO_NOTES

    @property
    def seq(self) -> int:
        return self.entry.seq

    @property
    def time(self) -> float:
        """Seconds since the start of the journal."""
        return self.entry.time

    @property
    def side(self) -> Side | None:
        entry = self.entry
        if isinstance(entry, Frame):
            return entry.side
        return "agent" if isinstance(entry, StderrChunk) else None

    @property
    def size(self) -> int | None:
        """Bytes; None for an event."""
        return None if isinstance(self.entry, JournalEvent) else len(self.raw)

    @property
    def raw(self) -> bytes:
        """The bytes of the entry; of an event, its JSON."""
        entry = self.entry
        match entry:
            case Frame(data=raw):
                return raw
            case StderrChunk(data=text):
                return text
            case JournalEvent():
                return _event_line(entry)

    @property
    def kind(self) -> FrameKind:
        message = self._read()
        if message is not None:
            return _KINDS[type(message)]
        return "stderr" if isinstance(self.entry, StderrChunk) else "event"

    @property
    def method(self) -> str | None:
        """Of the message, or of the request that it responds to."""
        if exchange := self._exchange():
            return exchange.request.method
        message = self._read()
        return message.method if isinstance(message, Request | Notification) else None

    @property
    def request_method(self) -> str | None:
        """The method of the request that the entry responds to."""
        exchange = self._exchange()
        return exchange.request.method if exchange and self._is_response_of(exchange) else None

    @property
    def ids(self) -> Sequence[RequestId]:
        """The id, if there is one."""
        message = self._read()
        return (
            (message.id,) if isinstance(message, Request | SuccessResponse | ErrorResponse) else ()
        )

    @property
    def session(self) -> str | None:
        """Of the message, or of the request that it responds to."""
        return _text(self._params(), "sessionId")

    @property
    def update(self) -> str | None:
        """The kind of a `session/update`."""
        return _text(self._update(), "sessionUpdate")

    @property
    def status(self) -> str | None:
        """Of the tool call, or of what else is updated."""
        return _text(self._update(), "status") or _text(self._tool_call(), "status")

    @property
    def tool(self) -> str | None:
        """Id of the tool call."""
        return _text(self._tool_call(), "toolCallId")

    @property
    def tool_kind(self) -> str | None:
        """Kind of the tool."""
        return _text(self._tool_call(), "kind")

    @property
    def terminal(self) -> str | None:
        """Id of the terminal: in the params, in the update, or in the result that created it."""
        name = "terminalId"
        found = _text(self._params(), name) or _text(self._update(), name)
        if found:
            return found
        message = self._read()
        return _text(message.result, name) if isinstance(message, SuccessResponse) else None

    @property
    def error(self) -> str | None:
        """The message of an error response."""
        message = self._read()
        return message.message if isinstance(message, ErrorResponse) else None

    @property
    def malformed(self) -> str | None:
        """Why the frame is no valid message."""
        message = self._read()
        return message.reason if isinstance(message, InvalidMessage) else None

    @property
    def code(self) -> int | None:
        """The code of an error response."""
        message = self._read()
        return message.code if isinstance(message, ErrorResponse) else None

    @property
    def latency(self) -> float | None:
        """Seconds since the request, for a response."""
        exchange = self._exchange()
        return exchange.latency if exchange and self._is_response_of(exchange) else None

    @property
    def is_pending(self) -> bool:
        """Whether the entry is a request without a response."""
        exchange = self._exchange()
        return exchange is not None and exchange.response_frame is None

    @property
    def stderr(self) -> str | None:
        entry = self.entry
        return entry.data.decode(errors="replace") if isinstance(entry, StderrChunk) else None

    @property
    def event(self) -> str | None:
        entry = self.entry
        return entry.name if isinstance(entry, JournalEvent) else None

    def values(self, path: JSONPath) -> Sequence[Json]:
        """Return the values at `path` in the message, or in the data of an event.

        The bytes are parsed again only for a path to members that JSON-RPC does not define.
        """
        entry = self.entry
        if isinstance(entry, JournalEvent):
            return find_all({"event": entry.name} | dict(entry.data), path)
        if isinstance(entry, StderrChunk):
            return ()
        message = self._read()
        if isinstance(message, Batch | InvalidMessage | None) or not _is_in_envelope(path):
            return find_all(self._whole(), path)
        return find_all(_envelope(message), path)

    def _read(self) -> Message | None:
        entry = self.entry
        if self._message is None and isinstance(entry, Frame):
            exchange = self._exchange()
            if exchange and exchange.request_frame.seq == entry.seq:
                self._message = exchange.request
            else:
                self._message = read_message(entry.data)
        return self._message

    def _whole(self) -> Json:
        """Return the parsed bytes; an empty string if they are no JSON."""
        if self._document is None:
            try:
                self._document = parse(self.raw)
            except ValueError:
                self._document = ""
        return self._document

    def _exchange(self) -> Exchange | None:
        entry = self.entry
        if self._exchanges is None or not isinstance(entry, Frame):
            return None
        return self._exchanges.of(entry)

    def _is_response_of(self, exchange: Exchange) -> bool:
        return exchange.response_frame is not None and exchange.response_frame.seq == self.seq

    def _params(self) -> Json:
        """Return the params of the message, or of the request that it responds to."""
        exchange = self._exchange()
        return exchange.request.params if exchange else self._own_params()

    def _own_params(self) -> Json:
        message = self._read()
        return message.params if isinstance(message, Request | Notification) else None

    def _update(self) -> Json:
        return _member(self._own_params(), "update")

    def _tool_call(self) -> Json:
        """Return the tool call of an update or of a permission request."""
        params = self._own_params()
        subject = _member(params, "subject")
        requested = _member(params, "toolCall") or _member(subject, "toolCall")
        found = requested or _member(params, "update")
        return found if _text(found, "toolCallId") else None


def _is_in_envelope(path: JSONPath) -> bool:
    """Return whether the path leads to members that JSON-RPC defines."""
    match path.segments:
        case (Member("error"), Member(name), *_):
            return name in _ERROR
        case (Member(name), *_):
            return name in _ENVELOPE
        case _:
            return False


def _envelope(message: Message) -> Json:
    match message:
        case Request(id=id_, method=method, params=params):
            return {"id": id_, "method": method} | _some("params", params)
        case Notification(method=method, params=params):
            return {"method": method} | _some("params", params)
        case SuccessResponse(id=id_, result=result):
            return {"id": id_, "result": result}
        case ErrorResponse(id=id_, code=code, message=text, data=data):
            return {"id": id_, "error": {"code": code, "message": text} | _some("data", data)}
        case Batch() | InvalidMessage():
            return None


def _some(name: str, value: Json) -> dict[str, Json]:
    return {} if value is None else {name: value}


def _event_line(event: JournalEvent) -> bytes:
    try:
        return encode({"event": event.name} | dict(event.data))
    except ValueError:
        # A recording may contain NaN, which is no JSON.
        return repr(dict(event.data)).encode(errors="replace")


def _text(value: Json, name: str) -> str | None:
    found = _member(value, name)
    return found if isinstance(found, str) and found else None


def _member(value: Json, name: str) -> Json:
    return cast("Mapping[str, Json]", value).get(name) if isinstance(value, Mapping) else None
