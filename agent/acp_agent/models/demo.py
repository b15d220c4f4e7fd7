"""A model that needs no network and no key, and does what it is told.

The same prompts on the same files always give the same events: what is streamed is cut by length
and never by time.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import Final

from acp_agent.models.model import (
    CallTool,
    Command,
    HistoryEntry,
    ModelEvent,
    Say,
    Think,
    ToolAnswered,
    ToolOffer,
    UserSaid,
)
from acp_agent.models.scene import Script
from acp_agent.models.script import script

PIECE: Final = 24
"""Characters that one piece of streamed text is about as long as."""


class DemoModel:
    """The embedded model."""

    name = "demo"
    takes_images = True
    is_scripted = True
    commands = (
        Command("tour", "Show each feature once: thoughts, a plan, reading, editing, running"),
        Command("plan", "Show a plan whose steps get done"),
        Command("think", "Think aloud before answering", "what to think about"),
        Command("tools", "Name the tools that there are, those of MCP servers too"),
        Command("help", "What the demo agent can do"),
    )

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolOffer]
    ) -> AsyncIterator[ModelEvent]:
        """Yield what the script of the last prompt says after the answers that are there."""
        start = max(at for at, entry in enumerate(history) if isinstance(entry, UserSaid))
        prompt = history[start]
        assert isinstance(prompt, UserSaid)
        answers = [entry for entry in history[start:] if isinstance(entry, ToolAnswered)]
        for event in _next_events(script(prompt, tools), answers):
            for piece in _in_pieces(event):
                yield piece


def _next_events(script: Script, answers: Sequence[ToolAnswered]) -> list[ModelEvent]:
    """Return what follows on the last answer, up to and with the next tool call."""
    given = iter(answers)
    answer: ToolAnswered | None = None
    events: list[ModelEvent] = []
    while True:
        try:
            event = script.send(answer)
        except StopIteration:
            return events
        events.append(event)
        answer = None
        if isinstance(event, CallTool):
            answer = next(given, None)
            if answer is None:
                return events
            events = []


def _in_pieces(event: ModelEvent) -> list[ModelEvent]:
    """Return `event` with its text cut as a model streams it."""
    if isinstance(event, Say | Think):
        kind = type(event)
        return [kind(text) for text in pieces(event.text)]
    return [event]


def pieces(text: str) -> list[str]:
    """Cut `text` behind spaces and newlines; joined again it is the same."""
    cut: list[str] = []
    piece = ""
    for word in re.findall(r"\s*\S+\s*|\s+", text):
        piece += word
        if len(piece) >= PIECE:
            cut.append(piece)
            piece = ""
    return [*cut, piece] if piece else cut
