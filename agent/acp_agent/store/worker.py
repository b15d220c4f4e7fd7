"""Runs work on a database server in a thread of its own, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import anyio

Result = TypeVar("Result")


class Worker:
    """One thread; what is submitted to it is done in its order."""

    def __init__(self, interrupt: Callable[[float], None], max_statement_s: float) -> None:
        """`interrupt` breaks off a statement that has run for longer than a number of seconds."""
        self._interrupt = interrupt
        self._max_statement_s = max_statement_s
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="store")

    def submit(self, work: Callable[[], object]) -> None:
        """Do `work` after what was submitted before; it raises nothing."""
        self._executor.submit(work)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`, which is done even if the caller is cancelled."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        is_done = anyio.Event()
        loop = asyncio.get_running_loop()
        future = self._executor.submit(work)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(is_done.set))
        with anyio.CancelScope(shield=True):
            while not future.done():
                with anyio.move_on_after(self._max_statement_s):
                    await is_done.wait()
                if not future.done():
                    self._interrupt(self._max_statement_s)
        return future.result()

    def close(self) -> None:
        """Return when everything is done, or the server does not answer."""
        try:
            self._executor.submit(bool).result(self._max_statement_s)
        except TimeoutError:
            self._interrupt(0.0)
        self._executor.shutdown()
