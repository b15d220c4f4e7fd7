"""Reads which MCP servers a session has, as its client or the configuration declares them.

This starts nothing and does not import the SDK. Error messages never repeat a value: it may be a
secret.

Source: ACP, Session Setup, "MCP Servers"; ACP version 2, Session Setup.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    model_validator,
)

from acp_agent.mcp.config import AcpServer, Limits, Server, StdioServer, WebServer
from acp_agent.mcp.names import ID_RULE, is_server_id, server_id
from acp_protocol.errors import AcpError
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json

_WEB: Final = ("url", "headers")
_FIELDS: Final = {"stdio": ("command", "args", "env"), "http": _WEB, "sse": _WEB}
"""What a client declares of a server, by the type of the server."""


class DeclarationError(AcpError):
    """A server cannot be used as it is declared; the message names the field."""


def _as_table(raw: Any) -> Any:
    """Return names and values, which on the wire are a list of both; the last of a name counts."""
    if isinstance(raw, list):
        pairs = cast("list[Json]", raw)
        return {get_text(each, "name"): get_text(each, "value") for each in pairs}
    return raw or {}


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web:
        raise ValueError("must be an http or https address")
    return url


def _check_id(id_: str) -> str:
    if not is_server_id(id_):
        raise ValueError(ID_RULE)
    return id_


def _without(not_allowed: str, *, may_be_empty: bool = True) -> AfterValidator:
    def check(value: str) -> str:
        if not value and not may_be_empty:
            raise ValueError("must not be empty")
        if any(each in value for each in not_allowed):
            raise ValueError(
                f"must not contain {', '.join(_SPELLED[each] for each in not_allowed)}"
            )
        return value

    return AfterValidator(check)


_SPELLED: Final = {"\0": "NUL", "\r": "CR", "\n": "LF", "=": "="}
_Text = Annotated[str, _without("\0", may_be_empty=False)]
_Argument = Annotated[str, _without("\0")]
_Name = Annotated[str, _without("\0\r\n=", may_be_empty=False)]
_Value = Annotated[str, _without("\0\r\n")]
_Pairs = Annotated[dict[_Name, _Value], BeforeValidator(_as_table)]
ServerId = Annotated[str, AfterValidator(_check_id)]


class ServerTable(BaseModel):
    """A program or a server at an address, as a configuration declares it."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    type: Literal["http", "sse", "stdio"] | None = None
    command: _Text | None = None
    args: list[_Argument] | None = None
    env: _Pairs = {}
    url: Annotated[_Text, AfterValidator(_check_url)] | None = None
    headers: _Pairs = {}

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.command is not None and self.url is not None:
            raise ValueError("has command and url; one of them has to go")
        needed = "url" if self.type in {"http", "sse"} or self.url is not None else "command"
        if getattr(self, needed) is None:
            raise ValueError(f"{needed} is missing")
        return self

    def server(self, id_: str) -> Server:
        """Return the server."""
        if self.url is not None:
            return WebServer(id_, self.url, self.headers, is_sse=self.type == "sse")
        assert self.command is not None
        return StdioServer(id_, (self.command, *(self.args or ())), self.env)


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
            servers[id_] = _read({"type": kind, **given}, where).server(id_)
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
    return tuple(_read(table, f"mcp.servers.{id_}").server(id_) for id_, table in tables.items())


def _read(table: Mapping[str, Json], where: str) -> ServerTable:
    try:
        return ServerTable.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        # What is deeper may be a secret in the place of a name.
        path = ".".join([where, *map(str, first["loc"][:1])])
        raise DeclarationError(f"{path}: {first['msg'].removeprefix('Value error, ')}") from None
