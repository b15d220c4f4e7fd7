"""The fields of an entry that filters read; absent ones are None or empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from acp_inspector import messages
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.jsonpath import JSONPath, find_all
from acp_inspector.messages import DecodedFrame, is_array
from acp_inspector.session.exchanges import Exchange, Exchanges
from acp_inspector.views.annotations import NO_NOTES, FrameNotes, Severity
from acp_protocol.framing import Side
from acp_protocol.json_values import get, get_text
from acp_protocol.jsonrpc import Json, Message, RequestId, encode

EntryKind: TypeAlias = Literal[messages.FrameKind, "stderr", "event"]


class EntryFields:
    """The fields of one entry; its message is parsed once, when a field needs it."""

    __slots__ = ("_decoded", "_entry", "_exchanges", "_message", "_notes")

    def __init__(
        self,
        entry: Entry,
        exchanges: Exchanges | None = None,
        *,
        message: Message | None = None,
        notes: FrameNotes = NO_NOTES,
        decoded: DecodedFrame | None = None,
    ) -> None:
        """Create the fields of `entry`.

        Args:
            entry: The entry.
            exchanges: Exchanges that include the entry; if None, a response has no request.
            message: The entry's message, if it is parsed already.
            notes: Findings, marks and the like for the entry.
            decoded: The decoded entry, with the request that it responds to, if it is known.
        """
        self._entry: Entry | None = entry
        self._exchanges = exchanges
        self._message = message
        self._notes: FrameNotes | None = notes
        self._decoded = decoded

    @property
    def entry(self) -> Entry:
        assert self._entry is not None
        return self._entry

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
        return _event_line(entry) if isinstance(entry, JournalEvent) else entry.data

    @property
    def text(self) -> str:
        return self.raw.decode(errors="replace")

    @property
    def severities(self) -> list[Severity]:
        """Of the findings."""
        return [each.severity for each in self.notes.violations]

    @property
    def rules(self) -> list[str]:
        """The names and the numbers of the rules that findings are of."""
        return [name for each in self.notes.violations for name in (each.rule, each.number) if name]

    @property
    def decoded(self) -> DecodedFrame | None:
        """The decoded frame, with the request it responds to; None for stderr and events."""
        if self._decoded is None and isinstance(entry := self.entry, Frame):
            related = self._related()
            if self._decoded is None and related is not None:
                self._decoded = related.decoded(entry, self._message)
            self._decoded = self._decoded or DecodedFrame(entry, self._message)
        return self._decoded

    @property
    def parts(self) -> Sequence[EntryFields]:
        """The fields of each message that the entry holds; its own, if it holds one or none."""
        entry = self.entry
        if not isinstance(entry, Frame):
            return (self,)
        if self._decoded is None and not is_array(entry.data):
            return (self,)
        parts = self.decoded.parts if self.decoded else ()
        if len(parts) < 2 and (not parts or parts[0] is self._decoded):
            return (self,)
        return [
            EntryFields(entry, self._related(), notes=self.notes, decoded=part) for part in parts
        ]

    @property
    def kind(self) -> EntryKind:
        if decoded := self.decoded:
            return decoded.kind
        return "stderr" if isinstance(self.entry, StderrChunk) else "event"

    @property
    def kinds(self) -> Sequence[EntryKind]:
        """Its kind; a message of an array has two."""
        decoded = self.decoded
        is_entry = decoded is not None and is_array(decoded.frame.data)
        return ("batch", self.kind) if is_entry and self.kind != "batch" else (self.kind,)

    @property
    def method(self) -> str | None:
        """Of the message, or of the request that it responds to."""
        return self.decoded.method if self.decoded else None

    @property
    def request_method(self) -> str | None:
        request = self.decoded.request if self.decoded else None
        return request.method if request else None

    @property
    def ids(self) -> Sequence[RequestId]:
        decoded = self.decoded
        return (decoded.id,) if decoded and decoded.has_id else ()

    @property
    def session(self) -> str | None:
        """Of the message, or of the request that it responds to."""
        return (self.decoded and self.decoded.session) or None

    @property
    def update(self) -> str | None:
        return get_text(self._update(), "sessionUpdate") or None

    @property
    def status(self) -> str | None:
        """Of the tool call, or of what else is updated."""
        found = get_text(self._update(), "status")
        return found or get_text(self._tool_call(), "status") or None

    @property
    def tool(self) -> str | None:
        return get_text(self._tool_call(), "toolCallId")

    @property
    def tool_kind(self) -> str | None:
        return get_text(self._tool_call(), "kind") or None

    @property
    def terminal(self) -> str | None:
        """Id of the terminal: in the params, in the update, or in the result that created it."""
        decoded = self.decoded
        if decoded is None:
            return None
        params = decoded.request.params if decoded.request else decoded.params
        places = (params, self._update(), decoded.result)
        return next(filter(None, (get_text(each, "terminalId") for each in places)), None)

    @property
    def error(self) -> str | None:
        response = self.decoded.error if self.decoded else None
        return response.message if response else None

    @property
    def malformed(self) -> str | None:
        return (self.decoded and self.decoded.reason) or None

    @property
    def code(self) -> int | None:
        response = self.decoded.error if self.decoded else None
        return response.code if response else None

    @property
    def latency(self) -> float | None:
        """Seconds since the request, for a response."""
        return self.decoded.latency if self.decoded else None

    @property
    def is_pending(self) -> bool:
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

        They are looked for in the message as it was sent, then in what it means.
        """
        entry = self.entry
        if isinstance(entry, JournalEvent):
            return find_all({"event": entry.name} | dict(entry.data), path)
        decoded = self.decoded
        if decoded is None:
            return ()
        # First as it was sent, so that what a detail shows can be searched for.
        values = (decoded.value, *decoded.other_values())
        return next(filter(None, (find_all(each, path) for each in values)), ())

    def _related(self) -> Exchanges | None:
        """Return exchanges that include the entry, if they are known."""
        return self._exchanges

    def _exchange(self) -> Exchange | None:
        entry, related = self.entry, self._related()
        if related is None or not isinstance(entry, Frame):
            return None
        found = related.of(entry)
        if found is None and related.all_of(entry) and self.decoded is not None:
            found = related.of_message(entry, self.decoded.meaning)
        return found

    def _update(self) -> Json:
        return get(self.decoded.params, "update") if self.decoded else None

    def _tool_call(self) -> Json:
        """Return the tool call of an update or of a permission request."""
        params = self.decoded.params if self.decoded else None
        requested = get(params, "toolCall") or get(get(params, "subject"), "toolCall")
        found = requested or get(params, "update")
        return found if get_text(found, "toolCallId") else None


def _event_line(event: JournalEvent) -> bytes:
    try:
        return encode({"event": event.name} | dict(event.data))
    except ValueError:
        # A recording may contain NaN, which is not JSON.
        return repr(dict(event.data)).encode(errors="replace")
