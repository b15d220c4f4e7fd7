"""A tool of an MCP server, in the shape that a turn knows.

What a server says of its tools is not believed: whether one only reads is its own claim. Every call
counts as running a program, and consent that is given for good holds for that one tool.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from acp_agent.mcp.names import unmarked
from acp_agent.models.model import ToolOffer
from acp_agent.tools.subject import name_subject
from acp_agent.tools.tool import Call, Effect, Kind, Outcome, Report
from acp_agent.workspace import Workspace
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json

TITLE_WIDTH: Final = 80
"""Characters of a tool's own title that are shown."""
Run: TypeAlias = Callable[[Mapping[str, Json]], Awaitable[Outcome]]


class McpTool:
    """One tool of one server; `run` calls it with arguments."""

    kind: Kind = "execute"

    def __init__(self, offer: ToolOffer, server: str, title: str, run: Run) -> None:
        self.offer = offer
        self._title = f"{one_line(title, TITLE_WIDTH)} ({server})"
        self._run = run

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Return the call; whether the arguments make sense is for the server to say."""
        del workspace

        async def run(report: Report) -> Outcome:
            del report
            return await self._run(arguments)

        # A rule about a tool means each by its name, also where the server lists several.
        alone = unmarked(self.offer.name)
        effects = [Effect(self.kind, name_subject(alone))] if alone != self.offer.name else []
        return Call(self._title, self.kind, run, scope=self.offer.name, effects=effects)
