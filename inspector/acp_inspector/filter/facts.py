"""What can be asked about an entry of a journal, whoever knows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from acp_inspector.analysis.annotations import Notes
from acp_inspector.filter.paths import Path
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json, RequestId

Kind: TypeAlias = Literal[
    "request", "notification", "result", "error", "batch", "malformed", "stderr", "event"
]


class Facts(Protocol):
    """An entry as filters see it; what is not known is None, or empty."""

    @property
    def n(self) -> int:
        """Its number."""
        ...

    @property
    def at(self) -> float:
        """Seconds since the journal began."""
        ...

    @property
    def side(self) -> Side | None:
        """Who sent it."""
        ...

    @property
    def size(self) -> int | None:
        """Bytes."""
        ...

    @property
    def raw(self) -> bytes:
        """Its bytes, for searches."""
        ...

    @property
    def kind(self) -> Kind:
        """What it is."""
        ...

    @property
    def method(self) -> str | None:
        """Its own, or that of the question it answers."""
        ...

    @property
    def answered_method(self) -> str | None:
        """That of the question it answers; known without a look at the message, or not at all."""
        ...

    @property
    def ids(self) -> Sequence[RequestId]:
        """The id, where it has one."""
        ...

    @property
    def session(self) -> str | None:
        """Its own, or that of the question it answers."""
        ...

    @property
    def update(self) -> str | None:
        """What a `session/update` is about."""
        ...

    @property
    def status(self) -> str | None:
        """Of the tool call, or of what else is updated."""
        ...

    @property
    def tool(self) -> str | None:
        """Id of the tool call."""
        ...

    @property
    def tool_kind(self) -> str | None:
        """What sort of tool is called."""
        ...

    @property
    def terminal(self) -> str | None:
        """Id of the terminal."""
        ...

    @property
    def error(self) -> str | None:
        """The message of an error answer."""
        ...

    @property
    def malformed(self) -> str | None:
        """Why it is no message."""
        ...

    @property
    def code(self) -> int | None:
        """The code of an error answer."""
        ...

    @property
    def latency(self) -> float | None:
        """Seconds from the question, for an answer."""
        ...

    @property
    def is_pending(self) -> bool:
        """Whether it is a question without an answer."""
        ...

    @property
    def stderr(self) -> str | None:
        """Its text, for a piece of stderr."""
        ...

    @property
    def event(self) -> str | None:
        """Its name, for an event."""
        ...

    @property
    def notes(self) -> Notes:
        """What others know about it."""
        ...

    def values(self, path: Path) -> Sequence[Json]:
        """Return what stands at `path` in the message."""
        ...
