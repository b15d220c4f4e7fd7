"""The history of a session, and the part of it that the model gets.

Source: ACP, Prompt Turn, "Stop Reasons".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from acp_agent.models.types import AssistantMessage, HistoryEntry, PromptMessage, Stop


@dataclass(frozen=True, slots=True)
class LocalExchange:
    """A prompt that the agent itself answers: neither it nor the answer is for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that takes the place of all before it."""

    summary: str
    requests: tuple[PromptMessage, ...] = ()
    """What was asked for last, if that is not answered yet."""


HistoryItem: TypeAlias = HistoryEntry | LocalExchange | Summary
SUMMARY_PROMPT: Final = """\
To make room, what was said and done in this session so far was summed up. You go on from this
summary, which you have written yourself:

<summary>
{}
</summary>
"""
_OPEN_REQUESTS: Final = (
    "\nWhat the user has asked for last follows as it was. It may be done in part.\n"
)


def model_history(kept: Sequence[HistoryItem]) -> list[HistoryEntry]:
    """Return what the model gets: without refused prompts and what followed them."""
    visible: list[HistoryEntry] = []
    begun = 0
    summary: Sequence[HistoryEntry] = ()
    """What stays of a refused prompt that room was made amid."""
    for entry in kept:
        if isinstance(entry, LocalExchange):
            continue
        if isinstance(entry, Summary):
            visible = [_summed_up(entry), *entry.requests]
            begun, summary = 0, (_summed_up(replace(entry, requests=())),)
            continue
        if isinstance(entry, PromptMessage):
            begun, summary = len(visible), ()
        visible.append(entry)
        if isinstance(entry, AssistantMessage) and any(
            isinstance(each, Stop) for each in entry.events
        ):
            visible[begun:] = summary
    return visible


def _summed_up(entry: Summary) -> PromptMessage:
    text = SUMMARY_PROMPT.format(entry.summary)
    return PromptMessage(text + _OPEN_REQUESTS if entry.requests else text)
