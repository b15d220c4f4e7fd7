"""Suspended sessions: what is kept of them in memory until they are needed again.

All else of a session is in the store. Its lock is held, so that no other process writes to a
session that the client of this one has open.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from acp_agent.mcp.declarations import Server
from acp_agent.permissions import Permissions
from acp_agent.sessions.locks import SessionLocks

IDLE_TIMEOUT: Final = 3600.0
"""Seconds without activity after which a session is suspended, by default."""
ASLEEP_LIMIT: Final = 500
"""Suspended sessions at once, as each holds a lock; the oldest ones are closed."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What the client wants a session to work with."""

    directories: Sequence[Path]
    """The first is its own."""
    servers: Sequence[Server]


@dataclass(frozen=True, slots=True)
class Asleep:
    """What a suspended session has beside what is in the store."""

    number: int
    declared: Declared
    permissions: Permissions
    told_troubles: set[tuple[str, str]]
    model: str
    history_length: int


class Slumber(Mapping[str, Asleep]):
    """The suspended sessions by id, in the order in which they were suspended."""

    def __init__(self, locks: SessionLocks) -> None:
        self._locks = locks
        self._asleep: dict[str, Asleep] = {}

    def add(self, session_id: str, slept: Asleep) -> None:
        """Add a session; its lock stays held."""
        self._asleep[session_id] = slept

    def wake(self, session_id: str) -> Asleep | None:
        """Remove a session, whose lock stays held; return None if it is not suspended."""
        return self._asleep.pop(session_id, None)

    def close(self, session_id: str) -> bool:
        """Close a session and release its lock; return False if it is not suspended."""
        slept = self.wake(session_id)
        if slept is not None:
            self._locks.release(slept.number)
        return slept is not None

    def thin(self, unsettled: Container[str]) -> None:
        """Close the oldest ones where there are too many; `unsettled` ones stay."""
        surplus = max(0, len(self) - ASLEEP_LIMIT)
        for session_id in [each for each in self if each not in unsettled][:surplus]:
            self.close(session_id)

    def __getitem__(self, session_id: str) -> Asleep:
        """Return what is left of a session."""
        return self._asleep[session_id]

    def __iter__(self) -> Iterator[str]:
        """Yield the ids."""
        return iter(self._asleep)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._asleep)
