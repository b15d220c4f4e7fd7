"""Finds what a process has started by a variable in its environment, however far it has gone.

A process group loses those that begin a session of their own (`setsid`, Node's `detached`) or end
their parents. All of them inherit the variable, unless they clear their environment; those are
found in the process tree, as long as the processes between are alive.

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


def descendants(pid: int) -> dict[int, bytes]:
    """Return the start time of each living process below `pid` in the process tree, by its id."""
    if sys.platform != "linux":
        return {}
    stats = {each: stat for each in _processes() if (stat := _stat(each)) is not None}
    found: dict[int, bytes] = {}
    parents = {pid}
    while parents:
        below = {each for each, (parent, _) in stats.items() if parent in parents} - found.keys()
        found |= {each: stats[each][1] for each in below}
        parents = below
    return found


def signal_marked(
    mark: str, number: int, but: int = 0, others: Mapping[int, bytes] | None = None
) -> bool:
    """Send a signal to the processes with the mark; return whether there were any.

    The signal 0 only tests. The process group `but` is left out, and `others` from `descendants`
    are included. Only Linux shows environments.
    """
    if sys.platform != "linux":
        return False
    found = False
    for pid in _processes():
        with suppress(OSError):
            # Opened before it is examined, so that no later process with this id gets the signal.
            process = os.pidfd_open(pid)
            try:
                is_known = others is not None and pid in others and _begin(pid) == others[pid]
                is_marked = is_known or mark.encode() in _environment(pid)
                if is_marked and os.getpgid(pid) != but:
                    signal.pidfd_send_signal(process, number)
                    found = True
            finally:
                os.close(process)
    return found


def _processes() -> list[int]:
    """Return the ids of all processes but our own."""
    ids = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal())
    return [pid for pid in ids if pid != os.getpid()]


def _environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def _begin(pid: int) -> bytes | None:
    """Return the start time of a living process."""
    stat = _stat(pid)
    return None if stat is None else stat[1]


def _stat(pid: int) -> tuple[int, bytes] | None:
    """Return parent and start time of a process; None if it has ended, reaped or not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {b"Z", b"X"} else (int(fields[1]), fields[19])


def kill_marked(mark: str) -> None:
    """Kill the processes with the mark, and those that they start meanwhile."""
    for _ in range(ROUNDS):
        if not signal_marked(mark, signal.SIGKILL):
            return
