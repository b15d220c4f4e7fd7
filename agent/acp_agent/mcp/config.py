"""The MCP servers that a session is to have, as its client or the configuration names them.

Nothing here starts anything, nor imports the SDK: what is wrong with a server is said before.

Source: ACP, Session Setup, "MCP Servers"; ACP version 2, Session Setup.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast
from urllib.parse import urlsplit

from acp_agent.mcp.names import ID_RULE, is_server_id, server_id
from acp_protocol.errors import AcpError
from acp_protocol.json_values import as_object, get_text
from acp_protocol.jsonrpc import Json

KILL_AFTER: Final = 5.0
"""Seconds between SIGTERM and SIGKILL for a server that does not end."""


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
    kill_after: float = KILL_AFTER
    """Between SIGTERM and SIGKILL."""


TRANSPORTS: Final[dict[int, frozenset[str]]] = {
    1: frozenset({"stdio", "http", "sse"}),
    2: frozenset({"stdio", "http"}),
}
"""What servers of a session may be reached by, in each version; `acp` is unstable in both."""
ACP: Final = "acp"


class DeclarationError(AcpError):
    """A server cannot be taken as it is declared; the message names the member."""


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

    A client's name is made an id where it is none. A server of the client stands in for the one
    that is configured under the same id. `allowed` are the ids that may be used; empty allows all.

    Raises:
        DeclarationError: a server cannot be taken; the message names its place in `mcpServers`.
    """
    offered = TRANSPORTS[version] | {ACP} if is_unstable else TRANSPORTS[version]
    servers: dict[str, Server] = {}
    for place, members in enumerate(declared):
        where = f"mcpServers.{place}"
        name = _text(members, "name", where)
        if version >= 2 and name in {other.get("name") for other in declared[:place]}:
            raise DeclarationError(f"{where}.name: {name!r} stands there twice")
        kind = members.get("type", "stdio" if version == 1 else None)
        if not isinstance(kind, str) or kind not in offered:
            raise DeclarationError(f"{where}.type: {kind!r} was not offered")
        server = _server(server_id(name, servers), kind, members, where)
        servers[server.id] = server
        if allowed and server.id not in allowed:
            raise DeclarationError(f"{where}.name: {server.id} is none of the allowed servers")
    home = [each for each in configured if not allowed or each.id in allowed]
    every = {server.id: server for server in home} | servers
    if len(every) > (most := (limits or Limits()).servers):
        raise DeclarationError(f"mcpServers: a session has {most} servers at most")
    return tuple(every.values())


def configured_servers(
    tables: Mapping[str, Mapping[str, Json]], key: str = "mcp.servers"
) -> tuple[Server, ...]:
    """Return the servers of a configuration, by their ids.

    A table has `command`, `args` and `env`, or `url`, `headers` and perhaps `type = "sse"`.

    Raises:
        DeclarationError: an id or a member is wrong; the message names the key.
    """
    servers: list[Server] = []
    for id_, members in tables.items():
        where = f"{key}.{id_}"
        if not is_server_id(id_):
            raise DeclarationError(f"{where}: {ID_RULE}")
        if "command" in members and "url" in members:
            raise DeclarationError(f"{where}: has command and url; one of them has to go")
        kind = members.get("type", "http" if "url" in members else "stdio")
        if not isinstance(kind, str) or kind not in TRANSPORTS[1]:
            raise DeclarationError(f"{where}.type: {kind!r} is none of http, sse, stdio")
        servers.append(_server(id_, kind, members, where))
    return tuple(servers)


def _server(id_: str, kind: str, members: Mapping[str, Json], where: str) -> Server:
    if kind == ACP:
        return AcpServer(id_, _text(members, "serverId", where))
    if kind == "stdio":
        command = (_text(members, "command", where), *_texts(members, "args", where))
        return StdioServer(id_, command, _pairs(members, "env", where))
    url = _text(members, "url", where)
    try:
        address = urlsplit(url)
        is_address = address.scheme in {"http", "https"} and bool(address.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise DeclarationError(f"{where}.url is no http or https address")
    headers = _pairs(members, "headers", where)
    return WebServer(id_, url, headers, is_sse=kind == "sse")


def _text(members: Mapping[str, Json], name: str, where: str) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        raise DeclarationError(f"{where}.{name} is missing or no text")
    return value


def _texts(members: Mapping[str, Json], name: str, where: str) -> list[str]:
    value: Json = members.get(name) or []
    if not isinstance(value, list):
        raise DeclarationError(f"{where}.{name} is no list")
    texts = cast("list[Json]", value)
    if not all(isinstance(text, str) and "\0" not in text for text in texts):
        raise DeclarationError(f"{where}.{name} holds something else than texts")
    return cast("list[str]", texts)


def _pairs(members: Mapping[str, Json], name: str, where: str) -> dict[str, str]:
    """Return names and values, from a list of both as on the wire, or from a table."""
    value: Json = members.get(name) or []
    if isinstance(value, dict):
        value = [{"name": each, "value": text} for each, text in as_object(value).items()]
    if not isinstance(value, list):
        raise DeclarationError(f"{where}.{name} is no list")
    pairs: dict[str, str] = {}
    for place, pair in enumerate(cast("list[Json]", value)):
        label, text = get_text(pair, "name"), get_text(pair, "value")
        if not label or text is None:
            raise DeclarationError(f"{where}.{name}.{place} has no name or no value")
        if "=" in label or any(sign in label + text for sign in "\0\r\n"):
            raise DeclarationError(f"{where}.{name}.{place} holds what may not stand there")
        # Of two with the same name, the last one holds.
        pairs[label] = text
    return pairs
