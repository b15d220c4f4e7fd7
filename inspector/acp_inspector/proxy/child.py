"""The agent's process, as the proxy needs it: raw pipes, a group of its own, a bounded end.

Beside `acp_protocol.host.processes` because the proxy runs without an event loop: its pumps are
threads that do nothing but read and write.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from acp_protocol.errors import start_error

GRACE: Final = 5.0
"""Seconds that the agent has to end after SIGTERM."""


class AgentChild:
    """A running agent."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start `command`, without a shell, in a process group of its own.

        Raises:
            AgentStartError: it could not be started; the message says why in one sentence.
        """
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            raise start_error(command[0], problem) from None

    @property
    def pid(self) -> int:
        """The agent's process id, which is its group's id too."""
        return self._process.pid

    def take_pipes(self) -> tuple[int, int, int]:
        """Return descriptors of the agent's stdin, stdout and stderr; the caller closes them."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        pipes = (process.stdin, process.stdout, process.stderr)
        descriptors = tuple(os.dup(pipe.fileno()) for pipe in pipes)
        for pipe in pipes:
            pipe.close()
        return descriptors[0], descriptors[1], descriptors[2]

    def wait(self) -> int:
        """Return the exit code; negative for the number of the signal that ended it."""
        return self._process.wait()

    def ends_within(self, limit: float) -> bool:
        """Wait for the agent's end, `limit` seconds at most; tell whether it came."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(limit)
        return self._process.returncode is not None

    def has_ended(self) -> bool:
        """Tell whether the agent itself has ended; what it started may still run."""
        return self._process.poll() is not None

    def signal(self, number: int) -> None:
        """Send a signal to the agent and all that it started and that stayed in its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def signal_alone(self, number: int) -> None:
        """Send a signal to the agent and to nothing that it started."""
        with suppress(ProcessLookupError, PermissionError):
            self._process.send_signal(number)

    def end(self, grace: float = GRACE) -> None:
        """End the agent and its group: SIGTERM, at most `grace` seconds, SIGKILL."""
        self.signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self.signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
