"""What is kept in memory of a suspended session; everything else is in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_agent.mcp.config import Server
from acp_agent.permissions.decide import SessionPermissions


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """What the client wants a session to work with."""

    directories: Sequence[Path]
    """The first is its `cwd`."""
    servers: Sequence[Server]


@dataclass(frozen=True, slots=True)
class SuspendedSession:
    """What a suspended session has beside what is in the store."""

    number: int
    setup: SessionSetup
    permissions: SessionPermissions
    shown_warnings: set[tuple[str, str]]
    model: str
    history_length: int
