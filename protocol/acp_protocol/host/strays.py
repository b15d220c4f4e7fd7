"""Processes that have left the group of the command that started them, as by `setsid`.

What a command starts inherits its environment. So a command gets a variable of a random value, and
whoever has it belongs to the command, wherever it went. Only Linux tells the environment of a
process; elsewhere, and of a process that was started with an empty one, nothing is found.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

VARIABLE: Final = "ACP_AGENT_RUN"
"""Holds the marks of all commands that a process belongs to, with colons between them."""
OURS: Final = secrets.token_hex(16)
"""Begins each mark of this process, so that whoever is left can be known after its end."""
ROUNDS: Final = 10
"""How often what is left is killed: it may start others meanwhile."""
POLL: Final = 0.02
"""Seconds between two looks at what is left."""


class Mark:
    """What a command and all that it starts can be known by."""

    def __init__(self) -> None:
        self._value = f"{OURS}.{secrets.token_hex(16)}"

    def on(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with the mark; those of commands around this one stay."""
        return {**env, VARIABLE: ":".join(filter(None, (env.get(VARIABLE), self._value)))}

    async def signal(self, number: int, *, but: int = 0) -> bool:
        """Send a signal to whoever has the mark; return whether there was anybody.

        The signal 0 only looks. The process group `but` is left out.
        """
        return await anyio.to_thread.run_sync(_signal, self._value.encode(), number, but)

    async def end(self, deadline: float) -> None:
        """Wait until nobody has the mark; from `deadline` on, by the event loop, kill who has."""
        # Nobody reports their end, so asking again must do.
        while await self.signal(0) and anyio.current_time() < deadline:  # noqa: ASYNC110
            await anyio.sleep(POLL)
        for _ in range(ROUNDS):
            if not await self.signal(signal.SIGKILL):
                return
            await anyio.sleep(POLL)


def _signal(mark: bytes, number: int, but: int) -> bool:
    if sys.platform != "linux":
        return False
    found = False
    for pid in _others():
        with suppress(OSError):
            # Held before it is looked at, so that no later process of that number is hit.
            process = os.pidfd_open(pid)
            try:
                is_marked = mark in Path(f"/proc/{pid}/environ").read_bytes()
                if is_marked and os.getpgid(pid) != but:
                    signal.pidfd_send_signal(process, number)
                    found = True
            finally:
                os.close(process)
    return found


def _others() -> Iterator[int]:
    for each in Path("/proc").iterdir():
        if each.name.isdecimal() and int(each.name) != os.getpid():
            yield int(each.name)
