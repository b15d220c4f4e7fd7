"""Tools that touch nothing: what a model means to do, and what it thinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from acp_agent.models.model import ToolOffer
from acp_agent.tools.tool import (
    Call,
    Kind,
    Outcome,
    Report,
    ToolFailedError,
    argument,
    is_text,
    parameters,
    text_content,
    text_parameter,
)
from acp_agent.workspace import Workspace
from acp_protocol.jsonrpc import Json

STEP_LIMIT: Final = 100
"""Steps of one plan."""
_STATUSES: Final = ("pending", "in_progress", "completed")
_PRIORITIES: Final = ("high", "medium", "low")


class PlanTool:
    """Shows the user what is to be done, and how far it is."""

    offer = ToolOffer(
        "plan",
        "Show the user the steps of the work and how far each is. Give all of them each time: they "
        "take the place of those that were shown before.",
        parameters(
            {
                "steps": {
                    "type": "array",
                    "maxItems": STEP_LIMIT,
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": text_parameter("What is to be done."),
                            "status": {"type": "string", "enum": list(_STATUSES)},
                            "priority": {"type": "string", "enum": list(_PRIORITIES)},
                        },
                        "required": ["content", "status"],
                        "additionalProperties": False,
                    },
                }
            }
        ),
    )
    kind: Kind = "think"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Read the steps."""
        del workspace
        steps: Json = arguments.get("steps")
        listed = cast("list[Json]", steps) if isinstance(steps, list) else None
        if listed is None or len(listed) > STEP_LIMIT:
            raise ToolFailedError(f"the argument steps is no list of at most {STEP_LIMIT} steps")
        entries = [_entry(step) for step in listed]
        done = sum(entry["status"] == "completed" for entry in entries)

        async def run(report: Report) -> Outcome:
            del report
            return Outcome("the plan is shown", raw={"steps": len(entries), "completed": done})

        return Call("Plan", self.kind, run, plan=entries)


class ThinkTool:
    """Lets a model write down what it thinks."""

    offer = ToolOffer(
        "think",
        "Write down a thought about the work. It changes nothing and tells you nothing new.",
        parameters({"thought": text_parameter("The thought.")}),
    )
    kind: Kind = "think"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Show the thought."""
        del workspace
        thought = argument(arguments, "thought")

        async def run(report: Report) -> Outcome:
            del report
            return Outcome("noted")

        return Call("Think", self.kind, run, content=[text_content(thought)])


def _entry(step: Json) -> dict[str, Json]:
    """Return a step as the protocol shows it."""
    members = cast("dict[str, Json]", step if isinstance(step, dict) else {})
    content, status = members.get("content"), members.get("status")
    priority = members.get("priority", "medium")
    is_told = isinstance(content, str) and is_text(content)
    if not is_told or status not in _STATUSES or priority not in _PRIORITIES:
        raise ToolFailedError(
            f"a step has content, a status ({', '.join(_STATUSES)}) and perhaps a priority "
            f"({', '.join(_PRIORITIES)})"
        )
    return {"content": content, "priority": priority, "status": status}
