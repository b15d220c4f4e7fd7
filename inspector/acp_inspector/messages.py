"""The decoded view of a frame, which all code above the journal reads instead of its bytes.

A `Decoder` takes the frames of one
connection in order and knows its dialect; a `DecodedFrame` is parsed once, when the first of its
properties needs it. It has two readings:

- `value`, `members`, `message` and `error`: the frame as it was sent.
- Everything else: what it means in the published protocol. A frame of a dialect, or an array, may
  hold no message or several; `parts` has one for each, and what a frame says of itself is what the
  main one of them says.

A response does not name its method or its session. `Exchanges.pair` sets `request` and
`request_frame` on each part that is the response to a known request; `method`, `session` and
`latency` use them. A request or a response that has no such meaning is paired as it was sent, see
`DecodedFrame.unmeant`. A frame that is decoded alone, without a decoder and without exchanges, is
`DecodedFrame(frame)`.

Source: JSON-RPC 2.0; the documents of each dialect, see `acp_protocol.dialects`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from acp_inspector.journal import Frame, JournalEvent
from acp_protocol.dialects.detect import MAX_FRAMES, DialectDetector
from acp_protocol.dialects.spellings import BATCHES, NO_DIALECT, WIRE_NAMES
from acp_protocol.framing import Side
from acp_protocol.json_values import get, get_text
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
    id_key,
    message_of,
    no_json,
    parse,
    read_message,
)

if TYPE_CHECKING:
    from acp_protocol.dialects.base import Dialect

FrameKind: TypeAlias = Literal["request", "notification", "result", "error", "batch", "malformed"]

_KINDS: Final[dict[type[Message], FrameKind]] = {
    Request: "request",
    Notification: "notification",
    SuccessResponse: "result",
    ErrorResponse: "error",
    Batch: "batch",
    InvalidMessage: "malformed",
}

_PAIRED: Final = Request | SuccessResponse | ErrorResponse

NAMES: Final = frozenset({*WIRE_NAMES, BATCHES, NO_DIALECT})
"""The names that an event may have for the dialect of a connection."""
_BLANKS: Final = b" \t\r\n\xef\xbb\xbf"
"""What may precede a message."""


def is_array(raw: bytes) -> bool:
    """Return whether a frame begins like an array of messages."""
    return raw.lstrip(_BLANKS)[:1] == b"["


class DecodedFrame:
    """A frame and its content, or one message of it; parsed once, when a property needs it."""

    __slots__ = (
        *("_meaning", "_message", "_parts", "_value"),
        *("dialect", "frame", "request", "request_frame", "unmeant"),
    )

    def __init__(self, frame: Frame, message: Message | None = None) -> None:
        """Decode `frame`; `message` is its message, if the caller has parsed it already."""
        self.frame = frame
        self.dialect: str | None = None
        """The name of the dialect in which it was read; None for the published protocol."""
        self.request: Request | None = None
        """The request that it responds to, once `Exchanges.pair` has found it."""
        self.request_frame: Frame | None = None
        """The frame of that request."""
        self.unmeant: DecodedFrame | None = None
        """The request or response that was sent, if none of its messages is one; usually None.

        Continuum Router cancels with a request, which means a notification, and its response means
        nothing. The request has the method and the params of the notification.
        """
        self._message = message
        self._meaning: Message | None = None
        """What it means, if that is not its message."""
        self._parts: tuple[DecodedFrame, ...] | None = None
        self._value: Json = _UNREAD

    # As it was sent

    @property
    def value(self) -> Json:
        """The JSON value of its bytes, the same object each time; None if they are not JSON."""
        if self._value is _UNREAD:
            raw = self.frame.data
            try:
                self._value = parse(raw)
            except ValueError as problem:
                self._value = None
                if self._message is None:
                    self._message = no_json(problem, raw)
        return self._value

    @property
    def members(self) -> dict[str, Json]:
        """The members of the JSON object that it is; empty for anything else."""
        value = self.value
        return cast("dict[str, Json]", value) if isinstance(value, dict) else {}

    @property
    def message(self) -> Message:
        """Its message by the rules of JSON-RPC; `InvalidMessage` if it breaks them."""
        if self._message is None:
            value = self.value
            if self._message is None:
                self._message = message_of(value, self.frame.data)
        return self._message

    @property
    def error(self) -> ErrorResponse | None:
        """The error response that it is, with the code that was sent."""
        for message in (self.message, self.meaning):
            if isinstance(message, ErrorResponse):
                return message
        return None

    # In the published protocol

    @property
    def meaning(self) -> Message:
        """What it means; of several messages the first of the kind that was sent, or the first."""
        return self.message if self._meaning is None else self._meaning

    @property
    def parts(self) -> tuple[DecodedFrame, ...]:
        """Its messages, each by itself: the frame alone, if it holds one message."""
        if self._parts is None:
            message = self.message
            self._parts = (self,)
            if isinstance(message, Batch):
                values = cast("list[Json]", self.value)
                self._parts = tuple(
                    self._part(entry, value)
                    for entry, value in zip(message.entries, values, strict=True)
                )
        return self._parts

    @property
    def paired(self) -> tuple[DecodedFrame, ...]:
        """What is paired with other frames: its messages and, at the end, `unmeant`."""
        return self.parts if self.unmeant is None else (*self.parts, self.unmeant)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that it means."""
        return tuple(part.meaning for part in self.parts)

    @property
    def has_parts(self) -> bool:
        """Whether it holds no message or several, or is an array."""
        return self.parts != (self,)

    @property
    def kind(self) -> FrameKind:
        return _KINDS[type(self.meaning)]

    @property
    def reason(self) -> str:
        """Why it is malformed; empty if it is valid."""
        message = self.meaning
        return message.reason if isinstance(message, InvalidMessage) else ""

    @property
    def has_id(self) -> bool:
        return isinstance(self.meaning, Request | SuccessResponse | ErrorResponse)

    @property
    def id(self) -> RequestId:
        """The id of a request or a response; None for others too."""
        message = self.meaning
        return (
            message.id if isinstance(message, Request | SuccessResponse | ErrorResponse) else None
        )

    @property
    def method(self) -> str | None:
        """Its own method, or that of the request it responds to."""
        if self.request is not None:
            return self.request.method
        message = self.meaning
        return message.method if isinstance(message, Request | Notification) else None

    @property
    def params(self) -> Json:
        """The params of a request or notification; None if absent."""
        message = self.meaning
        return message.params if isinstance(message, Request | Notification) else None

    @property
    def session(self) -> str | None:
        """The session that its params name, or those of the request it responds to."""
        params = self.params if self.request is None else self.request.params
        return get_text(params, "sessionId")

    @property
    def result(self) -> Json:
        """The result of a response; None if it has none."""
        message = self.meaning
        return message.result if isinstance(message, SuccessResponse) else None

    @property
    def update(self) -> dict[str, Json]:
        """The `update` of a `session/update`; empty for anything else."""
        message = self.meaning
        if isinstance(message, Notification) and message.method == "session/update":
            found = get(message.params, "update")
            if isinstance(found, dict):
                return cast("dict[str, Json]", found)
        return {}

    def other_values(self) -> Iterator[Json]:
        """Yield the JSON of its other forms: of the whole array, or in the published protocol."""
        raw = self.frame.data
        if raw and not self.message.raw:
            yield parse(raw)
        if self._meaning is not None and self._meaning.raw:
            yield parse(self._meaning.raw)

    @property
    def latency(self) -> float | None:
        """Seconds from the request to this response; None for anything else."""
        return None if self.request_frame is None else self.frame.time - self.request_frame.time

    def respond_to(self, *earlier: DecodedFrame) -> None:
        """Set the requests that its messages respond to, which `earlier` frames have."""
        for part in self.paired:
            message = part.meaning
            if isinstance(message, SuccessResponse | ErrorResponse):
                found = _request_with(message.id, earlier)
                if found is not None:
                    self.set_request(part, *found)

    def set_request(self, part: DecodedFrame, request: Request, frame: Frame) -> None:
        """Set the request that one of its messages responds to, which was sent in `frame`."""
        for each in {part, self} if part.meaning is self.meaning else {part}:
            each.request, each.request_frame = request, frame

    def translate(self, lines: tuple[bytes, ...], dialect: str) -> None:
        """Set its parts to the messages of `lines`, which a dialect has made of the frame."""
        self.dialect = dialect
        raw = self.frame.data
        if lines == (raw,):
            return
        read = tuple(self.message if line == raw else read_message(line) for line in lines)
        meant = tuple(each for each in read if not isinstance(each, InvalidMessage)) or read
        alike = (each for each in meant if type(each) is type(self.message))
        self._meaning = next(alike, meant[0] if meant else None)
        if len(meant) == 1:
            self._parts = (self,)
        else:
            self._parts = tuple(self._part(self.message, self.value, each) for each in meant)
        self.unmeant = self._unmeant()

    def _unmeant(self) -> DecodedFrame | None:
        message = self.message
        if not isinstance(message, _PAIRED) or any(
            isinstance(each, _PAIRED) for each in self.messages
        ):
            return None
        meaning = self.meaning
        if isinstance(message, Request) and isinstance(meaning, Notification):
            meaning = replace(message, method=meaning.method, params=meaning.params)
        return self._part(message, self.value, meaning)

    def _part(self, message: Message, value: Json, meaning: Message | None = None) -> DecodedFrame:
        part = DecodedFrame(self.frame, message)
        part._value, part._meaning, part._parts = value, meaning, (part,)
        return part


def _request_with(id_: RequestId, frames: Iterable[DecodedFrame]) -> tuple[Request, Frame] | None:
    """Return the request with an id among the messages of frames, with its frame."""
    for frame in frames:
        for part in frame.paired:
            message = part.meaning
            if isinstance(message, Request) and id_key(message.id) == id_key(id_):
                return message, frame.frame
    return None


class Decoder:
    """Decodes the frames of one connection, in order, and recognises its dialect."""

    def __init__(
        self,
        dialect: Dialect | str | None = None,
        directory: str | None = None,
        *,
        rereads: bool = False,
    ) -> None:
        """Begin.

        Args:
            dialect: The dialect of the frames, or its name, which is `none` for the published
                protocol; None: it is recognised.
            directory: That of sessions whose client names none; None or empty: unknown.
            rereads: Whether `reread` will be called.
        """
        self._rereads = rereads
        if dialect is not None and not isinstance(dialect, str):
            dialect, directory = dialect.name, dialect.directory
        self._chosen = dialect
        self._recorded: str | None = None
        """What the header of the recording names."""
        self._name: str | None = None
        """The dialect of the connection, as far as it was chosen or is named."""
        self._directory = directory
        self.restart()

    @property
    def dialect(self) -> str | None:
        """The name of the dialect; None for the published protocol."""
        return self._dialect.name if self._dialect else None

    @property
    def named(self) -> str | None:
        """The name of the dialect that was chosen, or that the recording has for it."""
        return self._name

    @property
    def is_official(self) -> bool:
        """Whether the connection is known to be in the published protocol."""
        return self._is_settled

    def begin_recording(self, dialect: str | None, directory: str) -> None:
        """Take what the header of a recording names; a dialect that was chosen before stays."""
        self._recorded = dialect if dialect in NAMES - {NO_DIALECT} else None
        self._directory = directory
        self.restart()

    def note(self, event: JournalEvent) -> None:
        """Take what an event says of the connection: that a new one begins, or its dialect."""
        if event.begins_connection:
            self.restart()
            return
        name = event.dialect
        if self._chosen is not None or name not in NAMES:
            return
        if name != self._recorded:
            # The header was written before that was known.
            self._recorded = None
        if name != (self.dialect or self._name):
            self._dialect = self._open(name)
            self._report_earlier()
        self._name = name
        self._is_settled = self._dialect is None

    def restart(self) -> None:
        """Begin a new connection and recognise its dialect again."""
        self._name = self._chosen or self._recorded
        self._dialect = self._open(self._name)
        self._recognition = DialectDetector()
        self._is_settled = self._dialect is None and self._name is not None
        """Whether no dialect will be recognised any more."""
        self._earlier: list[Frame] = []
        """Frames kept for the dialect, until one is recognised."""
        self._before: dict[Side, tuple[Dialect, DecodedFrame]] = {}
        """What `reread` needs: the dialect before the last frame of each side, and that frame."""

    def decode(self, frame: Frame) -> DecodedFrame:
        decoded = DecodedFrame(frame)
        if self._is_settled:
            return decoded
        if self._dialect is None:
            if frame.header:
                self._recognition.framing = "headers"
            name = self._recognition.feed(frame.data, frame.side)
            if name is None:
                self._settle(frame)
                return decoded
            self._dialect = self._open(name)
            self._report_earlier()
        assert self._dialect is not None
        if self._rereads:
            self._before[frame.side] = self._dialect.copy(), decoded
        decoded.translate(self._dialect.read(frame.data, frame.side).forward, self._dialect.name)
        return decoded

    def reread(self, frame: Frame) -> DecodedFrame | None:
        """Decode what the last frame of its side was changed to; the connection goes on without it.

        None without a dialect: then the frame means what it says.
        """
        if frame.side not in self._before:
            return None
        dialect, original = self._before[frame.side]
        decoded = DecodedFrame(frame)
        decoded.translate(dialect.copy().read(frame.data, frame.side).forward, dialect.name)
        known = {id_key(each.id): each for each in original.paired if each.request is not None}
        for part in decoded.paired:
            same = known.get(id_key(part.id))
            is_response = part.kind in {"result", "error"}
            if is_response and same is not None and same.request and same.request_frame:
                decoded.set_request(part, same.request, same.request_frame)
        return decoded

    def _report_earlier(self) -> None:
        """Tell the dialect, now that it is known, of the frames before.

        Responses name no method: the dialect has to know the requests before them.
        """
        if (dialect := self._dialect) is not None:
            for earlier in self._earlier:
                dialect.read(earlier.data, earlier.side)
        self._earlier.clear()

    def _settle(self, frame: Frame) -> None:
        """Decide whether a frame in which no dialect was recognised is the last to look at."""
        sides: tuple[Side, ...] = ("client", "agent")
        self._earlier.append(frame)
        if len(self._earlier) >= 2 * MAX_FRAMES or all(map(self._recognition.is_settled, sides)):
            self._is_settled = True
            self._earlier.clear()

    def _open(self, name: str | None) -> Dialect | None:
        if name is None or name == NO_DIALECT:
            return None
        # Imported late: dialects are rare, and their modules are slow to import.
        from acp_protocol.dialects.registry import open_translator

        return open_translator(name, self._directory or "")


_UNREAD: Final[Json] = object()
