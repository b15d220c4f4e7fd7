"""That the client calls a session method only where the agent said that it has it.

Source: ACP, "Session Setup", "Session List", "Session Delete", "Initialization".
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint.context import OK, CheckResult, Context
from acp_inspector.lint.registry import check, on_call, on_request, on_update

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


@check("ACP-L103", on_request("session/load"), fix="Call session/load only with loadSession: true.")
def load_is_claimed(context: Context) -> CheckResult:
    """Flag sessions to be loaded by an agent that cannot."""
    return gated(context, "loadSession")


@check(
    "ACP-L104",
    on_request("session/resume"),
    fix="Call session/resume only with sessionCapabilities.resume.",
)
def resume_is_claimed(context: Context) -> CheckResult:
    """Flag sessions to be resumed by an agent that cannot."""
    return gated(context, "sessionCapabilities.resume")


@check(
    "ACP-L105",
    on_request("session/list"),
    fix="Call session/list only with sessionCapabilities.list.",
)
def list_is_claimed(context: Context) -> CheckResult:
    """Flag lists asked of an agent that has none."""
    return gated(context, "sessionCapabilities.list")


@check(
    "ACP-L106",
    on_request("session/close"),
    fix="Call session/close only with sessionCapabilities.close.",
)
def close_is_claimed(context: Context) -> CheckResult:
    """Flag sessions to be closed by an agent that cannot."""
    return gated(context, "sessionCapabilities.close")


@check(
    "ACP-L107",
    on_request("session/delete"),
    fix="Call session/delete only where the agent claimed delete.",
)
def delete_is_claimed(context: Context) -> CheckResult:
    """Flag sessions to be deleted by an agent that cannot."""
    return gated(context, "sessionCapabilities.delete", "session.delete")


@check(
    "ACP-L108",
    on_request("session/fork"),
    fix="Call session/fork only where the agent claimed fork.",
)
def fork_is_claimed(context: Context) -> CheckResult:
    """Flag sessions to be forked by an agent that cannot."""
    return gated(context, "sessionCapabilities.fork", "session.fork")


@check(
    "ACP-L109",
    on_call(*SESSION_CALLS),
    fix="Call no session method of an agent that claims no sessions.",
)
def sessions_are_claimed(context: Context) -> CheckResult:
    """Flag session methods asked of an agent without sessions."""
    return gated(context, "session")


@check("ACP-L279", on_update("plan_update", "plan_removed"), fix="Send the update plan instead.")
def plans_with_ids_are_claimed(context: Context) -> CheckResult:
    """Flag plans that can be reported apart, for clients that did not say they can."""
    return _claimed(context, "plan")


@check("ACP-L465", on_update("notice"), fix="Send an agent message if the text matters.")
def notices_are_claimed(context: Context) -> CheckResult:
    """Flag notices for clients that did not say they show them."""
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
