"""That the client calls a session method only where the agent said that it has it.

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
"""What a client calls of version 2's sessions."""


def gated(context: Context, v1: str, v2: str = "") -> CheckResult:
    """Return whether the agent claimed the capability at the path of the agreed version.

    Nothing, as long as it said nothing at all: the recording may have begun later.
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


@check("ACP-L103", on.request("session/load"))
def load_is_claimed(context: Context) -> CheckResult:
    return gated(context, "loadSession")


@check("ACP-L104", on.request("session/resume"))
def resume_is_claimed(context: Context) -> CheckResult:
    return gated(context, "sessionCapabilities.resume")


@check("ACP-L105", on.request("session/list"))
def list_is_claimed(context: Context) -> CheckResult:
    return gated(context, "sessionCapabilities.list")


@check("ACP-L106", on.request("session/close"))
def close_is_claimed(context: Context) -> CheckResult:
    return gated(context, "sessionCapabilities.close")


@check("ACP-L107", on.request("session/delete"))
def delete_is_claimed(context: Context) -> CheckResult:
    return gated(context, "sessionCapabilities.delete", "session.delete")


@check("ACP-L108", on.request("session/fork"))
def fork_is_claimed(context: Context) -> CheckResult:
    return gated(context, "sessionCapabilities.fork", "session.fork")


@check("ACP-L109", on.call(*SESSION_CALLS))
def sessions_are_claimed(context: Context) -> CheckResult:
    return gated(context, "session")


@check("ACP-L279", on.update("plan_update", "plan_removed"))
def plans_with_ids_are_claimed(context: Context) -> CheckResult:
    return _claimed(context, "plan")


@check("ACP-L465", on.update("notice"))
def notices_are_claimed(context: Context) -> CheckResult:
    return _claimed(context, "session.notices")


def _claimed(context: Context, capability: str) -> CheckResult:
    if not context.state.is_ready:
        return None
    if isinstance(context.state.claim("client", capability), dict):
        return OK
    return context.problem(
        f"{context.variant} comes, but the client does not claim {capability}",
        context.state.initialize,
        path="params.update.sessionUpdate",
    )
