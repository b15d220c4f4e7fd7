"""Filters that select what resembles, or belongs to, one row."""

from __future__ import annotations

from typing import Final, Literal

from acp_inspector.filter.ast import And, Compare, Exists, Expression, format_expression
from acp_inspector.filter.frames import EntryFields
from acp_inspector.jsonpath import JSONPathError, parse_path
from acp_protocol.jsonrpc import Json

MAX_TEXT: Final = 200
"""Characters of a text that a filter looks for, at most."""


def same_filter(facts: EntryFields, what: Literal["session", "tool"]) -> str:
    """Return the filter for what belongs to the same session or tool call; empty if to none."""
    value = facts.session if what == "session" else facts.tool
    return format_expression(Compare(what, "==", value)) if value else ""


def permission_filter(facts: EntryFields) -> str:
    """Return the filter that leads from a tool call to its permission, or back."""
    if not facts.tool:
        return ""
    same = Compare("tool", "==", facts.tool)
    is_request = facts.method == "session/request_permission"
    requested = Compare("method", "==", "session/request_permission")
    called = Compare("update", "==", "tool_call")
    return format_expression(And((called if is_request else requested, same)))


def filter_for(facts: EntryFields, path: str, value: Json) -> str:
    """Return the filter for what is like a row, or has the same value at a place of its message."""
    try:
        place = parse_path(path)
    except JSONPathError:
        # There is no place, or it is the whole message, or nothing that the language can name.
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
