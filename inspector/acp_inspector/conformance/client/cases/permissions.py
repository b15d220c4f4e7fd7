"""Permission requests."""

from __future__ import annotations

from functools import partial

from acp_inspector.conformance.client.checks import (
    ALLOW,
    NO_PERMISSIONS,
    REJECT,
    WELL,
    check_outcome,
)
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT

case = partial(CLIENT.case, persona=WELL, unlike=NO_PERMISSIONS)


@case(
    "permission.outcome",
    "Tool calls, Requesting permission",
    rules=("option-not-offered", "malformed-permission-outcome", "unknown-permission-outcome"),
)
async def permission_outcome(stage: Stage) -> None:
    """A permission request gets the outcome cancelled, or an option that was offered."""
    check_outcome(await stage.ask(ALLOW, REJECT), "allow", "reject")


@case("permission.only-reject", "Tool calls, Permission options")
async def permission_only_reject(stage: Stage) -> None:
    """A request that offers only rejections is not allowed by the client."""
    reply = await stage.ask(("no", "reject_once"), ("never", "reject_always"))
    check_outcome(reply, "no", "never")


@case("permission.odd-ids", "Tool calls, Permission options")
async def permission_odd_ids(stage: Stage) -> None:
    """The id of an option is any text, and is sent back as it was."""
    ids = ("Ja, gerne ☺", "0")
    reply = await stage.ask((ids[0], "allow_once"), (ids[1], "reject_once"))
    check_outcome(reply, *ids)
