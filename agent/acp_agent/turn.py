"""One turn: the model speaks and calls tools until it wants nothing more.

Source: ACP, Prompt Turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypeAlias, assert_never

import anyio

from acp_agent.asking import Context, asked, asked_again, tell_fill
from acp_agent.calls import batches, carry_out
from acp_agent.compaction import CompactionFailedError, compact
from acp_agent.conduct import TurnLimits
from acp_agent.memory import remembered
from acp_agent.models.model import (
    CallTool,
    Delayed,
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

StopReason: TypeAlias = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"
]

_LIMIT: Final = "\n\nI stop here: {} is the limit."


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
        try:
            return await _loop(context)
        except ModelFailedError as problem:
            raise refused(problem) from None
    assert clock.cancelled_caught
    await _tell(context, out_of_time(limits))
    return "max_turn_requests"


def out_of_time(limits: TurnLimits) -> str:
    """Return why a turn ends that has taken too long, to be said behind what it has said."""
    return _LIMIT.format(f"{limits.seconds:g} s in one turn")


async def _loop(context: Context) -> StopReason:
    limits = context.limits
    before = context.spent.total
    has_said = False
    for _ in range(limits.requests):
        reply = await _reply(context)
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
    await _tell(context, _LIMIT.format(limit))


async def _tell(context: Context, sentence: str) -> None:
    context.history.append(ModelSaid((Say(sentence),)))
    await context.desk.updates.text("agent_message_chunk", sentence)


def refused(problem: ModelFailedError) -> RequestFailedError:
    """Return the answer to a prompt that the model could not answer."""
    code = jsonrpc.AUTH_REQUIRED if problem.needs_key else jsonrpc.INTERNAL_ERROR
    return RequestFailedError(code, str(problem))


async def _reply(context: Context) -> _Reply:
    """Show the model's next reply; room is made for it where there is too little."""
    has_tried = context.fill.is_high
    if has_tried:
        await _make_room(context)
    try:
        return await _stream_reply(context)
    except ModelFailedError as problem:
        if not problem.is_too_long or has_tried or not await _make_room(context):
            raise
    return await _stream_reply(context)


async def _make_room(context: Context) -> bool:
    """Sum up what was said amid a turn; return whether that could be."""
    try:
        await compact(context, goes_on=True)
    except CompactionFailedError:
        # It was told; trying again at each reply would cost much and help nobody.
        context.fill.is_hopeless = True
        return False
    return True


async def _stream_reply(context: Context) -> _Reply:
    """Show the model's next reply as it comes; return what is to be done about it."""
    events: list[ModelEvent] = []
    stop = None
    is_paused = False
    is_whole = False
    answerer = context.model.name
    try:
        async with aclosing(asked(context, remembered(context.history))) as reply:
            async for event in reply:
                match event:
                    case Stopped():
                        stop = event
                    case Paused():
                        is_paused = True
                    case Used():
                        await _account(context, event, answerer)
                    case Delayed():
                        await context.desk.updates.delayed(event.why, asked_again(event))
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


async def _account(context: Context, used: Used, answerer: str) -> None:
    """Add `used` to what was spent, and tell the client how full the model's mind is."""
    context.spent = context.spent + used
    if context.model.name != answerer:
        # Another model was chosen meanwhile, which may bear more in mind or less.
        return
    context.fill.take(used)
    if used.window is not None:
        await tell_fill(context, used.total, used.window)


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
