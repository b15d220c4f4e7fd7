"""Runs a command in an event loop, and ends it on a signal."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import anyio

from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.host.process import raise_descriptor_limit

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run_until_signal(work: Callable[[], Awaitable[int]]) -> int:
    """Run `work` and return its exit code.

    SIGTERM and SIGHUP cancel it, so that it stops its agent first; the exit code is then 128 + the
    signal's number. SIGINT raises `KeyboardInterrupt`, also after the agent has stopped.
    """
    raise_descriptor_limit()
    return anyio.run(_run, work)


async def _run(work: Callable[[], Awaitable[int]]) -> int:
    received: list[int] = []

    async def cancel_on_signal() -> None:
        with anyio.open_signal_receiver(*_ENDING) as signals:
            async for number in signals:
                received.append(number)
                scope.cancel()

    async with BackgroundTasks() as tasks:
        with anyio.CancelScope() as scope:
            tasks.start_soon(cancel_on_signal)
            return await work()
    return 128 + received[0]
