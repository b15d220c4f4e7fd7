"""Runs a command in an event loop, and ends it on a signal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

import anyio

from acp_protocol.host.process import raise_descriptor_limit

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run_until_signal(work: Callable[[], Awaitable[int]]) -> int:
    """Run `work` and return its exit code.

    SIGTERM and SIGHUP cancel it, so that it ends its agent before we end, with 128 + the signal's
    number. SIGINT comes as `KeyboardInterrupt`, likewise after that.
    """
    raise_descriptor_limit()
    return anyio.run(_run, work)


async def _run(work: Callable[[], Awaitable[int]]) -> int:
    received: list[int] = []
    task = asyncio.current_task()
    assert task is not None

    def cancel(number: int) -> None:
        received.append(number)
        # As asyncio does for SIGINT: tasks that `work` has started go on until it ends them.
        task.cancel()

    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, cancel, number)
    try:
        return await work()
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]
