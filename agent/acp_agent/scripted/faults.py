"""What can go wrong with a frame on its way out, one class a fault; the words are those of rules.

Source: docs/intercept.md, "Rules"; docs/scripted-agent.md, "Faults".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, Protocol, TypeAlias

from acp_agent.scripted.wire import Departure, Fate, Sort, Split
from acp_protocol import jsonrpc

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


class Fault(Protocol):
    """Something that goes wrong."""

    def strike(self, departure: Departure, dice: Random) -> None:
        """Let it go wrong; what is left to chance is taken from `dice`."""
        ...


@dataclass(frozen=True, slots=True)
class Delay:
    """The frame waits."""

    seconds: float
    jitter: float
    """Seconds more, at most, by chance."""

    def strike(self, departure: Departure, dice: Random) -> None:
        """Delay it."""
        departure.delay += self.seconds + (dice.uniform(0, self.jitter) if self.jitter else 0.0)


@dataclass(frozen=True, slots=True)
class Drop:
    """The frame never leaves."""

    def strike(self, departure: Departure, dice: Random) -> None:
        """Drop it."""
        departure.is_lost = True


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The frame leaves several times."""

    times: int

    def strike(self, departure: Departure, dice: Random) -> None:
        """Duplicate it."""
        departure.copies *= self.times


@dataclass(frozen=True, slots=True)
class Reorder:
    """The frame leaves behind others that come later."""

    frames: int
    of: Sort | None
    """Which ones count; None for any."""
    seconds: float
    """How long it waits for them, at most."""

    def strike(self, departure: Departure, dice: Random) -> None:
        """Put it behind them."""
        departure.behind, departure.behind_of = self.frames, self.of
        departure.patience = self.seconds


@dataclass(frozen=True, slots=True)
class InPieces:
    """The frame is written in pieces."""

    bytes: Split
    pause: float

    def strike(self, departure: Departure, dice: Random) -> None:
        """Split it."""
        departure.split, departure.pause = self.bytes, self.pause


@dataclass(frozen=True, slots=True)
class Throttle:
    """The frame leaves slowly."""

    rate: float

    def strike(self, departure: Departure, dice: Random) -> None:
        """Slow it down."""
        departure.rate = self.rate


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of the frame leaves, and stdout is closed."""

    bytes: int

    def strike(self, departure: Departure, dice: Random) -> None:
        """Cut it."""
        departure.kept = self.bytes


@dataclass(frozen=True, slots=True)
class Corrupt:
    """Bytes are damaged; never so that a line ends, because that would be another fault."""

    bytes: int
    mode: Damage

    def strike(self, departure: Departure, dice: Random) -> None:
        """Damage as many bytes as there are, at most."""
        line = bytearray(departure.raw or b"")
        for place in dice.sample(range(len(line)), min(self.bytes, len(line))):
            line[place] = self._damaged(line[place], dice)
        _replace(departure, bytes(line))

    def _damaged(self, byte: int, dice: Random) -> int:
        flips = [byte ^ 1 << bit for bit in range(8)]
        others = flips if self.mode == "flip" else [other for other in range(256) if other != byte]
        return dice.choice([other for other in others if other not in _LINE_ENDS])


@dataclass(frozen=True, slots=True)
class Invalid:
    """A byte that no UTF-8 has stands in the middle of the line."""

    def strike(self, departure: Departure, dice: Random) -> None:
        """Put it there."""
        raw = departure.raw or b""
        _replace(departure, raw[: len(raw) // 2] + b"\xff" + raw[len(raw) // 2 :])


@dataclass(frozen=True, slots=True)
class Noise:
    """Something that is no frame leaves before it; without `content`, what chance takes."""

    content: bytes | None
    newline: bool

    def strike(self, departure: Departure, dice: Random) -> None:
        """Make it."""
        content = dice.choice(_NOISE).encode() if self.content is None else self.content
        departure.ahead += content + (b"\n" if self.newline else b"")


@dataclass(frozen=True, slots=True)
class Ending:
    """The line ends in another way, or each line of the header."""

    bytes: bytes

    def strike(self, departure: Departure, dice: Random) -> None:
        """End it so."""
        departure.ending = self.bytes


@dataclass(frozen=True, slots=True)
class WrongLength:
    """The header announces another length than the frame has."""

    by: int
    """Bytes that it tells too many, or too few if it is negative."""

    def strike(self, departure: Departure, dice: Random) -> None:
        """Announce it."""
        departure.excess += self.by


@dataclass(frozen=True, slots=True)
class Spelling:
    """The same JSON in other bytes."""

    way: str

    def strike(self, departure: Departure, dice: Random) -> None:
        """Write it anew."""
        raw = departure.raw
        if raw is None:
            return
        match self.way:
            case "bom":
                raw = b"\xef\xbb\xbf" + raw
            case "utf-16" | "latin-1":
                raw = raw.decode("utf-8", "replace").encode(self.way, "replace")
            case _:
                raw = self._respelled(raw)
        departure.raw = raw

    def _respelled(self, raw: bytes) -> bytes:
        try:
            value = jsonrpc.parse(raw)
        except ValueError:
            return raw
        if self.way == "ascii":
            return json.dumps(value, separators=(",", ":")).encode()
        return json.dumps(value, ensure_ascii=False, separators=("  ,  ", "  :  ")).encode()


@dataclass(frozen=True, slots=True)
class Pad:
    """The line is made longer by white space, which says nothing."""

    bytes: int
    """Bytes that it has then, at least."""

    def strike(self, departure: Departure, dice: Random) -> None:
        """Make it longer."""
        raw = departure.raw or b""
        _replace(departure, raw[:1] + b" " * (self.bytes - len(raw)) + raw[1:])


@dataclass(frozen=True, slots=True)
class Nest:
    """The message gets a member of very many brackets."""

    depth: int

    def strike(self, departure: Departure, dice: Random) -> None:
        """Put it in."""
        raw = departure.raw or b""
        if raw.endswith(b"}"):
            _replace(
                departure, raw[:-1] + b',"_deep":' + b"[" * self.depth + b"]" * self.depth + b"}"
            )


@dataclass(frozen=True, slots=True)
class Meets:
    """The process ends or hangs in place of letting the frame leave."""

    fate: Fate

    def strike(self, departure: Departure, dice: Random) -> None:
        """Let it happen."""
        departure.fate = self.fate


def _replace(departure: Departure, raw: bytes) -> None:
    if departure.raw is not None:
        departure.raw = raw
