"""What the scripts of the demo model are made of."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, TypeAlias

from acp_agent.models.model import CallTool, ModelEvent, Say, ShowPlan, Step, ToolAnswered
from acp_agent.tools.tool import fence
from acp_protocol.jsonrpc import Json

Script: TypeAlias = Generator[ModelEvent, ToolAnswered | None]
"""Yields events; is sent the answer behind a `CallTool` and None behind everything else."""
SHOWN_LINES: Final = 8
"""Lines of a tool's answer that are repeated in words."""


def call(tool: str, **arguments: Json) -> Generator[ModelEvent, ToolAnswered | None, ToolAnswered]:
    """Call a tool, and return what came of it."""
    answer = yield CallTool(tool, arguments)
    assert answer is not None
    return answer


def retell(subject: str, answer: ToolAnswered) -> Say:
    """Say what came of a tool: the beginning of its answer."""
    if answer.is_failed:
        return Say(f"{subject} failed: {answer.text}\n\n")
    lines = answer.text.splitlines()
    if not lines:
        return Say(f"{subject} is done.\n\n")
    shown = "\n".join(lines[:SHOWN_LINES])
    more = f"\n… {len(lines) - SHOWN_LINES} more" if len(lines) > SHOWN_LINES else ""
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return Say(f"{subject} gave {count}:\n\n{fence(shown + more)}\n\n")


def plan_after(done: int) -> ShowPlan:
    """Return the plan of everything that is shown, of which so many steps are done."""
    names = ("Look around", "Make the change", "Check the result")
    return ShowPlan(
        tuple(
            Step(name, "completed" if at < done else "in_progress" if at == done else "pending")
            for at, name in enumerate(names)
        )
    )
