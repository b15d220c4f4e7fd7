"""The tools that a model can call, by name."""

from __future__ import annotations

from typing import Final

from acp_agent.tools.edit import EditTool, PatchTool
from acp_agent.tools.fetch import FetchTool
from acp_agent.tools.files import DeleteTool, ReadTool, WriteTool
from acp_agent.tools.folders import FindTool, ListTool
from acp_agent.tools.move import MoveTool
from acp_agent.tools.notes import PlanTool, ThinkTool
from acp_agent.tools.run import RunTool
from acp_agent.tools.search import SearchTool
from acp_agent.tools.tool import Tool

_ALL: Final[tuple[Tool, ...]] = (
    ReadTool(),
    ListTool(),
    FindTool(),
    SearchTool(),
    EditTool(),
    PatchTool(),
    WriteTool(),
    MoveTool(),
    DeleteTool(),
    RunTool(),
    FetchTool(),
    PlanTool(),
    ThinkTool(),
)
TOOLS: Final[dict[str, Tool]] = {tool.offer.name: tool for tool in _ALL}
