"""What holds frames, and what is held."""

from __future__ import annotations

from dataclasses import dataclass

from acp_inspector.intercept.matching import Matcher
from acp_protocol.framing import Side


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Holds every frame that it matches."""

    id: int
    expression: str
    """How a person wrote it."""
    matches: Matcher
    is_lasting: bool
    """Whether it stays when the last observer has left."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A frame that waits for a decision, as it is at this moment."""

    id: int
    n: int
    side: Side
    raw: bytes
    breakpoint: int | None
    """Id of the breakpoint; None where everything is paused."""
    age: float
    """Seconds since it is held."""
    left: float
    """Seconds until it leaves by itself."""
    waiting: int
    """Frames that wait behind it."""
