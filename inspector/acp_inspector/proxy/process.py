"""The agent's process: raw pipes, a process group of its own, signals, a bounded end.

`acp_protocol.host.process` does the same with an event loop, which the proxy does not have.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Final, Self

from acp_protocol.host.process_marks import kill_marked, marked, new_mark, signal_marked
from acp_protocol.host.start_error import agent_start_error

GRACE_S: Final = 5.0
"""Seconds that the agent has to end after SIGTERM."""
GROUP_SIGNALS: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals for the agent and all that it started; others are for the agent alone."""
OWN_SIGNALS: Final = frozenset(
    {
        # They cannot be caught, are about our child and pipes, or stop us at our own terminal,
        signal.SIGKILL,
        signal.SIGSTOP,
        signal.SIGCHLD,
        signal.SIGPIPE,
        signal.SIGTSTP,
        signal.SIGTTIN,
        signal.SIGTTOU,
        # and these are about a fault or a limit of this process.
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGSEGV,
        signal.SIGSYS,
        signal.SIGTRAP,
        signal.SIGXCPU,
        signal.SIGXFSZ,
    }
)
"""Signals that are not passed on."""


class AgentProcess:
    """A running agent."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdio: tuple[int, int] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start `command`, without a shell, in a process group of its own.

        `stdio` are descriptors for its stdin and stdout, beside our stderr; else it gets pipes. At
        a terminal it stays in our group, or it could not read from there.

        Raises:
            AgentStartError: it could not be started; the message is one sentence.
        """
        self._is_leader = stdio is None or not os.isatty(stdio[0])
        stdin, stdout = stdio or (subprocess.PIPE, subprocess.PIPE)
        self._mark = new_mark()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.PIPE if stdio is None else None,
                bufsize=0,
                env=marked(env, self._mark),
                start_new_session=self._is_leader,
            )
        except (OSError, ValueError) as problem:
            raise agent_start_error(command[0], problem) from None

    @property
    def pid(self) -> int:
        """The agent's process id, which is its group's id too."""
        return self._process.pid

    def take_pipes(self) -> tuple[int, int, int]:
        """Return descriptors of the agent's stdin, stdout and stderr; the caller closes them."""
        process = self._process
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        with stdin, stdout, stderr:
            return os.dup(stdin.fileno()), os.dup(stdout.fileno()), os.dup(stderr.fileno())

    def wait(self) -> int:
        """Return the exit code; negative for the number of the signal that ended it."""
        return self._process.wait()

    def ends_within(self, timeout: float) -> bool:
        """Wait for the agent's end, `timeout` seconds at most; return whether it has come."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        return self._process.returncode is not None

    def has_ended(self) -> bool:
        """Return whether the agent itself has ended; what it started may still run."""
        return self._process.poll() is not None

    def signal(self, number: int) -> None:
        """Send a signal to the agent and its group; to the agent alone if the group is ours."""
        if not self._is_leader:
            self.signal_alone(number)
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def signal_alone(self, number: int) -> None:
        """Send a signal to the agent, not to its group."""
        with suppress(ProcessLookupError, PermissionError):
            self._process.send_signal(number)

    def end(self, grace: float = GRACE_S) -> None:
        """End the agent and its group: SIGTERM, at most `grace` seconds, SIGKILL.

        On Linux, processes that have left the group are ended too.
        """
        self.signal(signal.SIGTERM)
        signal_marked(self._mark, signal.SIGTERM, but=self.pid)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self.signal(signal.SIGKILL)
        kill_marked(self._mark)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)


class Signals:
    """Passes signals on to the agent, and kills it if it ignores one that asks it to end.

    Signals are kept until the agent runs; if they were blocked instead, it would inherit that. A
    signal that was ignored from the start, as under nohup, is ignored by the agent too.
    """

    def __init__(self, grace: float = GRACE_S) -> None:
        """Give the agent `grace` seconds to end."""
        self._grace = grace
        self._process: AgentProcess | None = None
        self._early: list[int] = []
        self._timer: threading.Timer | None = None
        self._wakeup, self._wakeup_sink = os.pipe()
        self.ends_agent = False
        """Whether one of them ends the agent."""

    def __enter__(self) -> Self:
        os.set_blocking(self._wakeup_sink, False)
        signal.set_wakeup_fd(self._wakeup_sink, warn_on_full_buffer=False)
        for number in signal.valid_signals() - OWN_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        signal.set_wakeup_fd(-1)
        os.close(self._wakeup)
        os.close(self._wakeup_sink)

    def wait(self, process: AgentProcess) -> int:
        """Wait for the agent's end, and pass on signals meanwhile; return its exit code.

        A signal that comes right before a blocking call does not end that call, so nothing but
        the pipe into which the interpreter writes each signal is waited for.
        """
        ended = threading.Event()

        def watch() -> None:
            process.wait()
            ended.set()
            with suppress(BlockingIOError):
                os.write(self._wakeup_sink, b"\0")

        watcher = threading.Thread(target=watch, name="agent's end", daemon=True)
        watcher.start()
        while not ended.is_set():
            os.read(self._wakeup, 4096)
        watcher.join()
        return process.wait()

    def pass_to(self, process: AgentProcess) -> None:
        """Pass on the signals so far and those to come."""
        self._process = process
        for number in self._early:
            self._pass_on(number, process)

    def _receive(self, number: int, _: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._pass_on(number, self._process)

    def _pass_on(self, number: int, process: AgentProcess) -> None:
        if number not in GROUP_SIGNALS:
            process.signal_alone(number)
            return
        self.ends_agent = True
        process.signal(number)
        # SIGINT may only stop the running turn; the others end the agent.
        if number != signal.SIGINT and self._timer is None:
            self._timer = threading.Timer(self._grace, process.signal, [signal.SIGKILL])
            self._timer.daemon = True
            self._timer.start()


def take_stdio() -> tuple[int, int]:
    """Move stdin and stdout to new descriptors and return these, in this order.

    From here on stdout is stderr and stdin is empty for all other code: what an add-on prints,
    reads or starts does not reach the editor or the agent.
    """
    stdio = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdio
