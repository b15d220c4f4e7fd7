"""What an agent tells of a tool call, piece by piece.

Source: ACP, "Tool Calls", "Overview"; the RFD about names of tool calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.bookkeeping import permission_tool
from acp_inspector.lint.moment import FINE, Found, Moment, Problem, quoted
from acp_inspector.lint.registry import Trigger, asks, check, learns, updates
from acp_inspector.lint.state import ToolCall
from acp_protocol.jsonrpc import Json

TOLD: Final[tuple[Trigger, ...]] = updates("tool_call", "tool_call_update")
ASKED: Final[tuple[Trigger, ...]] = (*TOLD, *asks("session/request_permission"))
"""Messages that tell of a tool call, requests for permission included."""
STATUSES: Final = frozenset({"pending", "in_progress", "completed", "failed"})
STATUSES_2: Final = STATUSES | {"cancelled", "paused"}
KINDS: Final = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode"}
    | {"other"}
)
REMEMBERED: Final = 1000
"""Sessions that are remembered."""


@dataclass(slots=True)
class _Raw:
    """Sessions and members that were told of already."""

    told: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


def place_of(moment: Moment) -> str:
    """Return where a message tells of its tool call."""
    if moment.method == "session/update":
        return "params.update"
    return "params.toolCall" if "toolCall" in moment.params else "params.subject.toolCall"


def told_of(moment: Moment) -> dict[str, Json]:
    """Return what a message tells of its tool call; empty if nothing."""
    return moment.update or permission_tool(moment.params)


def known_tool(moment: Moment) -> ToolCall | None:
    """Return what was known of the tool call that a message tells of."""
    id_ = told_of(moment).get("toolCallId")
    if moment.session is None or not isinstance(id_, str):
        return None
    return moment.session.tools.get(id_)


@check("ACP-L192", updates("tool_call_update"), fix="Announce a tool call by tool_call first.")
def updated_tool_calls_are_known(moment: Moment) -> Found:
    """Tell, once for each, of tool calls that are updated without having been announced."""
    id_ = moment.update.get("toolCallId")
    if moment.session is None or not isinstance(id_, str):
        return None
    if id_ in moment.session.tools:
        return FINE
    return moment.problem(
        f"the tool call {quoted(id_)} is updated, but was not announced",
        path="params.update.toolCallId",
    )


@check("ACP-L193", updates("tool_call"), fix="Announce a tool call with toolCallId and title.")
def announced_tool_calls_are_complete(moment: Moment) -> Found:
    """Tell of tool calls that are announced without an id or a title."""
    return tuple(
        Problem(
            f"the tool_call has no {name}",
            (moment.n,),
            path=f"params.update.{name}",
        )
        for name in ("toolCallId", "title")
        if not isinstance(moment.update.get(name), str)
    )


@check("ACP-L194", updates("tool_call"), fix="Send tool_call_update for a call that is known.")
def tool_calls_are_announced_once(moment: Moment) -> Found:
    """Tell of tool calls that are announced a second time."""
    tool = known_tool(moment)
    if moment.session is None or moment.session.is_replaying:
        return None
    if tool is None or tool.created is None:
        return FINE
    return moment.problem(
        f"the tool call {quoted(tool.id)} was announced before",
        tool.created,
        path="params.update.toolCallId",
    )


@check("ACP-L195", updates("tool_call_update"), fix="Send a title with the first update.")
def first_updates_have_a_title(moment: Moment) -> Found:
    """Tell of tool calls of version 2 that come up without a title."""
    tool = known_tool(moment)
    if moment.session is None or (tool is not None and tool.is_announced):
        return None
    if isinstance(moment.update.get("title"), str):
        return FINE
    return moment.problem(
        "the first update of the tool call has no title", path="params.update.title"
    )


@check("ACP-L196", ASKED, fix="Use pending, in_progress, completed or failed.")
def statuses_are_known(moment: Moment) -> Found:
    """Tell of statuses that version 1 does not have."""
    status = told_of(moment).get("status")
    if status is None:
        return None
    if isinstance(status, str) and status in STATUSES:
        return FINE
    return moment.problem(
        f"{quoted(status)} is no status of version 1", path=f"{place_of(moment)}.status"
    )


@check("ACP-L197", ASKED, fix="Begin statuses of your own with “_”.")
def statuses_of_ones_own_have_an_underscore(moment: Moment) -> Found:
    """Tell of statuses in the name space of version 2."""
    return _own_name(moment, "status", STATUSES_2)


@check("ACP-L201", ASKED, fix="Use one of the ten kinds; “other” if none fits.")
def kinds_are_known(moment: Moment) -> Found:
    """Tell of kinds that version 1 does not have."""
    kind = told_of(moment).get("kind")
    if kind is None:
        return None
    if isinstance(kind, str) and kind in KINDS:
        return FINE
    return moment.problem(
        f"{quoted(kind)} is no kind of version 1", path=f"{place_of(moment)}.kind"
    )


@check("ACP-L202", ASKED, fix="Begin kinds of your own with “_”.")
def kinds_of_ones_own_have_an_underscore(moment: Moment) -> Found:
    """Tell of kinds in the name space of version 2."""
    return _own_name(moment, "kind", KINDS)


def _own_name(moment: Moment, name: str, known: frozenset[str]) -> Found:
    value = told_of(moment).get(name)
    if not isinstance(value, str):
        return None
    if value in known or value.startswith("_"):
        return FINE
    return moment.problem(
        f"the {name} {quoted(value)} does not begin with “_”", path=f"{place_of(moment)}.{name}"
    )


@check("ACP-L217", TOLD, fix="Send raw input and output as objects.")
def raw_values_are_objects(moment: Moment) -> Found:
    """Tell, once for each member of a session, of raw values that are no object."""
    told = moment.state.of(_Raw).told
    names = [name for name in ("rawInput", "rawOutput") if moment.update.get(name) is not None]
    if not names:
        return None
    return tuple(
        Problem(
            f"{name} is no object: {quoted(moment.update[name])}",
            (moment.n,),
            path=f"params.update.{name}",
        )
        for name in names
        if not isinstance(moment.update[name], dict) and (moment.session_id or "", name) not in told
    )


@learns(TOLD)
def _keep_raw(moment: Moment) -> None:
    told = moment.state.of(_Raw).told
    for name in ("rawInput", "rawOutput"):
        value = moment.update.get(name)
        if value is not None and not isinstance(value, dict) and len(told) < REMEMBERED:
            told.add((moment.session_id or "", name))


@check("ACP-L220", ASKED, fix="Keep the name that a tool call came up with.")
def names_do_not_change(moment: Moment) -> Found:
    """Tell of tool calls whose tool has another name than before."""
    tool, name = known_tool(moment), told_of(moment).get("name")
    if tool is None or not isinstance(name, str) or not isinstance(tool.name, str):
        return None
    if name == tool.name:
        return FINE
    return moment.problem(
        f"the tool's name was {quoted(tool.name)} and is {quoted(name)}",
        tool.first,
        path=f"{place_of(moment)}.name",
    )


@check("ACP-L221", updates("tool_call_update"), fix="Leave out what does not change.")
def null_changes_nothing(moment: Moment) -> Found:
    """Tell of updates of version 1 that seem to clear what they cannot."""
    return tuple(
        Problem(f"{name} is null, which changes nothing", (moment.n,), path=f"params.update.{name}")
        for name in ("title", "kind")
        if name in moment.update and moment.update[name] is None
    )
