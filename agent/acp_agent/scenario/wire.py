"""The one owner of stdout: lets frames out as they are, or as faults have made them."""

from __future__ import annotations

import re
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import anyio
import anyio.lowlevel
from anyio.abc import ByteSendStream

Split: TypeAlias = int | Literal["characters"]
"""Bytes of a piece; or pieces that end inside of each character of several bytes."""
SLICE: Final = 0.02
"""Seconds between two writes of a frame that is let out slowly."""
_WIDE: Final = re.compile(rb"[\xc0-\xff](?=[\x80-\xbf])")


@dataclass(frozen=True, slots=True)
class Crash:
    """The process ends at once, by itself or by a signal."""

    code: int | None = None
    signal: signal.Signals | None = None


@dataclass(frozen=True, slots=True)
class Hang:
    """The process reads and writes nothing more, and does not end by itself for a while."""

    seconds: float
    """After so long it ends nevertheless, lest it stays for ever where nobody kills it."""
    ignored: tuple[signal.Signals, ...] = ()
    """Signals that it does not die of any more."""


Fate: TypeAlias = Crash | Hang


@dataclass(slots=True)
class Departure:
    """A frame on its way out, and what becomes of it."""

    raw: bytes | None
    """None: no frame, but perhaps something in its place."""
    ending: bytes = b"\n"
    ahead: bytes = b""
    """Bytes that leave before it."""
    copies: int = 1
    delay: float = 0.0
    """Seconds that it waits; others may overtake it."""
    split: Split | None = None
    pause: float = 0.0
    """Seconds between two pieces."""
    rate: float | None = None
    """Bytes a second; None for as fast as it goes."""
    kept: int | None = None
    """Bytes that leave before stdout is closed; None for all, and it stays open."""
    is_lost: bool = False
    fate: Fate | None = None
    """What happens in place of letting it leave."""

    def pieces(self) -> Iterator[bytes]:
        """Yield what is written, piece by piece."""
        frame = b"" if self.raw is None or self.is_lost else self.raw + self.ending
        if self.kept is not None:
            yield self.ahead + frame[: self.kept]
            return
        if self.ahead:
            yield self.ahead
        for _ in range(self.copies if frame else 0):
            yield from _cut(frame, self.split)


@dataclass(frozen=True, slots=True)
class Stage:
    """What a scenario is played on: all that it does to the world outside goes through here."""

    out: ByteSendStream
    tell: Callable[[str], None]
    """Writes a line on stderr as it is."""
    end: Callable[[Fate], None]
    """Ends the process, or has it ignore signals."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep

    def note(self, sentence: str) -> None:
        """Write a sentence of ours on stderr."""
        self.tell(f"acp-agent: {sentence}")


class Wire:
    """Writes frames whole, one after the other, whoever sends them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lock = anyio.Lock()
        self._is_open = True
        self.is_hung = False
        """Whether nothing is to be read or written any more."""

    async def depart(self, departure: Departure) -> None:
        """Let a frame out; who is cancelled meanwhile has it written to its end.

        Where nobody reads any more, nothing happens.
        """
        if departure.delay:
            await self._stage.sleep(departure.delay)
        # A flood still has to hear that it is cancelled.
        await anyio.lowlevel.checkpoint()
        # Half a frame is a fault as well, but never one by accident.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                await self._write(departure)

    async def close(self) -> None:
        """Close stdout, while the rest goes on."""
        self._is_open = False
        await self._stage.out.aclose()

    async def _write(self, departure: Departure) -> None:
        if departure.fate is not None:
            await self._meet(departure.fate)
            return
        for number, piece in enumerate(departure.pieces()):
            if not self._is_open:
                return
            if number and departure.pause:
                await self._stage.sleep(departure.pause)
            await self._put(piece, departure.rate)
        if departure.kept is not None:
            await self.close()

    async def _put(self, piece: bytes, rate: float | None) -> None:
        size = max(1, len(piece) if rate is None else round(rate * SLICE))
        for begin in range(0, len(piece), size):
            if rate is not None and begin:
                await self._stage.sleep(size / rate)
            if not self._is_open:
                return
            try:
                await self._stage.out.send(piece[begin : begin + size])
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._is_open = False

    async def _meet(self, fate: Fate) -> None:
        if isinstance(fate, Hang):
            self.is_hung = True
            self._stage.end(fate)
            await self._stage.sleep(fate.seconds)
            self.is_hung = False
            fate = Crash(code=1)
        self._stage.end(fate)


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
