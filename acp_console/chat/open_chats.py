"""The chats that are open: any number of agents and sessions, each with its own state."""

from __future__ import annotations

from pathlib import Path

from acp_console.chat.chat_session import ChatSession
from acp_console.chat.running_agent import RunningAgent
from acp_console.listeners import Listeners


class OpenChats:
    """Open chats in the order in which they were opened."""

    def __init__(self) -> None:
        self.chats: list[ChatSession] = []
        self._closed: dict[Path, RunningAgent] = {}
        """The last closed agent that wrote each recording."""
        self.changed = Listeners()
        """Called whenever a chat was added, removed or has another state."""

    def add(self, chat: ChatSession) -> None:
        self.chats.append(chat)
        self.changed()

    def remove(self, chat: ChatSession) -> None:
        if chat in self.chats:
            self.chats.remove(chat)
            if chat.record is not None and chat.agent not in self.agents:
                self._closed[chat.record] = chat.agent
            self.changed()

    @property
    def agents(self) -> set[RunningAgent]:
        return {chat.agent for chat in self.chats}

    def beside(self, chat: ChatSession, step: int) -> ChatSession:
        """Return the chat after or before one; the same if there is no other."""
        place = self.chats.index(chat)
        return self.chats[(place + step) % len(self.chats)]

    @property
    def are_busy(self) -> bool:
        """Whether a turn runs in one of them."""
        return any(chat.is_busy for chat in self.chats)

    def recording_for(self, path: Path) -> tuple[Path, RunningAgent | None]:
        """Return where a new agent records, and the closed agent whose recording it continues.

        A recording has one writer: while an agent records to `path`, others record beside it.
        """
        taken = {agent.record for agent in self.agents}
        stem, dot, rest = path.name.partition(".")
        number, found = 2, path
        while found in taken:
            found = path.with_name(f"{stem}-{number}{dot}{rest}")
            number += 1
        return found, self._closed.get(found)
