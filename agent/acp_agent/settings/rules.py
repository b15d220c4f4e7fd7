"""The tables of `permissions.rules`."""

from __future__ import annotations

import re
from typing import Annotated, Final, Self, cast, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo, model_validator

from acp_agent.net import canonical_host
from acp_protocol.call_rules.rules import (
    AREAS,
    Effect,
    PolicyRule,
    command_problem,
    path_problem,
)
from acp_protocol.schema.words import ToolKind
from acp_protocol.user_files.mcp_ids import NAME_LENGTH, SEPARATOR

_NAME: Final = re.compile(r"[A-Za-z0-9._:*?\[\]-]+", re.ASCII)
"""The names of hosts and tools, with the wildcards `*` and `?`."""
_PORT: Final = re.compile(r"(\[.*\]|[^:]*)(:[0-9]+)", re.ASCII)
"""A host with its port."""
_NOT_IN_TOOLS: Final = re.compile(r"[^A-Za-z0-9_*?-]", re.ASCII)
_KINDS: Final = {
    "path": frozenset({"read", "edit", "delete", "move", "search"}),
    "command": frozenset({"execute"}),
    "name": frozenset(get_args(ToolKind)),
}
"""The kinds of calls that each pattern can match."""


def _check_pattern(pattern: str | None, info: ValidationInfo) -> str | None:
    """Refuse a pattern that is invalid, or that can never match."""
    if pattern is None:
        return None
    member = cast("str", info.field_name)
    if not pattern.strip() or "\0" in pattern:
        raise ValueError("must be a non-empty string")
    if other := next((each for each in AREAS if info.data.get(each) is not None), None):
        raise ValueError(f"a rule has either {other} or {member}")
    check = {"path": path_problem, "command": command_problem, "name": _name_problem}[member]
    if problem := check(pattern):
        raise ValueError(problem)
    kind = info.data.get("kind")
    if kind is not None and kind not in _KINDS[member]:
        raise ValueError(f"calls of the kind {kind} have no {member}")
    return pattern


_Pattern = Annotated[str | None, AfterValidator(_check_pattern)]


class RuleTable(BaseModel):
    """A rule as a file holds it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ToolKind | None = None
    path: _Pattern = None
    command: _Pattern = None
    name: _Pattern = None
    decision: Effect

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.kind is None and not any(getattr(self, area) for area in AREAS):
            raise ValueError(f"matches nothing: it needs at least one of kind, {', '.join(AREAS)}")
        return self

    def rule(self) -> PolicyRule:
        """Return the rule."""
        area = next((each for each in AREAS if getattr(self, each)), None)
        pattern = getattr(self, area) if area else ""
        return PolicyRule(self.decision, self.kind, AREAS[area] if area else None, pattern)


def _name_problem(pattern: str) -> str | None:
    if not _NAME.fullmatch(pattern):
        return "matches no host and no tool: their names have letters, digits, and . : - _"
    if SEPARATOR in pattern:
        tool = _NOT_IN_TOOLS.sub("-", pattern)
        if tool != pattern:
            return f"matches no tool: its name is {tool}"
        if len(pattern) > NAME_LENGTH and "*" not in pattern:
            return f"matches no tool: a name has at most {NAME_LENGTH} characters"
        return None
    if "*" in pattern or "?" in pattern:
        return None
    found = _PORT.fullmatch(pattern)
    canonical = canonical_host(found[1]) + found[2] if found else canonical_host(pattern)
    return None if canonical == pattern.lower() else f"must be {canonical}, the host's usual name"
