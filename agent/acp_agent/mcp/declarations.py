"""Reads which MCP servers a session has, as its client or the configuration declares them.

This starts nothing and does not import the SDK. Error messages never repeat a value: it may be a
secret.

Source: ACP, Session Setup, "MCP Servers"; ACP version 2, Session Setup.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from acp_agent.mcp.config import AcpServer, Limits, Server, StdioServer, WebServer
from acp_agent.mcp.names import server_id
from acp_protocol.errors import AcpError
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.mcp_servers import ServerTable
from acp_protocol.user_files.sentences import error_sentence

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
