"""Runs a command in an event loop, and ends it on a signal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import FrameType
from typing import Final

import anyio

from acp_console.end_timer import EndTimer
from acp_protocol.host.process import raise_descriptor_limit

_ENDING = (signal.SIGTERM, signal.SIGHUP)
END_TIMEOUT_S: Final = 5.0
"""Seconds that a command has to end its agent, and itself, after a signal."""


def run_until_signal(
    work: Callable[[], Awaitable[int]], *, end_timeout: float = END_TIMEOUT_S
) -> int:
    """Run `work` and return its exit code.

    SIGTERM and SIGHUP cancel it, so that it ends its agent before we end, with 128 + the signal's
    number. SIGINT comes as `KeyboardInterrupt`, likewise after that. If it has not ended
    `end_timeout` seconds after the first signal, whatever it is doing, its agents are killed and
    the process exits.
    """
    raise_descriptor_limit()
    # It goes on after the loop: Python waits at its end for threads that may be stuck.
    return anyio.run(_run, work, EndTimer(end_timeout))


async def _run(work: Callable[[], Awaitable[int]], timer: EndTimer) -> int:
    received: list[int] = []
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (*_ENDING, signal.SIGINT)}
    interrupt = before[signal.SIGINT]

    # Handlers of the loop would run only once the loop gets there.
    def cancel(number: int, frame: FrameType | None) -> None:
        del frame
        timer.start(128 + number)
        received.append(number)
        # As asyncio does for SIGINT: tasks that `work` has started go on until it ends them.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(task.cancel)

    def cancel_by_key(number: int, frame: FrameType | None) -> None:
        timer.start(128 + number)
        if callable(interrupt):
            interrupt(number, frame)

    for number, handler in before.items():
        # What is ignored stays so: SIGINT in the background of a shell, SIGHUP under nohup.
        if handler != signal.SIG_IGN:
            signal.signal(number, cancel_by_key if number == signal.SIGINT else cancel)
    try:
        return await work()
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
