"""What a server says that it can do, held against our limits.

A server may list whatever it likes, and anew at any time: too much, the same twice, descriptions
with signs that nobody sees, pages without an end.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp.client import Client
from mcp_types import Tool

from acp_agent.mcp.config import Limits
from acp_agent.mcp.names import tool_name
from acp_agent.mcp.tool import McpTool
from acp_agent.mcp.tool_filter import LeftOut, ToolFilter, describe_left_out
from acp_agent.mcp.tool_schema import UnfitToolError, offered_schema
from acp_agent.models.types import ToolSpec
from acp_agent.tools.call import Outcome
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

PAGES: Final = 100
"""Pages of a listing that are read."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server as they were listed last, by the names that models call them."""

    tools: dict[str, McpTool]
    left_out: Sequence[LeftOut] = ()

    @property
    def left_out_count(self) -> int:
        """How many tools are left out."""
        return sum(each.count for each in self.left_out)


Run = Callable[[str, dict[str, Json]], Awaitable[Outcome]]
"""Calls a tool by the name that its server knows."""


async def listed(
    client: Client, tool_filter: ToolFilter, server: str, limits: Limits, run: Run
) -> Listing:
    """Ask a server for its tools; whatever the SDK raises comes through.

    `sieve` tells what it has kept from the SDK.
    """
    tool_filter.take()
    found: list[Tool] = []
    cursor = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > limits.tools:
            break
    tools: dict[str, McpTool] = {}
    left_out = tool_filter.take()
    for tool in found[: limits.tools]:
        try:
            made = _made(tool, tool_name(server, tool.name, tools), server, limits, run)
        except UnfitToolError as problem:
            left_out.append(LeftOut(tool.name, str(problem)))
            continue
        if made.offer.name in tools:
            left_out.append(LeftOut(tool.name, "the server lists it twice"))
        tools.setdefault(made.offer.name, made)
    if behind := found[limits.tools :]:
        reason = f"the server has more than {limits.tools}"
        left_out.append(LeftOut(behind[0].name, reason, len(behind)))
    listing = Listing(tools, left_out)
    if left_out:
        count = listing.left_out_count
        logger.warning(
            "MCP server %s: tools left out: %d: %s", server, count, describe_left_out(left_out)
        )
    return listing


def _made(tool: Tool, name: str, server: str, limits: Limits, run: Run) -> McpTool:
    """Return a tool to be offered.

    Raises:
        UnfitToolError: no model could be told of it.
    """
    schema = offered_schema(tool.input_schema)
    about = tool.description or tool.title or tool.name
    try:
        # A number out of range could not be told to a model.
        size = len(json.dumps(schema, allow_nan=False)) + len(about)
    except (ValueError, RecursionError):
        raise UnfitToolError("its inputSchema cannot be told") from None
    if size > limits.tool_size:
        most = f"{limits.tool_size} characters"
        raise UnfitToolError(f"it says more of itself than {most}")
    hints = tool.annotations
    title = tool.title or (hints.title if hints else None) or tool.name

    async def call(arguments: Mapping[str, Json]) -> Outcome:
        return await run(tool.name, dict(arguments))

    return McpTool(ToolSpec(name, escape_controls(about), schema), server, title, call)
