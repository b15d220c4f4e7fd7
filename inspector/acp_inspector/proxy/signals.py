"""Signals that the proxy gets in the agent's place, and hands on as if it were not there."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Final, Self

from acp_inspector.proxy.child import GRACE, AgentChild

GROUP_SIGNALS: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that mean the agent and all that it started; the others mean the agent alone."""
OWN_SIGNALS: Final = frozenset(
    {
        # They cannot be caught, tell of our own child and pipes, or stop us at our own terminal,
        signal.SIGKILL,
        signal.SIGSTOP,
        signal.SIGCHLD,
        signal.SIGPIPE,
        signal.SIGTSTP,
        signal.SIGTTIN,
        signal.SIGTTOU,
        # and these tell of a fault or a limit of this process.
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


class Signals:
    """Passes signals on to the agent, and ends it later when it ignores one that means the end.

    They are kept until there is an agent, because blocked ones it would inherit. What was ignored
    when this began, as below nohup, is ignored by the agent as well: there is nothing to pass on.
    """

    def __init__(self) -> None:
        self._child: AgentChild | None = None
        self._kept: list[int] = []
        self._timer: threading.Timer | None = None
        self.has_come = False
        """Whether there was one after which nobody waits for long."""

    def __enter__(self) -> Self:
        for number in signal.valid_signals() - OWN_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def pass_to(self, child: AgentChild) -> None:
        """Pass on what has come and what will come."""
        self._child = child
        for number in self._kept:
            self._pass_on(number, child)

    def _take(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._child is None:
            self._kept.append(number)
        else:
            self._pass_on(number, self._child)

    def _pass_on(self, number: int, child: AgentChild) -> None:
        if number not in GROUP_SIGNALS:
            child.signal_alone(number)
            return
        self.has_come = True
        child.signal(number)
        # SIGINT may only mean that the running turn shall stop; the others mean the end.
        if number != signal.SIGINT and self._timer is None:
            self._timer = threading.Timer(GRACE, child.signal, [signal.SIGKILL])
            self._timer.daemon = True
            self._timer.start()
