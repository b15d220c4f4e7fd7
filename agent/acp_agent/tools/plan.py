"""Tools that touch nothing: what a model means to do, and what it thinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from acp_agent.tools.base import Arguments, Text, tool_offer
from acp_agent.tools.call import Outcome, PreparedCall, ReportContent, ToolKind, text_content
from acp_agent.workspace import Workspace
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


class PlanTool:
    """Shows the user what is to be done, and how far it is."""

    offer = tool_offer(
        "plan",
        "Show the user the steps of the work and how far each is. Give all of them each time: they "
        "take the place of those that were shown before.",
        PlanArguments,
    )
    kind: ToolKind = "think"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Read the steps."""
        del workspace
        steps = PlanArguments.read(arguments).steps
        entries: list[Json] = [
            {"content": step.content, "priority": step.priority, "status": step.status}
            for step in steps
        ]
        done = sum(step.status == "completed" for step in steps)

        async def run(report: ReportContent) -> Outcome:
            del report
            return Outcome("the plan is shown", raw={"steps": len(entries), "completed": done})

        return PreparedCall("Plan", self.kind, run, plan=entries)


class ThinkTool:
    """Lets a model write down what it thinks."""

    offer = tool_offer(
        "think",
        "Write down a thought about the work. It changes nothing and tells you nothing new.",
        ThinkArguments,
    )
    kind: ToolKind = "think"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Show the thought."""
        del workspace
        thought = ThinkArguments.read(arguments).thought

        async def run(report: ReportContent) -> Outcome:
            del report
            return Outcome("noted")

        return PreparedCall("Think", self.kind, run, content=[text_content(thought)])
