"""Lists of what goes on behind a session's foreground: complete, announced, and ended in order.

Source: ACP version 2, schema, BackgroundWork and StateUpdate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from acp_inspector.lint.moment import FINE, Found, Moment, quoted
from acp_inspector.lint.registry import check, learns, updates
from acp_inspector.lint.rules.foreground import REMEMBERED, background_of, foreground
from acp_inspector.lint.state import Point, Session
from acp_protocol.jsonrpc import Json

Item: TypeAlias = tuple[str, str]
"""What kind of work goes on, and the id of its entity."""


@dataclass(slots=True)
class _Background:
    """The background of one session."""

    listed: Point | None = None
    """Where its list was told last; None where it never was."""
    items: set[Item] = field(default_factory=set[Item])
    """What was in it."""
    announced: set[Item] = field(default_factory=set[Item])
    """What was announced before its history was told anew."""


@dataclass(slots=True)
class _Sessions:
    by_id: dict[str, _Background] = field(default_factory=dict[str, _Background])


@check("ACP-L440", updates("state_update"), fix="List the background work with every state.")
def lists_are_told_with_every_state(moment: Moment) -> Found:
    """Tell of states without the list that earlier states of the session had."""
    own = _of(moment)
    if own is None or own.listed is None:
        return None
    if background_of(moment.update) is None:
        return moment.problem(
            "the state does not list the background work, as an earlier one did",
            own.listed,
            path="params.update.background",
        )
    return FINE


@check("ACP-L441", updates("state_update"), fix="Announce what goes on before you list it.")
def listed_work_was_announced(moment: Moment) -> Found:
    """Tell of listed work that nothing told of before.

    Sessions that began elsewhere may list what was announced there. Child sessions are looked for
    only where the unstable parts of the protocol are allowed.
    """
    session, listed = moment.session, background_of(moment.update)
    if session is None or not listed or session.origin != "new" or session.is_replaying:
        return None
    own = _of(moment)
    found: Found = None
    for i, each in enumerate(listed):
        item = _item(each) or _child(moment, each)
        if item is None:
            continue
        found = FINE
        if not _is_announced(session, item) and (own is None or item not in own.announced):
            return moment.problem(
                f"the {item[0]} {quoted(item[1])} is listed, but was not announced",
                path=f"params.update.background.{i}",
            )
    return found


def _child(moment: Moment, listed: dict[str, Json]) -> Item | None:
    id_ = listed.get("sessionId")
    if not moment.state.unstable or listed.get("type") != "subagent" or not isinstance(id_, str):
        return None
    return ("subagent", id_)


def _is_announced(session: Session, item: Item) -> bool:
    kind, id_ = item
    if kind == "tool_call":
        return id_ in session.tools
    if kind == "subagent":
        # Those that were announced are remembered beside.
        return False
    if id_ in session.terminals:
        return True
    return any(id_ in tool.terminals for tool in session.tools.values())


@check("ACP-L442", updates("state_update"), fix="Report how work ended before you unlist it.")
def unlisted_work_has_ended(moment: Moment) -> Found:
    """Tell of work that vanishes from the list without an end."""
    session, listed, own = moment.session, background_of(moment.update), _of(moment)
    if session is None or listed is None or own is None or own.listed is None:
        return None
    if session.is_replaying:
        return None
    gone = own.items - _items(listed)
    for kind, id_ in sorted(gone):
        if _may_go_on(moment, session, kind, id_):
            return moment.problem(
                f"the {kind} {quoted(id_)} is listed no more, but has not ended",
                own.listed,
                path="params.update.background",
            )
    return FINE if gone or own.items else None


def _may_go_on(moment: Moment, session: Session, kind: str, id_: str) -> bool:
    """Tell whether an entity has not ended; one that nothing is known of has.

    A terminal that only a tool call named has told nothing of its end, unless that was before the
    session's history was told anew.
    """
    if kind == "tool_call":
        tool = session.tools.get(id_)
        return tool is not None and tool.ended is None
    terminal = session.terminals.get(id_)
    if terminal is None and session.origin == "new" and foreground(moment).replayed is None:
        return _is_announced(session, ("terminal", id_))
    return terminal is not None and terminal.exited is None


@check("ACP-L443", updates("state_update"), fix="List work of a process as its terminal, only.")
def processes_are_listed_once(moment: Moment) -> Found:
    """Tell of work that is listed as a terminal and as the tool call that shows it."""
    session, listed = moment.session, background_of(moment.update)
    if session is None or not listed:
        return None
    items = _items(listed)
    for kind, id_ in items:
        tool = session.tools.get(id_) if kind == "tool_call" else None
        both = (
            [] if tool is None else [each for each in tool.terminals if ("terminal", each) in items]
        )
        if both:
            return moment.problem(
                f"the tool call {quoted(id_)} is listed beside its terminal {quoted(both[0])}",
                None if tool is None else tool.first,
                path="params.update.background",
            )
    return FINE


@learns(updates("state_update"))
def _keep_list(moment: Moment) -> None:
    listed = background_of(moment.update)
    if moment.version != 2 or moment.session is None or listed is None:
        return
    own = moment.state.of(_Sessions).by_id.setdefault(moment.session.id, _Background())
    own.listed, own.items = moment.point, _items(listed)
    # A later replay may leave out what has ended by then.
    if len(own.announced) < REMEMBERED:
        own.announced |= own.items


@learns(updates("subagent_update"))
def _keep_child(moment: Moment) -> None:
    id_ = moment.update.get("sessionId")
    if moment.version != 2 or moment.session is None or not isinstance(id_, str):
        return
    own = moment.state.of(_Sessions).by_id.setdefault(moment.session.id, _Background())
    if len(own.announced) < REMEMBERED:
        own.announced.add(("subagent", id_))


def _of(moment: Moment) -> _Background | None:
    return moment.state.of(_Sessions).by_id.get(moment.session_id or "")


def _items(listed: list[dict[str, Json]]) -> set[Item]:
    return {item for item in map(_item, listed) if item is not None}


def _item(listed: dict[str, Json]) -> Item | None:
    kind = listed.get("type")
    if not isinstance(kind, str) or kind not in {"terminal", "tool_call"}:
        # Others are of the future, or told of by sessions of their own.
        return None
    id_ = listed.get("terminalId" if kind == "terminal" else "toolCallId")
    return (kind, id_) if isinstance(id_, str) else None
