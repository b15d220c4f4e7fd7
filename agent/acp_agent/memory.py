"""What a session bears in mind, and what of it a model is told.

Source: ACP, Prompt Turn, "Stop Reasons".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from acp_agent.models.model import HistoryEntry, ModelSaid, Stopped, UserSaid


@dataclass(frozen=True, slots=True)
class Aside:
    """A prompt that the agent itself answers: neither it nor the answer is for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """A summary that takes the place of all before it."""

    summary: str
    requests: tuple[UserSaid, ...] = ()
    """What was asked for last, if that is not answered yet."""


Kept: TypeAlias = HistoryEntry | Aside | Compacted
SUMMED_UP: Final = """\
To make room, what was said and done in this session so far was summed up. You go on from this
summary, which you have written yourself:

<summary>
{}
</summary>
"""
_ASKED: Final = "\nWhat the user has asked for last follows as it was. It may be done in part.\n"


def remembered(kept: Sequence[Kept]) -> list[HistoryEntry]:
    """Return what the model is told of: a refused prompt is gone, with what followed it."""
    told: list[HistoryEntry] = []
    begun = 0
    summary: Sequence[HistoryEntry] = ()
    """What stays of a refused prompt that room was made amid."""
    for entry in kept:
        if isinstance(entry, Aside):
            continue
        if isinstance(entry, Compacted):
            told = [_summed_up(entry), *entry.requests]
            begun, summary = 0, (_summed_up(replace(entry, requests=())),)
            continue
        if isinstance(entry, UserSaid):
            begun, summary = len(told), ()
        told.append(entry)
        if isinstance(entry, ModelSaid) and any(isinstance(each, Stopped) for each in entry.events):
            told[begun:] = summary
    return told


def _summed_up(entry: Compacted) -> UserSaid:
    text = SUMMED_UP.format(entry.summary)
    return UserSaid(text + _ASKED if entry.requests else text)
