"""The settings of the agent: every key with its type, its default, and what it does.

The names of fields are the keys: `sessions.max_concurrent` is `Settings.sessions.max_concurrent`.
The flags, the environment variables, `acp-agent config`, and the table in docs/configuration.md are
made of these classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Final, Literal, cast, get_args

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from acp_agent.settings.model import ModelSettings
from acp_agent.settings.rules import RuleTable
from acp_agent.settings.types import (
    Address,
    Boolean,
    Count,
    Duration,
    DurationOrNever,
    Files,
    HostNames,
    Hosts,
    InvalidSettingError,
    Namespace,
    Origins,
    PathText,
    Section,
    ServerAddress,
    Storage,
    Text,
    Texts,
    ToolKinds,
    Variable,
    Written,
    among,
    number_from_text,
    one_of,
    setting,
)
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.host.state import AGENT_PREFIX
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.mcp_servers import ServerId, ServerTable

TOKEN_VARIABLE: Final = "ACP_AGENT_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
STORAGE_VARIABLE: Final = "ACP_AGENT_SESSIONS_STORAGE"
"""May hold the URL of a database with its password."""
HTTP_TOKEN_VARIABLE: Final = "ACP_AGENT_HTTP_TOKEN"  # noqa: S105 - the name of a variable
PolicyId = Literal["allow_read", "ask_always", "allow_all"]
AuthMode = Literal["keys", "stub", "required"]
LogLevel = Literal["debug", "info", "warning", "error"]
Dialect = Annotated[str, among(SPOKEN), one_of(SPOKEN)]
Version = Annotated[
    int, Field(strict=True, ge=1, le=2), Written("a whole number from 1 to 2", number_from_text)
]
Rules = Annotated[
    tuple[RuleTable, ...],
    Written(
        "a list of tables, as in [[permissions.rules]]",
        None,
        lambda rules: [rule.model_dump(exclude_none=True) for rule in rules],
    ),
]
Servers = Annotated[
    dict[ServerId, ServerTable],
    Written(
        "a table with a table for each server",
        None,
        lambda servers: {id_: each.model_dump(exclude_unset=True) for id_, each in servers.items()},
    ),
]


class StdioSettings(Section):
    enabled: Boolean = setting(True, "if false, the agent does not start on stdin and stdout")


class TransportSettings(Section):
    stdio: StdioSettings = StdioSettings()


class AgentSettings(Section):
    name: Text = setting(
        "ACP Agent",
        "the name that users see: the agent's title, and its name in agent.json",
    )
    description: Text = setting(
        "A coding agent that speaks the Agent Client Protocol",
        "the description in agent.json",
    )
    version: Text | None = setting(
        None, "the version that clients and agent.json read, instead of the program's own"
    )
    namespace: Namespace | None = setting(
        None,
        "put NAME: before the names of commands, for clients that show several agents",
        "--namespace NAME",
    )
    instructions: Files = setting(
        ("AGENTS.md",),
        "files of a project that the model gets as instructions; [] for none",
    )


class CapabilitySettings(Section):
    """What the agent offers to clients; a capability that is off is refused, too."""

    load_session: Boolean = setting(True, "open sessions again: session/load, session/resume")
    image: Boolean = setting(True, "take images, if a model does")
    embedded_context: Boolean = setting(True, "take embedded resources")
    mcp: Boolean = setting(
        True, "reach the configured MCP servers for clients of Continuum Router, if there are any"
    )


class ProtocolSettings(Section):
    version: Version = setting(1, "newest protocol version to speak; 2 is a draft", "--protocol N")
    unstable: Boolean = setting(
        False,
        "offer what is unstable in the protocol: fork, archive, status and titles of sessions, "
        "the URLs of providers, auth/status, MCP servers of the client",
        "--unstable",
    )
    dialect: Dialect | None = setting(
        None, "the client's dialect, if it should not be detected", "--dialect"
    )


class PermissionSettings(Section):
    default_policy: PolicyId = setting(
        "allow_read",
        "when to ask the user, until a session chooses otherwise",
    )
    auto_allow: ToolKinds = setting((), "kinds of tool calls that run without asking")
    always_ask: ToolKinds = setting((), "kinds of tool calls to ask about in every mode")
    rules: Rules = setting(
        (), "decisions by path, command or name; the first rule that matches decides"
    )
    audit: PathText | None = setting(
        None, "append each decision about a tool call to this file", "--audit FILE"
    )


class SessionSettings(Section):
    max_concurrent: Count = setting(
        10,
        "sessions that may be active at once; others are suspended until they are used",
        "--max-concurrent N",
    )
    idle_timeout: DurationOrNever = setting(
        3600.0,
        'suspend sessions idle longer than this, e.g. 90s, 30m; "never" to disable',
        "--idle-timeout TIME",
    )
    """Seconds; None: never."""
    storage: Storage = setting(
        None,
        "where to keep sessions: a directory, or a PostgreSQL database that several processes "
        "share; memory: until the process ends",
        "--sessions DIR|URL",
    )
    """None: in memory."""


class McpServerSettings(Section):
    servers: Servers = setting({}, "MCP servers of every session, see docs/mcp.md", is_secret=True)
    """As the file has them, `env` and `headers` as tables; references are not replaced yet."""
    allowed_servers: Texts = setting((), "ids of the servers that may be used; [] allows all")
    max_connections: Count = setting(5, "connections that a client may open through the agent")
    spawn_timeout: Duration = setting(
        10.0, "how long a server may take to start and to list its tools"
    )


class LimitSettings(Section):
    """The limits of one turn."""

    requests: Count = setting(100, "requests to the model in one turn")
    tokens: Count | None = setting(None, "tokens that one turn may read and write")
    seconds: Duration | None = setting(None, "how long one turn may take")


class FetchSettings(Section):
    allow_private: Hosts = setting((), "hosts that may be fetched although they are not public")


class AuthSettings(Section):
    mode: AuthMode = setting(
        "keys",
        "keys: log in only to enter keys of models; stub: also offer a login that accepts "
        "everybody; required: also demand it before sessions",
        "--auth",
    )


class AdminSettings(Section):
    listen: Address | None = setting(
        None,
        "serve status endpoints over HTTP on this machine (token required): HOST:PORT, port 0 "
        "for any, or unix:FILE",
        "--admin HOST:PORT",
    )
    token_env: Variable = setting(
        TOKEN_VARIABLE, "the variable that holds the token of the status endpoints"
    )
    """If the variable is not set, the token is a random one."""


class HttpSettings(Section):
    listen: ServerAddress | None = setting(
        None,
        "address to serve clients at: ADDRESS:PORT, port 0 for any, or unix:FILE",
        "--http ADDRESS:PORT",
    )
    tls_cert: PathText | None = setting(
        None, "certificate of the server with its chain, PEM; needs tls_key", "--tls-cert FILE"
    )
    tls_key: PathText | None = setting(None, "key of the certificate, PEM", "--tls-key FILE")
    plain: Boolean = setting(
        False,
        "serve without TLS at an address that other machines reach, as behind a proxy that adds it",
        "--plain",
    )
    token_env: Variable = setting(
        HTTP_TOKEN_VARIABLE,
        "variable that holds the token of clients; if the default one is not set, a new token is "
        "printed",
        "--token-env NAME",
    )
    allow_host: HostNames = setting(
        (),
        "names by which clients may reach the server, besides those of this machine",
        "--allow-host NAME",
    )
    allow_origin: Origins = setting(
        (), "pages of browsers that may use the server, by their origin", "--allow-origin ORIGIN"
    )
    max_connections: Count = setting(
        1024, "clients that may be connected at once", "--max-connections N"
    )
    affinity: Namespace | None = setting(
        None,
        "value of the cookie acp_affinity, by which a load balancer knows this process; a random "
        "one if it is not set",
        "--affinity NAME",
    )
    drain: Duration = setting(
        30.0, "how long turns may go on when the server is to end", "--drain TIME"
    )


class LogSettings(Section):
    level: LogLevel = setting("warning", "what is logged on stderr")


class SettingTables(Section):
    """The tables of a configuration."""

    enabled: Boolean = setting(True, "if false, the agent does not start")
    transport: TransportSettings = TransportSettings()
    agent: AgentSettings = AgentSettings()
    capabilities: CapabilitySettings = CapabilitySettings()
    model: ModelSettings = ModelSettings()
    protocol: ProtocolSettings = ProtocolSettings()
    permissions: PermissionSettings = PermissionSettings()
    sessions: SessionSettings = SessionSettings()
    mcp: McpServerSettings = McpServerSettings()
    limits: LimitSettings = LimitSettings()
    fetch: FetchSettings = FetchSettings()
    auth: AuthSettings = AuthSettings()
    admin: AdminSettings = AdminSettings()
    http: HttpSettings = HttpSettings()
    log: LogSettings = LogSettings()


class Settings(SettingTables):
    """All settings of the agent."""

    others: Sequence[ModelSettings] = ()
    """The models of `model.others`, which a session may choose instead."""


@dataclass(frozen=True)
class Setting:
    """One key of the settings."""

    path: str
    """Such as `sessions.max_concurrent`."""
    field: FieldInfo

    @cached_property
    def written(self) -> Written:
        """How its values are written."""
        parts = (self.field, *get_args(self.field.annotation))
        for part in parts:
            metadata = part.metadata if part is self.field else getattr(part, "__metadata__", ())
            if found := [each for each in metadata if isinstance(each, Written)]:
                return found[-1]
        return one_of(parts[1:])

    @property
    def section(self) -> str:
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def default(self) -> Any:
        return self.field.default

    @property
    def about(self) -> str:
        return self.field.description or ""

    @property
    def flag(self) -> str | None:
        return self._flag[0] or None

    @property
    def metavar(self) -> str | None:
        return self._flag[2] or None

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it; None for tables."""
        is_table = self.written.from_text is None
        return None if is_table else AGENT_PREFIX + self.path.upper().replace(".", "_")

    @property
    def _flag(self) -> tuple[str, str, str]:
        return cast("dict[str, str]", self.field.json_schema_extra)["flag"].partition(" ")

    def read(self, raw: object) -> Any:
        """Return the value that a file writes as `raw`.

        Raises:
            InvalidSettingError: it has another type.
        """
        try:
            return TypeAdapter[Any](self.field.rebuild_annotation()).validate_python(raw)
        except ValidationError as error:
            raise InvalidSettingError(self.problem(error.errors()[0])) from None

    def __call__(self, text: str) -> Any:
        """Return the value of a variable or a flag.

        Raises:
            InvalidSettingError: it has another type.
        """
        return self.read(self.written.from_text(text) if self.written.from_text else None)

    def dump(self, value: Any) -> Json:
        """Return `value` as a file would hold it; None if it is not set."""
        written = self.written.none if value is None else self.written.dump(value)
        return cast("Json", written)

    def problem(self, error: ErrorDetails) -> str:
        """Return what is wrong with a value."""
        context = error.get("ctx", {})
        if isinstance(problem := context.get("error"), InvalidSettingError):
            return str(problem)
        if error["type"] == "less_than_equal":
            return f"must be a whole number of at most {context['le']}"
        return f"must be {self.written.expected}"


@cache
def setting_keys() -> Mapping[str, Setting]:
    """Return all keys by their paths."""
    return {key.path: key for key in _keys(SettingTables, "")}


def _keys(section: type[Section], prefix: str) -> Iterator[Setting]:
    for name, each in section.model_fields.items():
        if isinstance(each.default, Section):
            yield from _keys(type(each.default), f"{prefix}{name}.")
        else:
            yield Setting(prefix + name, each)


def settings_with(values: Mapping[str, Any], others: Sequence[ModelSettings] = ()) -> Settings:
    """Return the settings with these values by their keys, and the defaults of all other keys."""
    settings = Settings(others=tuple(others))
    for path, value in values.items():
        settings = _replaced(settings, path.split("."), value)
    return settings


def _replaced(section: Any, names: Sequence[str], value: Any) -> Any:
    name, *rest = names
    before = getattr(section, name)
    return section.model_copy(update={name: _replaced(before, rest, value) if rest else value})
