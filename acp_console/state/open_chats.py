"""The chats that are open: any number of agents and sessions, each with its own state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from acp_console.state.chat_session import ChatSession


class OpenChats:
    """Open chats in the order in which they were opened."""

    def __init__(self) -> None:
        self.chats: list[ChatSession] = []
        self._closed: dict[Path, ChatSession] = {}
        """The last closed chat that wrote each recording."""
        self._listeners: list[Callable[[], object]] = []

    def add(self, chat: ChatSession) -> None:
        self.chats.append(chat)
        self.changed()

    def remove(self, chat: ChatSession) -> None:
        if chat in self.chats:
            self.chats.remove(chat)
            if chat.record is not None:
                self._closed[chat.record] = chat
            self.changed()

    def beside(self, chat: ChatSession, step: int) -> ChatSession:
        """Return the chat after or before one; the same if there is no other."""
        place = self.chats.index(chat)
        return self.chats[(place + step) % len(self.chats)]

    @property
    def are_busy(self) -> bool:
        """Whether a turn runs in one of them."""
        return any(chat.is_busy for chat in self.chats)

    def recording_for(self, path: Path) -> tuple[Path, ChatSession | None]:
        """Return where a new chat records, and the closed chat whose recording it continues.

        A recording has one writer: while a chat records to `path`, others record beside it.
        """
        taken = {chat.record for chat in self.chats}
        stem, dot, rest = path.name.partition(".")
        number, found = 2, path
        while found in taken:
            found = path.with_name(f"{stem}-{number}{dot}{rest}")
            number += 1
        return found, self._closed.get(found)

    def listen(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` whenever a chat was added, removed or has another state."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def changed(self) -> None:
        for listener in tuple(self._listeners):
            listener()
