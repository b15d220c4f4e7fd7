"""What servers say of their tools, held against the limits."""

from __future__ import annotations

from typing import Any

from mcp.client import Client
from mcp_types import ListToolsResult, Tool

from acp_agent.mcp.declarations import Limits
from acp_agent.mcp.tools import MAX_PAGES, LeftOut, ToolFilter, list_tools
from acp_agent.tools.call import Outcome
from acp_protocol.jsonrpc import Json
from tests.agent.mcp.rooms import logged


class Listing(Client):
    """A server that lists what it likes; each page is one list of tools."""

    def __init__(self, *pages: list[Tool], is_endless: bool = False) -> None:
        self._pages = pages
        self._is_endless = is_endless
        self.asked = 0

    async def list_tools(self, **_: Any) -> ListToolsResult:
        """Return the next page."""
        page = self._pages[self.asked % len(self._pages)]
        self.asked += 1
        has_more = self._is_endless or self.asked < len(self._pages)
        return ListToolsResult(tools=page, next_cursor="more" if has_more else None)


def tool(name: str, **members: Any) -> Tool:
    return Tool(name=name, input_schema=members.pop("schema", {"type": "object"}), **members)


async def run(name: str, arguments: dict[str, Json]) -> Outcome:
    return Outcome(f"{name} {arguments}")


async def test_all_pages_are_read() -> None:
    found = await list_tools(
        Listing([tool("a")], [], [tool("b")]), ToolFilter(), "s", Limits(), run
    )
    assert list(found.tools) == ["s__a", "s__b"]


async def test_pages_without_an_end_end() -> None:
    server = Listing([], is_endless=True)
    await list_tools(server, ToolFilter(), "s", Limits(), run)
    assert server.asked == MAX_PAGES


async def test_tools_beyond_the_limit_are_left_out_and_that_is_said() -> None:
    server = Listing([tool(f"t{number}") for number in range(5)], is_endless=True)
    with logged() as log:
        found = await list_tools(server, ToolFilter(), "s", Limits(tools=3), run)
    assert list(found.tools) == ["s__t0", "s__t1", "s__t2"]
    assert found.left_out == [LeftOut("t3", "the server has more than 3", 2)]
    assert log.lines == [
        "MCP server s: tools left out: 2: t3 (the server has more than 3); and 1 more"
    ]
    assert server.asked == 1


async def test_tools_that_no_model_can_be_told_of_are_left_out() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(100_000):
        deep = {"type": "object", "if": deep}
    server = Listing(
        [
            tool("large", description="x" * 2000),
            Tool.model_construct(
                name="deep", input_schema=deep, description=None, title=None, annotations=None
            ),
            tool("list", schema={"type": "array"}),
            tool("good", schema={}),
        ]
    )
    found = await list_tools(server, ToolFilter(), "s", Limits(tool_size=1000), run)
    assert list(found.tools) == ["s__good"]
    assert found.tools["s__good"].offer.parameters == {"type": "object"}
    while deep:
        deep = deep.pop("if", {})


async def test_the_same_name_twice_counts_once_more_and_then_no_more() -> None:
    found = await list_tools(
        Listing([tool("a b"), tool("a/b"), tool("a b")]), ToolFilter(), "s", Limits(), run
    )
    assert len(found.tools) == 3 - found.left_out_count
    assert next(iter(found.tools)) == "s__a_b"


async def test_hidden_signs_in_a_description_are_seen() -> None:
    found = await list_tools(
        Listing([tool("a", description="x\U000e0041\x1b")]), ToolFilter(), "s", Limits(), run
    )
    assert found.tools["s__a"].offer.description == "x‹e0041›␛"


async def test_a_number_that_no_model_could_be_told_leaves_its_tool_out() -> None:
    huge = tool("huge", schema={"type": "object", "properties": {"a": {"maximum": float("inf")}}})
    found = await list_tools(Listing([huge, tool("b")]), ToolFilter(), "s", Limits(), run)
    assert list(found.tools) == ["s__b"]
