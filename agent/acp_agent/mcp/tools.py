"""The tools of an MCP server, as a turn calls them.

A server may list whatever it likes, and again at any time: too much, the same twice, descriptions
with characters that users do not see, pages without an end. What it claims about its tools is not
trusted: whether one only reads is its own claim. Every call counts as running a program, and an
"always" holds for that one tool.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from mcp.client import Client
from mcp_types import Tool

from acp_agent.mcp.config import Limits
from acp_agent.mcp.names import tool_name, unmarked
from acp_agent.mcp.tool_filter import LeftOut, ToolFilter, describe_left_out
from acp_agent.mcp.tool_schema import UnfitToolError, offered_schema
from acp_agent.models.types import ToolSpec
from acp_agent.tools.call import Outcome, PreparedCall, ReportContent, SideEffect
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import name_subject
from acp_protocol.host.sanitize import escape_controls, single_line
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind

logger = logging.getLogger(__name__)

MAX_PAGES: Final = 100
"""Pages of a list that are read."""
TITLE_WIDTH: Final = 80
"""Characters of a tool's own title that are shown."""
Call: TypeAlias = Callable[[str, dict[str, Json]], Awaitable[Outcome]]
"""Calls a tool by the name that its server knows."""


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool of one server."""

    offer: ToolSpec
    title: str
    name: str
    """What the server calls it."""
    call: Call
    kind: ToolKind = "execute"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Return the call; the server checks the arguments."""
        del workspace

        async def run(report: ReportContent) -> Outcome:
            del report
            return await self.call(self.name, dict(arguments))

        # A rule about a tool also means the tools of that name that a server lists besides.
        alone = unmarked(self.offer.name)
        effects = [SideEffect(self.kind, name_subject(alone))] if alone != self.offer.name else []
        return PreparedCall(self.title, self.kind, run, scope=self.offer.name, effects=effects)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server as they were listed last, by the names that models call them."""

    tools: dict[str, McpTool]
    left_out: Sequence[LeftOut] = ()

    @property
    def left_out_count(self) -> int:
        """How many tools are left out."""
        return sum(each.count for each in self.left_out)


async def list_tools(
    client: Client, tool_filter: ToolFilter, server: str, limits: Limits, call: Call
) -> Listing:
    """Return the tools of a server within the limits; what the SDK raises is raised."""
    tool_filter.take()
    found: list[Tool] = []
    cursor = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > limits.tools:
            break
    tools: dict[str, McpTool] = {}
    left_out = tool_filter.take()
    for tool in found[: limits.tools]:
        name = tool_name(server, tool.name, tools)
        try:
            spec = _tool_spec(tool, name, limits.tool_size)
        except UnfitToolError as problem:
            left_out.append(LeftOut(tool.name, str(problem)))
            continue
        if name in tools:
            left_out.append(LeftOut(tool.name, "the server lists it twice"))
            continue
        hints = tool.annotations
        title = tool.title or (hints.title if hints else None) or tool.name
        shown = f"{single_line(title, TITLE_WIDTH)} ({server})"
        tools[name] = McpTool(spec, shown, tool.name, call)
    if behind := found[limits.tools :]:
        reason = f"the server has more than {limits.tools}"
        left_out.append(LeftOut(behind[0].name, reason, len(behind)))
    listing = Listing(tools, left_out)
    if left_out:
        count, about = listing.left_out_count, describe_left_out(left_out)
        logger.warning("MCP server %s: tools left out: %d: %s", server, count, about)
    return listing


def _tool_spec(tool: Tool, name: str, max_size: int) -> ToolSpec:
    """Return what a model gets to know of a tool.

    Raises:
        UnfitToolError: no model can be offered it.
    """
    about = tool.description or tool.title or tool.name
    try:
        text = json.dumps(tool.input_schema, allow_nan=False)
    except (ValueError, RecursionError):
        raise UnfitToolError("its inputSchema cannot be sent to a model") from None
    if len(text) + len(about) > max_size:
        raise UnfitToolError(f"its description and schema exceed {max_size} characters")
    return ToolSpec(name, escape_controls(about), offered_schema(json.loads(text)))
