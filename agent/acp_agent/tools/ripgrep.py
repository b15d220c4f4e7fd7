"""Asking ripgrep, which is faster than we are and knows what git ignores.

It is asked where it is installed; what it says comes out in our own words, so that whoever reads an
answer cannot tell who has found it.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import anyio

from acp_agent.tools.call import ToolFailedError
from acp_protocol.errors import AgentStartError
from acp_protocol.host.process import ChildProcess, spawn
from acp_protocol.host.sanitize import single_line

PROGRAM: Final = "rg"
TIMEOUT_S: Final = 30.0
"""Seconds that one search may take."""
MAX_PIECE_BYTES: Final = 64 * 1024
"""Bytes of one piece of its response; a longer one is left out."""
GRACE_S: Final = 0.25
"""Seconds that it has to end: it has nothing to lose."""
_NOTHING: Final = 1
"""Exit code that says that nothing was found."""
_ALWAYS: Final = ("--no-config", "--no-messages", "--color=never", "--sort=path")


def is_installed() -> bool:
    """Return whether ripgrep is installed."""
    return shutil.which(PROGRAM) is not None


async def run_ripgrep(
    arguments: Sequence[str],
    place: Path,
    *,
    cwd: Path,
    ends: Sequence[bytes],
    limit: int,
    is_wanted: Callable[[Sequence[str]], bool] = lambda _: True,
) -> tuple[list[tuple[str, ...]], bool]:
    """Return pieces of ripgrep's answer about `place`, at most `limit`, and whether that is all.

    Each piece has as many parts as there are `ends`, the bytes that end them in turn: a name that
    NUL ends may hold ends of lines. Pieces that are not wanted count for nothing.

    Raises:
        ToolFailedError: it cannot be asked, takes too long, or does not understand.
    """
    command = [PROGRAM, *_ALWAYS, *arguments, "--", str(place)]
    pieces = _Pieces(ends, limit, is_wanted)
    try:
        async with spawn(command, cwd=cwd, env=os.environ, grace=GRACE_S, is_marked=True) as child:
            with anyio.move_on_after(TIMEOUT_S) as clock:
                await child.stdin.aclose()
                await _read(child, pieces)
            if clock.cancelled_caught:
                raise ToolFailedError(f"the search takes longer than {TIMEOUT_S:g} s")
            if pieces.is_full:
                child.signal_group(signal.SIGKILL)
                return pieces.found, False
            code = await child.wait()
    except AgentStartError as problem:
        raise ToolFailedError(str(problem)) from None
    if code > _NOTHING and not pieces.found:
        stderr = " ".join(child.stderr_tail())
        raise ToolFailedError(single_line(f"the search failed: {stderr}", 500))
    return pieces.found, True


class _Pieces:
    """What was said, cut at its ends."""

    def __init__(
        self, ends: Sequence[bytes], limit: int, is_wanted: Callable[[Sequence[str]], bool]
    ) -> None:
        self._is_wanted = is_wanted
        self._ends = ends
        self._limit = limit
        self._parts: list[str] = []
        self._rest = b""
        self._is_too_long = False
        self.found: list[tuple[str, ...]] = []
        self.is_full = False

    def take(self, chunk: bytes) -> None:
        self._rest += chunk
        start = 0
        while (at := self._rest.find(end := self._ends[len(self._parts)], start)) >= 0:
            self._parts.append(os.fsdecode(self._rest[start:at]))
            start = at + len(end)
            if len(self._parts) == len(self._ends):
                self._keep()
        self._rest = self._rest[start:]
        if len(self._rest) > MAX_PIECE_BYTES:
            self._rest, self._is_too_long = b"", True

    def _keep(self) -> None:
        if self._is_too_long:
            self._is_too_long = False
        elif not self._is_wanted(self._parts):
            pass
        elif len(self.found) == self._limit:
            self.is_full = True
        else:
            self.found.append(tuple(self._parts))
        self._parts = []


async def _read(child: ChildProcess, pieces: _Pieces) -> None:
    try:
        while not pieces.is_full:
            pieces.take(await child.stdout.receive())
    except anyio.EndOfStream:
        return
