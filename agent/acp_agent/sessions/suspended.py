"""Suspended sessions: what is kept of them in memory until they are needed again.

Everything else of a session is in the store. Its lock is held, so that no other process writes to a
session that the client of this one has open.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from acp_agent.mcp.config import Server
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.sessions.locks import SessionLocks

IDLE_TIMEOUT_S: Final = 3600.0
"""Seconds without activity after which a session is suspended, by default."""
MAX_SUSPENDED: Final = 500
"""Suspended sessions at once, as each holds a lock; the oldest ones are closed."""


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """What the client wants a session to work with."""

    directories: Sequence[Path]
    """The first is its own."""
    servers: Sequence[Server]


@dataclass(frozen=True, slots=True)
class SuspendedSession:
    """What a suspended session has beside what is in the store."""

    number: int
    declared: SessionSetup
    permissions: SessionPermissions
    shown_warnings: set[tuple[str, str]]
    model: str
    history_length: int


class SuspendedSessions(Mapping[str, SuspendedSession]):
    """The suspended sessions by id, in the order in which they were suspended."""

    def __init__(self, locks: SessionLocks) -> None:
        self._locks = locks
        self._suspended: dict[str, SuspendedSession] = {}

    def add(self, session_id: str, slept: SuspendedSession) -> None:
        """Add a session; its lock stays held."""
        self._suspended[session_id] = slept

    def pop(self, session_id: str) -> SuspendedSession | None:
        """Remove a session, whose lock stays held; return None if it is not suspended."""
        return self._suspended.pop(session_id, None)

    def close(self, session_id: str) -> bool:
        """Close a session and release its lock; return False if it is not suspended."""
        slept = self.pop(session_id)
        if slept is not None:
            self._locks.release(slept.number)
        return slept is not None

    def evict(self, unsettled: Container[str]) -> None:
        """Close the oldest ones where there are too many; `unsettled` ones stay."""
        surplus = max(0, len(self) - MAX_SUSPENDED)
        for session_id in [each for each in self if each not in unsettled][:surplus]:
            self.close(session_id)

    def __getitem__(self, session_id: str) -> SuspendedSession:
        """Return what is left of a session."""
        return self._suspended[session_id]

    def __iter__(self) -> Iterator[str]:
        """Yield the ids."""
        return iter(self._suspended)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._suspended)
