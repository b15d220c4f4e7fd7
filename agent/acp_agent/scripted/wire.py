"""The one owner of stdout: lets frames out as they are, or as faults have made them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import anyio
import anyio.lowlevel
from anyio.abc import ByteSendStream, TaskGroup

from acp_agent.scripted.faults import CrashFault, FrameKind, HangFault
from acp_protocol.framing import Framing

Split: TypeAlias = int | Literal["characters"]
"""Bytes of a piece; or pieces that end inside of each character of several bytes."""
SLICE: Final = 0.02
"""Seconds between two writes of a frame that is let out slowly."""
_WIDE: Final = re.compile(rb"[\xc0-\xff](?=[\x80-\xbf])")


ProcessExit: TypeAlias = CrashFault | HangFault


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


@dataclass(frozen=True, slots=True)
class ScriptIo:
    """What a scenario is played on: all that it does to the world outside goes through here."""

    out: ByteSendStream
    write_line: Callable[[str], None]
    """Writes a line on stderr as it is."""
    end: Callable[[ProcessExit], None]
    """Ends the process, or has it ignore signals."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep

    def note(self, sentence: str) -> None:
        """Write a sentence of ours on stderr."""
        self.write_line(f"acp-agent: {sentence}")


class Wire:
    """Writes frames whole, one after the other."""

    def __init__(self, stage: ScriptIo) -> None:
        self._stage = stage
        self._lock = anyio.Lock()
        self._is_open = True
        self._held: list[OutgoingFrame] = []
        """What waits for others to leave before it."""
        self._tasks: TaskGroup | None = None
        self.is_hung = False
        """Whether nothing is to be read or written any more."""

    def run_in(self, tasks: TaskGroup) -> None:
        """Have what is held leave in time even if nothing overtakes it."""
        self._tasks = tasks

    async def send_frame(self, outgoing: OutgoingFrame) -> None:
        """Let a frame out; who is cancelled meanwhile has it written to its end.

        One that others are to overtake is only queued. If the pipe is closed, nothing
        happens.
        """
        if outgoing.delay:
            await self._stage.sleep(outgoing.delay)
        # A flood still has to hear that it is cancelled.
        await anyio.lowlevel.checkpoint()
        if outgoing.behind:
            self._hold(outgoing)
            return
        # Half a frame is a fault as well, but never one by accident.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                await self._write(outgoing)
                await self._release_held(outgoing)

    async def flush(self) -> None:
        """Let out all that still waits for others."""
        async with self._lock:
            while self._held:
                await self._write(self._held.pop(0))

    async def close(self) -> None:
        """Close stdout, while the rest goes on."""
        self._is_open = False
        await self._stage.out.aclose()

    def _hold(self, outgoing: OutgoingFrame) -> None:
        self._held.append(outgoing)
        if self._tasks is not None:
            self._tasks.start_soon(self._release_after_timeout, outgoing)

    async def _release_after_timeout(self, outgoing: OutgoingFrame) -> None:
        await anyio.sleep(outgoing.reorder_timeout_s)
        async with self._lock:
            if outgoing in self._held:
                self._held.remove(outgoing)
                await self._write(outgoing)
                await self._release_held(outgoing)

    async def _release_held(self, outgoing: OutgoingFrame) -> None:
        """Let out what has waited for this one to leave, and what has waited for that."""
        left = [outgoing]
        while left:
            last = left.pop(0)
            for held in list(self._held) if last.is_frame else ():
                held.behind -= held.behind_of in {None, last.sort}
                if not held.behind:
                    self._held.remove(held)
                    await self._write(held)
                    left.append(held)

    async def _write(self, outgoing: OutgoingFrame) -> None:
        if outgoing.process_exit is not None:
            await self._exit(outgoing.process_exit)
            return
        for number, piece in enumerate(outgoing.pieces()):
            if not self._is_open:
                return
            if number and outgoing.pause:
                await self._stage.sleep(outgoing.pause)
            await self._write_piece(piece, outgoing.rate)
        if outgoing.cut_at is not None:
            await self.close()

    async def _write_piece(self, piece: bytes, rate: float | None) -> None:
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

    async def _exit(self, process_exit: ProcessExit) -> None:
        if isinstance(process_exit, HangFault):
            self.is_hung = True
            self._stage.end(process_exit)
            await self._stage.sleep(process_exit.seconds)
            self.is_hung = False
            process_exit = CrashFault()
        self._stage.end(process_exit)


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
