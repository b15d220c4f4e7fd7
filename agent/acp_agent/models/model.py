"""What a model is to the agent, whoever answers: a demo, or a service far away.

A model sees the whole history and yields what it says and wants done. The turn carries it out and
asks again, until the model wants nothing more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

from acp_protocol.errors import AcpError
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
    id: str = ""
    """What the model calls this call; empty where its place says enough."""
    fault: str | None = None
    """Why it cannot be carried out as it was written; then `arguments` are empty."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """What only the model that made it can read, and wants back with the history as it was."""

    maker: str
    """The name of the model."""
    content: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Used:
    """What a reply has taken, in tokens; it stands for the whole reply."""

    read: int
    """Of what was sent, cached or not."""
    written: int
    """Of what came back, thoughts too."""
    thought: int = 0
    """Of `written`, for thoughts, where the service tells."""
    cached_read: int = 0
    """Of `read`, taken from a cache."""
    cached_written: int = 0
    """Of `read`, put into a cache."""
    cost: float | None = None
    """In US dollars; None where nobody says what it costs."""
    window: int | None = None
    """How much the model can bear in mind at once; None where nobody says."""

    @property
    def total(self) -> int:
        """What was sent and what came back."""
        return self.read + self.written

    def __add__(self, other: Used) -> Used:
        """Return what both have taken together; how full a mind is cannot be added."""
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Used(
            self.read + other.read,
            self.written + other.written,
            self.thought + other.thought,
            self.cached_read + other.cached_read,
            self.cached_written + other.cached_written,
            sum(costs) if costs else None,
        )


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why the reply ended, where that ends the turn too; the last event if it comes at all."""

    reason: Literal["max_tokens", "refusal"]
    why: str = ""
    """For the user, the end of a sentence; empty where what was said tells it."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The reply is not over: asked once more behind it, the model goes on; the last event."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """Nothing comes for a while: the service is asked again later. It is no part of the reply."""

    why: str
    """A sentence."""
    seconds: float


ModelEvent: TypeAlias = (
    Say | Think | ShowPlan | CallTool | Sealed | Used | Stopped | Paused | Delayed
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something that a prompt brings along: material, and nothing that was asked for."""

    uri: str
    text: str | None
    """None for what is no text."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a prompt brings along."""

    mime_type: str
    data: str
    """Base64."""


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A prompt."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSaid:
    """What the model yielded in one go, without what it took; of its end only a refusal."""

    events: tuple[ModelEvent, ...]


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """What came of a tool call; the answers to one `ModelSaid` stand in the order of its calls."""

    name: str
    text: str
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class Guidance:
    """How the project wants to be worked in; it stands behind what the model is told by us."""

    text: str


HistoryEntry: TypeAlias = UserSaid | ModelSaid | ToolAnswered | Guidance


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


class ModelFailedError(AcpError):
    """A model could not answer; the message is a sentence for the user and holds no secret."""

    def __init__(
        self, sentence: str, *, needs_key: bool = False, is_too_long: bool = False
    ) -> None:
        super().__init__(sentence)
        self.is_too_long = is_too_long
        """Whether it was told more than it can bear in mind."""
        self.needs_key = needs_key
        """Whether the user has to bring a key, or another one."""


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
        """Yield what comes next; neither a `CallTool` nor `Paused` among it ends the turn.

        Every call in `history` has its answer, a cancelled one too.

        Raises:
            ModelFailedError: it cannot answer, or not to the end.
        """
        ...


@runtime_checkable
class Onlooker(Protocol):
    """A model that can say whether it looks at images; one that is none does not."""

    @property
    def takes_images(self) -> bool:
        """Whether it looks at the images of a prompt."""
        ...


@runtime_checkable
class Thinker(Protocol):
    """A model that can be told how hard to think, in one session as in no other."""

    def at(self, effort: str) -> Model:
        """Return the model as it thinks with that effort: low, medium or high."""
        ...


@runtime_checkable
class Scripted(Protocol):
    """A model that understands its own orders, and no words beside."""

    @property
    def is_scripted(self) -> bool:
        """Whether it is one."""
        ...


def is_scripted(model: Model) -> bool:
    """Return whether `model` does only what it knows, so that nothing can be explained to it."""
    return isinstance(model, Scripted) and model.is_scripted


def takes_images(model: Model) -> bool:
    """Return whether images may be among a prompt for `model`."""
    return isinstance(model, Onlooker) and model.takes_images


Effort = Literal["low", "medium", "high"]
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    read: float
    written: float
    cached_read: float | None = None
    """As `read` where it is None; so is the next one."""
    cached_written: float | None = None

    def of(self, used: Used) -> float:
        """Return what `used` costs."""
        from_cache = self.read if self.cached_read is None else self.cached_read
        into_cache = self.read if self.cached_written is None else self.cached_written
        fresh = max(0, used.read - used.cached_read - used.cached_written)
        total = fresh * self.read + used.written * self.written
        total += used.cached_read * from_cache + used.cached_written * into_cache
        return total / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What a user wants of a model and knows of it; None leaves it to the service."""

    thinking: Effort | int | None = None
    """How hard to think; a number is the most tokens to think with."""
    max_tokens: int | None = None
    """The most that one reply may be long."""
    window: int | None = None
    """Tokens that the model can bear in mind at once."""
    prices: Prices | None = None
    images: bool | None = None
    """Whether the model looks at images."""
    system_prompt: str | None = None
    """What it is told besides, before the conversation begins."""
    is_coding: bool = True
    """Whether it is told how to work as a coding agent."""

    def priced(self, used: Used) -> Used:
        """Return `used` with what it costs, if the service has not said it and prices are known."""
        if used.cost is not None or self.prices is None:
            return used
        return replace(used, cost=self.prices.of(used))
