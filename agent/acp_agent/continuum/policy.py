"""What Continuum Router decides about tool calls where its configuration says nothing.

Source: Continuum Router, ACP, "Permission Options".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from acp_agent.permissions.policy import PermissionPolicy

DEFAULT_POLICY: Final[Mapping[str, Any]] = {
    "default_policy": "ask_always",
    "auto_allow": ["read", "search", "think"],
    "always_ask": ["delete", "edit", "execute"],
}


def router_policy(policy: PermissionPolicy) -> PermissionPolicy:
    """Return the policy for a client of the router, whose modes allow nothing.

    Without a policy or lists of the configuration, those of the router count. Such a client gets no
    options with a permission request.
    """
    policy = replace(policy, code_allows=False, options_are_shown=False)
    if policy.auto_allow or policy.always_ask or policy.default_policy != "allow_read":
        return policy
    return replace(
        policy,
        default_policy=DEFAULT_POLICY["default_policy"],
        auto_allow=frozenset(DEFAULT_POLICY["auto_allow"]),
        always_ask=frozenset(DEFAULT_POLICY["always_ask"]),
    )
