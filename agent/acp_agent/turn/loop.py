"""One turn: the model replies and calls tools until it stops.

Source: ACP, Prompt Turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Final, assert_never

import anyio

from acp_agent.models.types import (
    AssistantMessage,
    Continue,
    ModelEvent,
    ModelFailedError,
    PlanChange,
    ProviderBlock,
    ReasoningDelta,
    Retrying,
    Stop,
    TextDelta,
    TokenUsage,
    ToolResult,
    ToolUse,
)
from acp_agent.turn.compaction import CompactionFailedError, compact
from acp_agent.turn.context import (
    TurnContext,
    retry_notice,
    send_usage,
    stream_model_reply,
)
from acp_agent.turn.tool_calls import batches, run_batch
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.schema.words import StopReason

_LIMIT: Final = "\n\nI'm stopping here: {} is the limit."


@dataclass(frozen=True, slots=True)
class _Reply:
    """One reply of the model."""

    calls: Sequence[ToolUse] = ()
    stop: Stop | None = None
    is_paused: bool = False
    has_content: bool = False


async def run_turn(context: TurnContext) -> StopReason:
    """Let the model answer the last entry of the history; return why it stopped.

    However the turn ends, each call in the history has its result there.

    Raises:
        RequestFailedError: the model could not answer; the message tells why.
    """
    with anyio.move_on_after(context.limits.seconds) as clock:
        try:
            return await _loop(context)
        except ModelFailedError as problem:
            raise model_error_response(problem) from None
    assert clock.cancelled_caught
    await _notify_user(context, timeout_notice(context))
    return "max_turn_requests"


def timeout_notice(context: TurnContext) -> str:
    """Return what the agent adds to a reply that has taken too long."""
    return _LIMIT.format(f"{context.limits.seconds:g} s in one turn")


def model_error_response(problem: ModelFailedError) -> RequestFailedError:
    """Return the error of a prompt that the model could not answer."""
    code = jsonrpc.AUTH_REQUIRED if problem.needs_key else jsonrpc.INTERNAL_ERROR
    return RequestFailedError(code, str(problem))


async def _loop(context: TurnContext) -> StopReason:
    limits = context.limits
    before = context.usage.total
    has_content = False
    for _ in range(limits.requests):
        reply = await _reply(context)
        has_content = has_content or reply.has_content
        if reply.stop is not None:
            return reply.stop.reason
        if not reply.calls and not reply.is_paused:
            if not has_content:
                await _notify_user(context, "The model has ended its turn without a word.")
            return "end_turn"
        if not await _run_calls(context, reply.calls):
            return "cancelled"
        if limits.tokens is not None and context.usage.total - before >= limits.tokens:
            await _notify_user(context, _LIMIT.format(f"{limits.tokens} tokens in one turn"))
            return "max_tokens"
    await _notify_user(context, _LIMIT.format(f"{limits.requests} requests in one turn"))
    return "max_turn_requests"


async def _notify_user(context: TurnContext, sentence: str) -> None:
    """Send a sentence of the agent's, as if the model had written it."""
    context.history.append(AssistantMessage((TextDelta(sentence),)))
    await context.updates.text("agent_message_chunk", sentence)


async def _reply(context: TurnContext) -> _Reply:
    """Stream the model's next reply; compact the history where the context window is too full."""
    has_tried = context.context_window.needs_compaction
    if has_tried:
        await _compact(context)
    try:
        return await _stream_reply(context)
    except ModelFailedError as problem:
        if not problem.is_too_long or has_tried or not await _compact(context):
            raise
    return await _stream_reply(context)


async def _compact(context: TurnContext) -> bool:
    """Compact the history in the middle of a turn; return whether that worked."""
    try:
        await compact(context, goes_on=True)
    except CompactionFailedError:
        # The client knows. Trying again at each reply would cost much and change nothing.
        context.context_window.cannot_compact = True
        return False
    return True


async def _stream_reply(context: TurnContext) -> _Reply:
    """Send the model's next reply as it comes; return it."""
    events: list[ModelEvent] = []
    stop = None
    is_paused = False
    is_whole = False
    model_name = context.model.name
    try:
        history = context.model_history.update(context.history)
        async with aclosing(stream_model_reply(context, history)) as reply:
            async for event in reply:
                match event:
                    case Stop():
                        stop = event
                    case Continue():
                        is_paused = True
                    case TokenUsage():
                        await _account(context, event, model_name)
                    case Retrying():
                        updates = context.updates
                        await updates.retrying(event.reason, retry_notice(event))
                    case _:
                        events.append(event)
                        await _show(context, event)
        if stop is not None and stop.why:
            events.append(why := TextDelta(f"\n\nI'm stopping here: {stop.why}."))
            await _show(context, why)
        is_whole = stop is None
    finally:
        if not is_whole:
            # Calls of a partial reply are not run.
            events = [event for event in events if not isinstance(event, ToolUse)]
        refusal = (stop,) if stop is not None and stop.reason == "refusal" else ()
        context.history.append(AssistantMessage((*events, *refusal)))
    calls = [event for event in events if isinstance(event, ToolUse)]
    has_content = any(isinstance(event, TextDelta | PlanChange) for event in events)
    return _Reply(calls, stop, is_paused, has_content)


async def _account(context: TurnContext, used: TokenUsage, model_name: str) -> None:
    """Add up the tokens used, and send how full the context window is."""
    context.usage = context.usage + used
    if context.model.name != model_name:
        # Another model was chosen meanwhile, whose window may be larger or smaller.
        return
    context.context_window.update(used)
    if used.window is not None:
        await send_usage(context, used.total, used.window)


async def _show(
    context: TurnContext, event: TextDelta | ReasoningDelta | PlanChange | ToolUse | ProviderBlock
) -> None:
    updates = context.updates
    match event:
        case TextDelta(text):
            await updates.text("agent_message_chunk", text)
        case ReasoningDelta(text):
            await updates.text("agent_thought_chunk", text)
        case PlanChange(steps):
            await updates.plan([asdict(step) | {"priority": "medium"} for step in steps])
        case ToolUse() | ProviderBlock():
            return
        case _:
            assert_never(event)
    await anyio.sleep(context.stream_delay_s)


async def _run_calls(context: TurnContext, calls: Sequence[ToolUse]) -> bool:
    """Run `calls`, see `batches`; return whether the turn goes on."""
    done = 0
    try:
        for batch in batches(context, calls):
            results = await run_batch(context, batch)
            # The model knows what was done, even if the turn is cancelled now.
            context.history += [
                result or _cancelled(call) for call, result in zip(batch, results, strict=True)
            ]
            done += len(batch)
            if None in results:
                return False
        return True
    finally:
        context.history += map(_cancelled, calls[done:])


def _cancelled(call: ToolUse) -> ToolResult:
    return ToolResult(call.name, "cancelled", is_failed=True)
