"""Lists of tools on their way to the SDK, and odd tools in them, of real servers too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from mcp_types.methods import parse_server_result

from acp_agent.mcp.tools import (
    MAX_NAMED,
    MAX_TOOLS,
    METHOD,
    LeftOut,
    ToolFilter,
    describe_left_out,
)
from acp_protocol.jsonrpc import Json
from tests.agent.mcp.rooms import call, logged, opened, scripted
from tests.agent.mcp.test_process import ANSWERING

GOOD: Mapping[str, Json] = {"name": "good", "inputSchema": {"type": "object"}}
FAR: Mapping[str, Json] = {"type": "object", "properties": {"a": {"$ref": "http://192.0.2.1/a"}}}
ODD: Sequence[tuple[Json, str]] = [
    ({"name": "text", "inputSchema": {"type": "string"}}, "its inputSchema.type is not what"),
    ({"name": "empty", "inputSchema": {}}, "its inputSchema.type is missing"),
    ({"name": "none", "inputSchema": None}, "its inputSchema is not what"),
    ({"name": "bare"}, "its inputSchema is missing"),
    ({"inputSchema": {"type": "object"}}, "its name is missing"),
    ({"name": 7, "inputSchema": {"type": "object"}}, "its name is not what"),
    ({**GOOD, "annotations": 7}, "its annotations is not what"),
    ({**GOOD, "description": []}, "its description is not what"),
    ({**GOOD, "inputSchema": {"type": "object", "required": "a"}}, "its inputSchema.required is"),
    (7, "it is not a tool"),
    (None, "it is not a tool"),
]


def filtered(*tools: Json, version: str | None = None) -> tuple[list[Json], list[LeftOut]]:
    """Return the tools that come through, and those that do not."""
    tool_filter = ToolFilter()
    tool_filter.version = version or tool_filter.version
    result = tool_filter.filter({"tools": list(tools), "nextCursor": "more"})
    assert result["nextCursor"] == "more"
    return result["tools"], tool_filter.take()


@pytest.mark.parametrize(("tool", "reason"), ODD)
def test_an_odd_tool_is_left_out_and_the_others_stay(tool: Json, reason: str) -> None:
    kept, left_out = filtered(GOOD, tool, GOOD)
    assert kept == [GOOD, GOOD]
    (odd,) = left_out
    assert odd.reason.startswith(reason)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_the_sdk_takes_what_comes_through_in_each_version(version: str) -> None:
    kept, left_out = filtered(GOOD, *(tool for tool, _ in ODD), version=version)
    assert GOOD in kept
    assert len(kept) + len(left_out) == len(ODD) + 1
    hull = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    parse_server_result(METHOD, version, {**hull, "tools": kept})


def test_an_answer_that_holds_no_list_is_left_to_the_sdk() -> None:
    assert ToolFilter().filter({"tools": 7}) == {"tools": 7}


def test_no_more_tools_are_looked_at_than_anybody_offers() -> None:
    kept, left_out = filtered(*[GOOD] * (MAX_TOOLS + 5))
    assert len(kept) == MAX_TOOLS
    assert [each.count for each in left_out] == [5]


def test_only_some_are_named_and_on_one_line() -> None:
    many = [LeftOut(f"a\x1b{at}\n", "r" * 500) for at in range(MAX_NAMED + 3)]
    text = describe_left_out(many)
    assert text.endswith("; and 3 more")
    assert text.isprintable()
    assert len(text) < MAX_NAMED * 300


def listing(*tools: Json) -> str:
    """Return a server with these tools, each of which returns its own name."""
    return f"""{ANSWERING}
def called(asked):
    text = {{"type": "text", "text": asked["params"]["name"]}}
    answer(asked, result={{"content": [text]}})
TOOLS = json.loads({json.dumps(json.dumps(tools))})
serve(lambda asked: {{"result": {{"tools": TOOLS}}}})
"""


def nested(levels: int) -> Json:
    """Return a tool whose arguments lie so deep."""
    schema: Json = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return {"name": f"deep{levels}", "inputSchema": schema}


async def test_a_tool_nested_too_deeply_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(listing(nested(90), nested(40), GOOD))
    server = scripted("import runpy; runpy.run_path('server.py')")
    async with opened(tmp_path, server) as room:
        assert list(room) == ["s__deep40", "s__good"]
        assert (await call(room, "s__good")).text == "good"
        ((_, about),) = room.warnings
    assert about == "deep90 (its inputSchema is nested too deeply)."


async def test_the_other_tools_of_a_server_work(tmp_path: Path) -> None:
    large = {"type": "object", "properties": {"a": {"enum": ["x" * 100_000]}}}
    odd = [tool for tool, _ in ODD]
    odd += [{"name": "far", "inputSchema": FAR}, {"name": "large", "inputSchema": large}]
    code = listing(*odd, GOOD, {**GOOD, "name": "late"})
    (tmp_path / "server.py").write_text(code)
    server = scripted("import runpy; runpy.run_path('server.py')")
    with logged() as log:
        async with opened(tmp_path, server) as room:
            assert list(room) == ["s__good", "s__late"]
            assert room.failures == {}
            assert (await call(room, "s__good")).text == "good"
            assert (await call(room, "s__late")).text == "late"
            ((title, about),) = room.warnings
    assert title == f"The MCP server s has tools that are left out: {len(odd)}"
    assert about.startswith("text (its inputSchema.type is not what MCP wants); empty (its")
    assert about.endswith(f"and {len(odd) - MAX_NAMED} more.")
    (line,) = (line for line in log.lines if "left out" in line)
    assert line.startswith(f"MCP server s: tools left out: {len(odd)}: text (its")


async def test_a_promise_that_could_take_for_ever_is_not_held_against_results(
    tmp_path: Path,
) -> None:
    promise = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    tool = {**GOOD, "outputSchema": promise}
    code = f"""{ANSWERING}
def called(asked):
    answer(asked, result={{"content": [], "structuredContent": {{"a": "a" * 60 + "!"}}}})
serve(lambda asked: {{"result": {{"tools": [{tool!r}]}}}})
"""
    async with opened(tmp_path, scripted(code)) as room:
        assert (await call(room, "s__good")).text.endswith('!"}')
