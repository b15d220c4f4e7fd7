"""The settings of the agent: every key with its type, its default, and what it does.

The names of fields are the keys: `sessions.max_concurrent` is `Settings.sessions.max_concurrent`.
The flags, `acp-agent config`, and the table in docs/configuration.md are made of these classes.
Every start imports them; `load` reads files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

from acp_agent.settings.model import ModelSettings
from acp_agent.settings.types import (
    BOOLEAN,
    COUNT,
    DURATION,
    DURATION_OR_NEVER,
    FILES,
    HOSTS,
    LISTEN,
    NAMESPACE,
    PATH,
    RULE_TABLES,
    SERVER_TABLES,
    STORAGE,
    TEXT,
    VARIABLE,
    Setting,
    list_of,
    one_of,
    setting,
    whole,
)
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind

TOKEN_VARIABLE: Final = "ACP_AGENT_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
PolicyId = Literal["allow_read", "ask_always", "allow_all"]
AuthMode = Literal["keys", "stub", "required"]
LogLevel = Literal["debug", "info", "warning", "error"]
_TOOL_KINDS: Final = list_of(get_args(ToolKind))


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioSettings:
    enabled: bool = setting(
        True, BOOLEAN, "if false, the agent does not start: it has no other transport"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    stdio: StdioSettings = field(default_factory=StdioSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    name: str = setting(
        "ACP Agent",
        TEXT,
        "the name that users see: the agent's title, and its name in agent.json",
    )
    description: str = setting(
        "A coding agent that speaks the Agent Client Protocol",
        TEXT,
        "the description in agent.json",
    )
    namespace: str | None = setting(
        None,
        NAMESPACE,
        "put NAME: before the names of commands, for clients that show several agents",
        "--namespace NAME",
    )
    instructions: tuple[str, ...] = setting(
        ("AGENTS.md",),
        FILES,
        "files of a project that the model gets as instructions; [] for none",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolSettings:
    version: int = setting(
        1, whole(1, 2), "newest protocol version to speak; 2 is a draft", "--protocol N"
    )
    unstable: bool = setting(
        False,
        BOOLEAN,
        "offer what is unstable in the protocol: fork, archive, status and titles of sessions, "
        "the URLs of providers, auth/status, MCP servers of the client",
        "--unstable",
    )
    dialect: str | None = setting(
        None, one_of(*SPOKEN), "the client's dialect, if it should not be detected", "--dialect"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionSettings:
    default_policy: PolicyId = setting(
        "allow_read",
        one_of(*get_args(PolicyId)),
        "when to ask the user, until a session chooses otherwise",
    )
    auto_allow: tuple[ToolKind, ...] = setting(
        (), _TOOL_KINDS, "kinds of tool calls that run without asking"
    )
    always_ask: tuple[ToolKind, ...] = setting(
        (), _TOOL_KINDS, "kinds of tool calls to ask about in every mode"
    )
    rules: tuple[PolicyRule, ...] = setting(
        (), RULE_TABLES, "decisions by path, command or name; the first rule that matches decides"
    )
    audit: Path | None = setting(
        None, PATH, "append each decision about a tool call to this file", "--audit FILE"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    max_concurrent: int = setting(
        10,
        COUNT,
        "sessions that may be active at once; others are suspended until they are used",
        "--max-concurrent N",
    )
    idle_timeout: float | None = setting(
        3600.0,
        DURATION_OR_NEVER,
        'suspend sessions idle longer than this, e.g. 90s, 30m; "never" to disable',
        "--idle-timeout TIME",
    )
    """Seconds; None: never."""
    storage: Path | None = setting(
        None,
        STORAGE,
        "the directory to keep sessions in; memory: until the process ends",
        "--sessions DIR",
    )
    """None: in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    servers: Mapping[str, Mapping[str, Json]] = setting(
        {}, SERVER_TABLES, "MCP servers of every session, see docs/mcp.md", is_secret=True
    )
    """As the file has them, `env` and `headers` as tables; references are not replaced yet."""
    allowed_servers: tuple[str, ...] = setting(
        (), list_of(), "ids of the servers that may be used; [] allows all"
    )
    max_connections: int = setting(5, COUNT, "connections that a client may open through the agent")
    spawn_timeout: float = setting(
        10.0, DURATION, "how long a server may take to start and to list its tools"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """The limits of one turn."""

    requests: int = setting(100, COUNT, "requests to the model in one turn")
    tokens: int | None = setting(None, COUNT, "tokens that one turn may read and write")
    seconds: float | None = setting(None, DURATION, "how long one turn may take")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    allow_private: tuple[str, ...] = setting(
        (), HOSTS, "hosts that may be fetched although they are not public"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    mode: AuthMode = setting(
        "keys",
        one_of(*get_args(AuthMode)),
        "keys: log in only to enter keys of models; stub: also offer a login that accepts "
        "everybody; required: also demand it before sessions",
        "--auth",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    listen: str | None = setting(
        None,
        LISTEN,
        "serve status endpoints over HTTP on this machine (token required): HOST:PORT, port 0 "
        "for any, or unix:FILE",
        "--admin HOST:PORT",
    )
    token_env: str = setting(
        TOKEN_VARIABLE, VARIABLE, "the variable that holds the token of the status endpoints"
    )
    """If the variable is not set, the token is a random one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    level: LogLevel = setting("warning", one_of(*get_args(LogLevel)), "what is logged on stderr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of the agent."""

    enabled: bool = setting(True, BOOLEAN, "if false, the agent does not start")
    transport: TransportSettings = field(default_factory=TransportSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    others: Sequence[ModelSettings] = ()
    """The models of `model.others`, which a session may choose instead."""
    protocol: ProtocolSettings = field(default_factory=ProtocolSettings)
    permissions: PermissionSettings = field(default_factory=PermissionSettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    mcp: McpServerSettings = field(default_factory=McpServerSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    admin: AdminSettings = field(default_factory=AdminSettings)
    log: LogSettings = field(default_factory=LogSettings)


@cache
def setting_keys() -> Mapping[str, Setting]:
    """Return all keys by their paths."""
    return {key.path: key for key in _keys(Settings, "")}


def _keys(section: Any, prefix: str) -> Iterator[Setting]:
    for each in fields(section):
        if found := each.metadata.get("setting"):
            yield replace(found, path=prefix + each.name)
        elif is_dataclass(each.default_factory):
            yield from _keys(each.default_factory, f"{prefix}{each.name}.")


def settings_with(values: Mapping[str, Any], others: Sequence[ModelSettings] = ()) -> Settings:
    """Return the settings with these values by their keys, and the defaults of all other keys."""
    settings = Settings(others=tuple(others))
    for path, value in values.items():
        settings = _replaced(settings, path.split("."), value)
    return settings


def _replaced(section: Any, names: Sequence[str], value: Any) -> Any:
    name, *rest = names
    return replace(
        section, **{name: _replaced(getattr(section, name), rest, value) if rest else value}
    )
