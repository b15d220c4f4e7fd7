"""What the agent asks the user, and which of it is shown first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from acp_console.chat.chat_session import ChatSession
from acp_console.chat.elicitation import Elicitation
from acp_console.chat.logins import LoginMethod
from acp_inspector.session.items import Item, PermissionRequest, ToolCallItem


@dataclass(frozen=True, slots=True)
class LoginAsk:
    """The user has to log in, or wants to."""

    methods: tuple[LoginMethod, ...]
    can_leave: bool


@dataclass(frozen=True, slots=True, eq=False)
class PermissionAsk:
    """A tool call waits for a permission."""

    permission: PermissionRequest
    call: ToolCallItem


OpenAsk: TypeAlias = LoginAsk | PermissionAsk | Elicitation


class OpenAsks:
    """The open permission requests of a chat, its forms and its login."""

    def __init__(self, chat: ChatSession) -> None:
        self._chat = chat
        self._permissions: dict[int, PermissionAsk] = {}
        """Oldest first, by the identity of their calls."""
        self.wants_login = False
        """Whether the user wants to log in although the agent does not need it."""

    def note(self, items: Iterable[Item]) -> None:
        """Take the items that have changed."""
        for item in items:
            if isinstance(item, ToolCallItem):
                permission = item.permission
                if permission is not None and permission.outcome is None:
                    self._permissions[id(item)] = PermissionAsk(permission, item)
                else:
                    self._permissions.pop(id(item), None)
        # A login during a session is a start, too, but leaves what is asked open.
        if self._chat.state == "stopped" or not self._chat.is_open:
            self._permissions.clear()

    def first(self) -> tuple[OpenAsk | None, int]:
        """Return a login, a permission or a form, in this order, and how many wait behind it."""
        chat = self._chat
        if chat.needs_login or self.wants_login:
            return LoginAsk(tuple(chat.logins), can_leave=not chat.needs_login), 0
        every = [*self._permissions.values(), *chat.elicitations]
        return (every[0], len(every) - 1) if every else (None, 0)
