"""The tools that a model can call.

Tools are imported here when the first session opens: they need pydantic, which takes longer to
import than the agent takes to start. To add a tool, write a model of its arguments and a function
with the decorator `tool` (see `base`), and name it below.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from acp_agent.net import PrivateHosts
from acp_agent.tools.call import Tool

if TYPE_CHECKING:
    from acp_agent.world.elicitation import ElicitationMode, UserElicitation


@cache
def builtin_tools() -> dict[str, Tool]:
    """Return the agent's own tools by name."""
    from acp_agent.tools import fetch
    from acp_agent.tools.edit import edit_tool, patch_tool
    from acp_agent.tools.files import delete_tool, read_tool, write_tool
    from acp_agent.tools.list_find import find_tool, list_tool
    from acp_agent.tools.move import move_tool
    from acp_agent.tools.plan import plan_tool, think_tool
    from acp_agent.tools.run import run_tool
    from acp_agent.tools.search import search_tool

    tools: tuple[Tool, ...] = (
        read_tool,
        list_tool,
        find_tool(),
        search_tool(),
        edit_tool,
        patch_tool,
        write_tool,
        move_tool,
        delete_tool,
        run_tool(),
        fetch.fetch_tool(),
        plan_tool,
        think_tool,
    )
    return {tool.offer.name: tool for tool in tools}


def fetch_tool(allowed: PrivateHosts) -> dict[str, Tool]:
    """Return the tool `fetch` that also fetches from the private hosts `allowed`."""
    from acp_agent.tools import fetch

    return {"fetch": fetch.fetch_tool(allowed)}


def elicitation_tools(user: UserElicitation, ways: Collection[ElicitationMode]) -> dict[str, Tool]:
    """Return the tools that ask the user, as far as the client can show what they ask."""
    from acp_agent.tools.ask import ask_user_tool, open_page_tool

    tools: list[Tool] = [ask_user_tool(user)] if "form" in ways else []
    tools += [open_page_tool(user)] if "url" in ways else []
    return {tool.offer.name: tool for tool in tools}
