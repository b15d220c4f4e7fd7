"""Filters for rows that are similar or related to one row."""

from __future__ import annotations

from typing import Final, Literal

from acp_inspector.filter.ast import And, Compare, Exists, Expression, format_expression
from acp_inspector.filter.frames import EntryFields
from acp_inspector.jsonpath import JSONPathError, parse_path
from acp_protocol.jsonrpc import Json

MAX_TEXT: Final = 200
"""Longest text in such a filter, in characters."""


def same_filter(facts: EntryFields, what: Literal["session", "tool"]) -> str:
    """Return the filter for rows of the same session or tool call; empty if there is none."""
    value = facts.session if what == "session" else facts.tool
    return format_expression(Compare(what, "==", value)) if value else ""


def permission_filter(facts: EntryFields) -> str:
    """Return the filter that finds the permission request of a tool call, or the reverse."""
    if not facts.tool:
        return ""
    same = Compare("tool", "==", facts.tool)
    is_request = facts.method == "session/request_permission"
    requested = Compare("method", "==", "session/request_permission")
    called = Compare("update", "==", "tool_call")
    return format_expression(And((called if is_request else requested, same)))


def filter_for(facts: EntryFields, path: str, value: Json) -> str:
    """Return the filter for rows like this one, or with the same value at a path in the message."""
    try:
        place = parse_path(path)
    except JSONPathError:
        # There is no path, it is the whole message, or filters cannot express it.
        return format_expression(_alike(facts))
    if isinstance(value, dict | list):
        return format_expression(Exists(place))
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return format_expression(Compare(place, "contains", value[:MAX_TEXT]))
    return format_expression(Compare(place, "==", value))


def _alike(facts: EntryFields) -> Expression:
    kind = facts.kind
    if kind == "event":
        return Compare("event", "==", facts.event)
    if kind in {"stderr", "malformed"}:
        return Exists(kind)
    terms: list[Expression] = [Compare("kind", "==", kind)] if kind in {"result", "error"} else []
    if facts.method:
        terms.append(Compare("method", "==", facts.method))
    if facts.update:
        terms.append(Compare("update", "==", facts.update))
    if not terms:
        return Compare("kind", "==", kind)
    return terms[0] if len(terms) == 1 else And(tuple(terms))
