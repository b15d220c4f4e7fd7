"""What rooms tell each other across the app."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from acp_console.client.permissions import PermissionAsk
from acp_protocol.errors import AcpError


@dataclass
class JournalGrew(Message, bubble=False):
    """The journal has `count` entries; readers catch up from where they stand."""

    count: int

    def can_replace(self, message: Message) -> bool:
        """Let the newest count stand for all that still wait."""
        return isinstance(message, JournalGrew)


@dataclass
class LinkOpened(Message, bubble=False):
    """The agent has answered, and a session is open."""

    session_id: str
    title: str


@dataclass
class LinkEnded(Message, bubble=False):
    """The agent is gone or could not be reached."""

    problem: AcpError


@dataclass
class TurnFailed(Message, bubble=False):
    """A prompt could not be sent or was refused; the agent is still there."""

    problem: AcpError


@dataclass
class PermissionAsked(Message, bubble=False):
    """The agent wants the user's consent."""

    ask: PermissionAsk
