"""Tools of real servers in a whole turn, with all that is said held against the schema."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from acp_agent.mcp.declarations import tool_name
from acp_agent.mcp.servers import McpClient, McpServers
from acp_agent.mcp.tools import McpTool
from acp_agent.models.types import (
    HistoryEntry,
    ModelEvent,
    SlashCommand,
    TextDelta,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.tools.call import Outcome
from acp_agent.tools.registry import builtin_tools
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.rules import Effect, PolicyRule
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.jsonrpc import Json
from tests.agent.client import ClientSession, open_session, selected
from tests.agent.mcp.rooms import LIMITS, weather

TOOLS = builtin_tools()

CALLS = (
    ToolUse("w__look", {"place": "Rome"}),
    ToolUse("w__paint", {}),
    ToolUse("w__fail", {}),
    ToolUse("w__nothing", {}),
)


class Forecaster:
    """A model that makes all the calls, and then tells what has come of them."""

    name = "forecaster"
    commands: Sequence[SlashCommand] = ()

    def __init__(self) -> None:
        self.offered: list[str] = []

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        """Call everything once."""
        self.offered = [tool.name for tool in tools]
        answers = [entry for entry in history if isinstance(entry, ToolResult)]
        if not answers:
            for call in CALLS:
                yield call
        for answer in answers:
            yield TextDelta(f"{answer.name}: {answer.text}\n")


async def forecast(session: ClientSession) -> None:
    """Run the turn in a session whose tools are its own and those of a server."""
    assert session.client.server.sessions is not None
    context = session.client.server.sessions.awake[session.id]._context
    async with BackgroundTasks() as tasks:
        room = McpServers(TOOLS)
        await room.open([weather()], McpClient(context.client, tasks, LIMITS), [session.client.cwd])
        context.tools = room
        try:
            assert await session.turn("How will it be?") == "end_turn"
        finally:
            await room.aclose()


async def test_a_turn_treats_a_tool_of_a_server_as_any_other(cwd: Path) -> None:
    model = Forecaster()
    async with open_session(cwd, model=model) as session:
        await forecast(session)
    assert model.offered[: len(TOOLS)] == list(TOOLS)
    assert "w__look" in model.offered
    look, paint, fail, nothing = session.calls
    assert (look["name"], look["kind"]) == ("w__look", "execute")
    assert look["rawInput"] == {"place": "Rome"}
    assert look["rawOutput"]["structuredContent"] == {"result": "It rains in Rome."}
    assert look["statuses"] == ["pending", "in_progress", "completed"]
    assert paint["content"][0]["content"]["type"] == "image"
    assert fail["statuses"][-1] == nothing["statuses"][-1] == "failed"
    assert len(session.client.requests) == 3
    assert "w__look: It rains in Rome." in session.text
    assert "w__nothing: there is no tool w__nothing" in session.text


async def test_consent_for_good_holds_for_one_tool_of_one_server(cwd: Path) -> None:
    async with open_session(
        cwd, permission=selected("reject-always"), model=Forecaster()
    ) as session:
        await forecast(session)
    names = [request.params["options"][1]["name"] for request in session.client.requests]
    always = "Allow the tool w__{}, and do not ask again in this session"
    assert names == [always.format(name) for name in ("look", "paint", "fail")]
    assert [call["statuses"][-1] for call in session.calls] == ["failed"] * 4


@pytest.mark.parametrize("decision", ["deny", "ask", "allow"])
async def test_a_rule_about_a_tool_holds_for_its_double_where_it_is_strict(
    workspace: Workspace, decision: Effect
) -> None:
    async def run(name: str, arguments: Mapping[str, Json]) -> Outcome:
        del name, arguments
        return Outcome("")

    double = tool_name("odd", "good", {"odd__good"})
    tool = McpTool(ToolSpec(double, "", {}), "Good", "good", run)
    call = await tool.prepare({}, workspace)
    rule = PolicyRule(decision, None, "name", "odd__good")
    policy = "ask_always" if decision == "allow" else "allow_all"
    known = SessionPermissions(PermissionPolicy(policy, rules=(rule,))).decide(call)
    assert (known and known.verdict) == ("forbidden" if decision == "deny" else None)
    assert [str(each) for each in call.touched] == [double]
