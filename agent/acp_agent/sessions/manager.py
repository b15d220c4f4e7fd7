"""The sessions of one connection that are open: awake, asleep, or about to change.

A limited number of them is awake. Where one more is to be, the one that has been at rest the
longest is put away; only where all are at work there is no room.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import anyio

from acp_agent.params import missing
from acp_agent.session import Session
from acp_agent.sessions.locks import SessionLocks
from acp_agent.slumber import Slumber
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError

SLOT_TIMEOUT_S: Final = 30.0
"""Seconds that a session waits for another one that is about to come to rest."""


class SessionManager:
    """Opens places for sessions, puts sessions away, and closes them.

    `limit` is how many may be awake at once.
    """

    def __init__(self, limit: int, claims: SessionLocks) -> None:
        self._limit = limit
        self._claims = claims
        self.awake: dict[str, Session] = {}
        """By id."""
        self.asleep = Slumber(claims)
        """Those that wake when they are wanted."""
        self._changing: dict[str, anyio.Event] = {}
        """Those that are about to be opened or closed, and when they are."""
        self._opening = 0
        """How many of them will be awake, and have their place among those."""
        self._starts: dict[anyio.CancelScope, str] = {}
        """What has to start before a session is as it is to be, and the session's id."""
        self._is_over = False
        """Whether the client has left."""
        self._idle_again = anyio.Event()
        """Set, and another one instead, when a session may have come to rest or gone."""

    def can_suspend(self, session: Session) -> bool:
        """Return whether nothing happens in a session, or is about to."""
        return self._is_idle(session) and session.log.is_settled()

    def _is_idle(self, session: Session) -> bool:
        """Return the same, whether or not all of it is kept."""
        is_used = session.is_used or session.id in self._changing
        return not is_used and not session.is_at_work

    def notify_idle(self) -> None:
        """Let those look again who wait for a session to rest."""
        self._idle_again.set()
        self._idle_again = anyio.Event()

    @contextmanager
    def used(self, session: Session) -> Generator[None]:
        """Put a session not away meanwhile."""
        try:
            with session.used():
                yield
        finally:
            self.notify_idle()

    @contextmanager
    def change(self, session_id: str) -> Generator[None]:
        """Let others wait while a session is opened or closed."""
        has_changed = self._changing[session_id] = anyio.Event()
        try:
            yield
        finally:
            del self._changing[session_id]
            has_changed.set()

    async def wait_settled(self, session_id: str) -> None:
        """Return when a session is about to be neither opened nor closed."""
        while (changing := self._changing.get(session_id)) is not None:
            await changing.wait()

    @asynccontextmanager
    async def reserve(self, session_id: str) -> AsyncGenerator[None]:
        """Keep a place for a session that is about to be awake.

        Raises:
            RequestFailedError: all are taken, and nobody is at rest.
            StoreError: nor can be, as what was said there cannot be kept.
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
        """Run a block for a session that ends where the session is closed, or the client leaves.

        Raises:
            RequestFailedError: it was ended.
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
        raise missing(session_id, "The session was closed meanwhile")

    def cancel_starts(self) -> None:
        """Wait for the start of nothing any more, as the client has left."""
        self._is_over = True
        for scope in self._starts:
            scope.cancel()

    async def suspend_idle(self, seconds: float) -> None:
        """Put the sessions away in which nothing has happened for `seconds`."""
        latest = anyio.current_time() - seconds
        for session in list(self.awake.values()):
            is_open = self.awake.get(session.id) is session
            if is_open and session.touched <= latest and self.can_suspend(session):
                await self.suspend(session)

    async def suspend(self, session: Session) -> None:
        """End all of a session at rest but its claim; it wakes when it is wanted."""
        self.asleep.add(session.id, session.asleep())
        del self.awake[session.id]
        with self.change(session.id), anyio.CancelScope(shield=True):
            await session.finish()
            await session.servers.aclose()
            await session.settle()
        self.asleep.thin(self._changing)

    async def close_session(self, session: Session) -> None:
        """Close a session: it is kept, and can be opened again.

        It is brought to its end, whoever gives up meanwhile: every wait in it is bounded.
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
                self._claims.release(session.log.record.number)

    async def close(self, session_id: str) -> bool:
        """Close a session, awake or asleep; return False if it is not open.

        One that is about to be open counts as open, and is opened no more.
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
        return self.asleep.close(session_id) or was_starting

    async def _wait_for_slot(self) -> None:
        """Return when one more may be awake; those make room that have been at rest the longest."""
        with anyio.move_on_after(SLOT_TIMEOUT_S):
            while len(self.awake) + self._opening >= self._limit:
                resting = [each for each in self.awake.values() if self.can_suspend(each)]
                if resting:
                    await self.suspend(min(resting, key=lambda each: each.touched))
                elif idle := [each for each in self.awake.values() if self._is_idle(each)]:
                    # Nobody tells when the store can be written again: it is asked.
                    await idle[0].log.settle()
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
