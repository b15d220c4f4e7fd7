"""What a conversation consists of: the things that a user sees of a session.

They belong to the fold that changes them, and are there for everyone else to read.

Source: ACP, Prompt Turn; Tool Calls; Agent Plan; the same of version 2.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from acp_protocol.jsonrpc import Json, RequestId


def member(value: Json, name: str) -> Json:
    """Return a member of what may be an object; None for what is not there."""
    return cast("Mapping[str, Json]", value).get(name) if isinstance(value, Mapping) else None


def string(value: Json, name: str) -> str:
    """Return a member that is a string; empty for what is none."""
    found = member(value, name)
    return found if isinstance(found, str) else ""


def entries(value: Json) -> list[Json]:
    """Return the entries of what may be a list."""
    return cast("list[Json]", value) if isinstance(value, list) else []


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

    def replace(self, blocks: list[Json]) -> None:
        """Take `blocks` for all of the content."""
        self._parts.clear()
        self.blocks.clear()
        for block in blocks:
            self.add(block)

    def add(self, block: Json) -> None:
        """Append a content block."""
        text = member(block, "text") if member(block, "type") == "text" else None
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
class Terminal:
    """A terminal of the agent that a tool call shows (version 2)."""

    key: str
    command: str | None = None
    cwd: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    is_over: bool = False
    _parts: list[bytes] = field(default_factory=list[bytes])

    @property
    def text(self) -> str:
        """All of its output so far."""
        if len(self._parts) > 1:
            self._parts = [b"".join(self._parts)]
        return self._parts[0].decode(errors="replace") if self._parts else ""

    def add(self, data: str) -> None:
        """Append output, which comes in base64; what is none is left out."""
        try:
            self._parts.append(b64decode(data, validate=True))
        except ValueError:
            return

    def replace(self, data: str) -> None:
        """Take `data` for all of the output."""
        self._parts.clear()
        self.add(data)


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
    terminals: dict[str, Terminal] = field(default_factory=dict[str, "Terminal"])
    """The terminals that its content shows, by their ids."""


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
