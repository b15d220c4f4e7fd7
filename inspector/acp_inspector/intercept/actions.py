"""What a rule can do to a frame, one class a deed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final, Literal, Protocol

from acp_inspector.filter.paths import Path
from acp_inspector.filter.patterns import Bounded
from acp_inspector.intercept.passage import Passage, encode
from acp_inspector.intercept.places import put, remove
from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Json, Request

_ENDINGS: Final = frozenset(b"\r\n")


class Action(Protocol):
    """A deed of a rule."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Do it; what is left to chance is taken from `dice`."""
        ...


@dataclass(frozen=True, slots=True)
class Replace:
    """Puts one text in the place of another, wherever it stands in the line."""

    text: bytes
    replacement: bytes

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Edit the line, if the text stands in it."""
        passage.edit(passage.raw.replace(self.text, self.replacement), by)


@dataclass(frozen=True, slots=True)
class Rewrite:
    r"""Puts a text in the place of what a pattern finds; `\1` in it is the first group."""

    pattern: Bounded[bytes]
    replacement: bytes

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Edit the line, if the pattern finds something."""
        passage.edit(self.pattern.put(self.replacement, passage.raw), by)


@dataclass(frozen=True, slots=True)
class Set:
    """Puts a value at a place in the message."""

    path: Path
    value: Json

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Write the line anew with the value, if it is JSON and has such a place."""
        message = _message(passage)
        if put(message, self.path, self.value):
            passage.edit(encode(message), by)


@dataclass(frozen=True, slots=True)
class Delete:
    """Removes what stands at a place in the message."""

    path: Path

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Write the line anew without it, if it is JSON and has such a place."""
        message = _message(passage)
        if remove(message, self.path):
            passage.edit(encode(message), by)


@dataclass(frozen=True, slots=True)
class Delay:
    """Lets the frame, and those behind it, wait."""

    seconds: float
    jitter: float
    """Seconds more, at most, by chance."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Delay it."""
        more = dice.uniform(0, self.jitter) if self.jitter else 0.0
        passage.delay(round(self.seconds + more, 6), by)


@dataclass(frozen=True, slots=True)
class Throttle:
    """Lets the frame out slowly."""

    rate: float
    """Bytes a second."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Slow it down."""
        passage.throttle(self.rate, by)


@dataclass(frozen=True, slots=True)
class Drop:
    """Lets the frame be lost, and tells nobody."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Drop it."""
        passage.drop(by)


@dataclass(frozen=True, slots=True)
class Discard:
    """Lets the frame not leave; who asked with it is told."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Discard it."""
        passage.discard(by)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Lets the frame leave several times."""

    times: int

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Duplicate it."""
        passage.duplicate(self.times, by)


@dataclass(frozen=True, slots=True)
class LetPass:
    """Lets frames from behind go first."""

    frames: int
    seconds: float
    """How long it waits for them."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Put it back."""
        passage.let_pass(self.frames, self.seconds, by)


@dataclass(frozen=True, slots=True)
class Corrupt:
    """Damages bytes; never so that a line ends, because that would be another fault."""

    count: int
    mode: Literal["flip", "replace"]
    """One bit of each byte, or the whole byte."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Damage as many bytes as there are, at most."""
        line = bytearray(passage.raw)
        for place in dice.sample(range(len(line)), min(self.count, len(line))):
            line[place] = self._damaged(line[place], dice)
        passage.edit(bytes(line), by, "corrupted")

    def _damaged(self, byte: int, dice: Random) -> int:
        flips = [byte ^ 1 << bit for bit in range(8)]
        others = flips if self.mode == "flip" else [other for other in range(256) if other != byte]
        return dice.choice([other for other in others if other not in _ENDINGS])


@dataclass(frozen=True, slots=True)
class Cut:
    """Lets the beginning of the frame out, and closes the direction."""

    count: int
    """Bytes that still leave."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Cut it."""
        passage.cut(self.count, by)


@dataclass(frozen=True, slots=True)
class Split:
    """Writes the frame in pieces."""

    count: int
    """Bytes of a piece."""
    pause: float
    """Seconds between pieces."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Split it."""
        passage.split(self.count, self.pause, by)


@dataclass(frozen=True, slots=True)
class Hang:
    """Lets nothing more through in this direction."""

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Hang."""
        passage.hang(by)


@dataclass(frozen=True, slots=True)
class Crash:
    """Kills the agent in place of letting the frame leave."""

    signal: int

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Kill it."""
        passage.crash(self.signal, by)


@dataclass(frozen=True, slots=True)
class Answer:
    """Answers a request in the other peer's place; other frames pass."""

    result: Json
    error: Json

    def act(self, passage: Passage, by: str, dice: Random) -> None:
        """Answer it, if it is a request."""
        if isinstance(jsonrpc.read_message(passage.raw), Request):
            passage.answer(by, result=self.result, error=self.error)


def _message(passage: Passage) -> Json:
    try:
        return jsonrpc.parse(passage.raw)
    except ValueError:
        return None
