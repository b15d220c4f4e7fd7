"""The console's configuration: agents, MCP servers, and what may be kept.

The user writes the file `config.toml`. What the console finds out by itself is not here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from acp_console.paths import config_path
from acp_protocol.dialects.registry import SPOKEN
from acp_protocol.host.did_you_mean import nearest
from acp_protocol.jsonrpc import Json
from acp_protocol.transport.remote import RemoteAddressError, check_header, check_url
from acp_protocol.user_files.mcp_servers import ServerId, ServerTable
from acp_protocol.user_files.paths import ConfigPathError
from acp_protocol.user_files.references import expand_variables
from acp_protocol.user_files.sentences import error_sentence
from acp_protocol.user_files.toml_source import (
    InvalidFileError,
    KeyPath,
    ParsedFile,
    as_table,
    parse_toml,
    read_text,
    spelled,
)

MAX_NAME_CHARS: Final = 64
NAME_RULE: Final = (
    f"a name has letters, digits, dots, dashes and underscores, {MAX_NAME_CHARS} at most, "
    "and begins with a letter or digit"
)
COMMAND_RULE: Final = 'must be a program and its arguments, as in ["my-agent", "--acp"]'
_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME_CHARS - 1}}}")


def is_agent_name(name: str) -> bool:
    """Return whether an agent may have that name."""
    return _NAME.fullmatch(name) is not None


def _check_name(name: str) -> str:
    if not is_agent_name(name):
        raise ValueError(NAME_RULE)
    return name


def _check_text(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("must be a non-empty string")
    return text


def _check_command(command: list[str]) -> list[str]:
    if not command or not command[0].strip() or any("\0" in word for word in command):
        raise ValueError(COMMAND_RULE)
    return command


def _check_environment(values: dict[str, str]) -> dict[str, str]:
    for name, value in values.items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError("must be a table of names and values of variables")
    return values


def _check_dialect(dialect: str) -> str:
    if dialect not in SPOKEN:
        raise ValueError(f"must be one of {', '.join(SPOKEN)}")
    return dialect


def _check_url(url: str) -> str:
    try:
        check_url(url)
    except RemoteAddressError as problem:
        raise ValueError(f"cannot be used: {problem.summary}") from None
    return url


def _check_headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        try:
            check_header(name, value)
        except RemoteAddressError as problem:
            raise ValueError(problem.summary) from None
    return headers


Variables = Annotated[dict[str, str], AfterValidator(_check_environment)]
"""Variables of an agent, which can be set."""
_Text = Annotated[str, AfterValidator(_check_text)]
_AgentName = Annotated[str, AfterValidator(_check_name)]


class _Table(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


class AgentTable(_Table):
    """`[agents.NAME]`: an agent of the user, or changes to a known one."""

    command: Annotated[list[str], AfterValidator(_check_command)] | None = None
    """The program and its arguments; a known agent has a command of its own."""
    url: Annotated[str, AfterValidator(_check_url)] | None = None
    """Where it serves ACP, in place of a command: https, http, wss or ws."""
    headers: Annotated[dict[str, str], AfterValidator(_check_headers)] = {}
    """Headers that it gets at its URL with each request."""
    token_env: _Text | None = None
    """The variable with the token that it gets at its URL."""
    title: _Text | None = None
    env: Variables = {}
    """Variables that it gets besides those of the console."""
    cwd: _Text | None = None
    """The directory of its sessions; the current one by default."""
    dialect: Annotated[str, AfterValidator(_check_dialect)] | None = None
    protocol: Literal[1, 2] | None = None
    """The newest version of the protocol to ask it for."""
    mode: _Text | None = None
    """The mode of new sessions."""
    options: dict[str, str | bool | int | float] = {}
    """Other options of new sessions, by id, such as the model."""
    mcp: list[str] | None = None
    """The MCP servers of its sessions; all that are configured by default."""

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if self.url is not None and self.command is not None:
            raise ValueError("has command and url; one of them has to go")
        if self.url is None and (self.headers or self.token_env):
            raise ValueError("has headers or a token, but no url")
        return self


class PrivacyTable(_Table):
    """`[privacy]`: what the console keeps by itself."""

    journal: bool = True
    """Keep sessions and prompts of the chat, from the next start on."""


class NotificationsTable(_Table):
    """`[notifications]`: how the console calls the user."""

    bell: bool = True
    """Ring when something needs you and you look elsewhere."""
    title: bool = True
    """Say in the title of the terminal's window which chat needs you or works."""
    desktop: Literal["auto", "osc9", "osc777", "off"] = "auto"
    """Notices of the desktop, while the terminal is not in front: if it is known to have them,
    by one of two escape sequences, or never."""
    long_turn_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 30.0
    """Seconds from which on the end of a turn is worth a notice."""


class DisplayTable(_Table):
    """`[display]`: what the screens show."""

    images: Literal["auto", "off", "kitty", "sixel"] = "auto"
    """Images in the transcript, from the next start on: if the terminal says that it shows them,
    never, or by one of two protocols."""


class _File(_Table):
    agents: dict[_AgentName, AgentTable] = {}
    mcp: dict[ServerId, ServerTable] = {}
    privacy: PrivacyTable = PrivacyTable()
    notifications: NotificationsTable = NotificationsTable()
    display: DisplayTable = DisplayTable()
    keys: dict[str, _Text] = {}


class _ServersFile(_Table):
    mcp: dict[_Text, ServerTable]


@dataclass(frozen=True, slots=True)
class Config:
    """What the configuration says; an empty one if there is no file."""

    path: Path | None = None
    agents: Mapping[str, AgentTable] = field(default_factory=dict[str, AgentTable])
    mcp: Mapping[str, ServerTable] = field(default_factory=dict[str, ServerTable], repr=False)
    privacy: PrivacyTable = field(default_factory=PrivacyTable)
    notifications: NotificationsTable = field(default_factory=NotificationsTable)
    display: DisplayTable = field(default_factory=DisplayTable)
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """Keys of commands, by the commands' ids."""
    source: ParsedFile | None = field(default=None, repr=False)

    def at(self, *keys: str) -> str:
        """Return the place of a key for messages, as in `config.toml:7: agents.x.command`."""
        assert self.source is not None
        return f"{self.source.at(keys)}: {spelled(keys)}"

    def absolute(self, path: str) -> Path:
        """Return a path of the file, which starts from its directory."""
        assert self.path is not None
        return self.path.absolute().parent / Path(path).expanduser()

    def servers_of(self, agent: str | None) -> dict[str, ServerTable]:
        """Return the MCP servers for the sessions of an agent, by their names; None: all."""
        table = None if agent is None else self.agents.get(agent)
        wanted = None if table is None else table.mcp
        return {name: each for name, each in self.mcp.items() if wanted is None or name in wanted}

    def wire_servers(
        self, agent: str | None, environment: Mapping[str, str]
    ) -> tuple[Mapping[str, Json], ...]:
        """Return the MCP servers that `servers_of` returns as version 2 writes them.

        Raises:
            InvalidFileError: one refers to a variable that is not set.
        """
        return tuple(
            _wire_server(name, table, self.absolute, environment, lambda *at: self.at("mcp", *at))
            for name, table in self.servers_of(agent).items()
        )


def _wire_server(
    name: str,
    table: ServerTable,
    absolute: Callable[[str], Path],
    environment: Mapping[str, str],
    at: Callable[..., str],
) -> Mapping[str, Json]:
    def pairs(key: str, values: Mapping[str, str]) -> list[Json]:
        expanded = expand_variables(values, environment, lambda each: at(name, key, each))
        return [{"name": each, "value": value} for each, value in expanded.items()]

    if table.url is not None:
        headers = pairs("headers", table.headers)
        return {"type": table.type or "http", "name": name, "url": table.url, "headers": headers}
    assert table.command is not None
    command = str(absolute(table.command)) if "/" in table.command else table.command
    args = list[Json](table.args or ())
    env = pairs("env", table.env)
    return {"type": "stdio", "name": name, "command": command, "args": args, "env": env}


def load_mcp_servers(
    path: Path, environment: Mapping[str, str] = os.environ
) -> tuple[Mapping[str, Json], ...]:
    """Return the MCP servers of a file as version 2 of the protocol writes them.

    A file in JSON has them under `mcpServers`, or `servers`; one in TOML has tables `[mcp.NAME]`
    like `config.toml`. Commands with a slash start from its directory.

    Raises:
        InvalidFileError: it is invalid; the message lists all that is, with the fields.
    """
    text = read_text(path)
    if path.suffix == ".toml":
        source, key = parse_toml(path, text), "mcp"
    else:
        source = ParsedFile(path, _json_object(path, text), {})
        key = "servers" if "servers" in source.tree else "mcpServers"

    def at(*keys: str | int) -> str:
        return f"{source.at(('mcp', *keys))}: {spelled((key, *keys))}"

    if key not in source.tree:
        raise InvalidFileError(f"{path}: {key} is missing")
    try:
        tables = _ServersFile.model_validate({"mcp": source.tree[key]}).mcp
    except ValidationError as error:
        found = error.errors(include_url=False)
        # A union reports each of its types.
        lines = dict.fromkeys(f"{at(*_place(each)[1:])}: {_sentence(each)}" for each in found)
        raise InvalidFileError(*lines) from None
    folder = path.absolute().parent
    return tuple(
        _wire_server(name, table, lambda text: folder / Path(text).expanduser(), environment, at)
        for name, table in tables.items()
    )


def _json_object(path: Path, text: str) -> dict[str, Json]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidFileError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except (RecursionError, ValueError):
        raise InvalidFileError(f"{path}: not JSON that can be read") from None
    if (found := as_table(value)) is None:
        raise InvalidFileError(f"{path}: must be an object")
    return found


def load_config(environment: Mapping[str, str] = os.environ) -> Config:
    """Return the user's configuration.

    Raises:
        InvalidFileError: it is invalid; the message lists all that is, with lines.
    """
    try:
        path = config_path(environment)
    except ConfigPathError:
        return Config()
    if not os.path.lexists(path):
        return Config()
    return parse_config(path, read_text(path))


def parse_config(path: Path, text: str) -> Config:
    """Return the configuration that `text` is; `path` is for messages and relative paths.

    Raises:
        InvalidFileError: it is invalid; the message lists all that is, with lines.
    """
    source = parse_toml(path, text)
    problems: list[tuple[KeyPath, str]] = []
    try:
        file = _File.model_validate(source.tree)
    except ValidationError as error:
        problems += ((_place(each), _sentence(each)) for each in error.errors(include_url=False))
    else:
        problems += _unknown_servers(file)
        if not problems:
            return Config(
                path,
                file.agents,
                file.mcp,
                file.privacy,
                file.notifications,
                file.display,
                file.keys,
                source,
            )
    # A union reports each of its types.
    lines = dict.fromkeys(
        (source.line(at), f"{source.at(at)}: {spelled(at)}: {problem}") for at, problem in problems
    )
    raise InvalidFileError(*(line for _, line in sorted(lines, key=lambda each: each[0])))


def _unknown_servers(file: _File) -> Iterator[tuple[KeyPath, str]]:
    for name, table in file.agents.items():
        for place, server in enumerate(table.mcp or ()):
            if server not in file.mcp:
                near = nearest(server, file.mcp)
                hint = f"; did you mean {near}?" if near else ""
                yield ("agents", name, "mcp", place), f"no server is called {server!r}{hint}"


def _place(error: ErrorDetails) -> KeyPath:
    """Return the path of the key that a validation error is about."""
    path = tuple(step for step in error["loc"] if step != "[key]")
    if path[:1] == ("mcp",):
        # What is deeper may be a secret in the place of a name.
        return path[:3]
    if path[2:3] in {("options",), ("env",), ("headers",)}:
        # What follows the key is the type of a union.
        return path[:4]
    return path


def _sentence(error: ErrorDetails) -> str:
    path = _place(error)
    match error["type"]:
        case _ if path[2:3] == ("options",) and len(path) == 4:
            return "must be a string, a number, true or false"
        case "list_type":
            return "must be a list of strings"
        case _:
            return error_sentence(error, _known_keys(path))


def _known_keys(path: KeyPath) -> Mapping[str, Any]:
    models: dict[Any, type[BaseModel]] = {
        "agents": AgentTable,
        "mcp": ServerTable,
        "privacy": PrivacyTable,
        "notifications": NotificationsTable,
        "display": DisplayTable,
    }
    model = _File if len(path) == 1 else models.get(path[0])
    return cast("Mapping[str, Any]", model.model_fields if model else {})
