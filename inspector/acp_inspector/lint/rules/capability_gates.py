"""Session methods may be called only if the agent declares their capability.

Source: ACP, "Session Setup", "Session List", "Session Delete", "Initialization".
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.catalog import Facts
from acp_inspector.lint.context import OK, CheckResult, Context
from acp_inspector.lint.registry import rule

SESSION_CALLS: Final = (
    "session/new",
    "session/resume",
    "session/list",
    "session/close",
    "session/delete",
    "session/fork",
    "session/prompt",
    "session/cancel",
    "session/set_config_option",
    "session/archive",
    "session/unarchive",
    "session/status",
    "session/set_title",
)
"""Session methods of version 2 that a client calls."""


@rule(
    "undeclared-logout",
    Facts(73, "authentication", "error", "must", "client", "v1/authentication.mdx", version=1),
    on.request("logout"),
    says=("`logout` is called only if `agentCapabilities.auth.logout` is present and non-null."),
    fix="Call logout only where the agent claimed auth.logout.",
    v1="auth.logout",
)
@rule(
    "undeclared-session-load",
    Facts(103, "sessions", "error", "must", "client", "v1/session-setup.mdx", version=1),
    on.request("session/load"),
    says="`session/load` only with `loadSession: true`.",
    fix="Call session/load only with loadSession: true.",
    v1="loadSession",
)
@rule(
    "undeclared-session-resume",
    Facts(104, "sessions", "error", "must", "client", "v1/session-setup.mdx", version=1),
    on.request("session/resume"),
    says="`session/resume` only with `sessionCapabilities.resume`.",
    fix="Call session/resume only with sessionCapabilities.resume.",
    v1="sessionCapabilities.resume",
)
@rule(
    "undeclared-session-list",
    Facts(105, "sessions", "error", "must", "client", "v1/session-list.mdx", version=1),
    on.request("session/list"),
    says="`session/list` only with `sessionCapabilities.list`.",
    fix="Call session/list only with sessionCapabilities.list.",
    v1="sessionCapabilities.list",
)
@rule(
    "undeclared-session-close",
    Facts(106, "sessions", "error", "must", "client", "v1/session-setup.mdx", version=1),
    on.request("session/close"),
    says="`session/close` only with `sessionCapabilities.close`.",
    fix="Call session/close only with sessionCapabilities.close.",
    v1="sessionCapabilities.close",
)
@rule(
    "undeclared-session-delete",
    Facts(107, "sessions", "error", "must", "client", "session-delete.mdx"),
    on.request("session/delete"),
    says=(
        "`session/delete` only with the delete marker (v1 "
        "`sessionCapabilities.delete`, v2 `session.delete`)."
    ),
    fix="Call session/delete only where the agent claimed delete.",
    v1="sessionCapabilities.delete",
    v2="session.delete",
)
@rule(
    "undeclared-session-fork",
    Facts(108, "sessions", "error", "schema", "client", "rfds/session-fork.mdx"),
    on.request("session/fork"),
    says="`session/fork` only with the fork marker (unstable).",
    fix="Call session/fork only where the agent claimed fork.",
    v1="sessionCapabilities.fork",
    v2="session.fork",
)
@rule(
    "undeclared-sessions",
    Facts(109, "sessions", "error", "schema", "client", "v2/initialization.mdx", version=2),
    on.call(*SESSION_CALLS),
    says="No `session/*` call if `capabilities.session` is absent or null.",
    fix="Call no session method of an agent that claims no sessions.",
    v1="session",
)
@rule(
    "undeclared-session-status",
    Facts(476, "session-admin", "error", "schema", "client", "schema"),
    on.request("session/status"),
    says="`session/status` only with the `status` capability.",
    fix="Request the status only if the agent claimed status.",
    v1="sessionCapabilities.status",
    v2="session.status",
)
@rule(
    "undeclared-auth-status",
    Facts(489, "auth-status", "error", "schema", "client", "schema"),
    on.request("auth/status"),
    says="`auth/status` only with `auth.status`.",
    fix="Call auth/status only if the agent claimed auth.status.",
    v1="auth.status",
)
def gated(context: Context, v1: str, v2: str = "") -> CheckResult:
    """Return whether the agent declared the capability of the negotiated version.

    The check does not apply if the agent declared nothing: the recording may begin later.
    """
    if not context.state.is_ready:
        return None
    path = v2 if v2 and context.version == 2 else v1
    if context.state.claims("agent", path):
        return OK
    return context.problem(
        f"{context.method} was sent though the agent did not claim {path}",
        context.state.initialize,
        path="method",
    )


@rule(
    "undeclared-plan",
    Facts(279, "plans", "error", "must", "agent", "v1/draft/agent-plan.mdx", version=1),
    on.update("plan_update", "plan_removed"),
    says=("`plan_update` / `plan_removed` only if the Client advertised `plan` (unstable)."),
    fix="Send the update plan instead.",
    capability="plan",
)
@rule(
    "undeclared-notice",
    Facts(465, "version-2", "error", "must", "agent", "schema", version=1),
    on.update("notice"),
    says="`notice` is sent only with client `session.notices`.",
    fix="Send an agent message if the text matters.",
    capability="session.notices",
)
def client_capability_is_declared(context: Context, capability: str) -> CheckResult:
    if not context.state.is_ready:
        return None
    if isinstance(context.state.claim("client", capability), dict):
        return OK
    return context.problem(
        f"{context.variant} comes, but the client does not claim {capability}",
        context.state.initialize,
        at="sessionUpdate",
    )
