"""What an agent does besides the turn of a session: its subagents and background work.

Tool calls and terminals that can be cancelled alone belong to it.

Source: ACP version 2, Prompt Lifecycle, "Background Work"; Subagents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from acp_inspector.session.conversation import Conversation
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import TerminalItem, ToolCallItem
from acp_protocol.json_values import get_string
from acp_protocol.tool_calls import is_final

MAX_DEPTH: Final = 8
"""Subagents of subagents that are followed."""
SIGNS: Final = {"running": "◐", "requires_action": "?", "idle": "●", "ended": "✓"}
WORDS: Final = {"requires_action": "needs action", "": "not known"}


@dataclass(frozen=True, slots=True)
class Work:
    """Something that runs besides a turn; its texts are untrusted."""

    kind: str
    """`subagent`, `tool_call`, `terminal`, or the agent's own word."""
    session_id: str
    """The session that it belongs to."""
    key: str
    """The id of the child session, the tool call or the terminal."""
    title: str
    state: str
    can_cancel: bool = False
    depth: int = 0
    """How many subagents stand between it and the session."""

    @property
    def sign(self) -> str:
        return SIGNS.get(self.state, "○")

    @property
    def word(self) -> str:
        return WORDS.get(self.state, self.state)


def background_of(talks: Conversations, session_id: str) -> list[Work]:
    """Return the subagents of a session and its background work, each before what works for it."""
    return list(_background(talks, session_id, 0))


def work_of(talks: Conversations, session_id: str) -> list[Work]:
    """Return the same, and what can be cancelled alone; it looks at each tool call."""
    found = background_of(talks, session_id)
    known = {(each.kind, each.key) for each in found}
    talk = talks.sessions.get(session_id)
    if talk is not None:
        more = [_call(talk, call, 0) for call in talk.open_calls()]
        more += [_terminal(talk, each, 0) for each in talk.terminals if not each.is_over]
        found += [each for each in more if each.can_cancel and (each.kind, each.key) not in known]
    return found


def _background(talks: Conversations, session_id: str, depth: int) -> Iterator[Work]:
    talk = talks.sessions.get(session_id)
    if talk is None or depth > MAX_DEPTH:
        return
    for item in talk.subagents:
        facts = item.facts
        title = facts.title or facts.description or item.session_id
        can_cancel = facts.can_cancel and facts.state != "idle"
        yield Work("subagent", session_id, item.session_id, title, facts.state, can_cancel, depth)
        yield from _background(talks, item.session_id, depth + 1)
    for entry in talk.info.background:
        kind = get_string(entry, "type")
        call = talk.known_call(get_string(entry, "toolCallId")) if kind == "tool_call" else None
        terminal = (
            talk.known_terminal(get_string(entry, "terminalId")) if kind == "terminal" else None
        )
        if call is not None:
            yield _call(talk, call, depth)
        elif terminal is not None:
            yield _terminal(talk, terminal, depth)
        elif kind != "subagent":
            yield Work(kind, session_id, "", kind or "unknown work", "running", depth=depth)


def _call(talk: Conversation, call: ToolCallItem, depth: int) -> Work:
    facts = call.facts
    is_over = is_final(facts.status)
    state = "running" if facts.status == "in_progress" else facts.status
    title, can_cancel = facts.title or call.key, facts.can_cancel and not is_over
    return Work("tool_call", talk.session_id, call.key, title, state, can_cancel, depth)


def _terminal(talk: Conversation, terminal: TerminalItem, depth: int) -> Work:
    facts = terminal.facts
    state, can_cancel = "ended" if facts.is_over else "running", facts.can_cancel
    title = facts.command or terminal.key
    return Work(
        "terminal",
        talk.session_id,
        terminal.key,
        title,
        state,
        can_cancel and not facts.is_over,
        depth,
    )
