"""One turn: the model speaks and calls tools until it wants nothing more.

Source: ACP, Prompt Turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypeAlias, assert_never

import anyio

from acp_agent.calls import Desk
from acp_agent.models.model import (
    CallTool,
    HistoryEntry,
    Model,
    ModelEvent,
    ModelSaid,
    Say,
    ShowPlan,
    Think,
    ToolAnswered,
)

StopReason: TypeAlias = Literal["end_turn", "max_turn_requests", "cancelled"]

REQUEST_LIMIT: Final = 100
"""Times that the model is asked in one turn."""


@dataclass
class Context:
    """What a turn works with; it all belongs to the session."""

    model: Model
    desk: Desk
    history: list[HistoryEntry]
    pace: float = 0.0
    """Seconds between two pieces of what the model streams."""


async def run_turn(context: Context) -> StopReason:
    """Let the model answer the last entry of the history; return why it stopped.

    However the turn ends, each call in the history has its answer there.
    """
    for _ in range(REQUEST_LIMIT):
        calls = await _stream_reply(context)
        if not calls:
            return "end_turn"
        if not await _carry_out(context, calls):
            return "cancelled"
    return "max_turn_requests"


async def _stream_reply(context: Context) -> Sequence[CallTool]:
    """Show the model's next reply as it comes; return the calls in it."""
    events: list[ModelEvent] = []
    offers = [tool.offer for tool in context.desk.tools.values()]
    is_whole = False
    try:
        async for event in context.model.reply(context.history, offers):
            events.append(event)
            await _show(context, event)
        is_whole = True
    finally:
        if not is_whole:
            # What was not carried out was never asked for.
            events = [event for event in events if not isinstance(event, CallTool)]
        context.history.append(ModelSaid(tuple(events)))
    return [event for event in events if isinstance(event, CallTool)]


async def _show(context: Context, event: ModelEvent) -> None:
    updates = context.desk.updates
    match event:
        case Say(text):
            await updates.text("agent_message_chunk", text)
        case Think(text):
            await updates.text("agent_thought_chunk", text)
        case ShowPlan(steps):
            entries = [asdict(step) | {"priority": "medium"} for step in steps]
            await updates.plan(entries)
        case CallTool():
            return
        case _:
            assert_never(event)
    await anyio.sleep(context.pace)


async def _carry_out(context: Context, calls: Sequence[CallTool]) -> bool:
    """Run `calls` one after the other; return whether the turn goes on."""
    answers: list[ToolAnswered] = []
    try:
        for wanted in calls:
            answer = await context.desk.carry_out(wanted)
            if answer is None:
                return False
            answers.append(answer)
        return True
    finally:
        missing = calls[len(answers) :]
        answers += [ToolAnswered(call.name, "cancelled", is_failed=True) for call in missing]
        context.history += answers
