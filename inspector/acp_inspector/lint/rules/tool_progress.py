"""How a tool call goes on: from pending to its end, and past a request for permission.

Source: ACP, "Tool Calls", "Prompt Turn".
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint.bookkeeping import FINAL
from acp_inspector.lint.moment import FINE, Found, Moment, quoted
from acp_inspector.lint.registry import asks, check, updates
from acp_inspector.lint.rules.tool_calls import (
    ASKED,
    TOLD,
    known_tool,
    place_of,
    told_of,
)
from acp_inspector.lint.state import ToolCall

UPDATED: Final = (*updates("tool_call_update"), *asks("session/request_permission"))
"""Messages that tell anew of a tool call."""
GOING: Final = frozenset({"in_progress", "completed"})
"""Statuses of a tool call that is, or was, carried out."""
REFUSED: Final = frozenset({"reject_once", "reject_always", "cancelled"})
"""Outcomes of a request for permission that forbid it."""


def new_status(moment: Moment) -> str | None:
    """Return the status that an update sets; in version 2 null stands for `pending`."""
    told = told_of(moment)
    status = told.get("status")
    if isinstance(status, str):
        return status
    return "pending" if moment.version == 2 and "status" in told else None


def live_tool(moment: Moment) -> ToolCall | None:
    """Return what was known of the tool call, outside of a replay."""
    if moment.session is None or moment.session.is_replaying:
        return None
    return known_tool(moment)


@check("ACP-L198", UPDATED, fix="Use a new tool call for what is done anew.")
def final_statuses_are_not_left(moment: Moment) -> Found:
    """Tell of tool calls that go on, or end otherwise, after they ended."""
    tool = live_tool(moment)
    if tool is None or tool.status not in FINAL:
        return None
    status = new_status(moment)
    if status is None or status == tool.status:
        return FINE
    return moment.problem(
        f"the tool call {quoted(tool.id)} was {tool.status} and is {quoted(status)}",
        tool.status_at,
        path=f"{place_of(moment)}.status",
    )


@check("ACP-L199", UPDATED, fix="Leave a call in progress until it ends.")
def progress_is_not_undone(moment: Moment) -> Found:
    """Tell of tool calls that are pending again."""
    tool = live_tool(moment)
    if tool is None or tool.status != "in_progress":
        return None
    if new_status(moment) != "pending":
        return FINE
    return moment.problem(
        f"the tool call {quoted(tool.id)} was in progress and is pending again",
        tool.status_at,
        path=f"{place_of(moment)}.status",
    )


@check(
    "ACP-L200",
    UPDATED,
    updates("tool_call_content_chunk"),
    fix="Send the content with, or before, the final status.",
)
def ended_tool_calls_get_no_content(moment: Moment) -> Found:
    """Tell of content that comes after the end; titles, locations and raw values may."""
    tool = live_tool(moment)
    if tool is None or tool.ended is None or tool.status not in FINAL:
        return None
    if not told_of(moment).get("content"):
        return FINE
    return moment.problem(
        f"the tool call {quoted(tool.id)} was {tool.status} and gets content",
        tool.ended,
        path=f"{place_of(moment)}.content",
    )


@check("ACP-L218", ASKED, fix="Begin when permission is granted.")
def permission_is_waited_for(moment: Moment) -> Found:
    """Tell of tool calls that go on while permission for them is still asked for."""
    tool = live_tool(moment)
    if tool is None or tool.permission is None or tool.permission.answered is not None:
        return None
    status = new_status(moment)
    if tool.permission.cancelled is not None or status not in GOING or status == tool.status:
        return FINE
    return moment.problem(
        f"the tool call {quoted(tool.id)} is {status} while permission for it is asked for",
        tool.permission,
        path=f"{place_of(moment)}.status",
    )


@check("ACP-L219", TOLD, fix="Report a call that was not permitted as failed.")
def refusals_are_kept_to(moment: Moment) -> Found:
    """Tell of tool calls that go on though permission for them was refused."""
    tool = live_tool(moment)
    if tool is None or tool.outcome not in REFUSED or tool.permission is None:
        return None
    status = new_status(moment)
    if status not in GOING or status == tool.status:
        return FINE
    return moment.problem(
        f"the tool call {quoted(tool.id)} is {status} though permission was {_said(tool.outcome)}",
        tool.permission,
        tool.permission.answered,
        path="params.update.status",
    )


def _said(outcome: str | None) -> str:
    return "refused" if outcome != "cancelled" else "cancelled"
