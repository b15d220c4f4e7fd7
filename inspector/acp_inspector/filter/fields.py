"""The fields of the filter language: their types, operators, and what they are read from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias, get_args

from acp_inspector.filter.frames import EntryFields
from acp_inspector.views.annotations import SEVERITIES
from acp_protocol.schema.newer import UPDATES as NEWER
from acp_protocol.schema.words import TOOL_CALL_STATUSES, TOOL_KINDS, UpdateKind

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
"""The operators of each type."""

UNITS: Final[dict[ValueType, dict[str, tuple[int, int]]]] = {
    "time": {"ms": (1, 1000), "s": (1, 1), "m": (60, 1)},
    "size": {"b": (1, 1), "kb": (1024, 1), "mb": (1024 * 1024, 1)},
}
"""Factor and divisor of each unit, to convert to seconds or bytes."""

SIDES: Final = ("client", "agent")
KINDS: Final = (
    *("request", "notification", "result", "error", "batch", "malformed", "stderr", "event"),
)


@dataclass(frozen=True, slots=True)
class Field:
    """A name on the left of an operator."""

    name: str
    type: ValueType
    cost: Source
    """What is needed to read it."""
    description: str
    """One line to show to the user."""
    attribute: str
    """The attribute of `EntryFields` that holds its value, or a sequence of values if `is_many`."""
    values: tuple[str, ...] = ()
    """The known values."""
    is_open: bool = False
    """Whether other values are possible; they must be quoted or begin with `_`."""
    stands_alone: bool = False
    """Whether the name alone is a condition: the field exists."""
    is_many: bool = False

    @property
    def operators(self) -> tuple[Operator, ...]:
        return OPERATORS[self.type]

    @property
    def read(self) -> Callable[[EntryFields], Any]:
        """Returns the value; None if absent, False or empty for a flag or several values."""
        return attrgetter(self.attribute)


_UPDATES: Final = tuple(sorted({*get_args(UpdateKind), *NEWER[1], *NEWER[2]}))
_ALL: Final = (
    Field("n", "number", "entry", "number of the entry, from 1", "seq"),
    Field("t", "time", "entry", "time since the start", "time"),
    Field("from", "text", "entry", "the sender", "side", SIDES),
    Field("kind", "text", "message", "kind of entry", "kinds", KINDS, is_many=True),
    Field("method", "text", "exchanges", "method of the message or its request", "method"),
    Field("id", "id", "message", 'request id; 1 is not "1"', "ids", is_many=True),
    Field("session", "text", "exchanges", "session of the message or its request", "session"),
    Field("update", "text", "message", "kind of update", "update", _UPDATES, is_open=True),
    Field(
        "status",
        "text",
        "message",
        "status of the tool call or update",
        "status",
        TOOL_CALL_STATUSES[2],
        is_open=True,
    ),
    Field("tool", "text", "message", "id of the tool call", "tool"),
    Field("tool.kind", "text", "message", "kind of tool", "tool_kind", TOOL_KINDS[2], is_open=True),
    Field("terminal", "text", "message", "id of the terminal", "terminal"),
    Field("error", "text", "message", "message of an error response", "error", stands_alone=True),
    Field(
        "malformed",
        "text",
        "message",
        "why it is not a valid message",
        "malformed",
        stands_alone=True,
    ),
    Field("code", "number", "message", "code of an error response", "code"),
    Field("latency", "time", "exchanges", "time from request to response", "latency"),
    Field("gap", "time", "notes", "time since the previous frame", "notes.gap"),
    Field("size", "size", "entry", "bytes", "size"),
    Field("text", "text", "entry", "the whole text", "text"),
    Field("turn", "number", "notes", "number of the prompt, from 1", "notes.turn"),
    Field(
        "finding",
        "severity",
        "notes",
        "severity of a finding",
        "severities",
        SEVERITIES,
        stands_alone=True,
        is_many=True,
    ),
    Field("rule", "text", "notes", "rule of a finding", "rules", stands_alone=True, is_many=True),
    Field("held", "flag", "notes", "paused at a breakpoint", "notes.is_held", stands_alone=True),
    Field(
        "edited",
        "flag",
        "notes",
        "changed by a breakpoint, rule or add-on",
        "notes.is_edited",
        stands_alone=True,
    ),
    Field("marked", "flag", "notes", "marked by the user", "notes.is_marked", stands_alone=True),
    Field(
        "pending",
        "flag",
        "exchanges",
        "request without a response",
        "is_pending",
        stands_alone=True,
    ),
    Field("stderr", "text", "entry", "text on stderr", "stderr", stands_alone=True),
    Field("event", "text", "entry", "name of an event", "event", stands_alone=True),
    Field("schema", "number", "notes", "protocol version used to read it", "notes.version"),
)

FIELDS: Final[dict[str, Field]] = {field.name: field for field in _ALL}
"""The fields by name."""
