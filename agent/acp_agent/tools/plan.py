"""Tools that touch nothing: what a model means to do, and what it thinks."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import Outcome, PreparedCall, ReportContent, text_content
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json

STEP_LIMIT: Final = 100
"""Steps of one plan."""


class PlanStep(Arguments):
    content: Text = Field(description="What is to be done.")
    status: Literal["pending", "in_progress", "completed"]
    priority: Literal["high", "medium", "low"] = "medium"


class PlanArguments(Arguments):
    steps: list[PlanStep] = Field(max_length=STEP_LIMIT)


class ThinkArguments(Arguments):
    thought: Text = Field(description="The thought.")


@tool(
    "plan",
    "think",
    "Show the user the steps of the work and how far each is. Give all of them each time: they "
    "take the place of those that were shown before.",
    PlanArguments,
)
async def plan_tool(wanted: PlanArguments, _: Workspace) -> PreparedCall:
    entries: list[Json] = [
        {"content": step.content, "priority": step.priority, "status": step.status}
        for step in wanted.steps
    ]
    done = sum(step.status == "completed" for step in wanted.steps)

    async def run(_: ReportContent) -> Outcome:
        return Outcome("the plan is shown", raw={"steps": len(entries), "completed": done})

    return PreparedCall("Plan", "think", run, plan=entries)


@tool(
    "think",
    "think",
    "Write down a thought about the work. It changes nothing and tells you nothing new.",
    ThinkArguments,
)
async def think_tool(wanted: ThinkArguments, _: Workspace) -> PreparedCall:

    async def run(_: ReportContent) -> Outcome:
        return Outcome("noted")

    return PreparedCall("Think", "think", run, content=[text_content(wanted.thought)])
