"""The one owner of stdout: lets frames out as they are, or as faults have made them."""

from __future__ import annotations

import re
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import anyio
import anyio.lowlevel
from anyio.abc import ByteSendStream, TaskGroup

from acp_protocol.framing import Framing

Sort: TypeAlias = Literal["request", "notification", "answer"]
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


@dataclass(slots=True, eq=False)
class Departure:
    """A frame on its way out, and what becomes of it."""

    raw: bytes | None
    """None: no frame, but perhaps something in its place."""
    framing: Framing | None = "lines"
    """How it is kept apart from the next; None for bytes that are no frame."""
    sort: Sort | None = None
    """What it is, if it is one message."""
    ending: bytes | None = None
    """How its line ends, or each line of its header; None for as usual."""
    excess: int = 0
    """Bytes that its header announces beyond those that there are."""
    ahead: bytes = b""
    """Bytes that leave before it."""
    copies: int = 1
    delay: float = 0.0
    """Seconds that it waits; others may overtake it."""
    behind: int = 0
    """How many frames that come later leave before it."""
    behind_of: Sort | None = None
    """What those are; None for any."""
    patience: float = 0.0
    """Seconds that it waits for them, at most."""
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

    @property
    def is_frame(self) -> bool:
        """Whether a frame leaves at all."""
        return self.raw is not None and self.framing is not None and not self.is_lost

    def pieces(self) -> Iterator[bytes]:
        """Yield what is written, piece by piece."""
        frame = self._framed()
        if self.kept is not None:
            yield self.ahead + frame[: self.kept]
            return
        if self.ahead:
            yield self.ahead
        for _ in range(self.copies if frame else 0):
            yield from _cut(frame, self.split)

    def _framed(self) -> bytes:
        if self.raw is None or self.is_lost:
            return b""
        if self.framing == "headers":
            end = b"\r\n" if self.ending is None else self.ending
            length = len(self.raw) + self.excess
            return b"Content-Length: %d%b%b%b" % (length, end, end, self.raw)
        usual = b"" if self.framing is None else b"\n"
        return self.raw + (usual if self.ending is None else self.ending)


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
        self._held: list[Departure] = []
        """What waits for others to leave before it."""
        self._tasks: TaskGroup | None = None
        self.is_hung = False
        """Whether nothing is to be read or written any more."""

    def run_in(self, tasks: TaskGroup) -> None:
        """Have what is held leave in time even if nothing overtakes it."""
        self._tasks = tasks

    async def depart(self, departure: Departure) -> None:
        """Let a frame out; who is cancelled meanwhile has it written to its end.

        One that others are to overtake is only taken along. Where nobody reads any more, nothing
        happens.
        """
        if departure.delay:
            await self._stage.sleep(departure.delay)
        # A flood still has to hear that it is cancelled.
        await anyio.lowlevel.checkpoint()
        if departure.behind:
            self._hold(departure)
            return
        # Half a frame is a fault as well, but never one by accident.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                await self._write(departure)
                await self._let_follow(departure)

    async def flush(self) -> None:
        """Let out all that still waits for others."""
        async with self._lock:
            while self._held:
                await self._write(self._held.pop(0))

    async def close(self) -> None:
        """Close stdout, while the rest goes on."""
        self._is_open = False
        await self._stage.out.aclose()

    def _hold(self, departure: Departure) -> None:
        self._held.append(departure)
        if self._tasks is not None:
            self._tasks.start_soon(self._lose_patience, departure)

    async def _lose_patience(self, departure: Departure) -> None:
        await anyio.sleep(departure.patience)
        async with self._lock:
            if departure in self._held:
                self._held.remove(departure)
                await self._write(departure)
                await self._let_follow(departure)

    async def _let_follow(self, departure: Departure) -> None:
        """Let out what has waited for this one to leave, and what has waited for that."""
        left = [departure]
        while left:
            last = left.pop(0)
            for held in list(self._held) if last.is_frame else ():
                held.behind -= held.behind_of in {None, last.sort}
                if not held.behind:
                    self._held.remove(held)
                    await self._write(held)
                    left.append(held)

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
