"""One session as its user sees it.

The first mention of a message, a tool call or a plan fixes its place; later frames change it there.

Source: ACP, Prompt Turn; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

from acp_inspector.analysis.items import (
    AgentMessage,
    Item,
    Notice,
    Plan,
    Terminal,
    Text,
    Thought,
    ToolCall,
    TurnEnd,
    UserMessage,
    entries,
    member,
    string,
)
from acp_protocol.jsonrpc import Json

Spoken = TypeVar("Spoken", UserMessage, AgentMessage, Thought)


@dataclass(frozen=True, slots=True)
class Change:
    """What one frame did to a conversation; `item` None: to its surroundings only."""

    session_id: str
    item: Item | None
    is_new: bool = False


class Conversation:
    """The state of a session: its items, and what surrounds them."""

    def __init__(self, session_id: str, version: int = 1) -> None:
        self.session_id = session_id
        self.version = version
        self.items: list[Item] = []
        """In the order of their first mention."""
        self.plan: Plan | None = None
        self.title: str | None = None
        self.modes: Json = None
        self.current_mode: str | None = None
        self.config_options: list[Json] = []
        self.commands: list[Json] = []
        self.usage: Json = None
        self.open_prompts = 0
        self.state: str | None = None
        """What the agent says it is at (version 2); None until it has said so."""
        self.states = 0
        """How often it has said so."""
        self.unbound: list[UserMessage] = []
        """Prompts that have no message id yet (version 2), oldest first."""
        self._calls: dict[str, ToolCall] = {}
        self._terminals: dict[str, Terminal] = {}
        self._messages: dict[tuple[type[Text], str], Text] = {}
        self._count = 0

    @property
    def is_busy(self) -> bool:
        """Whether a prompt waits for its answer, or the agent is at work."""
        return self.open_prompts > 0 or self.state not in {None, "idle"}

    def add(self, item: Item) -> Change:
        """Append `item`."""
        self.items.append(item)
        return Change(self.session_id, item, is_new=True)

    def notice(self, text: str) -> Change:
        """Append a line that tells of something."""
        return self.add(Notice(self.next_key("notice"), text))

    def next_key(self, kind: str) -> str:
        """Return a key that no other item has."""
        self._count += 1
        return f"{kind}-{self._count}"

    # Messages

    def chunk(self, kind: type[Spoken], update: Json) -> Change:
        """Add a chunk to the message it belongs to: by its id, or to the last one of its kind."""
        message, is_new = self._message(kind, string(update, "messageId") or None)
        message.add(member(update, "content"))
        return Change(self.session_id, message, is_new)

    def message(self, kind: type[Spoken], update: Json) -> Change:
        """Replace or patch the whole message that the update names (version 2)."""
        found, is_new = self._message(kind, string(update, "messageId") or None)
        if "content" in (update or {}):
            found.replace(entries(member(update, "content")))
        return Change(self.session_id, found, is_new)

    def bind(self, message: UserMessage, message_id: str) -> None:
        """Let a prompt be known by the id that the agent has given it."""
        message.message_id = message_id
        self._messages[UserMessage, message_id] = message
        if message in self.unbound:
            self.unbound.remove(message)

    def knows(self, message_id: str) -> bool:
        """Tell whether a user message of that id is there."""
        return (UserMessage, message_id) in self._messages

    def _message(self, kind: type[Spoken], message_id: str | None) -> tuple[Spoken, bool]:
        if message_id is not None and (kind, message_id) in self._messages:
            return cast("Spoken", self._messages[kind, message_id]), False
        last = self.items[-1] if self.items else None
        if isinstance(last, kind) and (message_id is None or last.message_id is None):
            return last, False
        message = kind(self.next_key(kind.__name__.lower()), message_id)
        if message_id is not None:
            self._messages[kind, message_id] = message
        self.items.append(message)
        return message, True

    # Tool calls and their terminals

    def call(self, key: str) -> tuple[ToolCall, bool]:
        """Return the tool call of that id, and whether it is new."""
        if key in self._calls:
            return self._calls[key], False
        call = self._calls[key] = ToolCall(key)
        self.items.append(call)
        return call, True

    def terminal(self, key: str) -> Terminal:
        """Return the terminal of that id."""
        return self._terminals.setdefault(key, Terminal(key))

    def shower(self, terminal: Terminal) -> ToolCall | None:
        """Return the tool call that shows `terminal`, the latest if several do."""
        calls = reversed(self._calls.values())
        return next((call for call in calls if terminal.key in call.terminals), None)

    def open_calls(self) -> list[ToolCall]:
        """Return the tool calls that have not ended."""
        ended = {"completed", "failed", "cancelled"}
        return [call for call in self._calls.values() if call.status not in ended]

    # Turns and surroundings

    def prompted(self, blocks: Json) -> UserMessage:
        """Append what the user says; it waits for its answer."""
        self.open_prompts += 1
        message = UserMessage(self.next_key("usermessage"))
        message.replace(entries(blocks))
        self.items.append(message)
        if self.version >= 2:
            self.unbound.append(message)
        return message

    def ended(
        self, stop_reason: str | None, error: str | None = None, usage: Json = None
    ) -> Change:
        """Append the end of a turn."""
        return self.add(TurnEnd(self.next_key("turnend"), stop_reason, error, usage))

    def offer(self, source: Json) -> None:
        """Take over what there is to choose from, as far as an answer or an update tells it."""
        if isinstance(modes := member(source, "modes"), dict):
            self.modes = cast("Json", modes)
            self.current_mode = string(modes, "currentModeId") or None
        if isinstance(member(source, "configOptions"), list):
            self.config_options = entries(member(source, "configOptions"))
            self._read_mode()
        if isinstance(member(source, "availableCommands"), list):
            self.commands = entries(member(source, "availableCommands"))

    def _read_mode(self) -> None:
        """Version 2 has its modes among the options."""
        for option in self.config_options:
            if member(option, "category") == "mode":
                self.current_mode = string(option, "currentValue") or self.current_mode
