"""When the user is called: a chat needs them, or a long turn is over.

How they are called, and whether they look at the chat anyway, is for the screens.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from acp_console.chat.chat_session import ChatSession
from acp_console.wording.values import format_seconds
from acp_protocol.host.sanitize import single_line

LONG_TURN_S: Final = 30.0
"""Seconds from which on the end of a turn is worth a call."""
NAME: Final = 60
"""Characters of the name of a chat, at most."""


@dataclass(frozen=True, slots=True)
class Alert:
    """What the user is called for; its text is safe to show."""

    chat: ChatSession
    text: str
    needs_user: bool
    """Whether the chat goes on only with the user."""


@dataclass(slots=True)
class _Seen:
    """A chat at the last look."""

    waits: bool = False
    busy_since: float | None = None
    is_stopping: bool = False
    """Whether the user ends the turn that runs."""


class Attention:
    """Compares the chats with how they were at the last look."""

    def __init__(self, long_turn_s: float = LONG_TURN_S) -> None:
        self.long_turn_s = long_turn_s
        self._seen: dict[ChatSession, _Seen] = {}

    def look(self, chats: Iterable[ChatSession]) -> list[Alert]:
        """Return what the user is to be called for since the last look."""
        before, self._seen = self._seen, {}
        calls: list[Alert] = []
        for chat in chats:
            seen = self._seen[chat] = before.get(chat) or _Seen()
            text = self._news(chat, seen)
            if text:
                name = single_line(chat.name, NAME, is_prose=True)
                calls.append(Alert(chat, f"{name} {text}", seen.waits))
        return calls

    def _news(self, chat: ChatSession, seen: _Seen) -> str:
        waited, seen.waits = seen.waits, chat.is_waiting_for_user or chat.needs_login
        now, since = chat.journal.now, seen.busy_since
        if chat.is_busy:
            seen.busy_since = now if since is None else since
            seen.is_stopping = chat.state == "stopping"
        else:
            seen.busy_since = None
        if seen.waits:
            return "" if waited else "needs you"
        if since is None or chat.is_busy or seen.is_stopping or now - since < self.long_turn_s:
            return ""
        how = "is done" if chat.error is None else "has failed"
        return f"{how} after {format_seconds(now - since, is_rough=True)}"
