"""What ends the agent when the proxy is killed and can do nothing about it any more.

Some editors end an agent by SIGKILL. It hits the proxy in the agent's place, and an agent that
does not listen on its stdin would never hear of it. So a shell waits beside the proxy, for the end
of a pipe that only the proxy holds.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Final

from acp_inspector.proxy import child

SHELL: Final = "/bin/sh"
SCRIPT: Final = """
trap "" HUP INT TERM
read -r word && exit
for name in TERM KILL; do
    seconds=$2
    while [ "$seconds" -gt 0 ]; do
        kill -s 0 -- "-$1" || exit
        sleep 1 || exit
        seconds=$((seconds - 1))
    done
    kill -s "$name" -- "-$1"
done
"""
"""Looks every second whether anybody is left, so that no later group of that number is hit."""


class Guard:
    """Ends a process group some seconds after this process, unless it is dismissed before."""

    def __init__(self, group: int, grace: float = child.GRACE) -> None:
        """Wait for our end. Where there is no shell for it, nobody waits.

        `grace` is in seconds: so long the group has to end by itself, and then by SIGTERM.
        """
        self._shell: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._shell = subprocess.Popen(
                [SHELL, "-c", SCRIPT, "acp-console-guard", str(group), str(round(grace))],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """Leave the group alone from now on."""
        shell, self._shell = self._shell, None
        if shell is not None:
            with suppress(subprocess.TimeoutExpired):
                shell.communicate(b"\n", child.GRACE)
