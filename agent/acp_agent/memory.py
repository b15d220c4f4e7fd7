"""What a session bears in mind, and what of it a model is told.

Source: ACP, Prompt Turn, "Stop Reasons".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from acp_agent.models.model import HistoryEntry, ModelSaid, Stopped, UserSaid


@dataclass(frozen=True, slots=True)
class Aside:
    """A prompt that the agent itself answers: neither it nor the answer is for the model."""

    text: str


Kept: TypeAlias = HistoryEntry | Aside


def remembered(kept: Sequence[Kept]) -> list[HistoryEntry]:
    """Return what the model is told of: a refused prompt is gone, with what followed it."""
    told: list[HistoryEntry] = []
    begun = 0
    for entry in kept:
        if isinstance(entry, Aside):
            continue
        if isinstance(entry, UserSaid):
            begun = len(told)
        told.append(entry)
        if isinstance(entry, ModelSaid) and any(isinstance(each, Stopped) for each in entry.events):
            del told[begun:]
    return told
