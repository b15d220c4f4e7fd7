"""What an agent tells of a tool call, piece by piece.

Source: ACP, "Tool Calls", "Overview"; the RFD about names of tool calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.bookkeeping import permission_tool
from acp_inspector.lint.checks import Trigger, asks, check, learns, updates
from acp_inspector.lint.moment import FINE, Found, Moment, Problem, entries, members, quoted
from acp_inspector.lint.paths import is_absolute
from acp_inspector.lint.state import Terminal, ToolCall
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
ITEMS: Final = frozenset({"content", "diff", "terminal"})
BLOCKS: Final = frozenset({"text", "image", "audio", "resource_link", "resource"})
"""Types of blocks, which are no item of a tool call by themselves."""
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


def content_of(moment: Moment) -> tuple[str, Json]:
    """Return the content of a tool call, and where it stands."""
    return f"{place_of(moment)}.content", told_of(moment).get("content")


@check("ACP-L203", ASKED, fix='Wrap blocks: {"type": "content", "content": {…}}, in an array.')
def content_is_wrapped(moment: Moment) -> Found:
    """Tell of content of tool calls that is no list of content, diffs and terminals."""
    place, content = content_of(moment)
    if content is None:
        return None
    if not isinstance(content, list):
        return moment.problem(f"the content is no array: {quoted(content)}", path=place)
    problems: list[Problem] = []
    for index, each in enumerate(entries(content)):
        text = _wrong_item(each, moment.version)
        if text:
            where = f"{place}.{index}.type" if isinstance(each, dict) else f"{place}.{index}"
            problems.append(Problem(text, (moment.n,), path=where))
    return tuple(problems)


@check(
    "ACP-L203",
    updates("tool_call_content_chunk"),
    fix='Wrap blocks: {"type": "content", "content": {…}}.',
)
def content_of_chunks_is_wrapped(moment: Moment) -> Found:
    """Tell of chunks of tool calls that are no content, diff or terminal."""
    content = moment.update.get("content")
    if content is None or isinstance(content, list):
        return None
    text = _wrong_item(content, moment.version)
    return moment.problem(text, path="params.update.content.type") if text else FINE


def _wrong_item(item: Json, version: int | None) -> str:
    if not isinstance(item, dict):
        return f"the item is no object: {quoted(item)}"
    kind = members(item).get("type")
    if not isinstance(kind, str):
        return "the item has no type"
    if kind in BLOCKS:
        return f"the item is a bare block of type {kind}"
    if kind in ITEMS or version == 2:
        return ""
    return f"the item's type is {quoted(kind)}, not content, diff or terminal"


def _locations(moment: Moment) -> list[tuple[str, dict[str, Json]]]:
    place = f"{place_of(moment)}.locations"
    return [
        (f"{place}.{index}", members(each))
        for index, each in enumerate(entries(told_of(moment).get("locations")))
    ]


@check("ACP-L212", ASKED, fix="Send absolute paths as locations.")
def locations_are_absolute(moment: Moment) -> Found:
    """Tell of places in files that are not said whole."""
    locations = _locations(moment)
    if not locations:
        return None
    return tuple(
        Problem(
            f"the location {quoted(each.get('path'))} is no absolute path",
            (moment.n,),
            path=f"{place}.path",
        )
        for place, each in locations
        if not is_absolute(each.get("path"))
    )


@check("ACP-L213", ASKED, fix="Count lines from 1.")
def lines_count_from_1(moment: Moment) -> Found:
    """Tell of lines before the first one; in version 2 the schema forbids them."""
    lines = [
        (place, each["line"]) for place, each in _locations(moment) if type(each.get("line")) is int
    ]
    if not lines:
        return None
    return tuple(
        Problem(
            f"the line is {quoted(line)}",
            (moment.n,),
            "error" if moment.version == 2 else None,
            f"{place}.line",
        )
        for place, line in lines
        if isinstance(line, int) and line < 1
    )


@check("ACP-L214", ASKED, fix="Show a terminal that the client created, before it is released.")
def shown_terminals_are_there(moment: Moment) -> Found:
    """Tell of terminals of version 1 that are shown, but not there or not any more.

    A client may have said that it shows terminals of the agent's too, which come along in _meta.
    """
    tool, session = known_tool(moment), moment.session
    place, content = content_of(moment)
    shown = [
        (f"{place}.{index}.terminalId", id_)
        for index, each in enumerate(map(members, entries(content)))
        if each.get("type") == "terminal" and isinstance(id_ := each.get("terminalId"), str)
    ]
    if not shown or session is None or session.is_replaying:
        return None
    problems: list[Problem] = []
    for where, id_ in shown:
        terminal = _terminal(moment, id_)
        if (tool is not None and id_ in tool.terminals) or id_ == _own_terminal(moment):
            continue
        if terminal is None:
            problems += moment.problem(f"there is no terminal {quoted(id_)}", path=where)
        elif terminal.released is not None:
            problems += moment.problem(
                f"the terminal {quoted(id_)} was released", terminal.released, path=where
            )
    return tuple(problems)


def _own_terminal(moment: Moment) -> Json:
    """Return the terminal of its own that an agent shows to a client that takes such."""
    claims = members(moment.state.capabilities["client"].get("_meta"))
    if claims.get("terminal_output") is not True:
        return None
    return members(members(told_of(moment).get("_meta")).get("terminal_info")).get("terminal_id")


def _terminal(moment: Moment, id_: str) -> Terminal | None:
    for session in moment.state.sessions.values():
        if id_ in session.terminals:
            return session.terminals[id_]
    return None


@check("ACP-L215", updates("tool_call_content_chunk"), fix="Announce a tool call by an update.")
def chunks_are_of_known_tool_calls(moment: Moment) -> Found:
    """Tell, once for each, of tool calls that have content before they are announced."""
    id_ = moment.update.get("toolCallId")
    if moment.session is None or not isinstance(id_, str):
        return None
    if id_ in moment.session.tools:
        return FINE
    return moment.problem(
        f"the tool call {quoted(id_)} was not announced", path="params.update.toolCallId"
    )


@check("ACP-L216", updates("tool_call_content_chunk"), fix="Send each item in a chunk of its own.")
def chunks_have_one_item(moment: Moment) -> Found:
    """Tell of chunks of tool calls whose content is a list."""
    if isinstance(moment.update.get("content"), list):
        return moment.problem("the content of the chunk is an array", path="params.update.content")
    return FINE


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
