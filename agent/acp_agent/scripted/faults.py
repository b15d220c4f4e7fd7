"""Faults of outgoing frames, one class each, and rules that say which frames they strike.

Source: docs/intercept.md, "Rules"; docs/scripted-agent.md, "Faults".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, Protocol, TypeAlias

from acp_agent.scripted.values import members
from acp_agent.scripted.wire import FrameKind, OutgoingFrame, ProcessExit, Split
from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Json

Damage: TypeAlias = Literal["flip", "replace"]
"""One bit of a byte, or all of it."""
ENDINGS: Final = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r", "none": b""}
SPELLINGS: Final = ("ascii", "spaced", "bom", "utf-16", "latin-1")
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


class FrameFault(Protocol):
    """Something that goes wrong."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None: ...


@dataclass(frozen=True, slots=True)
class DelayFault:
    """The frame waits."""

    seconds: float
    jitter: float
    """Seconds more, at most, by chance."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.delay += self.seconds + (random.uniform(0, self.jitter) if self.jitter else 0.0)


@dataclass(frozen=True, slots=True)
class DropFault:
    """The frame never leaves."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.is_dropped = True


@dataclass(frozen=True, slots=True)
class DuplicateFault:
    """The frame leaves several times."""

    times: int

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.copies *= self.times


@dataclass(frozen=True, slots=True)
class ReorderFault:
    """The frame leaves behind others that come later."""

    frames: int
    of: FrameKind | None
    """Which ones count; None for any."""
    seconds: float
    """How long it waits for them, at most."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.behind, outgoing.behind_of = self.frames, self.of
        outgoing.reorder_timeout_s = self.seconds


@dataclass(frozen=True, slots=True)
class SplitFault:
    """The frame is written in pieces."""

    bytes: Split
    pause: float

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.split, outgoing.pause = self.bytes, self.pause


@dataclass(frozen=True, slots=True)
class ThrottleFault:
    """The frame leaves slowly."""

    rate: float

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.rate = self.rate


@dataclass(frozen=True, slots=True)
class CutFault:
    """The beginning of the frame leaves, and stdout is closed."""

    bytes: int

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.cut_at = self.bytes


@dataclass(frozen=True, slots=True)
class CorruptFault:
    """Bytes are damaged; never so that a line ends, because that would be another fault."""

    bytes: int
    mode: Damage

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        line = bytearray(outgoing.raw or b"")
        for place in random.sample(range(len(line)), min(self.bytes, len(line))):
            line[place] = self._damaged(line[place], random)
        _replace(outgoing, bytes(line))

    def _damaged(self, byte: int, random: Random) -> int:
        flips = [byte ^ 1 << bit for bit in range(8)]
        others = flips if self.mode == "flip" else [other for other in range(256) if other != byte]
        return random.choice([other for other in others if other not in _LINE_ENDS])


@dataclass(frozen=True, slots=True)
class InvalidUtf8Fault:
    """A byte that no UTF-8 has stands in the middle of the line."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raw = outgoing.raw or b""
        _replace(outgoing, raw[: len(raw) // 2] + b"\xff" + raw[len(raw) // 2 :])


@dataclass(frozen=True, slots=True)
class NoiseFault:
    """Something that is no frame leaves before it; without `content`, what chance takes."""

    content: bytes | None
    newline: bool

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        content = random.choice(_NOISE).encode() if self.content is None else self.content
        outgoing.prefix += content + (b"\n" if self.newline else b"")


@dataclass(frozen=True, slots=True)
class LineEndingFault:
    """The line ends in another way, or each line of the header."""

    bytes: bytes

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.ending = self.bytes


@dataclass(frozen=True, slots=True)
class WrongLengthFault:
    """The header announces another length than the frame has."""

    by: int
    """Bytes that it tells too many, or too few if it is negative."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.extra_length += self.by


@dataclass(frozen=True, slots=True)
class EncodingFault:
    """The same JSON in other bytes."""

    way: str

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raw = outgoing.raw
        if raw is None:
            return
        match self.way:
            case "bom":
                raw = b"\xef\xbb\xbf" + raw
            case "utf-16" | "latin-1":
                raw = raw.decode("utf-8", "replace").encode(self.way, "replace")
            case _:
                raw = self._respelled(raw)
        outgoing.raw = raw

    def _respelled(self, raw: bytes) -> bytes:
        try:
            value = jsonrpc.parse(raw)
        except ValueError:
            return raw
        if self.way == "ascii":
            return json.dumps(value, separators=(",", ":")).encode()
        return json.dumps(value, ensure_ascii=False, separators=("  ,  ", "  :  ")).encode()


@dataclass(frozen=True, slots=True)
class PadFault:
    """The line is made longer by white space, which says nothing."""

    bytes: int
    """Bytes that it has then, at least."""

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raw = outgoing.raw or b""
        _replace(outgoing, raw[:1] + b" " * (self.bytes - len(raw)) + raw[1:])


@dataclass(frozen=True, slots=True)
class NestFault:
    """The message gets a member of very many brackets."""

    depth: int

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        raw = outgoing.raw or b""
        if raw.endswith(b"}"):
            _replace(
                outgoing, raw[:-1] + b',"_deep":' + b"[" * self.depth + b"]" * self.depth + b"}"
            )


@dataclass(frozen=True, slots=True)
class ExitFault:
    """The process ends or hangs in place of letting the frame leave."""

    process_exit: ProcessExit

    def apply(self, outgoing: OutgoingFrame, random: Random) -> None:
        outgoing.process_exit = self.process_exit


def _replace(outgoing: OutgoingFrame, raw: bytes) -> None:
    if outgoing.raw is not None:
        outgoing.raw = raw


@dataclass(frozen=True, slots=True)
class FaultTarget:
    """Which frames a fault strikes."""

    method: str | None = None
    """The frame's method; for a response, that of its request."""
    update: str | None = None
    """Its `sessionUpdate`."""
    of: FrameKind | None = None
    after: int = 0
    """How many of the frames meant so are spared at first."""
    first: int | None = None
    """How many of those behind are looked at; None for all."""
    every: int = 1
    """Which of those: each n-th."""
    probability: float = 1.0
    """How likely it is that one of those is struck."""

    def means(self, message: Json, method: str | None) -> bool:
        """Return whether a frame is a target, whatever its number."""
        if self.of not in {None, frame_kind(message)} or self.method not in {None, method}:
            return False
        return self.update is None or _update_of(message) == self.update


@dataclass(slots=True)
class FaultRule:
    """Faults that strike any frame that is meant, and how many there were."""

    aim: FaultTarget
    faults: Sequence[FrameFault]
    random: Random
    matched: int = 0

    def apply(self, outgoing: OutgoingFrame, message: Json, method: str | None) -> None:
        aim = self.aim
        if not aim.means(message, method):
            return
        self.matched += 1
        number = self.matched - aim.after
        if number <= 0 or number % aim.every or (aim.first is not None and number > aim.first):
            return
        if aim.probability >= 1 or self.random.random() < aim.probability:
            for fault in self.faults:
                fault.apply(outgoing, self.random)


def frame_kind(message: Json) -> FrameKind | None:
    """Return what a message is; None for what is not one message."""
    if not isinstance(message, dict):
        return None
    if "method" not in message:
        return "answer"
    return "request" if "id" in message else "notification"


def _update_of(message: Json) -> Json:
    return members(members(members(message).get("params")).get("update")).get("sessionUpdate")
