"""What every session of a connection works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from acp_agent.handlers.auth import AuthMode
from acp_agent.mcp.servers import McpClient, McpSettings
from acp_agent.models.types import Model
from acp_agent.permissions.audit import AuditLog
from acp_agent.permissions.grants import PermissionPolicy
from acp_agent.sessions.store import SessionStore
from acp_agent.tools.call import Tool
from acp_agent.turn.limits import TurnLimits
from acp_agent.turn.tool_calls import SessionClient


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentServices:
    """The client, the models, the store, and how sessions and their turns behave."""

    client: SessionClient
    models: Sequence[Model]
    """The models that a session can choose from; the first is the default."""
    store: SessionStore
    new_id: Callable[[], str]
    """Returns the id of a new session."""
    mcp_client: McpClient
    mcp: McpSettings
    session_limit: int
    """Sessions that may be awake at once."""
    is_unstable: bool
    """Whether unstable parts of the protocol are offered."""
    auth: AuthMode
    title: str
    """The name of the agent on screens."""
    namespace: str | None
    """Precedes, with a colon, the names of commands, so that several agents of one client can have
    commands of the same names."""
    pace: float
    """Seconds between two pieces of a streamed reply."""
    rules: PermissionPolicy
    audit: AuditLog | None
    """Where each decision about a tool call is recorded."""
    limits: TurnLimits
    tools: Mapping[str, Tool]
    """Tools that replace those of the same names."""
    instructions: tuple[str, ...]
    """Names of the files in which a project says how it wants to be worked in."""
