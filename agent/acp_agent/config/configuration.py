"""What the agent is started with, once it is known where each value comes from.

Imported at every start, also where nothing is configured: it holds defaults, and reads nothing.
Names of fields are the names of keys: `sessions.max_concurrent` is `Sessions.max_concurrent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from acp_agent.instructions import NAMES
from acp_agent.models.choice import ModelChoice
from acp_agent.rules import PolicyId
from acp_agent.slumber import IDLE_TIMEOUT
from acp_agent.standing import StandingRule
from acp_agent.surface import SESSION_LIMIT, TITLE
from acp_agent.surface_auth import AuthMode
from acp_agent.tools.tool import Kind
from acp_protocol.jsonrpc import Json

TOKEN_VARIABLE: Final = "ACP_AGENT_ADMIN_TOKEN"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What the agent is called."""

    name: str = TITLE
    description: str = "A coding agent that speaks the Agent Client Protocol"
    namespace: str | None = None
    """What stands before the names of commands; None: nothing."""
    instructions: tuple[str, ...] = NAMES
    """Files of a project that the model is told; none of them are read where it is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolChoice:
    """How the agent speaks."""

    version: int = 1
    """The newest version."""
    unstable: bool = False
    """Whether parts are offered that are not stable yet."""
    dialect: str | None = None
    """None: recognised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """What is decided about tool calls before the user is asked."""

    default_policy: PolicyId = "allow_read"
    auto_allow: tuple[Kind, ...] = ()
    always_ask: tuple[Kind, ...] = ()
    rules: tuple[StandingRule, ...] = ()
    audit: Path | None = None
    """The file that each decision is written to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """What the tool that fetches may reach."""

    allow_private: tuple[str, ...] = ()
    """Names, addresses and networks that not everybody can reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """How sessions are kept."""

    max_concurrent: int = SESSION_LIMIT
    idle_timeout: float | None = IDLE_TIMEOUT
    """Seconds; None: never."""
    storage: Path | None = None
    """A directory; None: in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mcp:
    """Which MCP servers there are, and how much they may take."""

    servers: Mapping[str, Mapping[str, Json]] = field(
        default_factory=dict[str, Mapping[str, Json]], repr=False
    )
    """As they are written: what they name of the environment is not filled in."""
    allowed_servers: tuple[str, ...] = ()
    max_connections: int = 5
    spawn_timeout: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far one turn goes."""

    requests: int = 100
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """How a client logs in."""

    mode: AuthMode = "keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admin:
    """Whether somebody can look at the agent from outside."""

    listen: str | None = None
    """HOST:PORT of this machine, or unix:FILE; None: nobody can."""
    token_env: str = TOKEN_VARIABLE
    """The variable that holds the token; where it is not set, one is made up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What is told on stderr."""

    level: Literal["debug", "info", "warning", "error"] = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All of it."""

    model: ModelChoice = field(default_factory=ModelChoice)
    others: Sequence[ModelChoice] = ()
    """Models that a session may choose instead."""
    agent: Agent = field(default_factory=Agent)
    protocol: ProtocolChoice = field(default_factory=ProtocolChoice)
    permissions: Permissions = field(default_factory=Permissions)
    fetch: Fetch = field(default_factory=Fetch)
    sessions: Sessions = field(default_factory=Sessions)
    mcp: Mcp = field(default_factory=Mcp)
    limits: Limits = field(default_factory=Limits)
    auth: Auth = field(default_factory=Auth)
    admin: Admin = field(default_factory=Admin)
    log: Log = field(default_factory=Log)


ROOMS: Final[Mapping[str, type[Any]]] = {
    "model": ModelChoice,
    "agent": Agent,
    "protocol": ProtocolChoice,
    "permissions": Permissions,
    "fetch": Fetch,
    "sessions": Sessions,
    "mcp": Mcp,
    "limits": Limits,
    "auth": Auth,
    "admin": Admin,
    "log": Log,
}


def configuration_of(
    values: Mapping[str, Any], others: Sequence[ModelChoice] = ()
) -> Configuration:
    """Return the configuration with these values, by their keys; the rest is as it is by itself."""
    members: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        room, _, name = key.partition(".")
        members.setdefault(room, {})[name] = value
    rooms: dict[str, Any] = {room: ROOMS[room](**given) for room, given in members.items()}
    return Configuration(**rooms, others=tuple(others))
