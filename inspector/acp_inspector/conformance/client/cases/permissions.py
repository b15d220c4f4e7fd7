"""Permission requests."""

from __future__ import annotations

from acp_inspector.conformance.client.checks import ALLOW, REJECT, WELL, check_outcome
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT

case = CLIENT.case


@case(
    "permission.outcome",
    "Tool calls, Requesting permission",
    "A permission request gets the outcome cancelled, or an option that was offered.",
    persona=WELL,
    rules=("option-not-offered", "malformed-permission-outcome", "unknown-permission-outcome"),
)
async def permission_outcome(stage: Stage) -> None:
    check_outcome(await stage.ask(ALLOW, REJECT), "allow", "reject")


@case(
    "permission.only-reject",
    "Tool calls, Permission options",
    "A request that offers only rejections is not allowed by the client.",
    persona=WELL,
)
async def permission_only_reject(stage: Stage) -> None:
    reply = await stage.ask(("no", "reject_once"), ("never", "reject_always"))
    check_outcome(reply, "no", "never")


@case(
    "permission.odd-ids",
    "Tool calls, Permission options",
    "The id of an option is any text, and is sent back as it was.",
    persona=WELL,
)
async def permission_odd_ids(stage: Stage) -> None:
    ids = ("Ja, gerne ☺", "0")
    reply = await stage.ask((ids[0], "allow_once"), (ids[1], "reject_once"))
    check_outcome(reply, *ids)
