"""What a user sees of a session: the fold of its frames, which never fails.

The first mention of a message, a tool call or a plan fixes its place; later frames change it there.
Whatever is not known is kept as a notice: nothing that an agent says is lost in silence.

Source: ACP, Prompt Turn; Tool Calls; Agent Plan; Session Modes (version 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Failure,
    Json,
    Notification,
    Request,
    RequestId,
    Result,
    id_key,
    read_message,
)


@dataclass(slots=True)
class Permission:
    """A question for consent; `outcome` None: it is still open."""

    request_id: RequestId
    options: list[Json]
    outcome: Json | None = None


@dataclass(slots=True, eq=False)
class Text:
    """Text that grows by chunks."""

    key: str
    message_id: str | None = None
    _parts: list[str] = field(default_factory=list[str])
    blocks: list[Json] = field(default_factory=list[Json])
    """Content that is no text."""

    @property
    def text(self) -> str:
        """All of it so far."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def add(self, block: Json) -> None:
        """Append a content block."""
        text = _member(block, "text") if _member(block, "type") == "text" else None
        if isinstance(text, str):
            self._parts.append(text)
        else:
            self.blocks.append(block)


@dataclass(slots=True, eq=False)
class UserMessage(Text):
    """What the user said."""


@dataclass(slots=True, eq=False)
class AgentMessage(Text):
    """What the agent said, Markdown."""


@dataclass(slots=True, eq=False)
class Thought(Text):
    """What the agent thought aloud."""


@dataclass(slots=True, eq=False)
class ToolCall:
    """Something that the agent does."""

    key: str
    title: str = ""
    kind: str = "other"
    status: str = "pending"
    content: list[Json] = field(default_factory=list[Json])
    locations: list[Json] = field(default_factory=list[Json])
    raw_input: Json = None
    raw_output: Json = None
    permission: Permission | None = None


@dataclass(slots=True, eq=False)
class Plan:
    """What the agent intends; replaced as a whole."""

    key: str
    entries: list[Json] = field(default_factory=list[Json])


@dataclass(slots=True, eq=False)
class TurnEnd:
    """The end of a turn."""

    key: str
    stop_reason: str | None = None
    error: str | None = None
    usage: Json = None


@dataclass(slots=True, eq=False)
class Notice:
    """Something worth a line."""

    key: str
    text: str


Item: TypeAlias = UserMessage | AgentMessage | Thought | ToolCall | Plan | TurnEnd | Notice


@dataclass(frozen=True, slots=True)
class Change:
    """What one frame did to a conversation; `item` None: to its surroundings only."""

    session_id: str
    item: Item | None
    is_new: bool = False


_QUIET: Final = frozenset(
    {"available_commands_update", "config_option_update", "session_info_update", "usage_update"}
)


class Conversation:
    """One session as its user sees it."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
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
        self._calls: dict[str, ToolCall] = {}
        self._messages: dict[tuple[type[Text], str], Text] = {}
        self._count = 0

    @property
    def is_busy(self) -> bool:
        """Whether a prompt waits for its answer."""
        return self.open_prompts > 0

    def call(self, key: str) -> tuple[ToolCall, bool]:
        """Return the tool call of that id, and whether it is new."""
        if key in self._calls:
            return self._calls[key], False
        call = self._calls[key] = ToolCall(key)
        self.items.append(call)
        return call, True

    def add(self, item: Item) -> Change:
        """Append `item`."""
        self.items.append(item)
        return Change(self.session_id, item, is_new=True)

    def next_key(self, kind: str) -> str:
        """Return a key that no other item has."""
        self._count += 1
        return f"{kind}-{self._count}"

    def chunk(self, kind: type[UserMessage | AgentMessage | Thought], update: Json) -> Change:
        """Add a chunk to the message it belongs to: by its id, or to the last one of its kind."""
        block = _member(update, "content")
        message_id = _member(update, "messageId")
        message_id = message_id if isinstance(message_id, str) else None
        found = self._message(kind, message_id)
        if found is None:
            message = kind(self.next_key(kind.__name__.lower()), message_id)
            if message_id is not None:
                self._messages[kind, message_id] = message
            message.add(block)
            return self.add(message)
        found.add(block)
        return Change(self.session_id, found)

    def _message(
        self, kind: type[UserMessage | AgentMessage | Thought], message_id: str | None
    ) -> UserMessage | AgentMessage | Thought | None:
        if message_id is not None and (kind, message_id) in self._messages:
            return cast("AgentMessage", self._messages[kind, message_id])
        last = self.items[-1] if self.items else None
        if isinstance(last, kind) and (message_id is None or last.message_id is None):
            return last
        return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request whose answer matters to a conversation."""

    session_id: str
    method: str
    permission: Permission | None = None
    call: ToolCall | None = None
    mode: str | None = None


class Conversations:
    """The conversations of one connection."""

    def __init__(self) -> None:
        self.sessions: dict[str, Conversation] = {}
        self._asked: dict[tuple[Side, tuple[str, RequestId]], _Asked] = {}
        self._updates: dict[str, Callable[[Conversation, Json], Change]] = {
            "user_message_chunk": _user_chunk,
            "agent_message_chunk": lambda talk, update: talk.chunk(AgentMessage, update),
            "agent_thought_chunk": lambda talk, update: talk.chunk(Thought, update),
            "tool_call": _tool_call,
            "tool_call_update": _tool_call,
            "plan": _plan,
            "current_mode_update": _mode,
        }

    def get(self, session_id: str) -> Conversation:
        """Return the conversation of a session, an empty one if nothing was said yet."""
        return self.sessions.setdefault(session_id, Conversation(session_id))

    def apply(self, frame: Frame) -> list[Change]:
        """Take the next frame; return what it changed. Never fails, whatever the frame says."""
        match read_message(frame.raw):
            case Request() as request:
                return self._request(frame.side, request)
            case Notification(method="session/update", params=params) if frame.side == "agent":
                return self._update(params)
            case Result() | Failure() as answer:
                asker: Side = "agent" if frame.side == "client" else "client"
                asked = self._asked.pop((asker, id_key(answer.id)), None)
                return [] if asked is None else self._answer(asked, answer)
            case _:
                return []

    def _request(self, side: Side, request: Request) -> list[Change]:
        session_id = _member(request.params, "sessionId")
        key = (side, id_key(request.id))
        if side == "client" and request.method in {"session/new", "session/set_mode"}:
            mode = _string(request.params, "modeId") or None
            known = session_id if isinstance(session_id, str) else ""
            self._asked[key] = _Asked(known, request.method, mode=mode)
            return []
        if not isinstance(session_id, str):
            return []
        talk = self.get(session_id)
        if side == "client" and request.method == "session/prompt":
            self._asked[key] = _Asked(session_id, request.method)
            talk.open_prompts += 1
            message = UserMessage(talk.next_key("usermessage"))
            for block in _list(_member(request.params, "prompt")):
                message.add(block)
            return [talk.add(message)]
        if side == "agent" and request.method == "session/request_permission":
            change = _tool_call(talk, _member(request.params, "toolCall"))
            call = change.item
            assert isinstance(call, ToolCall)
            call.permission = Permission(request.id, _list(_member(request.params, "options")))
            self._asked[key] = _Asked(session_id, request.method, call.permission, call)
            return [change]
        return []

    def _update(self, params: Json) -> list[Change]:
        session_id, update = _member(params, "sessionId"), _member(params, "update")
        if not isinstance(session_id, str):
            return []
        talk = self.get(session_id)
        name = _string(update, "sessionUpdate")
        if name in self._updates:
            return [self._updates[name](talk, update)]
        if name in _QUIET:
            return [_surroundings(talk, name, update)]
        return [talk.add(Notice(talk.next_key("notice"), f"update {name or 'without a name'}"))]

    def _answer(self, asked: _Asked, answer: Result | Failure) -> list[Change]:
        result = answer.result if isinstance(answer, Result) else None
        if asked.method == "session/new":
            return self._opened(result)
        talk = self.get(asked.session_id)
        if asked.permission is not None:
            outcome = _member(result, "outcome")
            asked.permission.outcome = outcome if outcome is not None else {"outcome": "cancelled"}
            return [Change(asked.session_id, asked.call)]
        if asked.method == "session/set_mode":
            if isinstance(answer, Result) and asked.mode is not None:
                talk.current_mode = asked.mode
            return [Change(asked.session_id, None)]
        return self._turn_ended(talk, answer)

    def _turn_ended(self, talk: Conversation, answer: Result | Failure) -> list[Change]:
        talk.open_prompts -= 1
        end = TurnEnd(talk.next_key("turnend"))
        if isinstance(answer, Failure):
            end.error = f"{answer.message} ({answer.code})"
        else:
            end.stop_reason = _string(answer.result, "stopReason") or None
            end.usage = _member(answer.result, "usage")
        changes: list[Change] = []
        if end.stop_reason == "cancelled":
            # Version 1 has no such status: the client has to show open calls as cancelled itself.
            for item in talk.items:
                if isinstance(item, ToolCall) and item.status in {"pending", "in_progress"}:
                    item.status = "cancelled"
                    changes.append(Change(talk.session_id, item))
        return [*changes, talk.add(end)]

    def _opened(self, result: Json) -> list[Change]:
        session_id = _member(result, "sessionId")
        if not isinstance(session_id, str):
            return []
        talk = self.get(session_id)
        talk.modes = _member(result, "modes")
        talk.current_mode = _string(talk.modes, "currentModeId") or None
        talk.config_options = _list(_member(result, "configOptions"))
        return [Change(session_id, None)]


def _user_chunk(talk: Conversation, update: Json) -> Change:
    """Take the user's words from an agent, unless it only echoes the prompt that is running."""
    last = next((item for item in reversed(talk.items) if isinstance(item, UserMessage)), None)
    text = _member(_member(update, "content"), "text")
    if talk.is_busy and last is not None and isinstance(text, str) and text in last.text:
        return Change(talk.session_id, None)
    return talk.chunk(UserMessage, update)


def _tool_call(talk: Conversation, update: Json) -> Change:
    call, is_new = talk.call(_string(update, "toolCallId") or talk.next_key("toolcall"))
    for name in ("title", "kind", "status"):
        if value := _string(update, name):
            setattr(call, name, value)
    for name in ("content", "locations"):
        if isinstance(_member(update, name), list):
            setattr(call, name, _list(_member(update, name)))
    for name, attribute in (("rawInput", "raw_input"), ("rawOutput", "raw_output")):
        if (value := _member(update, name)) is not None:
            setattr(call, attribute, value)
    return Change(talk.session_id, call, is_new)


def _plan(talk: Conversation, update: Json) -> Change:
    is_new = talk.plan is None or talk.plan not in talk.items
    if talk.plan is None:
        talk.plan = Plan(talk.next_key("plan"))
        talk.items.append(talk.plan)
    talk.plan.entries = _list(_member(update, "entries"))
    return Change(talk.session_id, talk.plan, is_new)


def _mode(talk: Conversation, update: Json) -> Change:
    mode = _string(update, "currentModeId")
    talk.current_mode = mode or talk.current_mode
    return talk.add(Notice(talk.next_key("notice"), f"mode: {mode}"))


def _surroundings(talk: Conversation, name: str, update: Json) -> Change:
    match name:
        case "available_commands_update":
            talk.commands = _list(_member(update, "availableCommands"))
        case "config_option_update":
            talk.config_options = _list(_member(update, "configOptions"))
        case "usage_update":
            talk.usage = update
        case _:
            title = _member(update, "title")
            talk.title = title if isinstance(title, str) else talk.title
    return Change(talk.session_id, None)


def _member(value: Json, name: str) -> Json:
    return cast("Mapping[str, Json]", value).get(name) if isinstance(value, Mapping) else None


def _string(value: Json, name: str) -> str:
    found = _member(value, name)
    return found if isinstance(found, str) else ""


def _list(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []
