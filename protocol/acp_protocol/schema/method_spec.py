"""One row of the table of methods; the generated tables are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Sender: TypeAlias = Literal["client", "agent", "either"]
Kind: TypeAlias = Literal["request", "notification"]


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """A method: who sends it, with which shapes, and what allows it."""

    name: str
    sent_by: Sender
    kind: Kind
    params: str | None
    """Name of the definition of its params."""
    result: str | None
    """Name of the definition of its result; None for a notification."""
    version: int
    """The protocol version that has it."""
    is_stable: bool
    """It stands in the stable schema."""
    gate: str | None
    """Path of the capability that allows it, from `initialize` on; None when none is needed."""
