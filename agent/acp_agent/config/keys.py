"""All that can be set: each key with its kind of value, its default, and what it does.

The documentation, `config init`, `config show` and the checks are all made of this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Final, get_args

from acp_agent.config.configuration import ROOMS
from acp_agent.config.place import PREFIX
from acp_agent.config.rules import RULES
from acp_agent.config.values import (
    ADDRESS,
    BOOLEAN,
    COUNT,
    DURATION,
    DURATION_OR_NEVER,
    FILES,
    HOSTS,
    LISTEN,
    NAMESPACE,
    PATH,
    TEXT,
    VARIABLE,
    Kind,
    one_of,
    whole,
    words_of,
)
from acp_agent.models.choice import CASSETTE_MODES, PRICES, THINKING, TOKENS
from acp_agent.models.services import SERVICES
from acp_agent.rules import PolicyId
from acp_agent.server import SURFACES
from acp_agent.surface_auth import AuthMode
from acp_agent.tools.tool import Kind as ToolKind
from acp_protocol.dialects.names import SPOKEN

MEMORY: Final = "memory"


def _read_storage(raw: object) -> Path | None:
    return None if raw == MEMORY else PATH.read(raw)


def _read_servers(raw: object) -> Mapping[str, Any]:
    if not isinstance(raw, dict):
        raise TypeError
    return raw  # pyright: ignore[reportUnknownVariableType] - looked at one by one, see `files`


def _write_storage(storage: Path | None) -> str:
    return MEMORY if storage is None else str(storage)


STORAGE: Final = Kind(f"{MEMORY}, or the name of a directory", _read_storage, write=_write_storage)
SERVERS: Final = Kind("a table with a table for each server", _read_servers)
TOOL_KINDS: Final = words_of(get_args(ToolKind))
SERVER_MEMBERS: Final = ("command", "args", "env", "url", "headers", "type")


@dataclass(frozen=True, slots=True)
class Key:
    """Something that can be set."""

    path: str
    kind: Kind[Any]
    about: str
    flag: str | None = None

    @property
    def variable(self) -> str | None:
        """The environment variable that sets it; None where no text could."""
        return (
            None if self.kind in (SERVERS, RULES) else PREFIX + self.path.upper().replace(".", "_")
        )

    @property
    def default(self) -> Any:
        """What it is where nobody sets it."""
        room, _, name = self.path.partition(".")
        for each in fields(ROOMS[room]) if room in ROOMS else ():
            if each.name == name:
                made = each.default_factory
                return each.default if made is MISSING else made()
        return _ROOMLESS.get(self.path)


_ROOMLESS: Final[Mapping[str, object]] = {"enabled": True, "transport.stdio.enabled": True}

MODEL_KEYS: Final = (
    Key("model.service", one_of(*SERVICES), "who has the model, if its name does not say so"),
    Key("model.name", TEXT, "demo, SERVICE:NAME, or NAME alone with a service", "--model"),
    Key(
        "model.base_url",
        ADDRESS,
        "where the service is; then no key is sent but the one of api_key_env",
    ),
    Key("model.api_key_env", VARIABLE, "the environment variable that holds the key"),
    Key("model.thinking", THINKING, "how hard to think before answering", "--thinking"),
    Key("model.max_tokens", TOKENS, "the most that one reply may be long", "--max-tokens"),
    Key("model.window", TOKENS, "tokens that the model can bear in mind", "--window"),
    Key("model.prices", PRICES, "US dollars for a million tokens", "--prices"),
    Key("model.images", BOOLEAN, "whether the model looks at images", "--images"),
    Key("model.system_prompt", TEXT, "what the model is told besides"),
    Key(
        "model.coding_agent_mode",
        BOOLEAN,
        "whether the model is told how to work as a coding agent",
    ),
    Key("model.cassette", PATH, "a file that keeps the traffic with the model", "--cassette"),
    Key(
        "model.cassette_mode",
        one_of(*CASSETTE_MODES),
        "write that file, or let it answer instead of the service",
        "--cassette-mode",
    ),
)
KEYS: Final = (
    Key("enabled", BOOLEAN, "with false the agent does not start"),
    Key("transport.stdio.enabled", BOOLEAN, "with false the agent does not start: it has no other"),
    Key("agent.name", TEXT, "what users know the agent by: its title, and its name in agent.json"),
    Key("agent.description", TEXT, "what agent.json says of it"),
    Key(
        "agent.namespace",
        NAMESPACE,
        "what stands, with a colon, before the names of commands, for clients of several agents",
        "--namespace",
    ),
    Key(
        "agent.instructions",
        FILES,
        "files of a project that the model is told, such as AGENTS.md; none are read for []",
    ),
    *MODEL_KEYS,
    Key(
        "protocol.version",
        whole(1, max(SURFACES)),
        "the newest protocol version to speak",
        "--protocol",
    ),
    Key(
        "protocol.unstable",
        BOOLEAN,
        "whether parts are offered that are not stable yet",
        "--unstable",
    ),
    Key(
        "protocol.dialect",
        one_of(*SPOKEN),
        "how the client speaks, if that is not to be recognised",
        "--dialect",
    ),
    Key(
        "permissions.default_policy",
        one_of(*get_args(PolicyId)),
        "when the user is asked, until a session chooses otherwise",
    ),
    Key("permissions.auto_allow", TOOL_KINDS, "kinds of tool calls that nobody is asked about"),
    Key("permissions.always_ask", TOOL_KINDS, "kinds that are asked about in every mode"),
    Key("permissions.rules", RULES, "what is decided by path, command or name, first one first"),
    Key(
        "permissions.audit",
        PATH,
        "a file that each decision about a tool call is written to",
        "--audit",
    ),
    Key(
        "sessions.max_concurrent",
        COUNT,
        "sessions that may be awake at once; others sleep until they are wanted",
        "--max-concurrent",
    ),
    Key(
        "sessions.idle_timeout",
        DURATION_OR_NEVER,
        "after which a session falls asleep in which nothing happens",
        "--idle-timeout",
    ),
    Key(
        "sessions.storage",
        STORAGE,
        "memory, or the directory that sessions are kept in",
        "--sessions",
    ),
    Key("mcp.servers", SERVERS, "MCP servers that every session has, see docs/mcp.md"),
    Key("mcp.allowed_servers", words_of(), "ids of those that may be used; none allows all"),
    Key("mcp.max_connections", COUNT, "that a client may have open through the agent"),
    Key("mcp.spawn_timeout", DURATION, "for a server to start and list its tools"),
    Key("limits.requests", COUNT, "times that the model is asked in one turn"),
    Key("limits.tokens", COUNT, "tokens that one turn may read and write"),
    Key("limits.seconds", DURATION, "that one turn may take"),
    Key(
        "fetch.allow_private",
        HOSTS,
        "what may be fetched although not everybody can reach it",
    ),
    Key(
        "auth.mode",
        one_of(*get_args(AuthMode)),
        "whether a client logs in besides bringing the keys that models need",
        "--auth",
    ),
    Key("admin.listen", LISTEN, "where the agent can be looked at from outside", "--admin"),
    Key("admin.token_env", VARIABLE, "the variable that holds the token for that"),
    Key("log.level", one_of("debug", "info", "warning", "error"), "what is told on stderr"),
)
BY_PATH: Final = {key.path: key for key in KEYS}
BY_VARIABLE: Final = {key.variable: key for key in KEYS if key.variable is not None}
OTHERS: Final = "model.others"
"""A list of tables, each with the keys of `model`."""

FORMER: Final = {
    "default_model": "model.name",
    "system_prompt": "model.system_prompt",
    "coding_agent_mode": "model.coding_agent_mode",
    "mcp.max_connections_per_session": "mcp.max_connections",
    "mcp.server_spawn_timeout": "mcp.spawn_timeout",
}
"""What keys are called in the configuration of the Continuum Router."""
STORAGE_PATH: Final = "sessions.storage_path"
"""Names the directory where `sessions.storage` is `file`, as in the Continuum Router."""
IDLE: Final = {
    "agent.version": "the version is the program's own",
    "capabilities": "the agent itself tells what it can do",
}
"""Keys of the Continuum Router that mean nothing here, and why."""
SECRETS: Final = {"api_key": "api_key_env", "key": "api_key_env", "token": "token_env"}
"""What must not stand in a file, and what stands there instead."""
