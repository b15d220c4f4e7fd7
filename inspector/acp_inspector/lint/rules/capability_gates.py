"""Session methods may be called only if the agent declares their capability.

Source: ACP, "Session Setup", "Session List", "Session Delete", "Initialization".
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context
from acp_inspector.lint.registry import check

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


@check("ACP-L073", on.request("logout"), v1="auth.logout")
@check("ACP-L103", on.request("session/load"), v1="loadSession")
@check("ACP-L104", on.request("session/resume"), v1="sessionCapabilities.resume")
@check("ACP-L105", on.request("session/list"), v1="sessionCapabilities.list")
@check("ACP-L106", on.request("session/close"), v1="sessionCapabilities.close")
@check(
    "ACP-L107", on.request("session/delete"), v1="sessionCapabilities.delete", v2="session.delete"
)
@check("ACP-L108", on.request("session/fork"), v1="sessionCapabilities.fork", v2="session.fork")
@check("ACP-L109", on.call(*SESSION_CALLS), v1="session")
@check(
    "ACP-L476", on.request("session/status"), v1="sessionCapabilities.status", v2="session.status"
)
@check("ACP-L489", on.request("auth/status"), v1="auth.status")
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


@check("ACP-L279", on.update("plan_update", "plan_removed"), capability="plan")
@check("ACP-L465", on.update("notice"), capability="session.notices")
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
