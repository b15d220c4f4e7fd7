"""A started process whose end is awaited in the event loop, whichever loop that is.

The loops start processes in ways that differ: that of uvloop leaves a child copies of its pipes, so
that a closed stdout is not noticed, and cuts the words of a command at a NUL.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Self

import anyio


class StartedProcess:
    """A process that was started, and what it ended with."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self.returncode: int | None = None
        """None until its end is noticed; negative for the number of the signal that ended it."""
        self._ended = anyio.Event()
        # A thread, because not every system tells the end of one process to a loop.
        loop = asyncio.get_running_loop()
        Thread(target=self._watch, args=(process, loop), daemon=True, name="process-end").start()

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int,
        cwd: Path | None,
        env: Mapping[str, str],
    ) -> Self:
        """Start a command with these descriptors, in a session of its own.

        Raises:
            OSError: it cannot be started.
            ValueError: a word has a NUL.
        """
        return cls(
            subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        )

    async def wait(self) -> int:
        """Return what it ended with, once it has."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def _watch(self, process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        code = process.wait()
        # The loop may have ended before.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._end, code)

    def _end(self, code: int) -> None:
        self.returncode = code
        self._ended.set()
