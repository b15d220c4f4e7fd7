"""How turns behave: what they may do, where that is written down, and how far they go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from acp_agent.permissions.audit import AuditLog
from acp_agent.permissions.grants import PermissionPolicy
from acp_agent.tools.call import Tool
from acp_agent.turn.instructions import DEFAULT_NAMES

REQUEST_LIMIT: Final = 100
"""Times that the model is asked in one turn, unless another number is given."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How far one turn goes; None is no limit."""

    requests: int = REQUEST_LIMIT
    """Times that the model is asked; then the turn ends with `max_turn_requests`."""
    tokens: int | None = None
    """Tokens that are read and written; then the turn ends with `max_tokens`."""
    seconds: float | None = None
    """Then the turn ends with `max_turn_requests`; the time the user takes to answer counts."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How the turns of every session behave."""

    rules: PermissionPolicy = field(default_factory=PermissionPolicy)
    audit: AuditLog | None = None
    """Where each decision about a tool call is written down."""
    limits: TurnLimits = field(default_factory=TurnLimits)
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """Tools that take the place of those of the same names."""
    instructions: tuple[str, ...] = DEFAULT_NAMES
    """Files of a project that say how it wants to be worked in."""
