"""Restores a session that was closed, or whose process was killed in the middle of a turn.

What was interrupted is completed in the store: an open tool call becomes a failed one, and a
partial reply becomes an entry of the history.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from acp_agent.models.types import (
    AssistantMessage,
    ModelEvent,
    PromptMessage,
    ReasoningDelta,
    TextDelta,
    ToolResult,
    ToolUse,
)
from acp_agent.store import events
from acp_agent.store.entries import HistoryItem, LocalExchange, Summary, read_entry
from acp_agent.store.events import Event
from acp_agent.store.log import SessionLog, Texts
from acp_agent.turn.prompt import read_prompt
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import FINAL_STATUSES

REASON: Final = "broken off: the agent ended before it"


def restore(log: SessionLog) -> RestoredSession:
    """Return the state of a session, after completing in its log what was interrupted."""
    session = RestoredSession(Path(log.record.cwd))
    for event in log.events():
        session.add(event)
    log.texts = session.texts
    for call_id, content in session.open_calls.items():
        content_block = {"type": "content", "content": {"type": "text", "text": REASON}}
        members = {"status": "failed", "rawOutput": {"error": REASON}}
        log.append(events.tool(call_id, members | {"content": [*content, content_block]}))
    for compaction_id, members in session.open_compactions.items():
        log.append(events.compaction(compaction_id, members))
    session.partial_reply = session.streamed()
    for entry in session.missing_entries():
        log.append_entry(entry)
        session.history.append(entry)
    return session


class RestoredSession:
    """The state that a session goes on with: folds the events of its log."""

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self.history: list[HistoryItem] = []
        self.calls = 0
        """Tool calls so far."""
        self.pending_prompt: PromptMessage | None = None
        """The last prompt, if it is not in the history: the session knows if it is a command."""
        self.partial_reply: tuple[ModelEvent, ...] = ()
        """What was streamed in reply to it."""
        self.open_calls: dict[str, list[Json]] = {}
        """The content of each tool call that has not ended."""
        self.open_compactions: dict[str, Mapping[str, Json]] = {}
        """By id of each compaction that has not ended, the fields with which it ends."""
        self.texts = Texts()

    def add(self, event: Event) -> None:
        match event["what"]:
            case "entry":
                entry = read_entry(event["entry"], self.texts)
                self.history.append(entry)
                self.pending_prompt = None
                if isinstance(entry, Summary):
                    summary = [{"type": "text", "text": entry.summary}]
                    completed = {"status": "completed", "summary": summary}
                    self.open_compactions = dict.fromkeys(self.open_compactions, completed)
            case "user":
                self.pending_prompt = read_prompt(event["blocks"], self._cwd)
            case "call":
                # A call that was never reported has used up its number all the same.
                number = event["id"].rpartition("_")[2]
                is_number = number.isascii() and number.isdecimal()
                self.calls = max(self.calls + 1, int(number) if is_number else 0)
                self.open_calls[event["id"]] = event["members"].get("content", [])
            case "compaction" if event["members"].get("status") == "in_progress":
                self.open_compactions[event["id"]] = {"status": "cancelled"}
            case "compaction":
                self.open_compactions.pop(event["id"], None)
            case "tool" if event["members"].get("status") in FINAL_STATUSES:
                self.open_calls.pop(event["id"], None)
            case "tool" if event["id"] in self.open_calls:
                content = event["members"].get("content")
                if isinstance(content, list):
                    self.open_calls[event["id"]] = cast("list[Json]", content)
            case _:
                pass
        self.texts.add(event)

    def streamed(self) -> tuple[ModelEvent, ...]:
        """Return what the model has streamed since its last entry."""
        if self.history and isinstance(self.history[-1], LocalExchange):
            # The model does not get a reply of the agent itself.
            return ()
        return tuple(
            TextDelta(text) if kind == "agent_message_chunk" else ReasoningDelta(text)
            for kind, text in self.texts
        )

    def missing_entries(self) -> list[HistoryItem]:
        """Return the entries that complete the history."""
        missing: list[HistoryItem] = []
        for results, entry in enumerate(reversed(self.history)):
            if isinstance(entry, AssistantMessage):
                calls = [event for event in entry.events if isinstance(event, ToolUse)]
                missing += [
                    ToolResult(call.name, REASON, is_failed=True) for call in calls[results:]
                ]
            if not isinstance(entry, ToolResult):
                break
        last = self.history[-1] if self.history else None
        if self.pending_prompt is None and (self.partial_reply or isinstance(last, PromptMessage)):
            missing.append(AssistantMessage(self.partial_reply))
        return missing
