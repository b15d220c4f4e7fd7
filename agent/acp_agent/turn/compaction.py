"""Making room in the model's mind: what was said is summed up, and the summary takes its place.

The model itself writes the summary. Until it is whole nothing changes, so that a failure or a
cancellation leaves all as it was. What the client has seen stays as it is in any case.

Source: ACP, Session Updates, "Compaction".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from math import ceil
from typing import Final

import anyio

from acp_agent.models.types import (
    AssistantMessage,
    Continue,
    HistoryEntry,
    ModelFailedError,
    PromptMessage,
    Retrying,
    Stop,
    TextDelta,
    TokenUsage,
    ToolResult,
)
from acp_agent.turn.context import TurnContext, retry_notice, send_usage, stream_model_reply
from acp_agent.turn.history import Summary, model_history
from acp_agent.turn.tool_calls import FINAL_STATUS_TIMEOUT_S
from acp_agent.updates.v1 import new_message_id
from acp_protocol.errors import AcpError, ConnectionClosedError
from acp_protocol.jsonrpc import Json

SUMMARY_REQUEST: Final = """\
Make room: sum up this conversation. Your summary takes the place of everything above, so that
whoever goes on with the work knows all that is needed from it alone. Call no tools. Say:

- what the user wants, with the user's own words where they matter, and what was decided;
- what was done: files that were read, made or changed, with their paths and what matters in them;
- which commands were run and what came of them, and errors with how they were mended;
- what is left to do, and what was about to be done next.

Write Markdown, nothing before or behind it, and no more than is needed.
"""
_ALSO: Final = "\nThe user says what matters besides: {}\n"
CLIPPED_CHARS: Final = 2000
"""Characters of what a tool has answered, or of an attachment, where the whole is too long."""
CHARS_PER_TOKEN: Final = 4
"""Of a token, about; it counts where a service does not tell how long its summary is."""
MAX_SHRINK_ATTEMPTS: Final = 4
"""Times that the older half is left out, where even that is too long."""
SAVE_TIMEOUT_S: Final = 30.0
"""Seconds that a client has to take what came of it."""
_LEFT_OUT: Final = "(What was said before is left out here: it is too long.)"


class CompactionFailedError(AcpError):
    """There is no summary, and all is as it was; the message is the end of a sentence."""


async def compact(context: TurnContext, focus: str = "", *, goes_on: bool = False) -> None:
    """Sum up what the model knows; `focus` is what the user wants to be kept.

    `goes_on` keeps the last prompt besides, word by word: it is not answered yet.

    Raises:
        CompactionFailedError: it could not be.
        ModelFailedError: the model wants a key.
    """
    updates, id_ = context.tool_context.updates, new_message_id()
    end: Mapping[str, Json] = {"status": "cancelled"}
    try:
        known = _known(context, goes_on=goes_on)
        await updates.compaction(id_, {"status": "in_progress"})
        summary, used = await _summary(context, known, focus)
        requests = _last_prompt(model_history(context.history)) if goes_on else ()
        context.history.append(Summary(summary, requests))
        end = {"status": "completed", "summary": [{"type": "text", "text": summary}]}
    except (CompactionFailedError, ModelFailedError) as problem:
        end = {"status": "failed", "error": str(problem)}
        raise
    finally:
        # What has happened is told, whoever gives up meanwhile.
        bound = FINAL_STATUS_TIMEOUT_S if end["status"] == "cancelled" else SAVE_TIMEOUT_S
        with anyio.move_on_after(bound, shield=True), suppress(ConnectionClosedError):
            await updates.compaction(id_, end)
    context.context_window.mark_compacted()
    if context.context_window.size:
        taken = used.output_tokens if used is not None else ceil(len(summary) / CHARS_PER_TOKEN)
        await send_usage(context, taken, context.context_window.size)


def _known(context: TurnContext, *, goes_on: bool) -> Sequence[HistoryEntry]:
    """Return what is to be summed up.

    Raises:
        CompactionFailedError: there is nothing.
    """
    # A request that failed has left a reply that says nothing.
    known = [entry for entry in model_history(context.history) if entry != AssistantMessage(())]
    if goes_on and known and isinstance(known[-1], PromptMessage):
        # Nothing was done about it yet.
        known = known[:-1]
    if not any(isinstance(entry, AssistantMessage) for entry in known):
        raise CompactionFailedError("Nothing was said yet that could be summed up.")
    return known


async def _summary(
    context: TurnContext, known: Sequence[HistoryEntry], focus: str
) -> tuple[str, TokenUsage | None]:
    """Return a summary of what the model knows, and what that has taken."""
    wanted = PromptMessage(SUMMARY_REQUEST + (_ALSO.format(focus) if focus else ""))
    for part in _shorter_and_shorter(known):
        try:
            return await _written(context, [*part, wanted])
        except ModelFailedError as failure:
            if failure.needs_key:
                raise
            if not failure.is_too_long:
                raise CompactionFailedError(str(failure)) from None
    raise CompactionFailedError("Even shortened it is too long for the model.")


async def _written(
    context: TurnContext, history: Sequence[HistoryEntry]
) -> tuple[str, TokenUsage | None]:
    text, used = "", None
    stop: Stop | Continue | None = None
    async with aclosing(stream_model_reply(context, history)) as reply:
        async for event in reply:
            match event:
                case TextDelta():
                    text += event.text
                case TokenUsage():
                    used = event
                    context.usage = context.usage + event
                case Stop() | Continue():
                    stop = event
                case Retrying():
                    await context.tool_context.updates.retrying(event.reason, retry_notice(event))
                case _:
                    # Thoughts and calls are no part of a summary.
                    continue
    if not text.strip() or (isinstance(stop, Stop) and stop.reason == "refusal"):
        raise CompactionFailedError("The model gave no summary.")
    if stop is not None:
        raise CompactionFailedError("The summary was cut off.")
    return text.strip(), used


def _last_prompt(known: Sequence[HistoryEntry]) -> tuple[PromptMessage, ...]:
    return next(((entry,) for entry in reversed(known) if isinstance(entry, PromptMessage)), ())


def _shorter_and_shorter(known: Sequence[HistoryEntry]) -> Iterator[Sequence[HistoryEntry]]:
    """Yield `known`, then with long texts clipped, then without more and more of its beginning."""
    yield known
    part = [_clipped(entry) for entry in known]
    yield part
    for _ in range(MAX_SHRINK_ATTEMPTS):
        part = _later_half(part)
        if not part:
            return
        yield [PromptMessage(_LEFT_OUT), *part]


def _clipped(entry: HistoryEntry) -> HistoryEntry:
    match entry:
        case ToolResult():
            return replace(entry, text=_cut(entry.text))
        case PromptMessage():
            attached = [
                replace(each, text=_cut(each.text) if each.text is not None else None)
                for each in entry.attachments
            ]
            return replace(entry, attachments=tuple(attached), images=())
        case _:
            return entry


def _cut(text: str) -> str:
    return text if len(text) <= CLIPPED_CHARS else text[:CLIPPED_CHARS] + " […]"


def _later_half(part: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Return the later half, from where the user or the model begins to speak."""
    for place in range((len(part) + 1) // 2, len(part)):
        if not isinstance(part[place], ToolResult):
            return list(part[place:])
    return []
