"""A tool of an MCP server, in the shape that a turn knows.

What a server says of its tools is not believed: whether one only reads is its own claim. Every call
counts as running a program, and consent that is given for good holds for that one tool.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from acp_agent.mcp.names import unmarked
from acp_agent.models.types import ToolSpec
from acp_agent.tools.call import Outcome, PreparedCall, ReportContent, SideEffect, ToolKind
from acp_agent.tools.subject import name_subject
from acp_agent.workspace import Workspace
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

TITLE_WIDTH: Final = 80
"""Characters of a tool's own title that are shown."""
Run: TypeAlias = Callable[[Mapping[str, Json]], Awaitable[Outcome]]


class McpTool:
    """One tool of one server; `run` calls it with arguments."""

    kind: ToolKind = "execute"

    def __init__(self, offer: ToolSpec, server: str, title: str, run: Run) -> None:
        self.offer = offer
        self._title = f"{single_line(title, TITLE_WIDTH)} ({server})"
        self._run = run

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Return the call; whether the arguments make sense is for the server to say."""
        del workspace

        async def run(report: ReportContent) -> Outcome:
            del report
            return await self._run(arguments)

        # A rule about a tool means each by its name, also where the server lists several.
        alone = unmarked(self.offer.name)
        effects = [SideEffect(self.kind, name_subject(alone))] if alone != self.offer.name else []
        return PreparedCall(self._title, self.kind, run, scope=self.offer.name, effects=effects)
