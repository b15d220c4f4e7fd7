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
class TextDelta:
    """A piece of the answer, Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One entry of a plan."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class PlanChange:
    """The whole plan as it stands now."""

    entries: tuple[PlanStep, ...]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool to be run before the model goes on."""

    name: str
    arguments: Mapping[str, Json]
    id: str = ""
    """What the model calls this call; empty where its place says enough."""
    fault: str | None = None
    """Why it cannot be carried out as it was written; then `arguments` are empty."""


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """What only the model that made it can read, and wants back with the history as it was."""

    model: str
    """The name of the model."""
    content: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What a reply has taken, in tokens; it stands for the whole reply."""

    input_tokens: int
    """Of what was sent, cached or not."""
    output_tokens: int
    """Of what came back, thoughts too."""
    reasoning_tokens: int = 0
    """Of `written`, for thoughts, where the service tells."""
    cache_read_tokens: int = 0
    """Of `read`, taken from a cache."""
    cache_write_tokens: int = 0
    """Of `read`, put into a cache."""
    cost: float | None = None
    """In US dollars; None where it is not known what it costs."""
    window: int | None = None
    """The size of the context window in tokens; None where it is not known."""

    @property
    def total(self) -> int:
        """What was sent and what came back."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Return what both have taken together; how full a mind is cannot be added."""
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            sum(costs) if costs else None,
        )


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the reply ended, where that ends the turn too; the last event if it comes at all."""

    reason: Literal["max_tokens", "refusal"]
    why: str = ""
    """For the user, the end of a sentence; empty where what was said tells it."""


@dataclass(frozen=True, slots=True)
class Continue:
    """The reply is not over: asked once more behind it, the model goes on; the last event."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """Nothing comes for a while: the service is asked again later. It is no part of the reply."""

    reason: str
    """A sentence."""
    seconds: float


ModelEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | PlanChange
    | ToolUse
    | ProviderBlock
    | TokenUsage
    | Stop
    | Continue
    | Retrying
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
class PromptMessage:
    """A prompt."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model yielded in one go, without what it took; of its end only a refusal."""

    events: tuple[ModelEvent, ...]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool call; the answers to one `ModelSaid` stand in the order of its calls."""

    name: str
    text: str
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class ProjectInstructions:
    """How the project wants to be worked in; it stands behind what the model is shown by us."""

    text: str


HistoryEntry: TypeAlias = PromptMessage | AssistantMessage | ToolResult | ProjectInstructions


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    """JSON schema of the arguments."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command that the user can give."""

    name: str
    description: str
    hint: str | None = None
    """What may follow the name; None for nothing."""


class ModelFailedError(AcpError):
    """A model could not answer; the message is a sentence for the user and holds no secret."""

    def __init__(
        self, sentence: str, *, needs_key: bool = False, is_too_long: bool = False
    ) -> None:
        super().__init__(sentence)
        self.is_too_long = is_too_long
        """Whether it was sent more than its context window holds."""
        self.needs_key = needs_key
        """Whether the user has to bring a key, or another one."""


class Model(Protocol):
    """Whoever decides what is said and done."""

    @property
    def name(self) -> str:
        """What it is called on screens."""
        ...

    @property
    def commands(self) -> Sequence[SlashCommand]:
        """The slash commands that it understands."""
        ...

    def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        """Yield what comes next; neither a `CallTool` nor `Paused` among it ends the turn.

        Every call in `history` has its result, a cancelled one too.

        Raises:
            ModelFailedError: it cannot answer, or not to the end.
        """
        ...


@runtime_checkable
class SupportsImages(Protocol):
    """A model that can say whether it looks at images; one that is none does not."""

    @property
    def takes_images(self) -> bool:
        """Whether it looks at the images of a prompt."""
        ...


@runtime_checkable
class SupportsEffort(Protocol):
    """A model that can be set how hard to think, in one session as in no other."""

    def at(self, effort: str) -> Model:
        """Return the model as it thinks with that effort: low, medium or high."""
        ...


@runtime_checkable
class IsDemo(Protocol):
    """A model that understands its own orders, and no words beside."""

    @property
    def is_scripted(self) -> bool:
        """Whether it is one."""
        ...


def is_scripted(model: Model) -> bool:
    """Return whether `model` does only what it knows, so that nothing can be explained to it."""
    return isinstance(model, IsDemo) and model.is_scripted


def takes_images(model: Model) -> bool:
    """Return whether images may be among a prompt for `model`."""
    return isinstance(model, SupportsImages) and model.takes_images


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

    def of(self, used: TokenUsage) -> float:
        """Return what `used` costs."""
        from_cache = self.read if self.cached_read is None else self.cached_read
        into_cache = self.read if self.cached_written is None else self.cached_written
        fresh = max(0, used.input_tokens - used.cache_read_tokens - used.cache_write_tokens)
        total = fresh * self.read + used.output_tokens * self.written
        total += used.cache_read_tokens * from_cache + used.cache_write_tokens * into_cache
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
    """What it gets besides, before the conversation begins."""
    is_coding: bool = True
    """Whether it is instructed how to work as a coding agent."""

    def priced(self, used: TokenUsage) -> TokenUsage:
        """Return `used` with what it costs, if the service has not said it and prices are known."""
        if used.cost is not None or self.prices is None:
            return used
        return replace(used, cost=self.prices.of(used))
