"""What is done for the client in an open session beside its turns, such as a replay.

Closing the session ends it first, so that nothing is said of a session behind the answer that tells
that it is closed.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import anyio

from acp_agent.params import missing


class Tellings:
    """Those of one session that run."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._scopes: dict[anyio.CancelScope, anyio.Event] = {}
        self._is_over = False

    @contextmanager
    def running(self) -> Generator[None]:
        """Run a block that ends when the session is closed.

        Raises:
            RequestFailedError: it was closed before the block had ended.
        """
        if self._is_over:
            raise self._refusal()
        with anyio.CancelScope() as scope:
            has_ended = self._scopes[scope] = anyio.Event()
            try:
                yield
            finally:
                del self._scopes[scope]
                has_ended.set()
        if scope.cancelled_caught:
            raise self._refusal()

    async def end(self) -> None:
        """End all that runs and let nothing else begin; return when it has ended."""
        self._is_over = True
        for scope, has_ended in list(self._scopes.items()):
            scope.cancel()
            await has_ended.wait()

    def _refusal(self) -> Exception:
        return missing(self._session_id, "The session was closed meanwhile")
