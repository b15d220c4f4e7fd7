"""What a server lists, tool by tool, before the SDK reads it.

The SDK accepts a list of tools as a whole or not at all: one invalid tool would cost the user all
others of its server. So answers that list tools are filtered on their way to the SDK.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from anyio.abc import ObjectReceiveStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from mcp_types.methods import parse_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json

METHOD: Final = "tools/list"
MAX_TOOLS: Final = 1024
"""Tools of one answer that are looked at; those behind them are left out."""
MAX_NAMED: Final = 5
"""Tools that are named, of those that are left out."""
NAME_WIDTH: Final = 80
REASON_WIDTH: Final = 200
_ENVELOPE: Final[Mapping[str, Json]] = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
"""The other members of an answer, so that nothing but the tool can be wrong with it."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tools that a server lists and a model cannot call."""

    name: str
    """That of the tool, as its server spells it."""
    reason: str
    """Fits behind the name."""
    count: int = 1

    def __str__(self) -> str:
        """Return the name and the reason, on one line."""
        name = single_line(self.name, NAME_WIDTH)
        return f"{name} ({single_line(self.reason, REASON_WIDTH)})"


def describe_left_out(left_out: Sequence[LeftOut]) -> str:
    """Return which tools are left out, and why."""
    more = sum(each.count for each in left_out) - len(left_out[:MAX_NAMED])
    named = "; ".join(map(str, left_out[:MAX_NAMED]))
    return f"{named}; and {more} more" if more else named


class ToolFilter:
    """Removes invalid tools from the lists of one server."""

    def __init__(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        """The version of MCP that is spoken with the server."""
        self._left_out: list[LeftOut] = []

    @asynccontextmanager
    async def around(self, transport: Transport) -> AsyncGenerator[tuple[_Incoming, Any]]:
        """Open a transport whose lists of tools are filtered."""
        async with transport as (from_server, to_server):
            yield _Incoming(from_server, self), to_server

    def take(self) -> list[LeftOut]:
        """Return what was left out since the last call."""
        left_out, self._left_out = self._left_out, []
        return left_out

    def filter(self, result: dict[str, Json]) -> dict[str, Json]:
        """Return an answer with those of its tools that the SDK accepts.

        They come without an `outputSchema`: a server could choose one against which one small
        result is validated for ever.
        """
        listed: Json = result.get("tools")
        if not isinstance(listed, list):
            return result
        tools = cast("list[Json]", listed)
        kept: list[Json] = []
        for tool in tools[:MAX_TOOLS]:
            reason = self._error_in(tool)
            if reason is None:
                members = cast("Mapping[str, Json]", tool).items()
                kept.append({name: each for name, each in members if name != "outputSchema"})
            else:
                self._left_out.append(LeftOut(_name_of(tool), reason))
        if behind := tools[MAX_TOOLS:]:
            reason = f"the server lists more than {MAX_TOOLS} at once"
            self._left_out.append(LeftOut(_name_of(behind[0]), reason, len(behind)))
        return {**result, "tools": kept}

    def _error_in(self, tool: Json) -> str | None:
        try:
            parse_server_result(METHOD, self.version, {**_ENVELOPE, "tools": [tool]})
        except ValidationError as problem:
            found = problem.errors(include_url=False, include_context=False, include_input=False)
            where = ".".join(map(str, found[0]["loc"][2:]))
            wrong = "is missing" if found[0]["type"] == "missing" else "is not what MCP wants"
            return f"its {where} {wrong}" if where else "it is no tool"
        return None


def _name_of(tool: Json) -> str:
    return get_text(tool, "name") or "one without a name"


class _Source(Protocol):
    """What a transport has read."""

    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class _Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a server, their lists of tools filtered."""

    def __init__(self, source: _Source, tool_filter: ToolFilter) -> None:
        self._source = source
        self._tool_filter = tool_filter

    async def receive(self) -> SessionMessage | Exception:
        item = await self._source.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            answer = item.message
            filtered = self._tool_filter.filter(answer.result)
            return SessionMessage(answer.model_copy(update={"result": filtered}), item.metadata)
        return item

    async def aclose(self) -> None:
        await self._source.aclose()
