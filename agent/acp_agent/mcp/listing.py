"""What a server says that it can do, held against our limits.

A server may list whatever it likes, and anew at any time: too much, the same twice, descriptions
with signs that nobody sees, pages without an end.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mcp.client import Client
from mcp_types import Tool

from acp_agent.mcp.limits import Limits
from acp_agent.mcp.names import tool_name
from acp_agent.mcp.tool import McpTool
from acp_agent.models.model import ToolOffer
from acp_agent.tools.tool import Outcome
from acp_protocol.host.text import one_line, visible
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

PAGES: Final = 100
"""Pages of a listing that are read."""
NAME_WIDTH: Final = 80
"""Characters of a tool's name that are logged."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server as they were listed last, by the names that models call them."""

    tools: dict[str, McpTool]
    left_out: int = 0


Run = Callable[[str, dict[str, Json]], Awaitable[Outcome]]
"""Calls a tool by the name that its server knows."""


async def listed(client: Client, server: str, limits: Limits, run: Run) -> Listing:
    """Ask a server for its tools; whatever the SDK raises comes through."""
    found: list[Tool] = []
    cursor = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > limits.tools:
            break
    tools: dict[str, McpTool] = {}
    for tool in found[: limits.tools]:
        name = tool_name(server, tool.name, tools)
        if name not in tools and (made := _made(tool, name, server, limits, run)):
            tools[name] = made
    left_out = len(found) - len(tools)
    if left_out:
        logger.warning("MCP server %s: %d of its tools are left out", server, left_out)
    return Listing(tools, left_out)


def _made(tool: Tool, name: str, server: str, limits: Limits, run: Run) -> McpTool | None:
    """Return a tool to be offered; None for one that no model could be told of."""
    schema: dict[str, Json] = {"type": "object", **tool.input_schema}
    about = tool.description or tool.title or tool.name
    try:
        # A number out of range could not be told to a model.
        size = len(json.dumps(schema, allow_nan=False)) + len(about)
    except (ValueError, RecursionError):
        size = limits.tool_size + 1
    if size > limits.tool_size or schema["type"] != "object":
        shown = one_line(tool.name, NAME_WIDTH)
        logger.warning("MCP server %s: what %s says of itself cannot be told", server, shown)
        return None
    hints = tool.annotations
    title = tool.title or (hints.title if hints else None) or tool.name

    async def call(arguments: Mapping[str, Json]) -> Outcome:
        return await run(tool.name, dict(arguments))

    return McpTool(ToolOffer(name, visible(about), schema), server, title, call)
