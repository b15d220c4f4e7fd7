"""What every session of a connection works with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from acp_agent.mcp.servers import McpSettings
from acp_agent.models.demo import DemoModel
from acp_agent.models.types import Model
from acp_agent.permissions.audit import AuditLog
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.settings import Settings
from acp_agent.store.database import SessionStore
from acp_agent.tools.call import Tool


def random_id() -> str:
    """Return an id that cannot be guessed: a UUID of version 4, as some clients expect.

    Source: RFC 9562, "UUID Version 4".
    """
    # Imported here because the import is a large part of the agent's start.
    from uuid import UUID

    return str(UUID(bytes=os.urandom(16), version=4))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentServices:
    """The settings of the agent, and what is built from them."""

    settings: Settings = field(default_factory=Settings)
    models: Sequence[Model] = field(default_factory=lambda: (DemoModel(),))
    """The models that a session can choose from; the first is the default."""
    store: SessionStore = field(default_factory=SessionStore)
    mcp: McpSettings = field(default_factory=McpSettings)
    permissions: PermissionPolicy = field(default_factory=PermissionPolicy)
    audit: AuditLog | None = None
    """Where each decision about a tool call is recorded."""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """Tools that replace those of the same names."""
    new_id: Callable[[], str] = random_id
    """Returns the id of a new session."""
    stream_delay_s: float = 0.0
    """Seconds between two pieces of a streamed reply."""
