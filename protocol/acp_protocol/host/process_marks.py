"""Finds what a process has started by a variable in its environment, however far it has gone.

A process group loses those that begin a session of their own (`setsid`, Node's `detached`) or end
their parents. All of them inherit the variable, unless they clear their environment.

There is no event loop here, because the proxy has none.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

VARIABLE: Final = "ACP_AGENT_RUN"
"""The environment variable with the marks of all commands that a process belongs to, by colons."""
OURS: Final = os.urandom(16).hex()
"""The start of each mark of this process, by which its orphans are found after its end."""
ROUNDS: Final = 10
"""How often remaining processes are killed; they may start others meanwhile."""


def new_mark() -> str:
    return f"{OURS}.{os.urandom(16).hex()}"


def marked(env: Mapping[str, str] | None, mark: str) -> dict[str, str]:
    """Return `env`, or our own environment, with the mark beside those of outer commands."""
    env = os.environ if env is None else env
    return {**env, VARIABLE: ":".join(filter(None, (env.get(VARIABLE), mark)))}


def signal_marked(mark: str, number: int, but: int = 0) -> bool:
    """Send a signal to the processes with the mark; return whether there were any.

    The signal 0 only tests. The process group `but` is left out. Only Linux shows environments.
    """
    if sys.platform != "linux":
        return False
    found = False
    for pid in (int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()):
        if pid == os.getpid():
            continue
        with suppress(OSError):
            # Opened before it is examined, so that no later process with this id gets the signal.
            process = os.pidfd_open(pid)
            try:
                is_marked = mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
                if is_marked and os.getpgid(pid) != but:
                    signal.pidfd_send_signal(process, number)
                    found = True
            finally:
                os.close(process)
    return found


def kill_marked(mark: str) -> None:
    """Kill the processes with the mark, and those that they start meanwhile."""
    for _ in range(ROUNDS):
        if not signal_marked(mark, signal.SIGKILL):
            return
