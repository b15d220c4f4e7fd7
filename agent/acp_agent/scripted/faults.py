"""Outgoing frames, the faults that can strike them, and rules that say which frames are struck.

Source: docs/intercept.md, "Rules"; docs/scripted-agent.md, "Faults".
"""

from __future__ import annotations

import json
import re
import signal as signals
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from acp_agent.scripted.schema import (
    MAX_SECONDS,
    Chance,
    Count,
    HexBytes,
    Known,
    ScenarioPart,
    Seconds,
    as_texts,
    listed,
    number,
    update_names,
    whole,
    wrong,
)
from acp_protocol import jsonrpc
from acp_protocol.framing import Framing
from acp_protocol.json_values import as_object, get_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.methods import METHODS
from acp_protocol.user_files.toml_source import as_table

FrameKind: TypeAlias = Literal["request", "notification", "answer"]
Split: TypeAlias = int | Literal["characters"]
"""Bytes of a piece; or pieces that end inside of each character of several bytes."""
MAX_COPIES: Final = 1000
MAX_OVERTAKING: Final = 10_000
"""Frames that may overtake one."""
MAX_LINE_BYTES: Final = 2**30
ENDINGS: Final = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r", "none": b""}
_WIDE: Final = re.compile(rb"[\xc0-\xff](?=[\x80-\xbf])")
_LINE_ENDS: Final = frozenset(b"\r\n")
_NOISE: Final = (
    "DEBUG: cache warmed up",
    "Listening on stdin…",
    "(node:4711) Warning: this feature is experimental",
    "{'not': 'json'}",
    "Traceback (most recent call last):",
    "",
)
"""Lines as they end up on stdout by mistake."""


@dataclass(slots=True, eq=False)
class OutgoingFrame:
    """A frame on its way out, and what becomes of it."""

    raw: bytes | None
    """None: no frame, but perhaps something in its place."""
    framing: Framing | None = "lines"
    """How it is kept apart from the next; None for bytes that are no frame."""
    sort: FrameKind | None = None
    """What it is, if it is one message."""
    ending: bytes | None = None
    """How its line ends, or each line of its header; None for as usual."""
    extra_length: int = 0
    """Bytes that its header announces beyond those that there are."""
    prefix: bytes = b""
    """Bytes that leave before it."""
    copies: int = 1
    delay: float = 0.0
    """Seconds that it waits; others may overtake it."""
    behind: int = 0
    """How many frames that come later leave before it."""
    behind_of: FrameKind | None = None
    """What those are; None for any."""
    reorder_timeout_s: float = 0.0
    """Seconds that it waits for them, at most."""
    split: Split | None = None
    pause: float = 0.0
    """Seconds between two pieces."""
    rate: float | None = None
    """Bytes a second; None for as fast as it goes."""
    cut_at: int | None = None
    """Bytes that leave before stdout is closed; None for all, and it stays open."""
    is_dropped: bool = False
    process_exit: ProcessExit | None = None
    """What happens in place of letting it leave."""

    @property
    def is_frame(self) -> bool:
        """Whether a frame leaves at all."""
        return self.raw is not None and self.framing is not None and not self.is_dropped

    def change(self, raw: bytes) -> None:
        """Replace the bytes, if there is a frame at all."""
        if self.raw is not None:
            self.raw = raw

    def pieces(self) -> Iterator[bytes]:
        """Yield what is written, piece by piece."""
        frame = self._framed()
        if self.cut_at is not None:
            yield self.prefix + frame[: self.cut_at]
            return
        if self.prefix:
            yield self.prefix
        for _ in range(self.copies if frame else 0):
            yield from _cut(frame, self.split)

    def _framed(self) -> bytes:
        if self.raw is None or self.is_dropped:
            return b""
        if self.framing == "headers":
            end = b"\r\n" if self.ending is None else self.ending
            length = len(self.raw) + self.extra_length
            return b"Content-Length: %d%b%b%b" % (length, end, end, self.raw)
        usual = b"" if self.framing is None else b"\n"
        return self.raw + (usual if self.ending is None else self.ending)


def _cut(frame: bytes, split: Split | None) -> Iterator[bytes]:
    if split is None:
        yield frame
    elif split == "characters":
        begin = 0
        for found in _WIDE.finditer(frame):
            yield frame[begin : found.end()]
            begin = found.end()
        yield frame[begin:]
    else:
        for begin in range(0, len(frame), split):
            yield frame[begin : begin + split]


class FrameFault(ScenarioPart):
    """Something that goes wrong with a frame."""

    main: ClassVar[str | None] = None
    """The key of a value that is written without a table."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raise NotImplementedError

    @model_validator(mode="before")
    @classmethod
    def _as_table(cls, value: Any) -> Any:
        if cls.main is None and value is not True and value != {}:
            raise wrong("has to be `true`")
        if as_table(value) is not None:
            return value
        return {} if value is True else {cls.main: value}


class DelayFault(FrameFault):
    main = "seconds"
    # Together they stay below what a single wait may be.
    seconds: Annotated[float, number(MAX_SECONDS / 2)]
    jitter: Annotated[float, number(MAX_SECONDS / 2)] = 0.0
    """Seconds more, at most, by chance."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.delay += self.seconds + (random.uniform(0, self.jitter) if self.jitter else 0.0)


class DropFault(FrameFault):
    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.is_dropped = True


class DuplicateFault(FrameFault):
    main = "times"
    times: Annotated[int, whole(2, MAX_COPIES)] = 2

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.copies *= self.times


class ReorderFault(FrameFault):
    """The frame leaves behind others that come later."""

    main = "frames"
    frames: Annotated[int, whole(1, MAX_OVERTAKING)] = 1
    of: FrameKind | None = None
    """Which ones count; None for any."""
    seconds: Seconds = 5.0
    """How long it waits for them, at most."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.behind, outgoing.behind_of = self.frames, self.of
        outgoing.reorder_timeout_s = self.seconds


class SplitFault(FrameFault):
    main = "bytes"
    bytes: Annotated[Split, whole(1, 2**31, "characters")]
    # Without a pause, a pipe would put the pieces together again.
    pause: Seconds = 0.001

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.split, outgoing.pause = self.bytes, self.pause


class ThrottleFault(FrameFault):
    main = "rate"
    rate: Count
    """Bytes a second."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.rate = self.rate


class CutFault(FrameFault):
    """The beginning of the frame leaves, and stdout is closed."""

    main = "bytes"
    bytes: Annotated[int, whole(0)]

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.cut_at = self.bytes


class CorruptFault(FrameFault):
    """Bytes are damaged; never so that a line ends, because that would be another fault."""

    main = "bytes"
    bytes: Count = 1
    mode: Literal["flip", "replace"] = "flip"
    """One bit of a byte, or all of it."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        line = bytearray(outgoing.raw or b"")
        for place in random.sample(range(len(line)), min(self.bytes, len(line))):
            line[place] = self._damaged(line[place], random)
        outgoing.change(bytes(line))

    def _damaged(self, byte: int, random: Random) -> int:
        flips = [byte ^ 1 << bit for bit in range(8)]
        others = flips if self.mode == "flip" else [other for other in range(256) if other != byte]
        return random.choice([other for other in others if other not in _LINE_ENDS])


class InvalidUtf8Fault(FrameFault):
    """A byte that no UTF-8 has is put into the middle of the line."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raw = outgoing.raw or b""
        outgoing.change(raw[: len(raw) // 2] + b"\xff" + raw[len(raw) // 2 :])


class NoiseFault(FrameFault):
    """Something that is no frame leaves before it: `hex`, or `text`, or a line by chance."""

    main = "text"
    text: str | None = None
    hex: HexBytes | None = None
    newline: bool = True

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        content = self.hex
        if content is None:
            content = (random.choice(_NOISE) if self.text is None else self.text).encode()
        outgoing.prefix += content + (b"\n" if self.newline else b"")


class LineEndingFault(FrameFault):
    """The line ends in another way, or each line of the header."""

    main = "as"
    kind: Literal["lf", "crlf", "cr", "none"] = Field(alias="as")

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.ending = ENDINGS[self.kind]


class WrongLengthFault(FrameFault):
    """The header announces another length than the frame has."""

    main = "by"
    by: Annotated[int, whole(-MAX_LINE_BYTES, MAX_LINE_BYTES)]
    """Bytes that it announces too many, or too few if it is negative."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.extra_length += self.by


class EncodingFault(FrameFault):
    """The same JSON in other bytes."""

    main = "as"
    kind: Literal["ascii", "spaced", "bom", "utf-16", "latin-1"] = Field(alias="as")

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raw = outgoing.raw or b""
        match self.kind:
            case "bom":
                raw = b"\xef\xbb\xbf" + raw
            case "utf-16" | "latin-1":
                raw = raw.decode("utf-8", "replace").encode(self.kind, "replace")
            case _:
                raw = self._respelled(raw)
        outgoing.change(raw)

    def _respelled(self, raw: bytes) -> bytes:
        try:
            value = jsonrpc.parse(raw)
        except ValueError:
            return raw
        if self.kind == "ascii":
            return json.dumps(value, separators=(",", ":")).encode()
        return json.dumps(value, ensure_ascii=False, separators=("  ,  ", "  :  ")).encode()


class PadFault(FrameFault):
    """The line is made at least so long by white space, which changes nothing in JSON."""

    main = "bytes"
    bytes: Annotated[int, whole(1, MAX_LINE_BYTES)]

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raw = outgoing.raw or b""
        outgoing.change(raw[:1] + b" " * (self.bytes - len(raw)) + raw[1:])


class NestFault(FrameFault):
    """The message gets a member of very many brackets."""

    main = "depth"
    depth: Annotated[int, whole(1, MAX_LINE_BYTES)]

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raw = outgoing.raw or b""
        if raw.endswith(b"}"):
            outgoing.change(raw[:-1] + b',"_deep":' + b"[" * self.depth + b"]" * self.depth + b"}")


def _as_signal(value: Any) -> signals.Signals:
    try:
        return signals.Signals[f"SIG{value.removeprefix('SIG')}"]
    except (AttributeError, KeyError):
        raise wrong("is no signal here; try `KILL`, `TERM` or `SEGV`") from None


def _as_signals(value: Any) -> Sequence[signals.Signals]:
    return [_as_signal(name) for name in as_texts(value)]


class CrashFault(FrameFault):
    """The process ends at once in place of sending the frame, by itself or by a signal."""

    main = "code"
    code: Annotated[int, whole(0, 255)] = 1
    signal: Annotated[signals.Signals, BeforeValidator(_as_signal)] | None = None

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.process_exit = self

    @model_validator(mode="before")
    @classmethod
    def _with_signal(cls, value: Any) -> Any:
        table = as_table(value) or {"code": value}
        if isinstance(table.get("code"), str):
            return {"signal": table["code"]} | {key: table[key] for key in table if key != "code"}
        return value


class HangFault(FrameFault):
    """The process reads and writes nothing more in place of sending the frame."""

    main = "seconds"
    seconds: Seconds = 600.0
    """The process ends after this time if it is not killed."""
    ignore: Annotated[Sequence[signals.Signals], BeforeValidator(_as_signals)] = ()

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.process_exit = self


ProcessExit: TypeAlias = CrashFault | HangFault


class Faulty(ScenarioPart):
    """A table with faults, which are in the order in which they are written."""

    _order: Sequence[str] = PrivateAttr(())
    _place: str = PrivateAttr("usual")

    @property
    def faults(self) -> Sequence[FrameFault]:
        return [getattr(self, key) for key in self._order if key in FAULTS]

    @property
    def place(self) -> str:
        """The line and the place in the file, for messages."""
        return self._place

    def set_place(self, place: str) -> None:
        self._place = place

    @model_validator(mode="wrap")
    @classmethod
    def _ordered(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        part = handler(value)
        part.set_order(as_table(value) or ())
        return part

    def set_order(self, keys: Iterable[str]) -> None:
        self._order = tuple(keys)


class AllFaults(Faulty):
    """A table that may have any fault."""

    delay: DelayFault | None = None
    drop: DropFault | None = None
    duplicate: DuplicateFault | None = None
    reorder: ReorderFault | None = None
    split: SplitFault | None = None
    throttle: ThrottleFault | None = None
    cut: CutFault | None = None
    corrupt: CorruptFault | None = None
    invalid: InvalidUtf8Fault | None = None
    noise: NoiseFault | None = None
    ending: LineEndingFault | None = None
    length: WrongLengthFault | None = None
    spelling: EncodingFault | None = None
    pad: PadFault | None = None
    nest: NestFault | None = None
    crash: CrashFault | None = None
    hang: HangFault | None = None


FAULTS: Final = tuple(AllFaults.model_fields)


def _methods() -> Sequence[str]:
    return sorted({row.name for row in METHODS})


class FaultRule(AllFaults):
    """Faults that strike any frame that is meant."""

    method: Annotated[str | None, Known("method", _methods)] = None
    """The frame's method; for a response, that of its request."""
    update: Annotated[str | None, Known("update", update_names)] = None
    """Its `sessionUpdate`."""
    of: FrameKind | None = None
    after: Annotated[int, whole(0)] = 0
    """How many of the frames meant so are spared at first."""
    first: Count | None = None
    """How many of those behind are looked at; None for all."""
    every: Count = 1
    """Which of those: each n-th."""
    probability: Chance = 1.0
    """How likely it is that one of those is struck."""

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not self.faults:
            raise wrong(f"does nothing; it needs {listed(FAULTS)}")
        return self

    def means(self, message: Json, method: str | None) -> bool:
        """Return whether a frame is meant, whatever its number."""
        if self.of not in {None, frame_kind(message)} or self.method not in {None, method}:
            return False
        update = as_object(get_object(message, "params").get("update"))
        return self.update is None or update.get("sessionUpdate") == self.update


@dataclass(slots=True)
class RunningFaultRule:
    """A rule at work on one connection."""

    rule: FaultRule
    random: Random
    matched: int = 0

    def apply(self, outgoing: OutgoingFrame, message: Json, method: str | None) -> None:
        rule = self.rule
        if not rule.means(message, method):
            return
        self.matched += 1
        number = self.matched - rule.after
        if number <= 0 or number % rule.every or (rule.first is not None and number > rule.first):
            return
        if rule.probability >= 1 or self.random.random() < rule.probability:
            for fault in rule.faults:
                fault.apply(outgoing, self.random)


def frame_kind(message: Json) -> FrameKind | None:
    """Return what a message is; None for what is not one message."""
    if not isinstance(message, dict):
        return None
    if "method" not in message:
        return "answer"
    return "request" if "id" in message else "notification"
