"""What an agent reports about a tool call, update by update.

Source: ACP, "Tool Calls", "Overview"; the RFD about names of tool calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.context import (
    OK,
    CheckResult,
    Context,
    Problem,
    as_array,
    as_object,
    quoted,
)
from acp_inspector.lint.registry import Trigger, check, on_request, on_update, track
from acp_inspector.lint.state import SeenTerminal, SeenToolCall
from acp_inspector.lint.text_checks import is_absolute
from acp_inspector.lint.tracker import FINAL, permission_tool
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import TOOL_CALL_STATUSES, TOOL_KINDS

TOOL_CALL_UPDATES: Final[tuple[Trigger, ...]] = on_update("tool_call", "tool_call_update")
TOOL_CALL_MESSAGES: Final[tuple[Trigger, ...]] = (
    *TOOL_CALL_UPDATES,
    *on_request("session/request_permission"),
)
"""Messages that report a tool call, permission requests included."""
REMEMBERED: Final = 1000
"""Sessions that are remembered."""


@dataclass(slots=True)
class _Raw:
    """Sessions and members that were reported already."""

    reported: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


def place_of(context: Context) -> str:
    """Return the path of the tool call in a message."""
    if context.method == "session/update":
        return "params.update"
    return "params.toolCall" if "toolCall" in context.params else "params.subject.toolCall"


def tool_call_fields(context: Context) -> dict[str, Json]:
    """Return the fields of the tool call in a message; empty if there are none."""
    return context.update or permission_tool(context.params)


def known_tool(context: Context) -> SeenToolCall | None:
    """Return what was known of a message's tool call before it."""
    id_ = tool_call_fields(context).get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    return context.session.tools.get(id_)


@check("ACP-L192", on_update("tool_call_update"), fix="Announce a tool call by tool_call first.")
def updated_tool_calls_are_known(context: Context) -> CheckResult:
    """Flag, once for each, tool calls that are updated without having been announced."""
    id_ = context.update.get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    if id_ in context.session.tools:
        return OK
    return context.problem(
        f"the tool call {quoted(id_)} is updated, but was not announced",
        path="params.update.toolCallId",
    )


@check("ACP-L193", on_update("tool_call"), fix="Announce a tool call with toolCallId and title.")
def announced_tool_calls_are_complete(context: Context) -> CheckResult:
    """Flag tool calls that are announced without an id or a title."""
    return tuple(
        Problem(
            f"the tool_call has no {name}",
            (context.seq,),
            path=f"params.update.{name}",
        )
        for name in ("toolCallId", "title")
        if not isinstance(context.update.get(name), str)
    )


@check("ACP-L194", on_update("tool_call"), fix="Send tool_call_update for a call that is known.")
def tool_calls_are_announced_once(context: Context) -> CheckResult:
    """Flag tool calls that are announced a second time."""
    tool = known_tool(context)
    if context.session is None or context.session.is_replaying:
        return None
    if tool is None or tool.created is None:
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} was announced before",
        tool.created,
        path="params.update.toolCallId",
    )


@check("ACP-L195", on_update("tool_call_update"), fix="Send a title with the first update.")
def first_updates_have_a_title(context: Context) -> CheckResult:
    """Flag tool calls of version 2 that come up without a title."""
    tool = known_tool(context)
    if context.session is None or (tool is not None and tool.is_announced):
        return None
    if isinstance(context.update.get("title"), str):
        return OK
    return context.problem(
        "the first update of the tool call has no title", path="params.update.title"
    )


@check("ACP-L196", TOOL_CALL_MESSAGES, fix="Use pending, in_progress, completed or failed.")
def statuses_are_known(context: Context) -> CheckResult:
    """Flag statuses that version 1 does not have."""
    status = tool_call_fields(context).get("status")
    if status is None:
        return None
    if isinstance(status, str) and status in TOOL_CALL_STATUSES[1]:
        return OK
    return context.problem(
        f"{quoted(status)} is no status of version 1", path=f"{place_of(context)}.status"
    )


@check("ACP-L197", TOOL_CALL_MESSAGES, fix="Begin statuses of your own with “_”.")
def statuses_of_ones_own_have_an_underscore(context: Context) -> CheckResult:
    """Flag statuses in the name space of version 2."""
    return _own_name(context, "status", TOOL_CALL_STATUSES[2])


@check("ACP-L201", TOOL_CALL_MESSAGES, fix="Use one of the ten kinds; “other” if none fits.")
def kinds_are_known(context: Context) -> CheckResult:
    """Flag kinds that version 1 does not have."""
    kind = tool_call_fields(context).get("kind")
    if kind is None:
        return None
    if isinstance(kind, str) and kind in TOOL_KINDS[1]:
        return OK
    return context.problem(
        f"{quoted(kind)} is no kind of version 1", path=f"{place_of(context)}.kind"
    )


@check("ACP-L202", TOOL_CALL_MESSAGES, fix="Begin kinds of your own with “_”.")
def kinds_of_ones_own_have_an_underscore(context: Context) -> CheckResult:
    """Flag kinds in the name space of version 2."""
    return _own_name(context, "kind", TOOL_KINDS[2])


def _own_name(context: Context, name: str, known: tuple[str, ...]) -> CheckResult:
    value = tool_call_fields(context).get(name)
    if not isinstance(value, str):
        return None
    if value in known or value.startswith("_"):
        return OK
    return context.problem(
        f"the {name} {quoted(value)} does not begin with “_”", path=f"{place_of(context)}.{name}"
    )


@check("ACP-L217", TOOL_CALL_UPDATES, fix="Send raw input and output as objects.")
def raw_values_are_objects(context: Context) -> CheckResult:
    """Flag, once for each field of a session, raw values that are not objects."""
    reported = context.state.of(_Raw).reported
    names = [name for name in ("rawInput", "rawOutput") if context.update.get(name) is not None]
    if not names:
        return None
    return tuple(
        Problem(
            f"{name} is no object: {quoted(context.update[name])}",
            (context.seq,),
            path=f"params.update.{name}",
        )
        for name in names
        if not isinstance(context.update[name], dict)
        and (context.session_id or "", name) not in reported
    )


@track(TOOL_CALL_UPDATES)
def _keep_raw(context: Context) -> None:
    reported = context.state.of(_Raw).reported
    for name in ("rawInput", "rawOutput"):
        value = context.update.get(name)
        if value is not None and not isinstance(value, dict) and len(reported) < REMEMBERED:
            reported.add((context.session_id or "", name))


@check("ACP-L220", TOOL_CALL_MESSAGES, fix="Keep the name that a tool call came up with.")
def names_do_not_change(context: Context) -> CheckResult:
    """Flag tool calls whose tool has another name than before."""
    tool, name = known_tool(context), tool_call_fields(context).get("name")
    if tool is None or not isinstance(name, str) or not isinstance(tool.name, str):
        return None
    if name == tool.name:
        return OK
    return context.problem(
        f"the tool's name was {quoted(tool.name)} and is {quoted(name)}",
        tool.first,
        path=f"{place_of(context)}.name",
    )


@check("ACP-L221", on_update("tool_call_update"), fix="Leave out what does not change.")
def null_changes_nothing(context: Context) -> CheckResult:
    """Flag updates of version 1 that seem to clear what they cannot."""
    return tuple(
        Problem(
            f"{name} is null, which changes nothing", (context.seq,), path=f"params.update.{name}"
        )
        for name in ("title", "kind")
        if name in context.update and context.update[name] is None
    )


ITEMS: Final = frozenset({"content", "diff", "terminal"})
BLOCKS: Final = frozenset({"text", "image", "audio", "resource_link", "resource"})
"""Types of blocks, which are no item of a tool call by themselves."""


def content_of(context: Context) -> tuple[str, Json]:
    """Return the content of a tool call, and where it stands."""
    return f"{place_of(context)}.content", tool_call_fields(context).get("content")


@check(
    "ACP-L203",
    TOOL_CALL_MESSAGES,
    fix='Wrap blocks: {"type": "content", "content": {…}}, in an array.',
)
def content_is_wrapped(context: Context) -> CheckResult:
    """Flag content of tool calls that is no list of content, diffs and terminals."""
    place, content = content_of(context)
    if content is None:
        return None
    if not isinstance(content, list):
        return context.problem(f"the content is no array: {quoted(content)}", path=place)
    problems: list[Problem] = []
    for index, each in enumerate(as_array(content)):
        text = _wrong_item(each, context.version)
        if text:
            where = f"{place}.{index}.type" if isinstance(each, dict) else f"{place}.{index}"
            problems.append(Problem(text, (context.seq,), path=where))
    return tuple(problems)


@check(
    "ACP-L203",
    on_update("tool_call_content_chunk"),
    fix='Wrap blocks: {"type": "content", "content": {…}}.',
)
def content_of_chunks_is_wrapped(context: Context) -> CheckResult:
    """Flag chunks of tool calls that are no content, diff or terminal."""
    content = context.update.get("content")
    if content is None or isinstance(content, list):
        return None
    text = _wrong_item(content, context.version)
    return context.problem(text, path="params.update.content.type") if text else OK


def _wrong_item(item: Json, version: int | None) -> str:
    if not isinstance(item, dict):
        return f"the item is no object: {quoted(item)}"
    kind = as_object(item).get("type")
    if not isinstance(kind, str):
        return "the item has no type"
    if kind in BLOCKS:
        return f"the item is a bare block of type {kind}"
    if kind in ITEMS or version == 2:
        return ""
    return f"the item's type is {quoted(kind)}, not content, diff or terminal"


def _locations(context: Context) -> list[tuple[str, dict[str, Json]]]:
    place = f"{place_of(context)}.locations"
    return [
        (f"{place}.{index}", as_object(each))
        for index, each in enumerate(as_array(tool_call_fields(context).get("locations")))
    ]


@check("ACP-L212", TOOL_CALL_MESSAGES, fix="Send absolute paths as locations.")
def locations_are_absolute(context: Context) -> CheckResult:
    """Flag places in files that are not said whole."""
    locations = _locations(context)
    if not locations:
        return None
    return tuple(
        Problem(
            f"the location {quoted(each.get('path'))} is no absolute path",
            (context.seq,),
            path=f"{place}.path",
        )
        for place, each in locations
        if not is_absolute(each.get("path"))
    )


@check("ACP-L213", TOOL_CALL_MESSAGES, fix="Count lines from 1.")
def lines_count_from_1(context: Context) -> CheckResult:
    """Flag lines before the first one; in version 2 the schema forbids them."""
    lines = [
        (place, each["line"])
        for place, each in _locations(context)
        if type(each.get("line")) is int
    ]
    if not lines:
        return None
    return tuple(
        Problem(
            f"the line is {quoted(line)}",
            (context.seq,),
            "error" if context.version == 2 else None,
            f"{place}.line",
        )
        for place, line in lines
        if isinstance(line, int) and line < 1
    )


@check(
    "ACP-L214",
    TOOL_CALL_MESSAGES,
    fix="Show a terminal that the client created, before it is released.",
)
def shown_terminals_are_there(context: Context) -> CheckResult:
    """Flag terminals of version 1 that are shown, but not there or not any more.

    A client may have said that it shows terminals of the agent's too, which come along in _meta.
    """
    tool, session = known_tool(context), context.session
    place, content = content_of(context)
    shown = [
        (f"{place}.{index}.terminalId", id_)
        for index, each in enumerate(map(as_object, as_array(content)))
        if each.get("type") == "terminal" and isinstance(id_ := each.get("terminalId"), str)
    ]
    if not shown or session is None or session.is_replaying:
        return None
    problems: list[Problem] = []
    for where, id_ in shown:
        terminal = _terminal(context, id_)
        if (tool is not None and id_ in tool.terminals) or id_ == _own_terminal(context):
            continue
        if terminal is None:
            problems += context.problem(f"there is no terminal {quoted(id_)}", path=where)
        elif terminal.released is not None:
            problems += context.problem(
                f"the terminal {quoted(id_)} was released", terminal.released, path=where
            )
    return tuple(problems)


def _own_terminal(context: Context) -> Json:
    """Return the terminal of its own that an agent shows to a client that takes such."""
    claims = as_object(context.state.capabilities["client"].get("_meta"))
    if claims.get("terminal_output") is not True:
        return None
    return as_object(as_object(tool_call_fields(context).get("_meta")).get("terminal_info")).get(
        "terminal_id"
    )


def _terminal(context: Context, id_: str) -> SeenTerminal | None:
    for session in context.state.sessions.values():
        if id_ in session.terminals:
            return session.terminals[id_]
    return None


@check("ACP-L215", on_update("tool_call_content_chunk"), fix="Announce a tool call by an update.")
def chunks_are_of_known_tool_calls(context: Context) -> CheckResult:
    """Flag, once for each, tool calls that have content before they are announced."""
    id_ = context.update.get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    if id_ in context.session.tools:
        return OK
    return context.problem(
        f"the tool call {quoted(id_)} was not announced", path="params.update.toolCallId"
    )


@check(
    "ACP-L216", on_update("tool_call_content_chunk"), fix="Send each item in a chunk of its own."
)
def chunks_have_one_item(context: Context) -> CheckResult:
    """Flag chunks of tool calls whose content is a list."""
    if isinstance(context.update.get("content"), list):
        return context.problem("the content of the chunk is an array", path="params.update.content")
    return OK


UPDATED: Final = (*on_update("tool_call_update"), *on_request("session/request_permission"))
"""Updates that report a tool call."""
GOING: Final = frozenset({"in_progress", "completed"})
"""Statuses of a tool call that is, or was, carried out."""
REFUSED: Final = frozenset({"reject_once", "reject_always", "cancelled"})
"""Outcomes of a request for permission that forbid it."""


def new_status(context: Context) -> str | None:
    """Return the status that an update sets; in version 2 null means `pending`."""
    reported = tool_call_fields(context)
    status = reported.get("status")
    if isinstance(status, str):
        return status
    return "pending" if context.version == 2 and "status" in reported else None


def live_tool(context: Context) -> SeenToolCall | None:
    """Return what was known of the tool call, outside of a replay."""
    if context.session is None or context.session.is_replaying:
        return None
    return known_tool(context)


@check("ACP-L198", UPDATED, fix="Use a new tool call for what is done anew.")
def final_statuses_are_not_left(context: Context) -> CheckResult:
    """Flag tool calls that go on, or end otherwise, after they ended."""
    tool = live_tool(context)
    if tool is None or tool.status not in FINAL:
        return None
    status = new_status(context)
    if status is None or status == tool.status:
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} was {tool.status} and is {quoted(status)}",
        tool.status_at,
        path=f"{place_of(context)}.status",
    )


@check("ACP-L199", UPDATED, fix="Leave a call in progress until it ends.")
def progress_is_not_undone(context: Context) -> CheckResult:
    """Flag tool calls that are pending again."""
    tool = live_tool(context)
    if tool is None or tool.status != "in_progress":
        return None
    if new_status(context) != "pending":
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} was in progress and is pending again",
        tool.status_at,
        path=f"{place_of(context)}.status",
    )


@check(
    "ACP-L200",
    UPDATED,
    on_update("tool_call_content_chunk"),
    fix="Send the content with, or before, the final status.",
)
def ended_tool_calls_get_no_content(context: Context) -> CheckResult:
    """Flag content that comes after the end; titles, locations and raw values may."""
    tool = live_tool(context)
    if tool is None or tool.ended is None or tool.status not in FINAL:
        return None
    if not tool_call_fields(context).get("content"):
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} was {tool.status} and gets content",
        tool.ended,
        path=f"{place_of(context)}.content",
    )


@check("ACP-L218", TOOL_CALL_MESSAGES, fix="Begin when permission is granted.")
def permission_is_waited_for(context: Context) -> CheckResult:
    """Flag tool calls that go on while permission for them is still asked for."""
    tool = live_tool(context)
    if tool is None or tool.permission is None or tool.permission.responded is not None:
        return None
    status = new_status(context)
    if tool.permission.cancelled is not None or status not in GOING or status == tool.status:
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} is {status} while its permission request is open",
        tool.permission,
        path=f"{place_of(context)}.status",
    )


@check("ACP-L219", TOOL_CALL_UPDATES, fix="Report a call that was not permitted as failed.")
def refusals_are_kept_to(context: Context) -> CheckResult:
    """Flag tool calls that go on though permission for them was refused."""
    tool = live_tool(context)
    if tool is None or tool.outcome not in REFUSED or tool.permission is None:
        return None
    status = new_status(context)
    if status not in GOING or status == tool.status:
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} is {status} though permission was "
        f"{_outcome_text(tool.outcome)}",
        tool.permission,
        tool.permission.responded,
        path="params.update.status",
    )


def _outcome_text(outcome: str | None) -> str:
    return "refused" if outcome != "cancelled" else "cancelled"
