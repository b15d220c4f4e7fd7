"""What the configuration decides about tool calls: rules, and a policy for what no rule fits."""

from __future__ import annotations

from dataclasses import dataclass

from acp_agent.settings.keys import PolicyId
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.schema.words import ToolKind


@dataclass(frozen=True, slots=True)
class PermissionPolicy:
    """What the configuration decides; the user's own "always" comes before it."""

    default_policy: PolicyId = "allow_read"
    """Decides where no list names the kind, until the session chooses another policy."""
    auto_allow: frozenset[ToolKind] = frozenset()
    """Kinds that the user is not asked about."""
    always_ask: frozenset[ToolKind] = frozenset()
    """Kinds that the user is asked about, whatever mode and policy say."""
    rules: tuple[PolicyRule, ...] = ()
    """Rules that come before the lists; the first one that fits decides."""
    code_allows: bool = True
    """Whether the mode `code` allows what the lists leave open."""
    options_are_shown: bool = True
    """Whether the client shows the user what each option of a permission request covers."""
