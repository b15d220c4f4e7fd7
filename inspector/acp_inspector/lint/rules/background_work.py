"""Background work: its lists are complete, and work is announced before and ended properly.

Source: ACP version 2, schema, BackgroundWork and StateUpdate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, fix, track
from acp_inspector.lint.rules.v2_turn_state import REMEMBERED, background_of, foreground
from acp_inspector.lint.state import Point, SeenSession
from acp_protocol.jsonrpc import Json

rule = LintSubject("version-2", version=2)

Item: TypeAlias = tuple[str, str]
"""The kind of work, and the id of its entity."""


@dataclass(slots=True)
class _Background:
    """The background work of one session."""

    listed: Point | None = None
    """The last report of the list; None if there was none."""
    items: set[Item] = field(default_factory=set[Item])
    """The items of that list."""
    announced: set[Item] = field(default_factory=set[Item])
    """Items announced before the last replay."""


class _Sessions(dict[str, _Background]):
    """The background work of each session."""


@rule.error(440, "must", "agent", on.update("state_update"))
@fix("List the background work with every state.")
def background_list_omitted(context: Context) -> CheckResult:
    """Once a session reported `background`, every later `state_update` of it carries the list."""
    own = _of(context)
    if own is None or own.listed is None:
        return None
    if background_of(context.update) is None:
        return context.problem(
            "the state does not list the background work, as an earlier one did",
            own.listed,
            at="background",
        )
    return OK


@rule.error(441, "must", "agent", on.update("state_update"))
@fix("Announce what goes on before you list it.")
def unknown_background_item(context: Context) -> CheckResult:
    """Every `background` item names an entity announced earlier (terminal, tool call, v2u child
    session).

    Sessions that began on another connection may list work announced there. Child sessions are
    checked only if the unstable parts of the protocol are allowed.
    """
    session, listed = context.session, background_of(context.update)
    if session is None or not listed or session.origin != "new" or session.is_replaying:
        return None
    own = _of(context)
    found: CheckResult = None
    for i, each in enumerate(listed):
        item = _item(each) or _child(context, each)
        if item is None:
            continue
        found = OK
        if not _is_announced(session, item) and (own is None or item not in own.announced):
            return context.problem(
                f"the {item[0]} {quoted(item[1])} is listed, but was not announced",
                at=f"background.{i}",
            )
    return found


def _child(context: Context, listed: dict[str, Json]) -> Item | None:
    id_ = listed.get("sessionId")
    if not context.state.unstable or listed.get("type") != "subagent" or not isinstance(id_, str):
        return None
    return ("subagent", id_)


def _is_announced(session: SeenSession, item: Item) -> bool:
    kind, id_ = item
    if kind == "tool_call":
        return id_ in session.tools
    if kind == "subagent":
        # Announced items are kept separately.
        return False
    if id_ in session.terminals:
        return True
    return any(id_ in tool.terminals for tool in session.tools.values())


@rule.error(442, "must", "agent", on.update("state_update"))
@fix("Report how work ended before you unlist it.")
def background_item_vanishes(context: Context) -> CheckResult:
    """An item leaves the `background` list only after its `exitStatus` / final status was
    reported.
    """
    session, listed, own = context.session, background_of(context.update), _of(context)
    if session is None or listed is None or own is None or own.listed is None:
        return None
    if session.is_replaying:
        return None
    gone = own.items - _items(listed)
    for kind, id_ in sorted(gone):
        if _may_go_on(context, session, kind, id_):
            return context.problem(
                f"the {kind} {quoted(id_)} is no longer listed, but has not ended",
                own.listed,
                at="background",
            )
    return OK if gone or own.items else None


def _may_go_on(context: Context, session: SeenSession, kind: str, id_: str) -> bool:
    """Return whether an entity has not ended; an unknown one counts as ended.

    A terminal that only a tool call names never reported its end, except before a replay.
    """
    if kind == "tool_call":
        tool = session.tools.get(id_)
        return tool is not None and tool.ended is None
    terminal = session.terminals.get(id_)
    if terminal is None and session.origin == "new" and foreground(context).replayed is None:
        return _is_announced(session, ("terminal", id_))
    return terminal is not None and terminal.exited is None


@rule.warning(443, "must", "agent", on.update("state_update"))
@fix("List work of a process as its terminal, only.")
def background_listed_twice(context: Context) -> CheckResult:
    """Process-backed work is listed once, as its terminal, not also as its tool call."""
    session, listed = context.session, background_of(context.update)
    if session is None or not listed:
        return None
    items = _items(listed)
    for kind, id_ in items:
        tool = session.tools.get(id_) if kind == "tool_call" else None
        both = (
            [] if tool is None else [each for each in tool.terminals if ("terminal", each) in items]
        )
        if both:
            return context.problem(
                f"the tool call {quoted(id_)} is listed beside its terminal {quoted(both[0])}",
                None if tool is None else tool.first,
                at="background",
            )
    return OK


@track(on.update("state_update"))
def _keep_list(context: Context) -> None:
    listed = background_of(context.update)
    if context.version != 2 or context.session is None or listed is None:
        return
    own = context.state.of(_Sessions).setdefault(context.session.id, _Background())
    own.listed, own.items = context.point, _items(listed)
    # A later replay may omit ended work.
    if len(own.announced) < REMEMBERED:
        own.announced |= own.items


@track(on.update("subagent_update"))
def _keep_child(context: Context) -> None:
    id_ = context.update.get("sessionId")
    if context.version != 2 or context.session is None or not isinstance(id_, str):
        return
    own = context.state.of(_Sessions).setdefault(context.session.id, _Background())
    if len(own.announced) < REMEMBERED:
        own.announced.add(("subagent", id_))


def _of(context: Context) -> _Background | None:
    return context.state.of(_Sessions).get(context.session_id or "")


def _items(listed: list[dict[str, Json]]) -> set[Item]:
    return {item for item in map(_item, listed) if item is not None}


def _item(listed: dict[str, Json]) -> Item | None:
    kind = listed.get("type")
    if not isinstance(kind, str) or kind not in {"terminal", "tool_call"}:
        # Other kinds are unknown, or reported by their own sessions.
        return None
    id_ = listed.get("terminalId" if kind == "terminal" else "toolCallId")
    return (kind, id_) if isinstance(id_, str) else None
