"""Filters that stand for what one looks at: the same session, tool call or place."""

from __future__ import annotations

from typing import Final, Literal, Protocol

from acp_inspector.filter.expressions import (
    All,
    Compare,
    Exists,
    Expression,
    spelled,
)
from acp_inspector.filter.frames import FrameFacts
from acp_inspector.filter.paths import PathError, read_path
from acp_protocol.jsonrpc import Json

TROUBLE: Final = "error or malformed"
"""What one looks for when something went wrong."""
LONG: Final = 200
"""Characters of a text that a filter looks for, at most."""


def same_filter(facts: FrameFacts, what: Literal["session", "tool"]) -> str:
    """Return the filter for what belongs to the same session or tool call; empty if to none."""
    value = facts.session if what == "session" else facts.tool
    return spelled(Compare(what, "==", value)) if value else ""


def permission_filter(facts: FrameFacts) -> str:
    """Return the filter that leads from a tool call to its permission, or back."""
    if not facts.tool:
        return ""
    same = Compare("tool", "==", facts.tool)
    is_asked = facts.method == "session/request_permission"
    asked = Compare("method", "==", "session/request_permission")
    called = Compare("update", "==", "tool_call")
    return spelled(All((called if is_asked else asked, same)))


def filter_for(facts: FrameFacts, path: str, value: Json) -> str:
    """Return the filter for what is like a row, or has the same value at a place of its message."""
    try:
        place = read_path(path)
    except PathError:
        # There is no place, or it is the whole message, or nothing that the language can name.
        return spelled(_alike(facts))
    if isinstance(value, dict | list):
        return spelled(Exists(place))
    if isinstance(value, str) and len(value) > LONG:
        return spelled(Compare(place, "contains", value[:LONG]))
    return spelled(Compare(place, "==", value))


class Shown(Protocol):
    """What is shown of a row, as far as it can be copied."""

    def pretty(self) -> str:
        """Return what is shown, spelled out."""
        ...

    @property
    def json_path(self) -> str:
        """Where the cursor stands in it; empty without one."""
        ...

    @property
    def json_value(self) -> Json:
        """What stands there."""
        ...


def copied(what: str, facts: FrameFacts, shown: Shown) -> str:
    """Return what is to be copied of a row: `pretty`, `path`, or a `filter` for what is alike."""
    match what:
        case "pretty":
            return shown.pretty()
        case "path":
            return shown.json_path or "$"
        case _:
            return filter_for(facts, shown.json_path, shown.json_value)


def _alike(facts: FrameFacts) -> Expression:
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
    return terms[0] if len(terms) == 1 else All(tuple(terms))
