"""Waiting for another process that is writing, without holding up anybody else of this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import anyio

from acp_agent.sessions.errors import BusyError

PATIENCE: Final = 5.0
"""Seconds that a process waits for another one that is writing."""
PAUSE: Final = 0.01
"""Seconds between two attempts."""

Result = TypeVar("Result")


async def patiently(work: Callable[[], Result], patience: float | None = None) -> Result:
    """Return what comes of `work`, which is tried again while the store is busy.

    Nobody else has a turn meanwhile where it is not busy.

    Raises:
        StoreError: it cannot be done; also where the store was busy for `patience` seconds, which
            are `PATIENCE` if not given.
    """
    deadline = anyio.current_time() + (PATIENCE if patience is None else patience)
    while True:
        try:
            return work()
        except BusyError:
            if anyio.current_time() >= deadline:
                raise
        await anyio.sleep(PAUSE)
