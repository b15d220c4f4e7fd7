"""The way of a frame: its framing and dialect, and the one owner of stdout.

Steps and responses are in the protocol's own words; a dialect is put on where they leave, and taken
off where the client's messages come in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.lowlevel
from anyio.abc import ByteSendStream, TaskGroup

from acp_agent.scripted.faults import CrashFault, HangFault, OutgoingFrame, ProcessExit
from acp_protocol.dialects.base import Dialect, Translation
from acp_protocol.framing import Framing, HeaderFramer, LineFramer

FRAMINGS: Final[dict[str, Framing]] = {"lines": "lines", "content-length": "headers"}
"""The words of a scenario that choose how frames are kept apart."""
SLICE: Final = 0.02
"""Seconds between two writes of a frame that is let out slowly."""


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
        # A flood has to notice that it is cancelled.
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


class FrameCodec:
    """The way of speaking on one connection, which a dialect remembers things of."""

    def __init__(self, framing: Framing = "lines", dialect: Dialect | None = None) -> None:
        self.framing: Final = framing
        self._dialect = dialect

    def framer(self) -> LineFramer | HeaderFramer:
        """Return what cuts the client's bytes into frames."""
        return LineFramer() if self.framing == "lines" else HeaderFramer()

    def written(self, raw: bytes) -> Sequence[bytes | None]:
        """Return the frames that an official one becomes; (None,) if the dialect drops it."""
        return (raw,) if self._dialect is None else self._dialect.write(raw, "agent") or (None,)

    def read(self, raw: bytes) -> Translation:
        """Return what a frame of the client says in official words, and what it gets at once."""
        return Translation((raw,)) if self._dialect is None else self._dialect.read(raw, "client")


def frame_codec(framing: str | None, dialect: str | None) -> FrameCodec:
    """Return a way of speaking for one connection; without a framing, that of the dialect.

    Raises:
        LocalProtocolError: there is no such dialect.
    """
    wanted = None if framing is None else FRAMINGS[framing]
    if dialect is None:
        return FrameCodec(wanted or "lines")
    # Dialects are rare, and what they bring along takes time at every start.
    from acp_protocol.dialects.registry import open_dialect

    spoken = open_dialect(dialect)
    return FrameCodec(wanted or spoken.framing, spoken)
