"""Tool calls and permissions of Continuum Router.

The shape of a permission's question is published, that of a tool call's progress is not: it is
taken to be the same, with a status. How a permission is answered is not published either, only
the four words that an answer may be.

Source: Continuum Router, "Tool Call Reporting", "Permission Delegation".
"""

from __future__ import annotations

import re
from typing import Final

from acp_protocol.dialects.continuum_blocks import read_block
from acp_protocol.dialects.members import (
    Object,
    as_list,
    as_object,
    as_text,
    file_uri,
    path_of,
    renamed,
    without,
)
from acp_protocol.jsonrpc import Json

OPTIONS: Final = {
    "allow_once": "Allow once",
    "allow_always": "Allow always",
    "reject_once": "Reject",
    "reject_always": "Reject always",
}
SELECTED: Final = "selected"
KINDS: Final = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"}
)
_STATUS: Final = {"ask": "pending", "rejected": "failed"}
_STATUSES: Final = ("pending", "in_progress", "completed", "failed")
_MEMBERS: Final = ("toolCallId", "title", "kind", "status", "content", "rawInput", "rawOutput")


def has_tool(params: Object) -> bool:
    """Tell whether params hold a tool call side by side with the session."""
    return isinstance(params.get("toolCallId"), str) and "toolCall" not in params


def read_permission(params: Object) -> Object:
    """Turn a permission's question into the official one.

    Raises:
        ValueError: a location's URI is none.
    """
    options = [{"optionId": word, "name": name, "kind": word} for word, name in OPTIONS.items()]
    return {
        "sessionId": params.get("sessionId"),
        "toolCall": _tool(params) | {"status": "pending"},
        "options": params.get("options", options),
    }


def write_permission(params: Object) -> Object:
    """Turn an official permission's question into the dialect.

    Raises:
        ValueError: a location's path has no UTF-8 form.
    """
    tool = as_object(params["toolCall"])
    id_ = as_text(tool.get("toolCallId"))
    places = [_write_location(place) for place in as_list(tool.get("locations"))]
    return {
        "sessionId": params.get("sessionId"),
        "toolCallId": id_,
        "title": as_text(tool.get("title")) or id_,
        "kind": tool.get("kind") if as_text(tool.get("kind")) in KINDS else "other",
        "locations": places,
    }


def option_of(params: Object) -> Object:
    """Return, for each word that an answer may be, the option that it chooses.

    Whoever answers has not seen the options: of several that last, the first one is chosen, which
    is the narrowest as a rule, and where none lasts, that which holds once.
    """
    options = [as_object(option) for option in as_list(params.get("options"))]
    if not options:
        return {word: word for word in OPTIONS}
    by_id = {as_text(option.get("optionId")): option.get("optionId") for option in options}
    by_kind = {as_text(each.get("kind")): each.get("optionId") for each in reversed(options)}
    instead = {f"{deed}_always": by_kind.get(f"{deed}_once") for deed in ("allow", "reject")}
    return instead | by_kind | by_id


def outcome_of(result: Json, options: Object) -> Json:
    """Turn an answer to a permission's question into the official one.

    Beside the official shape a bare word is understood, alone or as the outcome. All of them may
    choose by one of the four words, for the options have no other names in the dialect. A word
    that was not offered allows nothing.
    """
    word = as_object(result).get("outcome", result)
    chosen = as_object(result if word == SELECTED else word)
    if chosen.get("outcome") == SELECTED:
        word = chosen.get("optionId")
    if not isinstance(word, str):
        return result
    option = options.get(word)
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": SELECTED, "optionId": option}}


def read_tool_call(params: Object, *, is_new: bool) -> Object:
    """Turn a tool call's progress into an official update.

    Raises:
        ValueError: a location's URI is none.
    """
    tool = _tool(params)
    if not is_new:
        return {"sessionUpdate": "tool_call_update"} | tool
    return {"sessionUpdate": "tool_call"} | {"title": tool["toolCallId"]} | tool


def _tool(params: Object) -> Object:
    tool = {name: params[name] for name in _MEMBERS if name in params}
    if "locations" in params:
        tool["locations"] = [_read_location(place) for place in as_list(params["locations"])]
    if "content" in tool:
        tool["content"] = [_read_content(item) for item in as_list(tool["content"])]
    if "status" in tool:
        status = _status(as_text(tool["status"]))
        tool = without(tool, "status") | ({"status": status} if status in _STATUSES else {})
    return tool


def _read_content(item: Json) -> Json:
    if as_text(as_object(item).get("type")) in {"content", "diff", "terminal"}:
        return item
    return {"type": "content", "content": read_block(item)}


def _status(word: str) -> str:
    """Return `InProgress` as `in_progress`."""
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).lower()
    return _STATUS.get(word, word)


def _read_location(place: Json) -> Json:
    members = as_object(place)
    if not isinstance(members.get("uri"), str) or "path" in members:
        return place
    named = renamed(members, {"uri": "path", "startLine": "line"})
    return named | {"path": path_of(members["uri"])}


def _write_location(place: Json) -> Json:
    members = as_object(place)
    if not isinstance(members.get("path"), str):
        return place
    named = renamed(members, {"path": "uri", "line": "startLine"})
    return named | {"uri": file_uri(members["path"])}
