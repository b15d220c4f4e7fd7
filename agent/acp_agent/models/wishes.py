"""What a user wants of a model, whichever it is, and knows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from acp_agent.models.model import Used

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
class Wishes:
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
