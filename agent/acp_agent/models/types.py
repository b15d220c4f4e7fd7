"""What a model is to the agent: the history it gets, the events it yields, its options.

A model gets the whole history and yields text, reasoning and tool calls. The turn runs the calls
and sends the history again, until the model calls no tool.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

from acp_agent.settings.model import Prices
from acp_protocol.errors import AcpError
from acp_protocol.jsonrpc import Json

MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply, Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the reasoning."""

    text: str


PlanStatus: TypeAlias = Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One entry of a plan."""

    content: str
    status: PlanStatus


@dataclass(frozen=True, slots=True)
class PlanChange:
    """The whole plan as it stands now."""

    entries: tuple[PlannedStep, ...]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call."""

    name: str
    arguments: Mapping[str, Json]
    id: str = ""
    """The model's id of the call; may be empty."""
    fault: str | None = None
    """Why the arguments are invalid; then `arguments` is empty."""


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """What only the model that made it can read, and needs unchanged in the history."""

    model: str
    """The name of the model."""
    content: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens of a whole reply."""

    input_tokens: int
    """Sent, cached or not."""
    output_tokens: int
    """Received, reasoning included."""
    reasoning_tokens: int = 0
    """Of `output_tokens`."""
    cache_read_tokens: int = 0
    """Of `input_tokens`, read from a cache."""
    cache_write_tokens: int = 0
    """Of `input_tokens`, written to a cache."""
    cost: float | None = None
    """In US dollars; None if unknown."""
    window: int | None = None
    """The size of the context window; None if unknown."""

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Return the sum, without `window`."""
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            sum(costs) if costs else None,
        )

    def priced(self, prices: Prices | None) -> TokenUsage:
        """Return the usage with its cost, if the service does not say it and prices are known."""
        if self.cost is not None or prices is None:
            return self
        from_cache = prices.read if prices.cached_read is None else prices.cached_read
        into_cache = prices.read if prices.cached_written is None else prices.cached_written
        fresh = max(0, self.input_tokens - self.cache_read_tokens - self.cache_write_tokens)
        total = fresh * prices.read + self.output_tokens * prices.written
        total += self.cache_read_tokens * from_cache + self.cache_write_tokens * into_cache
        return replace(self, cost=total / MILLION)


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the reply ended, if that ends the turn, too; the last event."""

    reason: Literal["max_tokens", "refusal"]
    why: str = ""
    """The end of a sentence for the user; empty if the reply says it."""


@dataclass(frozen=True, slots=True)
class Continue:
    """The reply is incomplete: the next request continues it; the last event."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request is sent again later. It is no part of the reply."""

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
    """A resource that a prompt brings along: material, not instructions."""

    uri: str
    text: str | None
    """None if it is not text."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that a prompt brings along."""

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
    """The events of one reply, without its usage; of its end only a refusal."""

    events: tuple[ModelEvent, ...]


REJECTED: Final = "rejected by the user"
"""The result of a call that the user does not permit."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call; results stand in the order of the calls."""

    name: str
    text: str
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class ProjectInstructions:
    """What the project's files tell a coding agent; part of the system prompt."""

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
    """A model could not reply; the message is a sentence for the user, without secrets."""

    def __init__(
        self, sentence: str, *, needs_key: bool = False, is_too_long: bool = False
    ) -> None:
        super().__init__(sentence)
        self.is_too_long = is_too_long
        """Whether the history exceeds the context window."""
        self.needs_key = needs_key
        """Whether the user has to set a key, or another one."""


class Model(Protocol):
    """What replies to prompts."""

    @property
    def name(self) -> str: ...

    @property
    def commands(self) -> Sequence[SlashCommand]:
        """The slash commands that it understands."""
        ...

    def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        """Yield the next reply; a `ToolUse` or `Continue` in it does not end the turn.

        Every call in `history` has its result, a cancelled one too.

        Raises:
            ModelFailedError: it cannot reply, or not to the end.
        """
        ...


@runtime_checkable
class SupportsImages(Protocol):
    """A model that says whether it accepts images; others do not."""

    @property
    def takes_images(self) -> bool: ...


@runtime_checkable
class SupportsEffort(Protocol):
    """A model whose effort each session can choose."""

    def at(self, effort: str) -> Model:
        """Return the model as it thinks with that effort: low, medium or high."""
        ...


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """What a prompt wants of its reply; None leaves it to the settings."""

    temperature: float | None = None
    max_tokens: int | None = None
    stream: bool | None = None
    """Whether the reply comes piece by piece."""


@runtime_checkable
class TakesReplyOptions(Protocol):
    """A model that heeds what a prompt wants of its reply."""

    def with_options(self, options: ReplyOptions) -> Model:
        """Return the model as it replies with these options."""
        ...


@runtime_checkable
class IsDemo(Protocol):
    """A model that follows a script."""

    @property
    def is_scripted(self) -> bool: ...


def is_scripted(model: Model) -> bool:
    """Return whether `model` only follows a script, so that explanations do not help it."""
    return isinstance(model, IsDemo) and model.is_scripted


def takes_images(model: Model) -> bool:
    """Return whether prompts for `model` may have images."""
    return isinstance(model, SupportsImages) and model.takes_images
