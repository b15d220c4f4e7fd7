"""Facts about the entries of a journal, looked up only when they are asked for.

What stands in the entry itself costs nothing. The message is read once, when the first field that
stands in it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from acp_inspector.analysis.annotations import NO_NOTES, Notes
from acp_inspector.analysis.exchanges import Exchange, Exchanges
from acp_inspector.filter.facts import Kind
from acp_inspector.filter.paths import Member, Path, look_up
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Batch,
    Failure,
    Json,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
    encode,
    parse,
    read_message,
)

_KINDS: Final[dict[type[Message], Kind]] = {
    Request: "request",
    Notification: "notification",
    Result: "result",
    Failure: "error",
    Batch: "batch",
    Malformed: "malformed",
}
_ENVELOPE: Final = frozenset({"id", "method", "params", "result"})
_ERROR: Final = frozenset({"code", "message", "data"})


class FrameFacts:
    """The facts about one entry; `Facts` says what each of them is."""

    __slots__ = (
        *("_document", "_entry", "_exchanges", "_message"),
        *("at", "n", "notes", "side", "size"),
    )

    def __init__(
        self,
        entry: Entry,
        exchanges: Exchanges | None = None,
        *,
        message: Message | None = None,
        notes: Notes = NO_NOTES,
    ) -> None:
        """Look at `entry`.

        Args:
            entry: What is looked at.
            exchanges: Those of its journal, which have seen it; None: answers know no question.
            message: What it says, where that has been read already.
            notes: What others know about it.
        """
        self._entry = entry
        self._exchanges = exchanges
        self._message = message
        self._document: Json = None
        self.notes = notes
        self.n = entry.n
        self.at = entry.at
        self.side: Side | None
        self.size: int | None
        if isinstance(entry, Frame):
            self.side, self.size = entry.side, len(entry.raw)
        elif isinstance(entry, StderrText):
            self.side, self.size = "agent", len(entry.text)
        else:
            self.side = self.size = None

    @property
    def raw(self) -> bytes:
        """Its bytes; an event's, as JSON."""
        entry = self._entry
        match entry:
            case Frame(raw=raw):
                return raw
            case StderrText(text=text):
                return text
            case JournalEvent():
                return _event_line(entry)

    @property
    def kind(self) -> Kind:
        """What it is."""
        message = self._read()
        if message is not None:
            return _KINDS[type(message)]
        return "stderr" if isinstance(self._entry, StderrText) else "event"

    @property
    def method(self) -> str | None:
        """Its own, or that of the question it answers."""
        if exchange := self._exchange():
            return exchange.request.method
        message = self._read()
        return message.method if isinstance(message, Request | Notification) else None

    @property
    def answered_method(self) -> str | None:
        """That of the question it answers."""
        exchange = self._exchange()
        return exchange.request.method if exchange and self._answers(exchange) else None

    @property
    def ids(self) -> Sequence[RequestId]:
        """The id, where it has one."""
        message = self._read()
        return (message.id,) if isinstance(message, Request | Result | Failure) else ()

    @property
    def session(self) -> str | None:
        """Its own, or that of the question it answers."""
        return _text(self._params(), "sessionId")

    @property
    def update(self) -> str | None:
        """What a `session/update` is about."""
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
        """What sort of tool is called."""
        return _text(self._tool_call(), "kind")

    @property
    def terminal(self) -> str | None:
        """Id of the terminal: of what is asked or told, or of the answer that made it."""
        name = "terminalId"
        found = _text(self._params(), name) or _text(self._update(), name)
        if found:
            return found
        message = self._read()
        return _text(message.result, name) if isinstance(message, Result) else None

    @property
    def error(self) -> str | None:
        """The message of an error answer."""
        message = self._read()
        return message.message if isinstance(message, Failure) else None

    @property
    def malformed(self) -> str | None:
        """Why it is no message."""
        message = self._read()
        return message.reason if isinstance(message, Malformed) else None

    @property
    def code(self) -> int | None:
        """The code of an error answer."""
        message = self._read()
        return message.code if isinstance(message, Failure) else None

    @property
    def latency(self) -> float | None:
        """Seconds from the question, for an answer."""
        exchange = self._exchange()
        return exchange.latency if exchange and self._answers(exchange) else None

    @property
    def is_pending(self) -> bool:
        """Whether it is a question without an answer."""
        exchange = self._exchange()
        return exchange is not None and exchange.answer is None

    @property
    def stderr(self) -> str | None:
        """Its text, for a piece of stderr."""
        entry = self._entry
        return entry.text.decode(errors="replace") if isinstance(entry, StderrText) else None

    @property
    def event(self) -> str | None:
        """Its name, for an event."""
        return self._entry.name if isinstance(self._entry, JournalEvent) else None

    def values(self, path: Path) -> Sequence[Json]:
        """Return what stands at `path` in the message, or in what an event says.

        Only a path that leaves the envelope of JSON-RPC reads the bytes once more.
        """
        if isinstance(self._entry, JournalEvent):
            return look_up({"event": self._entry.name} | dict(self._entry.data), path)
        if isinstance(self._entry, StderrText):
            return ()
        message = self._read()
        if isinstance(message, Batch | Malformed | None) or not _is_in_envelope(path):
            return look_up(self._whole(), path)
        return look_up(_envelope(message), path)

    def _read(self) -> Message | None:
        if self._message is None and isinstance(self._entry, Frame):
            exchange = self._exchange()
            if exchange and exchange.question.n == self.n:
                self._message = exchange.request
            else:
                self._message = read_message(self._entry.raw)
        return self._message

    def _whole(self) -> Json:
        """Return all that the bytes spell; an empty value if they spell nothing."""
        if self._document is None:
            try:
                self._document = parse(self.raw)
            except ValueError:
                self._document = ""
        return self._document

    def _exchange(self) -> Exchange | None:
        if self._exchanges is None or not isinstance(self._entry, Frame):
            return None
        return self._exchanges.of(self._entry)

    def _answers(self, exchange: Exchange) -> bool:
        return exchange.answer is not None and exchange.answer.n == self.n

    def _params(self) -> Json:
        """Return the params, or those of the question it answers."""
        if exchange := self._exchange():
            return exchange.request.params
        message = self._read()
        return message.params if isinstance(message, Request | Notification) else None

    def _own_params(self) -> Json:
        message = self._read()
        return message.params if isinstance(message, Request | Notification) else None

    def _update(self) -> Json:
        return _member(self._own_params(), "update")

    def _tool_call(self) -> Json:
        """Return the tool call: that of an update, or that which a permission is asked for."""
        params = self._own_params()
        subject = _member(params, "subject")
        asked = _member(params, "toolCall") or _member(subject, "toolCall")
        found = asked or _member(params, "update")
        return found if _text(found, "toolCallId") else None


def _is_in_envelope(path: Path) -> bool:
    """Tell whether the members that JSON-RPC knows are all that is asked for."""
    match path.steps:
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
        case Result(id=id_, result=result):
            return {"id": id_, "result": result}
        case Failure(id=id_, code=code, message=text, data=data):
            return {"id": id_, "error": {"code": code, "message": text} | _some("data", data)}
        case Batch() | Malformed():
            return None


def _some(name: str, value: Json) -> dict[str, Json]:
    return {} if value is None else {name: value}


def _event_line(event: JournalEvent) -> bytes:
    try:
        return encode({"event": event.name} | dict(event.data))
    except ValueError:
        # A recording may hold NaN, which JSON has no spelling for.
        return repr(dict(event.data)).encode(errors="replace")


def _text(value: Json, name: str) -> str | None:
    found = _member(value, name)
    return found if isinstance(found, str) and found else None


def _member(value: Json, name: str) -> Json:
    return cast("Mapping[str, Json]", value).get(name) if isinstance(value, Mapping) else None
