"""The open sessions of one connection: awake, suspended, or about to change.

A limited number of sessions is awake. To make room for another one, the session that has been idle
the longest is suspended; a request is refused only where a turn runs in each of them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio

from acp_agent.params import session_not_found
from acp_agent.sessions.locks import SessionLocks
from acp_agent.sessions.session import Session
from acp_agent.sessions.suspended import SuspendedSessions
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError

SLOT_TIMEOUT_S: Final = 30.0
"""Seconds that a session waits for another one to become idle."""


class SessionManager:
    """Reserves room for sessions, suspends them, and closes them.

    `limit` is how many may be awake at once.
    """

    def __init__(self, limit: int, locks: SessionLocks) -> None:
        self._limit = limit
        self._locks = locks
        self.awake: dict[str, Session] = {}
        """By id."""
        self.suspended = SuspendedSessions(locks)
        """The suspended sessions, which wake when they are needed."""
        self._changing: dict[str, anyio.Event] = {}
        """By id, the sessions that are being opened or closed; set when that is done."""
        self._opening = 0
        """How many sessions are being opened and have room reserved."""
        self._starts: dict[anyio.CancelScope, str] = {}
        """The scopes in which servers of a session start, and the id of the session."""
        self._is_over = False
        """Whether the client has disconnected."""
        self._idle_again = anyio.Event()
        """Set, and replaced, when a session may have become idle or was closed."""

    def can_suspend(self, session: Session) -> bool:
        """Return whether a session is idle and everything of it is stored."""
        return self._is_idle(session) and session.log.is_flushed()

    def _is_idle(self, session: Session) -> bool:
        """Return whether nothing runs in a session, or is about to."""
        is_used = session.is_used or session.id in self._changing
        return not is_used and not session.is_at_work

    def notify_idle(self) -> None:
        """Wake the requests that wait for a session to become idle."""
        self._idle_again.set()
        self._idle_again = anyio.Event()

    @contextmanager
    def in_use(self, session: Session) -> Generator[None]:
        """Keep a session from being suspended within the block."""
        try:
            with session.used():
                yield
        finally:
            self.notify_idle()

    @contextmanager
    def change(self, session_id: str) -> Generator[None]:
        """Make other requests wait while a session is opened or closed in the block."""
        has_changed = self._changing[session_id] = anyio.Event()
        try:
            yield
        finally:
            del self._changing[session_id]
            has_changed.set()

    async def wait_settled(self, session_id: str) -> None:
        """Return when a session is neither being opened nor closed."""
        while (changing := self._changing.get(session_id)) is not None:
            await changing.wait()

    @asynccontextmanager
    async def reserve(self, session_id: str) -> AsyncGenerator[None]:
        """Reserve room for a session that is opened in the block.

        Raises:
            RequestFailedError: there is none, and no session is idle.
            StoreError: an idle session cannot be stored, and so not be suspended.
        """
        with self.change(session_id):
            await self._wait_for_slot()
            self._opening += 1
            try:
                yield
            finally:
                self._opening -= 1
                self.notify_idle()

    @contextmanager
    def starting(self, session_id: str) -> Generator[None]:
        """Run a block that is cancelled when the session is closed or the client disconnects.

        Raises:
            RequestFailedError: it was cancelled.
        """
        with anyio.CancelScope() as scope:
            self._starts[scope] = session_id
            if self._is_over:
                scope.cancel()
            try:
                yield
            finally:
                del self._starts[scope]
        if not scope.cancelled_caught:
            return
        if self._is_over:
            raise RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
        raise session_not_found(session_id, "The session was closed meanwhile")

    def cancel_starts(self) -> None:
        """Cancel all starts, because the client has disconnected."""
        self._is_over = True
        for scope in self._starts:
            scope.cancel()

    async def suspend_idle(self, seconds: float) -> None:
        """Suspend the sessions in which nothing has happened for `seconds`."""
        latest = anyio.current_time() - seconds
        for session in list(self.awake.values()):
            is_open = self.awake.get(session.id) is session
            if is_open and session.last_used <= latest and self.can_suspend(session):
                await self.suspend(session)

    async def suspend(self, session: Session) -> None:
        """Stop all of an idle session, but keep its lock; it wakes when it is needed."""
        self.suspended.add(session.id, session.suspended())
        del self.awake[session.id]
        with self.change(session.id), anyio.CancelScope(shield=True):
            await session.finish()
            await session.servers.aclose()
            await session.settle()
        self.suspended.evict(self._changing)

    async def close_session(self, session: Session) -> None:
        """Close a session, which stays in the store and can be opened again.

        This runs to its end even if the caller is cancelled: every wait in it is bounded.
        """
        del self.awake[session.id]
        self.notify_idle()
        with self.change(session.id), anyio.CancelScope(shield=True):
            try:
                await session.tasks.end()
                await session.finish()
                await session.servers.aclose()
                await session.settle()
            finally:
                self._locks.release(session.log.record.number)

    async def close(self, session_id: str) -> bool:
        """Close a session, awake or suspended; return False if it is not open.

        A session that is being opened counts as open, and its opening is cancelled.
        """
        was_starting = False
        while (changing := self._changing.get(session_id)) is not None:
            for scope in [each for each, id_ in self._starts.items() if id_ == session_id]:
                was_starting = True
                scope.cancel()
            await changing.wait()
        if (session := self.awake.get(session_id)) is not None:
            await self.close_session(session)
            return True
        return self.suspended.close(session_id) or was_starting

    async def _wait_for_slot(self) -> None:
        """Return when one more session may be awake; suspend those that are idle the longest."""
        with anyio.move_on_after(SLOT_TIMEOUT_S):
            while len(self.awake) + self._opening >= self._limit:
                resting = [each for each in self.awake.values() if self.can_suspend(each)]
                if resting:
                    await self.suspend(min(resting, key=lambda each: each.last_used))
                elif idle := [each for each in self.awake.values() if self._is_idle(each)]:
                    # There is no event for when the store can be written again, so try.
                    await idle[0].log.flush()
                elif self._opening or not all(
                    session.is_at_work for session in self.awake.values()
                ):
                    await self._idle_again.wait()
                else:
                    raise self._too_many()
            return
        raise self._too_many()

    def _too_many(self) -> RequestFailedError:
        limit = self._limit
        reason = f"Too many sessions are at work: {limit}; wait for a turn to end or cancel one"
        return RequestFailedError(jsonrpc.INVALID_REQUEST, reason)
