"""Updates of version 1 that only clients which asked for them may get.

Source: ACP version 1, "Initialization", client capabilities; schema, Notice and PlanUpdate.
"""

from __future__ import annotations

from acp_inspector.lint.moment import FINE, Found, Moment
from acp_inspector.lint.registry import check, updates


@check("ACP-L279", updates("plan_update", "plan_removed"), fix="Send the update plan instead.")
def plans_with_ids_are_asked_for(moment: Moment) -> Found:
    """Tell of plans that can be told apart, for clients that did not say they can."""
    return _claimed(moment, "plan")


@check("ACP-L465", updates("notice"), fix="Send an agent message if the text matters.")
def notices_are_asked_for(moment: Moment) -> Found:
    """Tell of notices for clients that did not say they show them."""
    return _claimed(moment, "session.notices")


def _claimed(moment: Moment, capability: str) -> Found:
    if not moment.state.is_ready:
        return None
    if isinstance(moment.state.claim("client", capability), dict):
        return FINE
    return moment.problem(
        f"{moment.variant} comes, but the client does not claim {capability}",
        moment.state.initialize,
        path="params.update.sessionUpdate",
    )
