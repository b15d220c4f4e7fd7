"""What a model is to the agent, whoever answers: a demo, or a service far away.

A model sees the whole history and yields what it says and wants done. The turn carries it out and
asks again, until the model wants nothing more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class Say:
    """A piece of the answer, Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """A piece of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a plan."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class ShowPlan:
    """The whole plan as it stands now."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class CallTool:
    """A tool to be run before the model goes on."""

    name: str
    arguments: Mapping[str, Json]


ModelEvent: TypeAlias = Say | Think | ShowPlan | CallTool


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something that a prompt brings along: material, and nothing that was asked for."""

    uri: str
    text: str | None
    """None for what is no text."""


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A prompt."""

    text: str
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSaid:
    """What the model yielded in one go."""

    events: tuple[ModelEvent, ...]


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """What came of a tool call; the answers to one `ModelSaid` stand in the order of its calls."""

    name: str
    text: str
    is_failed: bool = False


HistoryEntry: TypeAlias = UserSaid | ModelSaid | ToolAnswered


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool as a model is told of it."""

    name: str
    about: str
    parameters: Mapping[str, Json]
    """JSON schema of the arguments."""


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command that the user can give."""

    name: str
    about: str
    hint: str | None = None
    """What may stand behind the name; None for nothing."""


class Model(Protocol):
    """Whoever decides what is said and done."""

    @property
    def name(self) -> str:
        """What it is called on screens."""
        ...

    @property
    def commands(self) -> Sequence[Command]:
        """The slash commands that it understands."""
        ...

    def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolOffer]
    ) -> AsyncIterator[ModelEvent]:
        """Yield what comes next; no `CallTool` among it ends the turn.

        Every call in `history` has its answer, a cancelled one too.
        """
        ...
