"""Plans and thoughts."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.tools.call import Content, ToolFailedError
from acp_agent.tools.plan import plan_tool, think_tool
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json
from tests.agent.client import open_session


async def ignore(content: Content) -> None:
    del content


async def test_a_plan_is_shown_as_one(cwd: Path) -> None:
    steps = (
        '{"steps":[{"content":"look","status":"completed"},{"content":"do","status":"pending"}]}'
    )
    async with open_session(cwd, mode="architect") as session:
        await session.turn(f"call plan {steps}")
    (plan,) = session.of("plan")
    assert [(entry["content"], entry["status"]) for entry in plan["entries"]] == [
        ("look", "completed"),
        ("do", "pending"),
    ]
    (call,) = session.calls
    assert (call["kind"], call["rawOutput"]) == ("think", {"steps": 2, "completed": 1})
    assert session.client.requests == []


@pytest.mark.parametrize(
    "steps",
    [
        None,
        "x",
        ["x"],
        [{}],
        [{"content": 1, "status": "pending"}],
        [{"content": "x", "status": "done"}],
        [{"content": "x", "status": ["pending"]}],
        [{"content": "x", "status": "pending", "priority": "urgent"}],
        [{"content": "x", "status": "pending"}] * 101,
    ],
)
async def test_a_plan_that_makes_no_sense_fails_the_tool(workspace: Workspace, steps: Json) -> None:
    with pytest.raises(ToolFailedError):
        await plan_tool.prepare({"steps": steps}, workspace)


async def test_a_thought_is_shown_and_noted(workspace: Workspace) -> None:
    call = await think_tool.prepare({"thought": "hm"}, workspace)
    assert call.content[0]["content"]["text"] == "hm"
    assert (await call.run(ignore)).text == "noted"
    with pytest.raises(ToolFailedError):
        await think_tool.prepare({}, workspace)
