"""What a tool call shows: content, terminals, and places in files.

Source: ACP, "Tool Calls", "Terminals", "Overview".
"""

from __future__ import annotations

from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, Problem, entries, members, quoted
from acp_inspector.lint.paths import is_absolute
from acp_inspector.lint.registry import check, updates
from acp_inspector.lint.rules.tool_calls import ASKED, known_tool, place_of, told_of
from acp_inspector.lint.state import Terminal
from acp_protocol.jsonrpc import Json

ITEMS: Final = frozenset({"content", "diff", "terminal"})
BLOCKS: Final = frozenset({"text", "image", "audio", "resource_link", "resource"})
"""Types of blocks, which are no item of a tool call by themselves."""


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
