"""The fields of the language: what they hold, what fits them, what it costs to know them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from acp_inspector.filter.frames import EntryFields

ValueType: TypeAlias = Literal["text", "number", "time", "size", "id", "flag", "severity", "json"]
Source: TypeAlias = Literal["entry", "message", "exchanges", "notes"]
Operator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">=", "~", "contains", "in", "exists"]

_EQUALITY: Final[tuple[Operator, ...]] = ("==", "!=")
_ORDER: Final[tuple[Operator, ...]] = ("<", "<=", ">", ">=")
_SEARCH: Final[tuple[Operator, ...]] = ("~", "contains")

OPERATORS: Final[dict[ValueType, tuple[Operator, ...]]] = {
    "text": (*_EQUALITY, *_SEARCH, "in", "exists"),
    "number": (*_EQUALITY, *_ORDER, "in", "exists"),
    "time": (*_EQUALITY, *_ORDER, "in", "exists"),
    "size": (*_EQUALITY, *_ORDER, "in", "exists"),
    "id": (*_EQUALITY, *_SEARCH, "in", "exists"),
    "flag": ("exists",),
    "severity": (*_EQUALITY, *_ORDER, "in", "exists"),
    "json": (*_EQUALITY, *_ORDER, *_SEARCH, "in", "exists"),
}
"""Which operators fit which type."""

UNITS: Final[dict[ValueType, dict[str, tuple[int, int]]]] = {
    "time": {"ms": (1, 1000), "s": (1, 1), "m": (60, 1)},
    "size": {"b": (1, 1), "kb": (1024, 1), "mb": (1024 * 1024, 1)},
}
"""What a unit multiplies by and divides by to give seconds, or bytes."""

SEVERITIES: Final = ("info", "warning", "error")
"""From the least to the worst."""
SIDES: Final = ("client", "agent")
KINDS: Final = (
    *("request", "notification", "result", "error", "batch", "malformed", "stderr", "event"),
)
STATUSES: Final = ("pending", "in_progress", "paused", "completed", "failed", "cancelled")
"""Of versions 1 and 2."""
TOOL_KINDS: Final = (
    *("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode"),
    "other",
)
UPDATES: Final = (
    *("agent_message", "agent_message_chunk", "agent_thought", "agent_thought_chunk"),
    *("available_commands_update", "compaction_summary_chunk", "compaction_update"),
    *("config_option_update", "current_mode_update", "notice", "plan", "plan_removed"),
    *("plan_update", "session_info_update", "session_message", "session_message_chunk"),
    *("state_update", "subagent_update", "terminal_output_chunk", "terminal_update"),
    *("tool_call", "tool_call_content_chunk", "tool_call_update", "usage_update"),
    *("user_message", "user_message_chunk"),
)
"""Of versions 1 and 2."""


@dataclass(frozen=True, slots=True)
class Field:
    """What a word on the left of an operator stands for."""

    name: str
    type: ValueType
    cost: Source
    """What has to be known for it."""
    description: str
    """One line for people."""
    read: Callable[[EntryFields], Any]
    """Its value, None when absent; a sequence of values where `is_many`."""
    values: tuple[str, ...] = ()
    """The words that it may hold."""
    is_open: bool = False
    """The protocol lets others add words: a quoted one, or one that begins with `_`, is taken."""
    stands_alone: bool = False
    """It is a condition without an operator: that it is there."""
    is_many: bool = False

    @property
    def operators(self) -> tuple[Operator, ...]:
        """Those that fit its type."""
        return OPERATORS[self.type]


_ALL: Final = (
    Field("n", "number", "entry", "number of the entry, from 1", lambda facts: facts.seq),
    Field("t", "time", "entry", "time since the start", lambda facts: facts.time),
    Field("from", "text", "entry", "who sent it", lambda facts: facts.side, SIDES),
    Field("kind", "text", "message", "what it is", lambda facts: facts.kind, KINDS),
    Field(
        "method", "text", "exchanges", "its method, or its request's", lambda facts: facts.method
    ),
    Field("id", "id", "message", 'its id: 1 is not "1"', lambda facts: facts.ids, is_many=True),
    Field(
        "session", "text", "exchanges", "its session, or its request's", lambda facts: facts.session
    ),
    Field(
        "update",
        "text",
        "message",
        "what is updated",
        lambda facts: facts.update,
        UPDATES,
        is_open=True,
    ),
    Field(
        "status",
        "text",
        "message",
        "status of the tool call, or of what is updated",
        lambda facts: facts.status,
        STATUSES,
        is_open=True,
    ),
    Field("tool", "text", "message", "id of the tool call", lambda facts: facts.tool),
    Field(
        "tool.kind",
        "text",
        "message",
        "kind of tool",
        lambda facts: facts.tool_kind,
        TOOL_KINDS,
        is_open=True,
    ),
    Field("terminal", "text", "message", "id of the terminal", lambda facts: facts.terminal),
    Field(
        "error",
        "text",
        "message",
        "message of an error response",
        lambda facts: facts.error,
        stands_alone=True,
    ),
    Field(
        "malformed",
        "text",
        "message",
        "why it is no message",
        lambda facts: facts.malformed,
        stands_alone=True,
    ),
    Field("code", "number", "message", "code of an error response", lambda facts: facts.code),
    Field(
        "latency", "time", "exchanges", "time from request to response", lambda facts: facts.latency
    ),
    Field("size", "size", "entry", "bytes", lambda facts: facts.size),
    Field("text", "text", "entry", "all of it", lambda facts: facts.raw.decode(errors="replace")),
    Field(
        "turn", "number", "notes", "number of the prompt, from 1", lambda facts: facts.notes.turn
    ),
    Field(
        "finding",
        "severity",
        "notes",
        "severity of a finding",
        lambda facts: [each.severity for each in facts.notes.violations],
        SEVERITIES,
        stands_alone=True,
        is_many=True,
    ),
    Field(
        "rule",
        "text",
        "notes",
        "rule of a finding",
        lambda facts: [each.rule for each in facts.notes.violations],
        stands_alone=True,
        is_many=True,
    ),
    Field(
        "held",
        "flag",
        "notes",
        "held at a breakpoint",
        lambda facts: facts.notes.is_held or None,
        stands_alone=True,
    ),
    Field(
        "edited",
        "flag",
        "notes",
        "changed on its way",
        lambda facts: facts.notes.is_edited or None,
        stands_alone=True,
    ),
    Field(
        "marked",
        "flag",
        "notes",
        "marked by a person",
        lambda facts: facts.notes.is_marked or None,
        stands_alone=True,
    ),
    Field(
        "pending",
        "flag",
        "exchanges",
        "waits for its response",
        lambda facts: facts.is_pending or None,
        stands_alone=True,
    ),
    Field(
        "stderr", "text", "entry", "text on stderr", lambda facts: facts.stderr, stands_alone=True
    ),
    Field(
        "event", "text", "entry", "name of an event", lambda facts: facts.event, stands_alone=True
    ),
    Field(
        "schema",
        "number",
        "notes",
        "protocol version it is read by",
        lambda facts: facts.notes.version,
    ),
)

FIELDS: Final[dict[str, Field]] = {field.name: field for field in _ALL}
"""Every field by its name."""
