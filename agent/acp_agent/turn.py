"""One turn: the model speaks and calls tools until it wants nothing more.

Source: ACP, Prompt Turn.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from math import ceil
from typing import Literal, TypeAlias, assert_never

import anyio

from acp_agent.batches import batches, carry_out
from acp_agent.calls import Desk
from acp_agent.conduct import TurnLimits
from acp_agent.instructions import Told
from acp_agent.memory import Kept, remembered
from acp_agent.models.model import (
    CallTool,
    Delayed,
    Model,
    ModelEvent,
    ModelFailedError,
    ModelSaid,
    Paused,
    Say,
    Sealed,
    ShowPlan,
    Stopped,
    Think,
    ToolAnswered,
    Used,
)
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json

StopReason: TypeAlias = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"
]


async def _uninstructed() -> Told | None:
    return None


@dataclass
class Context:
    """What a turn works with; it all belongs to the session."""

    model: Model
    desk: Desk
    history: list[Kept]
    pace: float = 0.0
    """Seconds between two pieces of what the model streams."""
    spent: Used = field(default_factory=lambda: Used(0, 0))
    """What all replies of the session have taken together."""
    limits: TurnLimits = field(default_factory=TurnLimits)
    instructed: Callable[[], Awaitable[Told | None]] = _uninstructed
    """Reads what the project tells the model."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """What came of asking the model once."""

    calls: Sequence[CallTool] = ()
    stop: Stopped | None = None
    is_paused: bool = False
    has_said: bool = False


async def run_turn(context: Context) -> StopReason:
    """Let the model answer the last entry of the history; return why it stopped.

    However the turn ends, each call in the history has its answer there.

    Raises:
        RequestFailedError: the model could not answer; the message tells why.
    """
    limits = context.limits
    with anyio.move_on_after(limits.seconds) as clock:
        return await _loop(context)
    assert clock.cancelled_caught
    await _tell_limit(context, f"{limits.seconds:g} s in one turn")
    return "max_turn_requests"


async def _loop(context: Context) -> StopReason:
    limits = context.limits
    before = context.spent.total
    has_said = False
    for _ in range(limits.requests):
        reply = await _stream_reply(context)
        has_said = has_said or reply.has_said
        if reply.stop is not None:
            return reply.stop.reason
        if not reply.calls and not reply.is_paused:
            if not has_said:
                await _tell(context, "The model has ended its turn without a word.")
            return "end_turn"
        if not await _carry_out(context, reply.calls):
            return "cancelled"
        if limits.tokens is not None and context.spent.total - before >= limits.tokens:
            await _tell_limit(context, f"{limits.tokens} tokens in one turn")
            return "max_tokens"
    await _tell_limit(context, f"{limits.requests} requests in one turn")
    return "max_turn_requests"


async def _tell_limit(context: Context, limit: str) -> None:
    """Say why the turn ends here, as if the model had."""
    await _tell(context, f"\n\nI stop here: {limit} is the limit.")


async def _tell(context: Context, sentence: str) -> None:
    context.history.append(ModelSaid((Say(sentence),)))
    await context.desk.updates.text("agent_message_chunk", sentence)


async def _stream_reply(context: Context) -> _Reply:
    """Show the model's next reply as it comes; return what is to be done about it."""
    events: list[ModelEvent] = []
    stop = None
    is_paused = False
    is_whole = False
    try:
        async with aclosing(_replied(context)) as reply:
            async for event in reply:
                match event:
                    case Stopped():
                        stop = event
                    case Paused():
                        is_paused = True
                    case Used():
                        await _account(context, event)
                    case Delayed():
                        again = f"It is asked again in {ceil(event.seconds)} s."
                        await context.desk.updates.delayed(event.why, again)
                    case _:
                        events.append(event)
                        await _show(context, event)
        if stop is not None and stop.why:
            events.append(why := Say(f"\n\nI stop here: {stop.why}."))
            await _show(context, why)
        is_whole = stop is None
    finally:
        if not is_whole:
            # What was not carried out was never asked for.
            events = [event for event in events if not isinstance(event, CallTool)]
        refusal = (stop,) if stop is not None and stop.reason == "refusal" else ()
        context.history.append(ModelSaid((*events, *refusal)))
    calls = [event for event in events if isinstance(event, CallTool)]
    has_said = any(isinstance(event, Say | ShowPlan) for event in events)
    return _Reply(calls, stop, is_paused, has_said)


async def _replied(context: Context) -> AsyncGenerator[ModelEvent]:
    """Yield what the model does; its failure becomes the answer to the prompt."""
    offers = [tool.offer for tool in context.desk.tools.values()]
    told = await context.instructed()
    guidance = [told.guidance] if told is not None else []
    reply = context.model.reply([*guidance, *remembered(context.history)], offers)
    try:
        async for event in reply:
            yield event
    except ModelFailedError as problem:
        code = jsonrpc.AUTH_REQUIRED if problem.needs_key else jsonrpc.INTERNAL_ERROR
        raise RequestFailedError(code, str(problem)) from None
    finally:
        if isinstance(reply, AsyncGenerator):
            # A stream that is not read to its end stays open until somebody closes it.
            await reply.aclose()


async def _account(context: Context, used: Used) -> None:
    """Add `used` to what was spent, and tell the client how full the model's mind is."""
    context.spent = context.spent + used
    if used.window is None:
        return
    members: dict[str, Json] = {"used": used.total, "size": used.window}
    if context.spent.cost is not None:
        members["cost"] = {"amount": context.spent.cost, "currency": "USD"}
    await context.desk.updates.send("usage_update", members)


async def _show(context: Context, event: Say | Think | ShowPlan | CallTool | Sealed) -> None:
    updates = context.desk.updates
    match event:
        case Say(text):
            await updates.text("agent_message_chunk", text)
        case Think(text):
            await updates.text("agent_thought_chunk", text)
        case ShowPlan(steps):
            entries = [asdict(step) | {"priority": "medium"} for step in steps]
            await updates.plan(entries)
        case CallTool() | Sealed():
            return
        case _:
            assert_never(event)
    await anyio.sleep(context.pace)


async def _carry_out(context: Context, calls: Sequence[CallTool]) -> bool:
    """Run `calls`, see `batches`; return whether the turn goes on."""
    answered = 0
    try:
        for batch in batches(context.desk, calls):
            came = await carry_out(context.desk, batch)
            # What was done is known from now on, whatever becomes of us.
            context.history += [each or _cancelled(batch[at]) for at, each in enumerate(came)]
            answered += len(batch)
            if None in came:
                return False
        return True
    finally:
        context.history += map(_cancelled, calls[answered:])


def _cancelled(call: CallTool) -> ToolAnswered:
    return ToolAnswered(call.name, "cancelled", is_failed=True)
