"""One turn: the model speaks and calls tools until it wants nothing more.

Source: ACP, Prompt Turn; ACP, Tool Calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Final, Literal, Protocol, TypeAlias, assert_never

import anyio

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
from acp_agent.permissions import Permissions, Verdict
from acp_agent.tools.tool import Call, Outcome, Tool, ToolFailedError, text_content
from acp_agent.updates import Teller, Updates
from acp_agent.workspace import Workspace
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json

StopReason: TypeAlias = Literal["end_turn", "max_turn_requests", "cancelled"]

REQUEST_LIMIT: Final = 100
"""Times that the model is asked in one turn."""
FAREWELL: Final = 2.0
"""Seconds for telling the client what became of an open call when the turn is cancelled."""


class Client(Teller, Protocol):
    """The client as a turn sees it."""

    async def request(self, method: str, params: Json = None) -> Json:
        """Ask the client."""
        ...


@dataclass
class Context:
    """What a turn works with; it all belongs to the session."""

    session_id: str
    client: Client
    updates: Updates
    workspace: Workspace
    permissions: Permissions
    model: Model
    tools: Mapping[str, Tool]
    history: list[HistoryEntry]
    next_call_id: Callable[[], str]
    pace: float = 0.0
    """Seconds between two pieces of streamed text."""


async def run_turn(context: Context) -> StopReason:
    """Let the model answer the last entry of the history; return why it stopped."""
    for _ in range(REQUEST_LIMIT):
        events = await _stream_reply(context)
        context.history.append(ModelSaid(tuple(events)))
        calls = [event for event in events if isinstance(event, CallTool)]
        if not calls:
            return "end_turn"
        for wanted in calls:
            answer = await _run_call(context, wanted)
            if answer is None:
                return "cancelled"
            context.history.append(answer)
    return "max_turn_requests"


async def _stream_reply(context: Context) -> list[ModelEvent]:
    events: list[ModelEvent] = []
    async for event in context.model.reply(context.history):
        events.append(event)
        match event:
            case Say(text):
                await context.updates.text("agent_message_chunk", text)
                await anyio.sleep(context.pace)
            case Think(text):
                await context.updates.text("agent_thought_chunk", text)
                await anyio.sleep(context.pace)
            case ShowPlan(steps):
                entries = [asdict(step) | {"priority": "medium"} for step in steps]
                await context.updates.send("plan", {"entries": entries})
                await anyio.sleep(context.pace)
            case CallTool():
                pass
            case _:
                assert_never(event)
    return events


async def _run_call(context: Context, wanted: CallTool) -> ToolAnswered | None:
    """Run one tool call, with all that the user gets to see of it; None when the user cancelled."""
    call_id = context.next_call_id()
    try:
        call = await _prepared(context, wanted)
    except ToolFailedError as problem:
        await context.updates.call(
            call_id, {"title": wanted.name, "rawInput": dict(wanted.arguments)}
        )
        return await _failed(context, call_id, wanted, str(problem))
    shown = {
        "title": call.title,
        "kind": call.kind,
        "rawInput": dict(wanted.arguments),
        "locations": list(call.locations),
        "content": list(call.content),
    }
    await context.updates.call(call_id, shown)
    try:
        return await _carry_out(context, call_id, wanted, call)
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(FAREWELL, shield=True):
            await _failed(context, call_id, wanted, "cancelled")
        raise


async def _prepared(context: Context, wanted: CallTool) -> Call:
    tool = context.tools.get(wanted.name)
    if tool is None:
        raise ToolFailedError(f"there is no tool {wanted.name}")
    return await tool.prepare(wanted.arguments, context.workspace)


async def _carry_out(
    context: Context, call_id: str, wanted: CallTool, call: Call
) -> ToolAnswered | None:
    verdict = context.permissions.known(call) or await _ask(context, call_id, call)
    if verdict != "allow":
        reason = "cancelled" if verdict == "cancelled" else "rejected by the user"
        answer = await _failed(context, call_id, wanted, reason)
        return None if verdict == "cancelled" else answer
    await context.updates.tool(call_id, {"status": "in_progress"})

    async def report(content: object) -> None:
        await context.updates.tool(call_id, {"content": content})

    try:
        outcome: Outcome = await call.run(report)
    except ToolFailedError as problem:
        return await _failed(context, call_id, wanted, str(problem))
    done: dict[str, Json] = {"status": "completed", "rawOutput": dict(outcome.raw)}
    if outcome.content:
        done["content"] = list(outcome.content)
    await context.updates.tool(call_id, done)
    return ToolAnswered(wanted.name, outcome.text)


async def _ask(context: Context, call_id: str, call: Call) -> Verdict:
    shown: dict[str, Json] = {
        "toolCallId": call_id,
        "title": call.title,
        "kind": call.kind,
        "status": "pending",
        "locations": list(call.locations),
        "content": list(call.content),
    }
    params = {
        "sessionId": context.session_id,
        "toolCall": shown,
        "options": context.permissions.options(call),
    }
    try:
        answer = await context.client.request("session/request_permission", params)
    except RequestFailedError:
        # A client that cannot ask its user has not consented.
        return "reject"
    return context.permissions.decided(call, answer)


async def _failed(context: Context, call_id: str, wanted: CallTool, reason: str) -> ToolAnswered:
    members = {"status": "failed", "content": [text_content(reason)]}
    await context.updates.tool(call_id, members)
    return ToolAnswered(wanted.name, reason, is_failed=True)
