"""The MCP servers of a session, as its client or the configuration declares them, and their names.

This starts nothing and does not import the SDK. Error messages never repeat a value: it may be a
secret.

Source: ACP, Session Setup, "MCP Servers"; ACP version 2, Session Setup; Continuum Router,
MCP-over-ACP Bridge, "Server ID Validation Rules".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypeAlias

from pydantic import ValidationError

from acp_protocol.errors import AcpError
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.mcp_ids import ID_LENGTH, NAME_LENGTH, SEPARATOR
from acp_protocol.user_files.mcp_servers import ServerTable
from acp_protocol.user_files.sentences import error_sentence


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for the servers of one session; times are in seconds."""

    servers: int = 32
    """That a session may have."""
    connections: int = 5
    """That a client may have open through the agent (`mcp/connect`)."""
    spawn_timeout: float = 10.0
    """For starting a server, shaking hands and listing its tools."""
    call_timeout: float = 120.0
    """For one tool call."""
    tools: int = 128
    """Of one server; what it lists beyond that is left out."""
    tool_size: int = 64 * 1024
    """Bytes of what one tool says of itself; a larger one is left out."""
    result_size: int = 4 * 2**20
    """Characters of pictures and sounds of one result that are shown; the rest is named only."""
    message_size: int = 16 * 2**20
    """Bytes of one message; a server that sends a larger one is dropped."""
    eof_grace: float = 1.0
    """For a server to end by itself once its stdin is closed."""
    kill_after: float = 5.0
    """Between SIGTERM and SIGKILL for a server that does not end."""


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A program that is started for the session."""

    id: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What it gets besides the harmless part of the agent's environment; may hold secrets."""


@dataclass(frozen=True, slots=True)
class WebServer:
    """A server at an address."""

    id: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    is_sse: bool = False
    """Whether it speaks the older transport, with one stream of events."""


@dataclass(frozen=True, slots=True)
class AcpServer:
    """A server that the client itself serves, over the connection that is there anyway."""

    id: str
    server_id: str
    """What the client calls it."""


Server: TypeAlias = StdioServer | WebServer | AcpServer


MARK_LENGTH: Final = 8
_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_MARK: Final = re.compile(rf"-[0-9a-f]{{{MARK_LENGTH}}}\Z")
_NAMELESS: Final = "server"


def server_id(name: str, taken: Container[str] = ()) -> str:
    """Return an id for a server that its client calls `name`; none of those `taken`."""
    fitting = re.sub(r"_{2,}", "_", _NOT_IN_IDS.sub("-", name[:ID_LENGTH]))
    id_ = stem = fitting.strip("._-") or _NAMELESS
    number = 1
    while id_ in taken:
        number += 1
        ending = f"-{number}"
        id_ = stem[: ID_LENGTH - len(ending)] + ending
    return id_


def unmarked(name: str) -> str:
    """Return the name that a tool would have alone, given one of `tool_name`.

    What is cut off of a name that is too long stays so.
    """
    return _MARK.sub("", name)


def tool_name(server: str, tool: str, taken: Container[str] = ()) -> str:
    """Return what the model calls `tool` of `server`: none of those `taken`.

    What no service would take is replaced, and a name that is too long is cut; then a mark made of
    the whole name keeps it apart from others, and the same from one day to the next.
    """
    whole = f"{server}{SEPARATOR}{tool}"
    # A dot would become the second of two underscores, and so another separator.
    prefix = _NOT_IN_NAMES.sub("-", server)[: NAME_LENGTH // 2].rstrip("_")
    name = f"{prefix}{SEPARATOR}{_NOT_IN_NAMES.sub('_', tool)}"
    if len(name) <= NAME_LENGTH and name not in taken:
        return name
    mark = sha256(whole.encode(errors="surrogatepass")).hexdigest()[:MARK_LENGTH]
    return f"{name[: NAME_LENGTH - MARK_LENGTH - 1]}-{mark}"


_WEB: Final = ("url", "headers")
_FIELDS: Final = {"stdio": ("command", "args", "env"), "http": _WEB, "sse": _WEB}
"""What a client declares of a server, by the type of the server."""


class DeclarationError(AcpError):
    """A server cannot be used as it is declared; the message names the field."""


def session_servers(
    declared: Sequence[Mapping[str, Json]],
    *,
    version: int,
    is_unstable: bool = False,
    allowed: Collection[str] = (),
    configured: Sequence[Server] = (),
    limits: Limits | None = None,
) -> tuple[Server, ...]:
    """Return the servers of a session: those `configured`, then those in its params.

    A client's name is made an id where it is none. A server of the client replaces the one that is
    configured under the same id. `allowed` are the ids that may be used; empty allows all.

    Raises:
        DeclarationError: a server is invalid; the message names its path in `mcpServers`.
    """
    servers: dict[str, Server] = {}
    for place, members in enumerate(declared):
        where = f"mcpServers.{place}"
        if not (name := get_text(members, "name")):
            raise DeclarationError(f"{where}.name: must be a non-empty string")
        if version >= 2 and name in {other.get("name") for other in declared[:place]}:
            raise DeclarationError(f"{where}.name: {name!r} is there twice")
        kind: Json = members.get("type", "stdio" if version == 1 else None)
        id_ = server_id(name, servers)
        if kind == "acp" and is_unstable:
            if not (target := get_text(members, "serverId")):
                raise DeclarationError(f"{where}.serverId: must be a non-empty string")
            servers[id_] = AcpServer(id_, target)
        elif not isinstance(kind, str) or kind not in _FIELDS or (kind == "sse" and version >= 2):
            raise DeclarationError(f"{where}.type: {kind!r} was not offered")
        else:
            given = {field: members[field] for field in _FIELDS[kind] if members.get(field)}
            servers[id_] = _server(id_, {"type": kind, **given}, where)
        if allowed and id_ not in allowed:
            raise DeclarationError(f"{where}.name: {id_} is none of the allowed servers")
    every = {each.id: each for each in configured if not allowed or each.id in allowed} | servers
    if len(every) > (most := (limits or Limits()).servers):
        raise DeclarationError(f"mcpServers: a session has {most} servers at most")
    return tuple(every.values())


def configured_servers(tables: Mapping[str, Mapping[str, Json]]) -> tuple[Server, ...]:
    """Return the servers of a configuration, by their ids.

    Raises:
        DeclarationError: a table is invalid; the message names the key.
    """
    return tuple(_server(id_, table, f"mcp.servers.{id_}") for id_, table in tables.items())


def _server(id_: str, members: Mapping[str, Json], where: str) -> Server:
    try:
        table = ServerTable.model_validate(members)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        # What is deeper may be a secret in the place of a name.
        path = ".".join([where, *map(str, first["loc"][:1])])
        raise DeclarationError(f"{path}: {error_sentence(first)}") from None
    if table.url is not None:
        return WebServer(id_, table.url, table.headers, is_sse=table.type == "sse")
    assert table.command is not None
    return StdioServer(id_, (table.command, *(table.args or ())), table.env)
