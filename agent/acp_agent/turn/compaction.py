"""Compaction: the model sums up the conversation, and the summary replaces it.

Until the summary is whole nothing changes, so that a failure or a cancellation leaves all as it
was. What the client has seen stays as it is in any case.

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
from acp_agent.store.entries import Summary
from acp_agent.turn.context import (
    TurnContext,
    model_history,
    retry_notice,
    send_usage,
    stream_model_reply,
)
from acp_agent.turn.tool_calls import FINAL_STATUS_TIMEOUT_S
from acp_agent.updates.v1 import new_message_id
from acp_protocol.errors import AcpError, ConnectionClosedError
from acp_protocol.jsonrpc import Json

SUMMARY_REQUEST: Final = """\
Make room: sum up this conversation. Your summary takes the place of everything above, so that
somebody can continue the work from it alone. Call no tools. Say:

- what the user wants, with the user's own words where they matter, and what was decided;
- what was done: files that were read, made or changed, with their paths and what matters in them;
- which commands were run and what came of them, and errors with how they were mended;
- what is left to do, and what was about to be done next.

Write Markdown, nothing before or behind it, and no more than is needed.
"""
ALSO: Final = "\nThe user says what matters besides: {}\n"
CLIPPED_CHARS: Final = 2000
"""Characters kept of a tool's result or an attachment, if the whole is too long."""
CHARS_PER_TOKEN: Final = 4
"""Roughly; used where a service does not report how long its summary is."""
MAX_SHRINK_ATTEMPTS: Final = 4
"""How often the older half is left out, if the rest is still too long."""
SAVE_TIMEOUT_S: Final = 30.0
"""How long a client may take to receive the outcome."""
_LEFT_OUT: Final = "(What was said before is left out here: it is too long.)"


class CompactionFailedError(AcpError):
    """There is no summary, and all is as it was; the message is the end of a sentence."""


async def compact(context: TurnContext, focus: str = "", *, goes_on: bool = False) -> None:
    """Sum up what the model knows; `focus` is what the user wants to be kept.

    `goes_on` also keeps the last prompt, word by word: it is not answered yet.

    Raises:
        CompactionFailedError: there is nothing to sum up, or no summary of it.
        ModelFailedError: the model needs a key.
    """
    updates, id_ = context.updates, new_message_id()
    end: Mapping[str, Json] = {"status": "cancelled"}
    try:
        history = _compactable(context, goes_on=goes_on)
        await updates.compaction(id_, {"status": "in_progress"})
        summary, usage = await _summarize(context, history, focus)
        prompts = [
            entry for entry in model_history(context.history) if isinstance(entry, PromptMessage)
        ]
        context.history.append(Summary(summary, tuple(prompts[-1:]) if goes_on else ()))
        end = {"status": "completed", "summary": [{"type": "text", "text": summary}]}
    except (CompactionFailedError, ModelFailedError) as problem:
        end = {"status": "failed", "error": str(problem)}
        raise
    finally:
        # The outcome is sent even if the turn is cancelled meanwhile.
        timeout = FINAL_STATUS_TIMEOUT_S if end["status"] == "cancelled" else SAVE_TIMEOUT_S
        with anyio.move_on_after(timeout, shield=True), suppress(ConnectionClosedError):
            await updates.compaction(id_, end)
    used = usage.output_tokens if usage is not None else ceil(len(summary) / CHARS_PER_TOKEN)
    context.context_window.mark_compacted(used)
    if context.context_window.size:
        await send_usage(context, used, context.context_window.size)


def _compactable(context: TurnContext, *, goes_on: bool) -> Sequence[HistoryEntry]:
    """Return what is to be summed up.

    Raises:
        CompactionFailedError: there is nothing.
    """
    # A request that failed has left an empty reply.
    history = [each for each in model_history(context.history) if each != AssistantMessage(())]
    if goes_on and history and isinstance(history[-1], PromptMessage):
        # Nothing was done about it yet.
        history.pop()
    if not any(isinstance(entry, AssistantMessage) for entry in history):
        raise CompactionFailedError("There is nothing to summarize yet.")
    return history


async def _summarize(
    context: TurnContext, history: Sequence[HistoryEntry], focus: str
) -> tuple[str, TokenUsage | None]:
    """Return a summary of what the model knows, and the tokens used for it."""
    request = PromptMessage(SUMMARY_REQUEST + (ALSO.format(focus) if focus else ""))
    for part in _shorter_and_shorter(history):
        try:
            return await _request_summary(context, [*part, request])
        except ModelFailedError as failure:
            if failure.needs_key:
                raise
            if not failure.is_too_long:
                raise CompactionFailedError(str(failure)) from None
    raise CompactionFailedError("Even shortened it is too long for the model.")


async def _request_summary(
    context: TurnContext, history: Sequence[HistoryEntry]
) -> tuple[str, TokenUsage | None]:
    text, usage = "", None
    stop: Stop | Continue | None = None
    async with aclosing(stream_model_reply(context, history)) as reply:
        async for event in reply:
            match event:
                case TextDelta():
                    text += event.text
                case TokenUsage():
                    usage = event
                    context.usage = context.usage + event
                case Stop() | Continue():
                    stop = event
                case Retrying():
                    await context.updates.retrying(event.reason, retry_notice(event))
                case _:
                    # Thoughts and calls are no part of a summary.
                    continue
    if not text.strip() or (isinstance(stop, Stop) and stop.reason == "refusal"):
        raise CompactionFailedError("The model returned no summary.")
    if stop is not None:
        raise CompactionFailedError("The summary was cut off.")
    return text.strip(), usage


def _shorter_and_shorter(history: Sequence[HistoryEntry]) -> Iterator[Sequence[HistoryEntry]]:
    """Yield `history`, then with long texts clipped, then without more and more of its start."""
    yield history
    part = [_clipped(entry) for entry in history]
    yield part
    for _ in range(MAX_SHRINK_ATTEMPTS):
        # The later half begins with a message of the user or the model.
        starts = range((len(part) + 1) // 2, len(part))
        start = next((at for at in starts if not isinstance(part[at], ToolResult)), None)
        if start is None:
            return
        part = part[start:]
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
