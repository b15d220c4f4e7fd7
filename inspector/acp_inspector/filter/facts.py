"""What is known of an entry beside what it holds itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "request", "notification", "result", "error", "batch", "malformed", "stderr", "event"
]
Severity: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finding of lint about a frame, as far as filters need it."""

    rule: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Notes:
    """What the analysis, lint and people know of an entry."""

    turn: int | None = None
    """Number of the prompt that it belongs to, from 1."""
    schema: int | None = None
    """Protocol version by whose schema it is read."""
    verdicts: tuple[Verdict, ...] = ()
    is_held: bool = False
    is_edited: bool = False
    is_marked: bool = False
