"""Tool calls and their updates.

Source: ACP, "Tool Calls", "Overview"; the RFD about names of tool calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import (
    OK,
    CheckResult,
    Context,
    Place,
    Problem,
    Violation,
    is_one_of,
    items,
    quoted,
)
from acp_inspector.lint.on import Triggers
from acp_inspector.lint.registry import check, each_of, track
from acp_inspector.lint.state import SeenTerminal, SeenToolCall
from acp_inspector.lint.text_checks import is_absolute
from acp_inspector.lint.tracker import permission_tool
from acp_protocol.json_values import as_int, as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import BLOCK_KINDS, FINAL_STATUSES
from acp_protocol.schema.words import TOOL_CALL_STATUSES, TOOL_KINDS

TOOL_CALL_UPDATES: Final[Triggers] = on.update("tool_call", "tool_call_update")
TOOL_CALL_MESSAGES: Final[Triggers] = (
    *TOOL_CALL_UPDATES,
    *on.request("session/request_permission"),
)
"""Messages that report a tool call, permission requests included."""
REMEMBERED: Final = 1000
"""Sessions that are remembered."""


class _Raw(set[tuple[str, str]]):
    """Sessions and fields that were reported already."""


def place_of(context: Context) -> str:
    """Return the path of the tool call in a message."""
    if context.method == "session/update":
        return "params.update"
    return "params.toolCall" if "toolCall" in context.params else "params.subject.toolCall"


def tool_call_fields(context: Context) -> dict[str, Json]:
    """Return the fields of the tool call in a message; empty if there are none."""
    return context.update or permission_tool(context.params)


def known_tool(context: Context) -> SeenToolCall | None:
    """Return the state of a message's tool call before it."""
    id_ = tool_call_fields(context).get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    return context.session.tools.get(id_)


@check("ACP-L192", on.update("tool_call_update"))
def updated_tool_calls_are_known(context: Context) -> CheckResult:
    id_ = context.update.get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    if id_ in context.session.tools:
        return OK
    return context.problem(
        f"the tool call {quoted(id_)} is updated, but was not announced", at="toolCallId"
    )


@check("ACP-L193", on.update("tool_call"))
def announced_tool_calls_are_complete(context: Context) -> CheckResult:
    return context.problems(
        (f"the tool_call has no {name}", f"params.update.{name}")
        for name in ("toolCallId", "title")
        if not isinstance(context.update.get(name), str)
    )


@check("ACP-L194", on.update("tool_call"))
def tool_calls_are_announced_once(context: Context) -> CheckResult:
    tool = known_tool(context)
    if context.session is None or context.session.is_replaying:
        return None
    if tool is None or tool.created is None:
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} was announced before", tool.created, at="toolCallId"
    )


@check("ACP-L195", on.update("tool_call_update"))
def first_updates_have_a_title(context: Context) -> CheckResult:
    tool = known_tool(context)
    if context.session is None or (tool is not None and tool.is_announced):
        return None
    if isinstance(context.update.get("title"), str):
        return OK
    return context.problem("the first update of the tool call has no title", at="title")


@check("ACP-L196", TOOL_CALL_MESSAGES, name="status", known=TOOL_CALL_STATUSES[1])
@check("ACP-L201", TOOL_CALL_MESSAGES, name="kind", known=TOOL_KINDS[1])
def words_are_known(context: Context, name: str, known: tuple[str, ...]) -> CheckResult:
    value = tool_call_fields(context).get(name)
    if value is None:
        return None
    if is_one_of(value, known):
        return OK
    return context.problem(
        f"{quoted(value)} is no {name} of version 1", path=f"{place_of(context)}.{name}"
    )


@check("ACP-L197", TOOL_CALL_MESSAGES, name="status", known=TOOL_CALL_STATUSES[2])
@check("ACP-L202", TOOL_CALL_MESSAGES, name="kind", known=TOOL_KINDS[2])
def _own_name(context: Context, name: str, known: tuple[str, ...]) -> CheckResult:
    value = tool_call_fields(context).get(name)
    if not isinstance(value, str):
        return None
    if value in known or value.startswith("_"):
        return OK
    return context.problem(
        f"the {name} {quoted(value)} does not begin with “_”", path=f"{place_of(context)}.{name}"
    )


@check("ACP-L217", TOOL_CALL_UPDATES)
def raw_values_are_objects(context: Context) -> CheckResult:
    reported = context.state.of(_Raw)
    names = [name for name in ("rawInput", "rawOutput") if context.update.get(name) is not None]
    if not names:
        return None
    return context.problems(
        (f"{name} is not an object: {quoted(context.update[name])}", f"params.update.{name}")
        for name in names
        if not isinstance(context.update[name], dict)
        and (context.session_id or "", name) not in reported
    )


@track(TOOL_CALL_UPDATES)
def _keep_raw(context: Context) -> None:
    reported = context.state.of(_Raw)
    for name in ("rawInput", "rawOutput"):
        value = context.update.get(name)
        if value is not None and not isinstance(value, dict) and len(reported) < REMEMBERED:
            reported.add((context.session_id or "", name))


@check("ACP-L220", TOOL_CALL_MESSAGES)
def names_do_not_change(context: Context) -> CheckResult:
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


@check("ACP-L221", on.update("tool_call_update"))
def null_changes_nothing(context: Context) -> CheckResult:
    return context.problems(
        (f"{name} is null, which changes nothing", f"params.update.{name}")
        for name in ("title", "kind")
        if name in context.update and context.update[name] is None
    )


ITEMS: Final = frozenset({"content", "diff", "terminal"})


def content_of(context: Context) -> tuple[str, Json]:
    """Return the content of a tool call, and its path."""
    return f"{place_of(context)}.content", tool_call_fields(context).get("content")


@check(
    "ACP-L203",
    TOOL_CALL_MESSAGES,
    fix='Wrap blocks: {"type": "content", "content": {…}}, in an array.',
)
def content_is_wrapped(context: Context) -> CheckResult:
    place, content = content_of(context)
    if content is None:
        return None
    if not isinstance(content, list):
        return context.problem(f"the content is not an array: {quoted(content)}", path=place)
    problems: list[Problem] = []
    for index, each in enumerate(as_list(content)):
        text = _wrong_item(each, context.version)
        if text:
            where = f"{place}.{index}.type" if isinstance(each, dict) else f"{place}.{index}"
            problems += context.problem(text, path=where)
    return tuple(problems)


@check("ACP-L203", on.update("tool_call_content_chunk"))
def content_of_chunks_is_wrapped(context: Context) -> CheckResult:
    content = context.update.get("content")
    if content is None or isinstance(content, list):
        return None
    text = _wrong_item(content, context.version)
    return context.problem(text, at="content.type") if text else OK


def _wrong_item(item: Json, version: int | None) -> str:
    if not isinstance(item, dict):
        return f"the item is not an object: {quoted(item)}"
    kind = as_object(item).get("type")
    if not isinstance(kind, str):
        return "the item has no type"
    if kind in BLOCK_KINDS:
        return f"the item is a bare block of type {kind}"
    if kind in ITEMS or version == 2:
        return ""
    return f"the item's type is {quoted(kind)}, not content, diff or terminal"


def _locations(context: Context) -> list[Place]:
    return items(f"{place_of(context)}.locations", tool_call_fields(context).get("locations"))


@check("ACP-L212", TOOL_CALL_MESSAGES)
@each_of(_locations)
def locations_are_absolute(
    context: Context, place: str, location: dict[str, Json]
) -> Iterator[Violation]:
    path = location.get("path")
    if not is_absolute(path):
        yield f"the location {quoted(path)} is not an absolute path", f"{place}.path"


@check("ACP-L213", TOOL_CALL_MESSAGES)
def lines_are_one_based(context: Context) -> CheckResult:
    """Flag line numbers below 1; in version 2 the schema forbids them."""
    problems: list[Problem] = []
    found: CheckResult = None
    severity = "error" if context.version == 2 else None
    for place, each in _locations(context):
        line = as_int(each.get("line"))
        if line is not None:
            found = OK
            if line < 1:
                text = f"the line is {quoted(line)}"
                problems += context.problem(text, path=f"{place}.line", severity=severity)
    return tuple(problems) or found


@check("ACP-L214", TOOL_CALL_MESSAGES)
def shown_terminals_are_there(context: Context) -> CheckResult:
    """Flag shown terminals of version 1 that do not exist or were released.

    A client may support terminals of the agent, which are sent in _meta.
    """
    tool, session = known_tool(context), context.session
    place, content = content_of(context)
    shown = [
        (f"{place}.{index}.terminalId", id_)
        for index, each in enumerate(map(as_object, as_list(content)))
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
    """Return the agent's own terminal in a message, if the client supports those."""
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


@check("ACP-L215", on.update("tool_call_content_chunk"))
def chunks_are_of_known_tool_calls(context: Context) -> CheckResult:
    id_ = context.update.get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    if id_ in context.session.tools:
        return OK
    return context.problem(f"the tool call {quoted(id_)} was not announced", at="toolCallId")


@check("ACP-L216", on.update("tool_call_content_chunk"))
def chunks_have_one_item(context: Context) -> CheckResult:
    if isinstance(context.update.get("content"), list):
        return context.problem("the content of the chunk is an array", at="content")
    return OK


UPDATED: Final = (*on.update("tool_call_update"), *on.request("session/request_permission"))
"""Updates that report a tool call."""
EXECUTED_STATUSES: Final = frozenset({"in_progress", "completed"})
"""Statuses of a tool call that is running or has run."""
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
    """Return the state of the tool call, outside of a replay."""
    if context.session is None or context.session.is_replaying:
        return None
    return known_tool(context)


@check("ACP-L198", UPDATED)
def final_statuses_are_not_left(context: Context) -> CheckResult:
    tool = live_tool(context)
    if tool is None or tool.status not in FINAL_STATUSES:
        return None
    status = new_status(context)
    if status is None or status == tool.status:
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} was {tool.status} and is {quoted(status)}",
        tool.status_at,
        path=f"{place_of(context)}.status",
    )


@check("ACP-L199", UPDATED)
def progress_is_not_undone(context: Context) -> CheckResult:
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


@check("ACP-L200", UPDATED, on.update("tool_call_content_chunk"))
def ended_tool_calls_get_no_content(context: Context) -> CheckResult:
    tool = live_tool(context)
    if tool is None or tool.ended is None or tool.status not in FINAL_STATUSES:
        return None
    if not tool_call_fields(context).get("content"):
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} was {tool.status} and gets content",
        tool.ended,
        path=f"{place_of(context)}.content",
    )


@check("ACP-L218", TOOL_CALL_MESSAGES)
def permission_is_waited_for(context: Context) -> CheckResult:
    tool = live_tool(context)
    if tool is None or tool.permission is None:
        return None
    reply = tool.permission.responded
    if reply is not None and not (tool.outcome in REFUSED and context.has_crossed(reply)):
        return None
    status = new_status(context)
    if (
        tool.permission.cancelled is not None
        or status not in EXECUTED_STATUSES
        or status == tool.status
    ):
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} is {status} while its permission request is open",
        tool.permission,
        path=f"{place_of(context)}.status",
    )


@check("ACP-L219", TOOL_CALL_UPDATES)
def refusals_are_kept_to(context: Context) -> CheckResult:
    tool = live_tool(context)
    if tool is None or tool.outcome not in REFUSED or tool.permission is None:
        return None
    status = new_status(context)
    reply = tool.permission.responded
    if (
        status not in EXECUTED_STATUSES
        or status == tool.status
        or (reply is not None and context.has_crossed(reply))
    ):
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} is {status} though permission was "
        f"{'cancelled' if tool.outcome == 'cancelled' else 'refused'}",
        tool.permission,
        reply,
        at="status",
    )
