"""A frame between arrival and sending, and the actions on it. No I/O.

Rules, add-ons and observers use the same actions, and each action adds an event for the recording.
A frame without actions is sent with exactly the bytes that came.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol, TypeAlias, cast, runtime_checkable

from acp_inspector.journal import Frame
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError
from acp_protocol.faults import in_pieces
from acp_protocol.framing import Side, WireFrame, with_length
from acp_protocol.jsonrpc import Batch, Json, Request

MAX_WAIT_S: Final = 3600.0
"""Seconds that a single delay or hold may take."""
MAX_COPIES: Final = 1000
"""How many times one frame may be sent."""
THROTTLE_STEP_S: Final = 0.05
"""Seconds for each piece of a throttled frame."""
DISCARDED_MESSAGE: Final = "acp-console: this request was discarded on its way (by {by})"
"""Message of the error response to a discarded request."""


class InterceptError(AcpError, ValueError):
    """An action is not possible; the message says why in one sentence."""


Inject: TypeAlias = Callable[[Side, bytes, str], object]
"""Sends a frame as if a side had sent it; the last argument names the rule, add-on or person."""


class EventSink(Protocol):
    """Records frames and events, from any thread; never raises and never waits."""

    def inject(self, side: Side, frame: WireFrame) -> Frame:
        """Record an injected frame; return it, with its time and its number."""
        ...

    def event(self, name: str, **data: Json) -> object: ...


class Hook(Protocol):
    """A rule or an add-on."""

    @property
    def name(self) -> str:
        """Its name in the recording."""
        ...

    def process(self, frame: InterceptedFrame, inject: Inject) -> InterceptedFrame:
        """Return `frame` itself if the hook does not act on it, or a changed copy.

        May raise anything: then the frame is sent unchanged. It gets the messages of an array one
        by one.
        """
        ...


@runtime_checkable
class BatchHook(Hook, Protocol):
    """A hook that may act on all of an array."""

    def fits_all(self, frame: InterceptedFrame) -> bool:
        """Return whether it gets an array whole, instead of the messages one by one."""
        ...


@dataclass(frozen=True, slots=True)
class Reordering:
    """Lets later frames go first."""

    frames: int
    """How many."""
    seconds: float
    """How long to wait for them."""
    by: str


@dataclass(frozen=True, slots=True)
class ProxyRefusal:
    """A response that an HTTP request gets from the proxy."""

    status: int
    body: str = ""
    retry_after: int | None = None
    """Seconds in `Retry-After`."""


@dataclass(slots=True)
class InterceptedFrame:
    """A frame, how it is sent, and the events for the recording."""

    frame: Frame
    """As it came."""
    raw: bytes
    """As it would be sent now."""
    is_dropped: bool = False
    copies: int = 1
    wait: float = 0.0
    """Seconds before it is sent."""
    rate: float = 0.0
    """Bytes per second at which it is sent; 0: without a limit."""
    piece: int | Literal["characters"] = 0
    """Bytes in one write; 0 for all; or a write ends inside each character of several bytes."""
    pause: float = 0.0
    """Seconds between two writes."""
    cut_at: int | None = None
    """Bytes after which the direction is closed; None: it is not closed."""
    cut_by: str = ""
    prefix: bytes = b""
    """Bytes that are sent before it."""
    ending: bytes | None = None
    """How its line ends, or each line of its header; None: as it came."""
    reordering: Reordering | None = None
    hung_by: str = ""
    """The rule that sends nothing from this frame on; empty for none."""
    signal: int = 0
    """Signal sent to the agent in place of the frame; 0 for none."""
    answers: int | None = None
    """Of an injected frame: the number of the request that it responds to."""
    refusal: ProxyRefusal | None = None
    """The response that its HTTP request gets in place of being sent."""
    late: float = 0.0
    """Seconds that the response to its HTTP request is held back."""
    breakpoint: int | None = None
    """Id of the breakpoint that matches it."""
    entry_breakpoints: dict[int, int] = field(default_factory=dict[int, int])
    """Of an array: ids of the breakpoints that match its messages, by place, not paused yet."""
    replies: list[tuple[bytes, str]] = field(default_factory=list[tuple[bytes, str]])
    """Responses to send in the peer's place, each with its sender."""
    events: list[tuple[str, dict[str, Json]]] = field(
        default_factory=list[tuple[str, dict[str, Json]]]
    )
    """Events that are not recorded yet."""

    @classmethod
    def of(cls, frame: Frame) -> InterceptedFrame:
        """Return a frame without actions."""
        return cls(frame, frame.data)

    @property
    def current(self) -> Frame:
        """The frame as it would be sent now."""
        if self.raw is self.frame.data:
            return self.frame
        return replace(self.frame, data=self.raw, header=self._header)

    @property
    def _header(self) -> bytes:
        """Its header, with the length of what is sent."""
        header = self.frame.header
        return header if self.raw == self.frame.data else with_length(header, len(self.raw))

    def copy(self) -> InterceptedFrame:
        """Return a copy to act on, so that a hook that fails half-way has no effect."""
        return replace(self, events=list(self.events), replies=list(self.replies))

    def add_event(self, name: str, by: str, **data: Json) -> None:
        """Add an event for the recording: what `by` did."""
        self.events.append((name, {"of": self.frame.seq, "by": by} | data))

    def flush_events(self, sink: EventSink) -> None:
        """Record the events that were added since the last time."""
        for name, data in self.events:
            sink.event(name, **data)
        self.events.clear()

    # Actions.

    def drop(self, by: str) -> None:
        """Do not send it, and send no error response either."""
        self.is_dropped = True
        self.add_event("discarded", by)

    def discard(self, by: str) -> None:
        """Do not send it; each request in it gets an error response."""
        self.drop(by)
        message = jsonrpc.read_message(self.raw)
        why, code = DISCARDED_MESSAGE.format(by=by), jsonrpc.INTERNAL_ERROR
        for entry in message.entries if isinstance(message, Batch) else (message,):
            if isinstance(entry, Request):
                self.replies.append((jsonrpc.encode_error(entry.id, code, why), by))

    def edit(self, raw: bytes, by: str, name: str = "edited") -> None:
        """Send `raw` in its place; does nothing if these are its bytes already.

        Raises:
            InterceptError: `raw` contains a line ending, and the frame is a line.
        """
        if not self.frame.header:
            check_single_line(raw, self.raw)
        if raw != self.raw:
            self.add_event(name, by, **change(self.raw, raw))
            self.raw = raw

    def duplicate(self, times: int, by: str) -> None:
        if not 1 < times <= MAX_COPIES:
            raise InterceptError(f"a frame can be sent 2 to {MAX_COPIES} times, not {times}")
        self.copies = times
        self.add_event("duplicated", by, times=times)

    def delay(self, seconds: float, by: str) -> None:
        """Send it, and the frames behind it, `seconds` later."""
        if not 0 <= seconds <= MAX_WAIT_S:
            raise InterceptError(f"a delay is 0 to {MAX_WAIT_S:.0f} seconds, not {seconds}")
        self.wait += seconds
        self.add_event("delayed", by, seconds=seconds)

    def throttle(self, rate: float, by: str) -> None:
        self.rate = rate
        self.add_event("throttled", by, rate=rate)

    def split(self, size: int | Literal["characters"], pause: float, by: str) -> None:
        """Send it in pieces of `size` bytes with `pause` seconds between them.

        With `characters`, a piece ends inside each character of several bytes.
        """
        self.piece, self.pause = size, pause
        self.add_event("split", by, bytes=size, pause=pause)

    def reorder(self, frames: int, seconds: float, by: str) -> None:
        """Send up to `frames` later frames first; wait for them `seconds` at most."""
        self.reordering = Reordering(frames, seconds, by)
        self.add_event("reordered", by, frames=frames, seconds=seconds)

    def cut(self, size: int, by: str) -> None:
        """Send only its first `size` bytes, then close the direction."""
        self.cut_at, self.cut_by = size, by
        self.add_event("cut", by, at=size)

    def precede(self, raw: bytes, by: str) -> None:
        """Send something that is no frame before it."""
        self.prefix += raw
        self.add_event("preceded", by, **verbatim("text", raw))

    def end_line(self, ending: bytes, by: str) -> None:
        """End its line, or each line of its header, in another way."""
        self.ending = ending
        self.add_event("line_ended", by, ending=ending.decode())

    def hang(self, by: str) -> None:
        """Send neither it nor anything behind it."""
        self.hung_by = by
        self.is_dropped = True
        self.add_event("hung", by)

    def crash(self, number: int, by: str) -> None:
        """Send signal `number` to the agent, and not the frame."""
        self.signal = number
        self.is_dropped = True
        self.add_event("crashed", by, signal=number)

    def refuse(self, refusal: ProxyRefusal, by: str) -> None:
        """Do not send it; respond to its HTTP request with a status."""
        self.refusal = refusal
        self.is_dropped = True
        self.add_event("refused", by, status=refusal.status)

    def respond_late(self, seconds: float, by: str) -> None:
        """Hold the response to its HTTP request back for `seconds`."""
        self.late = seconds
        self.add_event("late", by, seconds=seconds)

    def answer(self, by: str, *, result: Json = None, error: Json = None) -> None:
        """Respond to the request in the other peer's place, and do not send it.

        Raises:
            InterceptError: it is not a request, or the error has no code and message.
        """
        message = jsonrpc.read_message(self.raw)
        if not isinstance(message, Request):
            raise InterceptError(f"frame {self.frame.seq} is not a request, so it has no response")
        self.replies.append((response_line(message, result, error), by))
        self.is_dropped = True
        self.add_event("answered", by)

    def portions(self) -> Iterator[bytes | float]:
        """Yield the bytes to write, and between them the seconds to wait."""
        header, end = self._header, self.frame.line_ending
        if self.ending is not None and header:
            header = header.replace(b"\r\n", b"\n").replace(b"\n", self.ending)
        elif self.ending is not None:
            end = self.ending
        whole = header + self.raw + end
        if self.prefix:
            yield self.prefix
        if self.cut_at is not None:
            yield from self.pieces(whole[: self.cut_at])
            return
        for number in range(1, self.copies + 1):
            # A last line without an ending gets one where another copy follows it.
            is_open = self.ending is None and self.frame.is_cut and number < self.copies
            yield from self.pieces(whole + b"\n" if is_open else whole)

    def pieces(self, line: bytes) -> Iterator[bytes | float]:
        """Yield the bytes to write for `line`, and between them the seconds to wait."""
        is_first = True
        for piece in in_pieces(line, self.piece or None):
            size, pause = len(piece), self.pause
            if self.rate:
                size = min(size, max(int(self.rate * THROTTLE_STEP_S), 1))
                pause = max(pause, size / self.rate)
            for at in range(0, len(piece), size or 1):
                if pause and not is_first:
                    yield pause
                is_first = False
                yield piece[at : at + size]


def response_line(request: Request, result: Json, error: Json) -> bytes:
    """Return the response to `request`; an error response if there is an `error`.

    Raises:
        InterceptError: the error has no integer code and message, or a value is not JSON.
    """
    fields: dict[str, Json] = {"jsonrpc": "2.0", "id": request.id}
    if error is None:
        return encode(fields | {"result": result})
    given = cast("dict[str, Json]", error) if isinstance(error, dict) else {}
    if type(given.get("code")) is not int or not isinstance(given.get("message"), str):
        raise InterceptError("an error needs an integer `code` and a `message`")
    return encode(fields | {"error": error})


def encode(value: Json) -> bytes:
    """Return `value` as JSON on one line.

    Raises:
        InterceptError: JSON cannot represent it.
    """
    try:
        return jsonrpc.encode(value)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InterceptError(f"not representable as JSON: {problem}") from None


def parse_or_none(raw: bytes) -> Json:
    """Return the JSON value in `raw`; None if it is not JSON."""
    try:
        return jsonrpc.parse(raw)
    except ValueError:
        return None


def check_single_line(raw: bytes, original: bytes = b"") -> None:
    r"""Raise `InterceptError` if there is a line ending in `raw`.

    Only `\n` ends a line. `\r` may stay in a message that had it; one that is added means CRLF.
    """
    if b"\n" in raw or raw.count(b"\r") > original.count(b"\r"):
        raise InterceptError("a frame is one line: there must be no line ending inside")


def check_json(raw: bytes) -> None:
    """Raise `InterceptError` if `raw` is not JSON."""
    try:
        jsonrpc.parse(raw)
    except ValueError as problem:
        raise InterceptError(f"{problem}; to send it all the same, force it") from None


def change(was: bytes, now: bytes) -> dict[str, Json]:
    """Return the event fields for bytes that were changed."""
    return verbatim("was", was) | verbatim("now", now)


def verbatim(key: str, raw: bytes) -> dict[str, Json]:
    """Return the event field for bytes: text, or `KEY_b64` where they are not UTF-8."""
    try:
        return {key: raw.decode()}
    except UnicodeDecodeError:
        return {f"{key}_b64": base64.b64encode(raw).decode()}
