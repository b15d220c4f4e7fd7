"""The settings of the agent: every key with its type, its default, and what it does.

The names of fields are the keys: `sessions.max_concurrent` is `Sessions.max_concurrent`. The flags,
`acp-agent config`, and the table in docs/configuration.md are made of these classes. Every start
imports them; reading a file is the business of `acp_agent.config`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, get_args, get_type_hints

from acp_agent.models.factory import ModelSettings
from acp_agent.permissions.grants import PolicyId
from acp_agent.permissions.policy import PolicyRule
from acp_agent.setting_types import (
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
    Key,
    SettingType,
    list_of,
    one_of,
    whole,
)
from acp_agent.tools.call import ToolKind
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.jsonrpc import Json

PREFIX: Final = "ACP_AGENT_"
"""Prefix of the environment variables that set keys."""
TOKEN_VARIABLE: Final = "ACP_AGENT_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
AuthMode = Literal["keys", "stub", "required"]
LogLevel = Literal["debug", "info", "warning", "error"]
_TOOL_KINDS: Final = list_of(get_args(ToolKind))


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioSettings:
    enabled: Annotated[
        bool, BOOLEAN, Key("if false, the agent does not start: it has no other transport")
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    stdio: StdioSettings = field(default_factory=StdioSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """What the agent is called."""

    name: Annotated[
        str, TEXT, Key("the name that users see: the agent's title, and its name in agent.json")
    ] = "ACP Agent"
    description: Annotated[str, TEXT, Key("the description in agent.json")] = (
        "A coding agent that speaks the Agent Client Protocol"
    )
    namespace: Annotated[
        str | None,
        NAMESPACE,
        Key(
            "put NAME: before the names of commands, for clients that show several agents",
            "--namespace",
            "NAME",
        ),
    ] = None
    instructions: Annotated[
        tuple[str, ...],
        FILES,
        Key("files of a project that the model gets as instructions; [] for none"),
    ] = ("AGENTS.md",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolSettings:
    """How the agent speaks."""

    version: Annotated[
        int, whole(1, 2), Key("newest protocol version to speak; 2 is a draft", "--protocol", "N")
    ] = 1
    unstable: Annotated[
        bool,
        BOOLEAN,
        Key(
            "offer what is unstable in the protocol: fork, archive, status and titles of sessions, "
            "the URLs of providers, auth/status, MCP servers of the client",
            "--unstable",
        ),
    ] = False
    dialect: Annotated[
        str | None,
        one_of(*SPOKEN),
        Key("the client's dialect, if it should not be detected", "--dialect"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionSettings:
    """What is decided about tool calls before the user is asked."""

    default_policy: Annotated[
        PolicyId,
        one_of(*get_args(PolicyId)),
        Key("when to ask the user, until a session chooses otherwise"),
    ] = "allow_read"
    auto_allow: Annotated[
        tuple[ToolKind, ...], _TOOL_KINDS, Key("kinds of tool calls that run without asking")
    ] = ()
    always_ask: Annotated[
        tuple[ToolKind, ...], _TOOL_KINDS, Key("kinds of tool calls to ask about in every mode")
    ] = ()
    rules: Annotated[
        tuple[PolicyRule, ...],
        RULE_TABLES,
        Key("decisions by path, command or name; the first rule that matches decides"),
    ] = ()
    audit: Annotated[
        Path | None,
        PATH,
        Key("append each decision about a tool call to this file", "--audit", "FILE"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """How sessions are kept."""

    max_concurrent: Annotated[
        int,
        COUNT,
        Key(
            "sessions that may be active at once; others are suspended until they are used",
            "--max-concurrent",
            "N",
        ),
    ] = 10
    idle_timeout: Annotated[
        float | None,
        DURATION_OR_NEVER,
        Key(
            'suspend sessions idle longer than this, e.g. 90s, 30m; "never" to disable',
            "--idle-timeout",
            "TIME",
        ),
    ] = 3600.0
    """Seconds; None: never."""
    storage: Annotated[
        Path | None,
        STORAGE,
        Key(
            "the directory to keep sessions in; memory: until the process ends", "--sessions", "DIR"
        ),
    ] = None
    """None: in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerSettings:
    """Which MCP servers there are, and how much they may take."""

    servers: Annotated[
        Mapping[str, Mapping[str, Json]],
        SERVER_TABLES,
        Key("MCP servers of every session, see docs/mcp.md"),
    ] = field(default_factory=dict[str, Mapping[str, Json]], repr=False)
    """As written in the file; references to variables are not replaced yet."""
    allowed_servers: Annotated[
        tuple[str, ...], list_of(), Key("ids of the servers that may be used; [] allows all")
    ] = ()
    max_connections: Annotated[
        int, COUNT, Key("connections that a client may open through the agent")
    ] = 5
    spawn_timeout: Annotated[
        float, DURATION, Key("how long a server may take to start and to list its tools")
    ] = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """How far one turn goes."""

    requests: Annotated[int, COUNT, Key("requests to the model in one turn")] = 100
    tokens: Annotated[int | None, COUNT, Key("tokens that one turn may read and write")] = None
    seconds: Annotated[float | None, DURATION, Key("how long one turn may take")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """What the tool that fetches may reach."""

    allow_private: Annotated[
        tuple[str, ...], HOSTS, Key("hosts that may be fetched although they are not public")
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    """How a client logs in."""

    mode: Annotated[
        AuthMode,
        one_of(*get_args(AuthMode)),
        Key(
            "keys: log in only to enter keys of models; stub: also offer a login that accepts "
            "everybody; required: also demand it before sessions",
            "--auth",
        ),
    ] = "keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    """Whether the agent serves status endpoints."""

    listen: Annotated[
        str | None,
        LISTEN,
        Key(
            "serve status endpoints over HTTP on this machine (token required): HOST:PORT, port 0 "
            "for any, or unix:FILE",
            "--admin",
            "HOST:PORT",
        ),
    ] = None
    token_env: Annotated[
        str, VARIABLE, Key("the variable that holds the token of the status endpoints")
    ] = TOKEN_VARIABLE
    """If the variable is not set, the token is a random one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is logged on stderr."""

    level: Annotated[LogLevel, one_of(*get_args(LogLevel)), Key("what is logged on stderr")] = (
        "warning"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of the agent."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    enabled: Annotated[bool, BOOLEAN, Key("if false, the agent does not start")] = True
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


@dataclass(frozen=True, slots=True)
class SettingKey:
    """One key of the settings."""

    path: str
    type: SettingType[Any]
    default: Any
    about: str
    flag: str | None
    metavar: str | None

    @property
    def section(self) -> str:
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it; None for tables."""
        is_table = self.type.from_text is None
        return None if is_table else PREFIX + self.path.upper().replace(".", "_")

    def dump(self, value: Any) -> Json:
        """Return `value` as a file would hold it; None if it is not set."""
        # For these two types, None is a value.
        is_set = value is not None or self.type in (DURATION_OR_NEVER, STORAGE)
        return self.type.dump(value) if is_set else None  # pyright: ignore[reportReturnType]


@cache
def setting_keys() -> Mapping[str, SettingKey]:
    """Return all keys by their paths."""
    return {key.path: key for key in _keys(Settings, "")}


def _keys(section: Any, prefix: str) -> Iterator[SettingKey]:
    hints = get_type_hints(section, include_extras=True)
    for each in fields(section):
        hint, path = hints[each.name], f"{prefix}{each.name}"
        if is_dataclass(hint):
            yield from _keys(hint, f"{path}.")
        elif len(annotated := getattr(hint, "__metadata__", ())) == 2:
            type_, key = annotated
            make = each.default_factory
            default = each.default if make is MISSING else make()
            yield SettingKey(path, type_, default, key.about, key.flag, key.metavar)


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
