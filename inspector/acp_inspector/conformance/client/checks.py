"""What several cases for clients offer and check."""

from __future__ import annotations

from typing import Final

from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CaseFailedError
from acp_inspector.conformance.wire import Reply, result_of
from acp_protocol.json_values import get_object
from acp_protocol.jsonrpc import ErrorResponse, Json

WELL: Final = "well-behaved"
ALLOW: Final = ("allow", "allow_once")
REJECT: Final = ("reject", "reject_once")
NO_PERMISSIONS: Final = ("acpex", "openoxide")
"""Dialects whose documents have no permission requests."""
TEXT_BLOCK: Final[Json] = {"type": "text", "text": "text"}


def outcome_of(reply: Reply) -> dict[str, Json]:
    return get_object(dict(result_of(reply, "session/request_permission")), "outcome")


def check_outcome(reply: Reply, *offered: str) -> None:
    outcome = outcome_of(reply)
    if outcome.get("outcome") == "cancelled":
        return
    if outcome.get("outcome") != "selected" or outcome.get("optionId") not in offered:
        raise CaseFailedError("the outcome is neither cancelled nor one of the options")


def expect_no_reply(stage: Stage, at: int, what: str) -> None:
    if any(isinstance(each, ErrorResponse) and each.id is None for each in stage.messages[at:]):
        raise CaseFailedError(f"{what} got an error response")


async def check_survival(stage: Stage) -> None:
    """Raise unless the client still responds."""
    await stage.ping()
