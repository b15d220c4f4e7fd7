"""Tool calls and their updates.

Source: ACP, "Tool Calls", "Overview"; the RFD about names of tool calls.
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import absolute, schema
from acp_inspector.lint.context import (
    OK,
    CheckResult,
    Context,
    Place,
    Problem,
    items,
    quoted,
)
from acp_inspector.lint.on import Triggers
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, fix, track
from acp_inspector.lint.state import SeenTerminal, SeenToolCall
from acp_inspector.lint.tracker import permission_tool
from acp_protocol.json_values import as_int, as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import BLOCK_KINDS, FINAL_STATUSES

rule = LintSubject("tool-calls", page="tool-calls.mdx")

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


def in_calls(place: str) -> tuple[str, ...]:
    """Return a place in a tool call, for updates and for permission requests."""
    return place, f"toolCall.{place}", f"subject.toolCall.{place}"


def known_tool(context: Context) -> SeenToolCall | None:
    """Return the state of a message's tool call before it."""
    id_ = tool_call_fields(context).get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    return context.session.tools.get(id_)


@rule.warning(192, "implied", "agent", on.update("tool_call_update"), version=1)
@fix("Announce a tool call by tool_call first.")
def unannounced_tool_call(context: Context) -> CheckResult:
    """`tool_call_update` refers to a `toolCallId` announced by `tool_call` or a permission
    request.
    """
    id_ = context.update.get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    if id_ in context.session.tools:
        return OK
    return context.problem(
        f"the tool call {quoted(id_)} is updated, but was not announced", at="toolCallId"
    )


@rule.error(194, "implied", "agent", on.update("tool_call"), version=1, case="tool-call.once")
@fix("Send tool_call_update for a call that is known.")
def duplicate_tool_call(context: Context) -> CheckResult:
    """No second `tool_call` with the same id in a session (outside load replay)."""
    tool = known_tool(context)
    if context.session is None or context.session.is_replaying:
        return None
    if tool is None or tool.created is None:
        return OK
    return context.problem(
        f"the tool call {quoted(tool.id)} was announced before", tool.created, at="toolCallId"
    )


@rule.warning(195, "should", "agent", on.update("tool_call_update"), version=2)
@fix("Send a title with the first update.")
def untitled_tool_call(context: Context) -> CheckResult:
    """The first `tool_call_update` for an id carries a `title`."""
    tool = known_tool(context)
    if context.session is None or (tool is not None and tool.is_announced):
        return None
    if isinstance(context.update.get("title"), str):
        return OK
    return context.problem("the first update of the tool call has no title", at="title")


@rule.error(196, "schema", "agent", TOOL_CALL_MESSAGES, version=1, case="tool-call.status")
@details(source="v1/tool-calls.mdx")
@fix("Use pending, in_progress, completed or failed.")
@checked_by(schema, at=in_calls("status"), kinds=("type", "word"))
def unknown_tool_status() -> None:
    """`status` is `pending`, `in_progress`, `completed` or `failed` (`cancelled` does not exist in
    v1).
    """


@rule.error(201, "schema", "agent", TOOL_CALL_MESSAGES, version=1, case="tool-call.kind")
@fix("Use one of the ten kinds; “other” if none fits.")
@checked_by(schema, at=in_calls("kind"), kinds=("type", "word"))
def unknown_tool_kind() -> None:
    """`kind` is one of the ten v1 kinds (incl. `switch_mode`)."""


@rule.warning(197, "must", "agent", TOOL_CALL_MESSAGES, version=2)
@fix("Begin statuses of your own with “_”.")
@checked_by(schema, at=in_calls("status"), kinds="reserved")
def reserved_tool_status() -> None:
    """Unknown `status` values start with `_`."""


@rule.warning(202, "must", "agent", TOOL_CALL_MESSAGES, version=2)
@fix("Begin kinds of your own with “_”.")
@checked_by(schema, at=in_calls("kind"), kinds="reserved")
def reserved_tool_kind() -> None:
    """Unknown `kind` values start with `_`."""


@rule.info(217, "implied", "agent", TOOL_CALL_UPDATES)
@fix("Send raw input and output as objects.")
def raw_data_not_object(context: Context) -> CheckResult:
    """`rawInput`/`rawOutput` are objects (schema allows any JSON)."""
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


@rule.info(
    220, "implied", "agent", TOOL_CALL_MESSAGES, source="rfds/tool-call-name.mdx", since="2026-11"
)
@fix("Keep the name that a tool call came up with.")
def tool_name_changes(context: Context) -> CheckResult:
    """The `name` field (stable now) is used consistently (not changed later)."""
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


@rule.info(221, "heuristic", "agent", on.update("tool_call_update"), version=1)
@details(source="rfds/v2/tool-call-updates.mdx")
@fix("Leave out what does not change.")
def null_clears_nothing(context: Context) -> CheckResult:
    """`title: null` or `kind: null` in a v1 update changes nothing; a sender that expects a clear
    is mistaken.
    """
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
    "bare-tool-content",
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


@rule.error(203, "schema", "agent", on.update("tool_call_content_chunk"), case="tool-call.content")
@details(source="tool-calls.mdx")
@fix('Wrap blocks: {"type": "content", "content": {…}}.')
def bare_tool_content(context: Context) -> CheckResult:
    """Tool-call content items are `content`/`diff`/`terminal` objects; bare content blocks must be
    wrapped.
    """
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


@rule.warning(213, "must", "agent", TOOL_CALL_MESSAGES, source="overview.mdx", since="2026-11")
@fix("Count lines from 1.")
def location_line_below_one(context: Context) -> CheckResult:
    """`locations[].line` is ≥ 1 (v2: schema minimum, error).

    Flag line numbers below 1; in version 2 the schema forbids them.
    """
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


@rule.error(214, "must", "agent", TOOL_CALL_MESSAGES, version=1, case="tool-call.terminal")
@details(source="v1/terminals.mdx")
@fix("Show a terminal that the client created, before it is released.")
def unknown_embedded_terminal(context: Context) -> CheckResult:
    """Terminal content names a terminal created on this connection and not yet released when first
    embedded.

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


@rule.warning(215, "implied", "agent", on.update("tool_call_content_chunk"), version=2)
@fix("Announce a tool call by an update.")
def chunk_of_unknown_call(context: Context) -> CheckResult:
    """`tool_call_content_chunk` refers to a known `toolCallId`."""
    id_ = context.update.get("toolCallId")
    if context.session is None or not isinstance(id_, str):
        return None
    if id_ in context.session.tools:
        return OK
    return context.problem(f"the tool call {quoted(id_)} was not announced", at="toolCallId")


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


@rule.error(198, "implied", "agent", UPDATED, case="tool-call.final")
@details(since="2026-11", in_version_1="warning")
@fix("Use a new tool call for what is done anew.")
def reopened_tool_call(context: Context) -> CheckResult:
    """A terminal status (`completed`, `failed`, v2: `cancelled`, not `paused`) is not left again
    (v1 does not say so).
    """
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


@rule.warning(199, "implied", "agent", UPDATED)
@fix("Leave a call in progress until it ends.")
def tool_call_steps_back(context: Context) -> CheckResult:
    """`in_progress` does not go back to `pending`."""
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


@rule.warning(200, "heuristic", "agent", UPDATED, on.update("tool_call_content_chunk"))
@details(unlike=("openoxide",))
@fix("Send the content with, or before, the final status.")
def finished_tool_call_changes(context: Context) -> CheckResult:
    """No content or status changes after a terminal status (late cosmetic updates excepted)."""
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


@rule.warning(218, "should", "agent", TOOL_CALL_MESSAGES, source="prompt-turn.mdx")
@fix("Begin when permission is granted.")
def runs_before_permission(context: Context) -> CheckResult:
    """A call does not become `in_progress` or `completed` while its own permission request is
    pending.
    """
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


@rule.error(219, "implied", "agent", TOOL_CALL_UPDATES)
@fix("Report a call that was not permitted as failed.")
def runs_after_rejection(context: Context) -> CheckResult:
    """A call whose permission was rejected (selected `reject_*` option) or cancelled does not
    become `in_progress`/`completed` afterwards.
    """
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


@rule.error(216, "schema", "agent", on.update("tool_call_content_chunk"), version=2)
@fix("Send each item in a chunk of its own.")
def tool_chunk_list(context: Context) -> CheckResult:
    """`tool_call_content_chunk.content` is one item, not an array."""
    if isinstance(context.update.get("content"), list):
        return context.problem("the content of the chunk is an array", at="content")
    return OK


@rule.error(
    212, "must", "agent", TOOL_CALL_MESSAGES, source="overview.mdx", case="tool-call.location"
)
@fix("Send absolute paths as locations.")
@checked_by(
    absolute,
    at=("locations.*.path", "toolCall.locations.*.path", "subject.toolCall.locations.*.path"),
)
def relative_location() -> None:
    """`locations[].path` is absolute."""


@rule.error(193, "schema", "agent", on.update("tool_call"), version=1, case="tool-call.title")
@fix("Announce a tool call with toolCallId and title.")
@checked_by(schema, at="toolCallId|title")
def incomplete_tool_call() -> None:
    """`tool_call` has `toolCallId` and `title`."""
