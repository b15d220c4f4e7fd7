"""The open sessions of one connection: awake, suspended, or about to change.

A limited number of sessions is awake. To make room for another one, the session that has been idle
the longest is suspended; a request is refused only where a turn runs in each of them.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio

from acp_agent.sessions.session import CLOSED, AgentSession, SuspendedSession, session_not_found
from acp_agent.store.database import SessionStore
from acp_agent.store.errors import StoreError
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError

logger = logging.getLogger(__name__)

SLOT_TIMEOUT_S: Final = 30.0
"""How long a session waits for another one to become idle."""
MAX_SUSPENDED: Final = 500
"""Suspended sessions at once, as each holds a lock; the oldest ones are closed."""


class SessionManager:
    """Reserves room for sessions, suspends them, and closes them.

    `limit` is how many may be awake at once.
    """

    def __init__(self, limit: int, store: SessionStore) -> None:
        self.slot_timeout_s = SLOT_TIMEOUT_S
        self.max_suspended = MAX_SUSPENDED
        self._limit = limit
        self._store = store
        self.awake: dict[str, AgentSession] = {}
        """By id."""
        self.suspended: dict[str, SuspendedSession] = {}
        """By id, in the order in which they were suspended; their locks stay held."""
        self._changing: dict[str, anyio.Event] = {}
        """By id, the sessions that are being opened or closed; set when that is done."""
        self._opening = 0
        """How many sessions are being opened and have room reserved."""
        self._starts: dict[anyio.CancelScope, str] = {}
        """The scopes in which servers of a session start, and the id of the session."""
        self._waiting: dict[anyio.CancelScope, str] = {}
        """The scopes of prompts that wait for their session or its turn, and the id of it."""
        self._is_over = False
        """Whether the client has disconnected."""
        self._idle_again = anyio.Event()
        """Set, and replaced, when a session may have become idle or was closed."""

    def is_open(self, session_id: str) -> bool:
        """Return whether this connection has a session open, awake or suspended."""
        return session_id in self.awake or session_id in self.suspended

    def holds(self, number: int) -> bool:
        """Return whether this connection has the session of that number open."""
        awake = (session.log.record.number for session in self.awake.values())
        return number in awake or number in (each.number for each in self.suspended.values())

    def can_suspend(self, session: AgentSession) -> bool:
        """Return whether a session is idle and everything of it is stored."""
        return self._is_idle(session) and session.log.is_flushed()

    def _is_idle(self, session: AgentSession) -> bool:
        return not (session.uses or session.id in self._changing or session.is_at_work)

    def notify_idle(self) -> None:
        """Wake the requests that wait for a session to become idle."""
        self._idle_again.set()
        self._idle_again = anyio.Event()

    @contextmanager
    def in_use(self, session: AgentSession) -> Generator[None]:
        """Keep a session from being suspended within the block."""
        session.uses += 1
        try:
            yield
        finally:
            session.uses -= 1
            session.last_used = anyio.current_time()
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
        raise session_not_found(session_id, CLOSED)

    @contextmanager
    def waiting(self, session_id: str) -> Generator[anyio.CancelScope]:
        """Run a block in which a prompt waits, until `cancel_waiting`; yield its scope."""
        with anyio.CancelScope() as scope:
            self._waiting[scope] = session_id
            try:
                yield scope
            finally:
                del self._waiting[scope]

    def cancel_waiting(self, session_id: str) -> None:
        """Cancel the prompts that wait for a session."""
        for scope in _of(session_id, self._waiting):
            scope.cancel()

    def disconnect(self) -> None:
        """Cancel all that waits or starts, because the client has disconnected."""
        self._is_over = True
        for scope in [*self._waiting, *self._starts]:
            scope.cancel()

    async def suspend_idle(self, seconds: float) -> None:
        """Suspend the sessions in which nothing has happened for `seconds`."""
        latest = anyio.current_time() - seconds
        for session in list(self.awake.values()):
            is_open = self.awake.get(session.id) is session
            if is_open and session.last_used <= latest and self.can_suspend(session):
                await self.suspend(session)

    async def suspend(self, session: AgentSession) -> None:
        """Stop all of an idle session, but keep its lock; it wakes when it is needed."""
        self.suspended[session.id] = session.suspended()
        del self.awake[session.id]
        with self.change(session.id), anyio.CancelScope(shield=True):
            await session.finish()
        surplus = max(0, len(self.suspended) - self.max_suspended)
        for session_id in [each for each in self.suspended if each not in self._changing][:surplus]:
            if session_id not in self._changing:
                await self._close_suspended(session_id)

    async def _close_suspended(self, session_id: str) -> None:
        with self.change(session_id):
            await self._store.release(self.suspended.pop(session_id).number)

    async def close_session(self, session: AgentSession) -> None:
        """Close a session, which stays in the store and can be opened again.

        This runs to its end even if the caller is cancelled: every wait in it is bounded.
        """
        del self.awake[session.id]
        self.notify_idle()
        with self.change(session.id), anyio.CancelScope(shield=True):
            try:
                await session.tasks.end()
                self.cancel_waiting(session.id)
                await session.finish()
            finally:
                await self._store.release(session.log.record.number)

    async def close(self, session_id: str) -> bool:
        """Close a session, and cancel the prompts that wait; return False if it is not open.

        A session that is being opened counts as open, and its opening is cancelled.
        """
        self.cancel_waiting(session_id)
        was_starting = False
        while (changing := self._changing.get(session_id)) is not None:
            for scope in _of(session_id, self._starts):
                was_starting = True
                scope.cancel()
            await changing.wait()
        if (session := self.awake.get(session_id)) is not None:
            await self.close_session(session)
            return True
        if session_id in self.suspended:
            await self._close_suspended(session_id)
            return True
        return was_starting

    async def release_all(self) -> None:
        """Store what is not stored yet, and unlock all sessions, in which nothing runs any more."""
        with anyio.CancelScope(shield=True):
            for session in self.awake.values():
                try:
                    await session.log.flush(0.0)
                except StoreError as problem:
                    logger.error("the last messages are not stored: %s", problem)  # noqa: TRY400
                await self._store.release(session.log.record.number)
            for suspended in self.suspended.values():
                await self._store.release(suspended.number)
        self.awake.clear()
        self.suspended.clear()

    async def _wait_for_slot(self) -> None:
        """Return when one more session may be awake; suspend those that are idle the longest."""
        with anyio.move_on_after(self.slot_timeout_s):
            while len(self.awake) + self._opening >= self._limit:
                awake = self.awake.values()
                if ready := [each for each in awake if self.can_suspend(each)]:
                    await self.suspend(min(ready, key=lambda each: each.last_used))
                elif idle := [each for each in awake if self._is_idle(each)]:
                    # There is no event for when the store can be written again, so try.
                    await idle[0].log.flush()
                elif self._opening or not all(session.is_at_work for session in awake):
                    await self._idle_again.wait()
                else:
                    break
            else:
                return
        reason = (
            f"Too many sessions are at work: {self._limit}; wait for a turn to end or cancel one"
        )
        raise RequestFailedError(jsonrpc.INVALID_REQUEST, reason)


def _of(session_id: str, scopes: Mapping[anyio.CancelScope, str]) -> list[anyio.CancelScope]:
    return [scope for scope, id_ in scopes.items() if id_ == session_id]
