"""What a server lists, tool by tool, before the SDK reads it.

The SDK takes a list of tools as a whole or not at all: one odd tool would cost the user all others
of its server. So the answers to `tools/list` are looked through on their way to the SDK.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self, cast

import anyio
from mcp.client import Transport
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse
from mcp_types.methods import parse_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from acp_agent.mcp.tool_schema import is_quick
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

METHOD: Final = "tools/list"
LOOKED_AT: Final = 1024
"""Tools of one answer that are looked at; those behind them are left out."""
NAMED: Final = 5
"""Tools that are named, of those that are left out."""
NESTED: Final = 140
"""Levels of what one tool says; deeper ones no service takes, and readers break down at more."""
NAME_WIDTH: Final = 80
"""Characters of a tool's name that are told."""
REASON_WIDTH: Final = 200
_HULL: Final[Mapping[str, Json]] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What an answer holds besides, so that nothing but the tool can be wrong with it."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tools that a server lists and nobody can call."""

    name: str
    """That of the tool, as its server says it."""
    reason: str
    """Fits behind the name."""
    count: int = 1

    def __str__(self) -> str:
        """Tell the name and the reason, on one line."""
        name = single_line(self.name, NAME_WIDTH)
        return f"{name} ({single_line(self.reason, REASON_WIDTH)})"


def describe_left_out(left_out: Sequence[LeftOut]) -> str:
    """Return which tools are left out, and why."""
    more = sum(each.count for each in left_out) - len(left_out[:NAMED])
    named = "; ".join(map(str, left_out[:NAMED]))
    return f"{named}; and {more} more" if more else named


class ToolFilter:
    """Takes odd tools out of what one server lists."""

    def __init__(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        """The version of MCP that is spoken with the server."""
        self._left_out: list[LeftOut] = []

    @asynccontextmanager
    async def around(self, transport: Transport) -> AsyncGenerator[tuple[_Incoming, _Outgoing]]:
        """Open a transport whose lists of tools are looked through."""
        async with transport as (from_server, to_server):
            list_ids: set[str | int] = set()
            yield _Incoming(from_server, self, list_ids), _Outgoing(to_server, list_ids)

    def take(self) -> list[LeftOut]:
        """Return what was left out since this was asked last."""
        left_out, self._left_out = self._left_out, []
        return left_out

    def sift(self, result: dict[str, Json]) -> dict[str, Json]:
        """Return an answer to `tools/list` with those of its tools that the SDK takes."""
        tools = result.get("tools")
        if not isinstance(tools, list):
            return result
        listed = cast("list[Json]", tools)
        kept: list[Json] = []
        for tool in listed[:LOOKED_AT]:
            reason = self._oddity(tool)
            if reason is None:
                kept.append(_held_to(cast("Mapping[str, Json]", tool)))
            else:
                self._left_out.append(LeftOut(_name_of(tool), reason))
        if (behind := listed[LOOKED_AT:]) != []:
            reason = f"the server lists more than {LOOKED_AT} at once"
            self._left_out.append(LeftOut(_name_of(behind[0]), reason, len(behind)))
        return {**result, "tools": kept}

    def _oddity(self, tool: Json) -> str | None:
        """Return what is wrong with a tool, None if nothing is."""
        if _is_deep(tool):
            return "what it says is nested too deeply"
        try:
            parse_server_result(METHOD, self.version, {**_HULL, "tools": [tool]})
        except ValidationError as problem:
            found = problem.errors(include_url=False, include_context=False, include_input=False)
            where = ".".join(map(str, found[0]["loc"][2:]))
            wrong = "is missing" if found[0]["type"] == "missing" else "is not what MCP wants"
            return f"its {where} {wrong}" if where else "it is no tool"
        schema = cast("Mapping[str, dict[str, Json]]", tool)["inputSchema"]
        if self.version in MODERN_PROTOCOL_VERSIONS and find_invalid_x_mcp_header(schema):
            # The SDK would drop it without a word to us.
            return "its x-mcp-header is not what MCP wants"
        return None


def _is_deep(tool: Json) -> bool:
    level: list[Json] = [tool]
    for _ in range(NESTED):
        inner: list[Json] = []
        for each in level:
            if isinstance(each, dict):
                inner += cast("Mapping[str, Json]", each).values()
            elif isinstance(each, list):
                inner += cast("list[Json]", each)
        if not inner:
            return False
        level = inner
    return True


def _held_to(tool: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a tool whose results the SDK can hold against what it promises, in good time."""
    promise: Json = tool.get("outputSchema")
    if isinstance(promise, dict) and not is_quick(cast("Mapping[str, Json]", promise)):
        logger.info("the promise of %s is not looked at", LeftOut(_name_of(tool), "outputSchema"))
        return {name: value for name, value in tool.items() if name != "outputSchema"}
    return tool


def _name_of(tool: Json | Mapping[str, Json]) -> str:
    name: Json = cast("Mapping[str, Json]", tool).get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) and name else "one without a name"


class _Source(Protocol):
    """What a transport has read."""

    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class _Sink(Protocol):
    """What a transport writes."""

    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


class _Outgoing:
    """Messages to a server; it is noted which of them ask for its tools."""

    def __init__(self, sink: _Sink, list_ids: set[str | int]) -> None:
        self._sink = sink
        self._list_ids = list_ids

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        if isinstance(message, JSONRPCRequest) and message.method == METHOD:
            self._list_ids.add(message.id)
        await self._sink.send(item)

    async def aclose(self) -> None:
        await self._sink.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class _Incoming:
    """Messages of a server, with what was asked for sifted."""

    def __init__(self, source: _Source, tool_filter: ToolFilter, list_ids: set[str | int]) -> None:
        self._source = source
        self._tool_filter = tool_filter
        self._list_ids = list_ids

    @property
    def last_context(self) -> Context | None:
        """That of whoever has sent the last message, where the transport tells it to the SDK."""
        return getattr(self._source, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        item = await self._source.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            answer = item.message
            if answer.id in self._list_ids:
                self._list_ids.remove(answer.id)
                sifted = answer.model_copy(update={"result": self._tool_filter.sift(answer.result)})
                return SessionMessage(sifted, item.metadata)
        return item

    async def aclose(self) -> None:
        await self._source.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
