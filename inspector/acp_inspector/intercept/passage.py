"""One frame on its way through, and what has been done to it, without I/O.

Rules, add-ons and persons all interfere by the same deeds, and each deed says for the recording
what it did. A passage to which nothing was done leaves as the very bytes that came.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, Self, TypeAlias, cast

from acp_inspector.journal import Frame
from acp_protocol import jsonrpc
from acp_protocol.errors import AcpError
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Batch, Json, Request

WAIT_LIMIT: Final = 3600.0
"""Seconds that any single wait may take."""
COPIES_LIMIT: Final = 1000
"""Times that one frame may leave."""
THROTTLE_STEP: Final = 0.05
"""Seconds for which a throttled frame sends at once."""
REFUSAL: Final = "acp-console: this request was discarded on its way (by {by})"
"""What who asked is told in place of an answer."""


class DeedError(AcpError, ValueError):
    """What was asked for cannot be done to this frame; the message says why in one sentence."""


Inject: TypeAlias = Callable[[Side, bytes, str], object]
"""Sends a frame as if a side had sent it; the last one is whose doing it is."""


class Scribe(Protocol):
    """Takes down for the recording what happens: from any thread, and never raises."""

    def frame(self, side: Side, raw: bytes, end: bytes) -> int:
        """Take down a frame that did not come from a peer; return its number."""
        ...

    def event(self, name: str, **data: Json) -> object:
        """Take down an event."""
        ...


class Interferer(Protocol):
    """A rule or an add-on."""

    @property
    def name(self) -> str:
        """What it is called in the recording."""
        ...

    def interfere(self, passage: Passage, inject: Inject) -> Passage:
        """Return what has become of a frame: `passage` itself, or a draft of it with its deeds.

        May raise anything: then the frame passes as it was.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reorder:
    """A wish to let others pass first."""

    frames: int
    """How many."""
    seconds: float
    """How long to wait for them."""
    by: str


@dataclass(slots=True)
class Passage:
    """A frame between its arrival and its leaving."""

    frame: Frame
    """As it came."""
    raw: bytes
    """As it would leave now."""
    is_dropped: bool = False
    copies: int = 1
    wait: float = 0.0
    """Seconds before it leaves."""
    rate: float = 0.0
    """Bytes a second at which it leaves; 0 for at once."""
    piece: int = 0
    """Bytes that are written in one go; 0 for all."""
    pause: float = 0.0
    """Seconds between pieces."""
    cut_at: int | None = None
    """Bytes of it that still leave, and then nothing ever; None for all of it."""
    cut_by: str = ""
    reorder: Reorder | None = None
    hung_by: str = ""
    """Who lets nothing more through from here on."""
    signal: int = 0
    """What the agent is killed with when the frame's turn has come; 0 for not at all."""
    breakpoint: int | None = None
    """Which one wants to hold it."""
    reply: tuple[bytes, str] | None = None
    """An answer for whoever sent it, and whose it is."""
    tale: list[tuple[str, dict[str, Json]]] = field(
        default_factory=list[tuple[str, dict[str, Json]]]
    )
    """Events that nobody has taken down yet."""

    @classmethod
    def of(cls, frame: Frame) -> Self:
        """Return the passage of a frame that has just come."""
        return cls(frame, frame.raw)

    @property
    def current(self) -> Frame:
        """The frame as it would leave now."""
        return self.frame if self.raw is self.frame.raw else replace(self.frame, raw=self.raw)

    def draft(self) -> Passage:
        """Return a copy to try deeds on: whoever fails half-way leaves no trace."""
        return replace(self, tale=list(self.tale))

    def tell(self, name: str, by: str, **data: Json) -> None:
        """Say for the recording what `by` did."""
        self.tale.append((name, {"of": self.frame.n, "by": by} | data))

    def write_tale(self, scribe: Scribe) -> None:
        """Let `scribe` take down what was told since the last time."""
        for name, data in self.tale:
            scribe.event(name, **data)
        self.tale.clear()

    # The deeds.

    def drop(self, by: str) -> None:
        """Let it be lost: it does not leave, and nobody is told."""
        self.is_dropped = True
        self.tell("discarded", by)

    def discard(self, by: str) -> None:
        """Let it not leave; who asked with it hears that there will be no answer."""
        self.drop(by)
        message = jsonrpc.read_message(self.raw)
        entries = message.entries if isinstance(message, Batch) else (message,)
        refusals = [
            jsonrpc.failure_line(entry.id, jsonrpc.INTERNAL_ERROR, REFUSAL.format(by=by))
            for entry in entries
            if isinstance(entry, Request)
        ]
        if refusals:
            is_batch = isinstance(message, Batch)
            self.reply = (b"[%b]" % b",".join(refusals) if is_batch else refusals[0]), by

    def edit(self, raw: bytes, by: str, name: str = "edited") -> None:
        """Let it leave as `raw`; nothing happens when that is what it says already.

        Raises:
            DeedError: there is a line ending inside.
        """
        refuse_line_endings(raw)
        if raw != self.raw:
            self.tell(name, by, **verbatim("was", self.raw), **verbatim("now", raw))
            self.raw = raw

    def duplicate(self, times: int, by: str) -> None:
        """Let it leave `times` times in all."""
        if not 1 < times <= COPIES_LIMIT:
            raise DeedError(f"a frame can leave 2 to {COPIES_LIMIT} times, not {times}")
        self.copies = times
        self.tell("duplicated", by, times=times)

    def delay(self, seconds: float, by: str) -> None:
        """Let it, and what is behind it, wait for `seconds` more."""
        if not 0 <= seconds <= WAIT_LIMIT:
            raise DeedError(f"a delay is 0 to {WAIT_LIMIT:.0f} seconds, not {seconds}")
        self.wait += seconds
        self.tell("delayed", by, seconds=seconds)

    def throttle(self, rate: float, by: str) -> None:
        """Let it leave at `rate` bytes a second."""
        self.rate = rate
        self.tell("throttled", by, rate=rate)

    def split(self, size: int, pause: float, by: str) -> None:
        """Let it leave in pieces of `size` bytes with `pause` seconds between them."""
        self.piece, self.pause = size, pause
        self.tell("split", by, bytes=size, pause=pause)

    def let_pass(self, frames: int, seconds: float, by: str) -> None:
        """Let up to `frames` frames from behind go first, for at most `seconds`."""
        self.reorder = Reorder(frames, seconds, by)
        self.tell("reordered", by, frames=frames, seconds=seconds)

    def cut(self, size: int, by: str) -> None:
        """Let only its first `size` bytes leave, and close the direction."""
        self.cut_at, self.cut_by = size, by
        self.tell("cut", by, at=size)

    def hang(self, by: str) -> None:
        """Let neither it nor anything behind it leave."""
        self.hung_by = by
        self.is_dropped = True
        self.tell("hung", by)

    def crash(self, number: int, by: str) -> None:
        """Kill the agent with signal `number` in place of letting it leave."""
        self.signal = number
        self.is_dropped = True
        self.tell("crashed", by, signal=number)

    def answer(self, by: str, *, result: Json = None, error: Json = None) -> None:
        """Answer the request in the other peer's place, and let it not leave.

        Raises:
            DeedError: it is no request, or the error has no code and message.
        """
        message = jsonrpc.read_message(self.raw)
        if not isinstance(message, Request):
            raise DeedError(f"frame {self.frame.n} is no request: there is nothing to answer")
        self.reply = answer_line(message, result, error), by
        self.is_dropped = True
        self.tell("answered", by)

    def sendings(self) -> Iterator[bytes | float]:
        """Yield what to write, and between it the seconds to wait."""
        end = self.frame.end
        if self.cut_at is not None:
            yield from self._portions((self.raw + end)[: self.cut_at])
            return
        for number in range(1, self.copies + 1):
            # A last line without an ending gets one where another copy follows it.
            yield from self._portions(self.raw + (end or (b"\n" if number < self.copies else b"")))

    def _portions(self, line: bytes) -> Iterator[bytes | float]:
        size, pause = self.piece or len(line), self.pause
        if self.rate:
            size = min(size, max(int(self.rate * THROTTLE_STEP), 1))
            pause = max(pause, size / self.rate)
        for at in range(0, len(line), size or 1):
            if at and pause:
                yield pause
            yield line[at : at + size]


def answer_line(request: Request, result: Json, error: Json) -> bytes:
    """Return the frame that answers `request`; with the error, where there is one.

    Raises:
        DeedError: the error has no integer code and message, or something is no JSON.
    """
    members: dict[str, Json] = {"jsonrpc": "2.0", "id": request.id}
    if error is None:
        return encode(members | {"result": result})
    told = cast("dict[str, Json]", error) if isinstance(error, dict) else {}
    if type(told.get("code")) is not int or not isinstance(told.get("message"), str):
        raise DeedError("an error needs an integer `code` and a `message`")
    return encode(members | {"error": error})


def encode(value: Json) -> bytes:
    """Return `value` as JSON on one line.

    Raises:
        DeedError: JSON has no spelling for it.
    """
    try:
        return jsonrpc.encode(value)
    except (TypeError, ValueError, RecursionError) as problem:
        raise DeedError(f"this cannot be spelled as JSON: {problem}") from None


def refuse_line_endings(raw: bytes) -> None:
    """Do nothing, unless `raw` would be more than one line.

    Raises:
        DeedError: there is a line ending inside.
    """
    if b"\n" in raw or b"\r" in raw:
        raise DeedError("a frame is one line: there must be no line ending inside")


def refuse_no_json(raw: bytes) -> None:
    """Do nothing, unless `raw` is no JSON.

    Raises:
        DeedError: it is none.
    """
    try:
        jsonrpc.parse(raw)
    except ValueError as problem:
        raise DeedError(f"{problem}; to send it all the same, force it") from None


def verbatim(key: str, raw: bytes) -> dict[str, Json]:
    """Return the member of an event that keeps bytes: text, or `KEY_b64` where it is no UTF-8."""
    try:
        return {key: raw.decode()}
    except UnicodeDecodeError:
        return {f"{key}_b64": base64.b64encode(raw).decode()}
