"""That the client calls a session method only where the agent said that it has it.

Source: ACP, "Session Setup", "Session List", "Session Delete", "Initialization".
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment
from acp_inspector.lint.registry import asks, calls, check

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


def gated(moment: Moment, v1: str, v2: str = "") -> Found:
    """Return whether the agent claimed the capability at the path of the agreed version.

    Nothing, as long as it said nothing at all: the recording may have begun later.
    """
    if not moment.state.is_ready:
        return None
    path = v2 if v2 and moment.version == 2 else v1
    if moment.state.claims("agent", path):
        return FINE
    return moment.problem(
        f"{moment.method} was sent though the agent did not claim {path}",
        moment.state.initialize,
        path="method",
    )


@check("ACP-L103", asks("session/load"), fix="Call session/load only with loadSession: true.")
def load_is_claimed(moment: Moment) -> Found:
    """Tell of sessions to be loaded by an agent that cannot."""
    return gated(moment, "loadSession")


@check(
    "ACP-L104",
    asks("session/resume"),
    fix="Call session/resume only with sessionCapabilities.resume.",
)
def resume_is_claimed(moment: Moment) -> Found:
    """Tell of sessions to be resumed by an agent that cannot."""
    return gated(moment, "sessionCapabilities.resume")


@check(
    "ACP-L105", asks("session/list"), fix="Call session/list only with sessionCapabilities.list."
)
def list_is_claimed(moment: Moment) -> Found:
    """Tell of lists asked of an agent that has none."""
    return gated(moment, "sessionCapabilities.list")


@check(
    "ACP-L106",
    asks("session/close"),
    fix="Call session/close only with sessionCapabilities.close.",
)
def close_is_claimed(moment: Moment) -> Found:
    """Tell of sessions to be closed by an agent that cannot."""
    return gated(moment, "sessionCapabilities.close")


@check(
    "ACP-L107",
    asks("session/delete"),
    fix="Call session/delete only where the agent claimed delete.",
)
def delete_is_claimed(moment: Moment) -> Found:
    """Tell of sessions to be deleted by an agent that cannot."""
    return gated(moment, "sessionCapabilities.delete", "session.delete")


@check(
    "ACP-L108",
    asks("session/fork"),
    fix="Call session/fork only where the agent claimed fork.",
)
def fork_is_claimed(moment: Moment) -> Found:
    """Tell of sessions to be forked by an agent that cannot."""
    return gated(moment, "sessionCapabilities.fork", "session.fork")


@check(
    "ACP-L109",
    calls(*SESSION_CALLS),
    fix="Call no session method of an agent that claims no sessions.",
)
def sessions_are_claimed(moment: Moment) -> Found:
    """Tell of session methods asked of an agent without sessions."""
    return gated(moment, "session")
