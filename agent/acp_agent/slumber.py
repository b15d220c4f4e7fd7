"""Sessions that are open and asleep: what is left of them until they are wanted again.

All else of a session is in the store. Its claim is kept, so that no other process writes what the
client of this one believes to be its own.
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
"""Seconds after which a session falls asleep in which nothing happens, unless told otherwise."""
ASLEEP_LIMIT: Final = 500
"""Sessions that may be asleep at once, as each holds its claim; those asleep longest are closed."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What the client has said that a session is to work with."""

    directories: Sequence[Path]
    """The first is its own."""
    servers: Sequence[Server]


@dataclass(frozen=True, slots=True)
class Asleep:
    """What a session that was put away has beside what the store keeps."""

    number: int
    declared: Declared
    permissions: Permissions
    told_troubles: set[tuple[str, str]]
    model: str
    history_length: int


class Slumber(Mapping[str, Asleep]):
    """The sessions that are asleep, by their ids, in the order in which they fell asleep."""

    def __init__(self, claims: SessionLocks) -> None:
        self._claims = claims
        self._asleep: dict[str, Asleep] = {}

    def add(self, session_id: str, slept: Asleep) -> None:
        """Take a session in, with its claim."""
        self._asleep[session_id] = slept

    def wake(self, session_id: str) -> Asleep | None:
        """Let a session go, with its claim; return None if it is not asleep."""
        return self._asleep.pop(session_id, None)

    def close(self, session_id: str) -> bool:
        """Close a session, so that others may open it; return False if it is not asleep."""
        slept = self.wake(session_id)
        if slept is not None:
            self._claims.release(slept.number)
        return slept is not None

    def thin(self, unsettled: Container[str]) -> None:
        """Close those asleep longest, where there are too many; `unsettled` ones stay."""
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
