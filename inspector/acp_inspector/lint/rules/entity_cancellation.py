"""Single tool calls and terminals of version 2 that a client may cancel, if they say so.

Source: ACP version 2, schema, CancelToolCallRequest, CancelTerminalRequest, ToolCallUpdate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from acp_inspector.lint.bookkeeping import FINAL, permission_tool
from acp_inspector.lint.moment import FINE, Ending, Found, Moment, Problem, members, quoted
from acp_inspector.lint.registry import answers, asks, check, check_at_end, learns, results, updates
from acp_inspector.lint.state import Ask, Point, Session, Terminal, ToolCall
from acp_protocol.jsonrpc import Json

INVALID_PARAMS: Final = -32602
CANCELLED: Final = -32800
GRACE: Final = 10.0
"""Seconds in which cancelled work should have ended."""
REMEMBERED: Final = 4096

Key: TypeAlias = tuple[str, str, str]
"""A session's id, what kind of entity, and its id."""

NAMES: Final = {
    "tool_call/cancel": ("tool_call", "toolCallId"),
    "terminal/cancel": ("terminal", "terminalId"),
}


@dataclass(frozen=True, slots=True)
class _Offer:
    """Whether an entity can be cancelled, by what it told last."""

    is_open: bool
    was_open: bool
    """Before that."""
    since: Point


@dataclass(slots=True)
class _Cancels:
    offers: dict[Key, _Offer] = field(default_factory=dict[Key, _Offer])
    faults: dict[int, str] = field(default_factory=dict[int, str])
    """Why the cancellation asked for in a frame cannot be."""
    accepted: dict[Key, Ask] = field(default_factory=dict[Key, Ask])
    """Cancellations that the agent agreed to."""


@learns(updates("tool_call_update", "terminal_update"), asks("session/request_permission"))
def _keep_offer(moment: Moment) -> None:
    if moment.version != 2 or moment.session is None:
        return
    told = moment.update or permission_tool(moment.params)
    if "capabilities" not in told:
        return
    is_terminal = moment.variant == "terminal_update"
    id_ = told.get("terminalId" if is_terminal else "toolCallId")
    if not isinstance(id_, str):
        return
    offers = moment.state.of(_Cancels).offers
    key = (moment.session.id, "terminal" if is_terminal else "tool_call", id_)
    before = offers.get(key)
    is_open = _can_cancel(told["capabilities"])
    if before is None and len(offers) >= REMEMBERED:
        return
    if before is None or before.is_open is not is_open:
        offers[key] = _Offer(is_open, before is not None and before.is_open, moment.point)


def _can_cancel(capabilities: Json) -> bool:
    return isinstance(members(capabilities).get("cancel"), dict)


@check("ACP-L448", asks("tool_call/cancel"), fix="Cancel tool calls that offer it, only.")
def tool_calls_offer_to_be_cancelled(moment: Moment) -> Found:
    """Tell of cancellations of tool calls that do not offer it."""
    return _is_offered(moment)


@check("ACP-L449", asks("terminal/cancel"), fix="Cancel terminals that offer it, only.")
def terminals_offer_to_be_cancelled(moment: Moment) -> Found:
    """Tell of cancellations of terminals that do not offer it."""
    return _is_offered(moment)


def _is_offered(moment: Moment) -> Found:
    key, session = _key(moment, moment.params), moment.session
    if key is None or session is None:
        return None
    offer = moment.state.of(_Cancels).offers.get(key)
    if offer is None and session.origin != "new" and _entity(session, key) is None:
        # What was offered before this connection is not known.
        return None
    if offer is not None and (offer.is_open or (offer.was_open and not moment.knew(offer.since))):
        return FINE
    entity = _entity(session, key)
    return moment.problem(
        f"the {_name(key)} does not offer to be cancelled",
        (None if entity is None else entity.first) if offer is None else offer.since,
    )


@learns(asks(*NAMES))
def _keep_fault(moment: Moment) -> None:
    key, session = _key(moment, moment.params), moment.session
    faults = moment.state.of(_Cancels).faults
    if key is None or session is None or moment.version != 2 or len(faults) >= REMEMBERED:
        return
    if not session.is_open:
        # The session is missing before the entity is.
        return
    entity = _entity(session, key)
    if entity is None:
        if session.origin == "new":
            faults[moment.n] = f"unknown {_name(key)}"
    elif _end_of(entity) is not None:
        faults[moment.n] = f"ended {_name(key)}"
    elif not _can_cancel(entity.capabilities):
        faults[moment.n] = f"{_name(key)}, which does not offer it,"


@check("ACP-L452", answers(*NAMES), fix="Answer -32602 where nothing can be cancelled.")
def impossible_cancellations_are_refused(moment: Moment) -> Found:
    """Tell of answers to cancellations of what is unknown, ended, or does not offer it."""
    ask = moment.ask
    if ask is None or moment.session is None or ask.cancelled is not None:
        return None
    fault = moment.state.of(_Cancels).faults.get(ask.n)
    if fault is None:
        return None
    if moment.code == INVALID_PARAMS:
        return FINE
    how = "agreed to" if moment.kind == "result" else f"refused with {moment.code}"
    return moment.problem(f"cancelling the {fault} is {how}", ask)


@learns(results(*NAMES))
def _keep_acceptance(moment: Moment) -> None:
    ask, session = moment.ask, moment.session
    if ask is None or session is None or moment.version != 2:
        return
    key, accepted = _key(moment, ask.params), moment.state.of(_Cancels).accepted
    if key is not None and len(accepted) < REMEMBERED:
        accepted[key] = ask


@check_at_end("ACP-L450", fix="Report the end of a tool call that was cancelled.")
def cancelled_tool_calls_end(ending: Ending) -> Found:
    """Tell of tool calls that were to be cancelled, and of whose end nothing was heard."""
    return _unended(ending, "tool_call", "status")


@check_at_end("ACP-L451", fix="Report the exit of a terminal that was cancelled.")
def cancelled_terminals_exit(ending: Ending) -> Found:
    """Tell of terminals that were to be cancelled, and of whose exit nothing was heard."""
    return _unended(ending, "terminal", "exitStatus")


def _unended(ending: Ending, kind: str, what: str) -> Found:
    found: list[Problem] = []
    has_any = False
    for key, ask in ending.state.of(_Cancels).accepted.items():
        session = ending.state.sessions.get(key[0])
        entity = None if session is None else _entity(session, key)
        if key[1] != kind or session is None or entity is None or ask.answered is None:
            continue
        has_any = True
        is_due = session.is_open and ending.point.at - ask.answered.at > GRACE
        if is_due and _end_of(entity) is None:
            text = f"the {_name(key)} was to be cancelled, but no final {what} came"
            found.append(Problem(text, (ask.n, ask.answered.n)))
    return tuple(found) if has_any else None


@check_at_end("ACP-L453", fix="Withdraw capabilities.cancel with the end.")
def offers_end_with_their_entity(ending: Ending) -> Found:
    """Tell of tool calls and terminals that have ended, and still offer to be cancelled."""
    found: list[Problem] = []
    has_any = False
    last = ending.state.last.get("agent")
    for entity in _entities(ending):
        ended = _end_of(entity)
        has_any = has_any or entity.capabilities is not None
        if ended is None or last is None or last.n <= ended.n:
            continue
        if _can_cancel(entity.capabilities):
            kind = "tool call" if isinstance(entity, ToolCall) else "terminal"
            text = f"the {kind} {quoted(entity.id)} has ended, but still offers to be cancelled"
            found.append(Problem(text, (ended.n,)))
    return tuple(found) if has_any else None


def _entities(ending: Ending) -> Iterator[ToolCall | Terminal]:
    for session in ending.state.sessions.values():
        yield from session.tools.values()
        yield from session.terminals.values()


@check("ACP-L454", updates("tool_call_update"), fix="Pause tool calls that are in progress.")
def what_is_paused_was_in_progress(moment: Moment) -> Found:
    """Tell of tool calls that are paused before they began, or after they ended."""
    session, id_ = moment.session, moment.update.get("toolCallId")
    if moment.update.get("status") != "paused" or session is None or session.is_replaying:
        return None
    tool = session.tools.get(id_) if isinstance(id_, str) else None
    if tool is None or not (tool.status in {None, "pending"} or tool.status in FINAL):
        return FINE
    return moment.problem(
        f"a tool call is paused that is {tool.status or 'pending'}",
        tool.status_at or tool.first,
        path="params.update.status",
    )


def _key(moment: Moment, params: dict[str, Json]) -> Key | None:
    kind, name = NAMES[moment.method or ""]
    id_ = params.get(name)
    if moment.session_id is None or not isinstance(id_, str):
        return None
    return (moment.session_id, kind, id_)


def _entity(session: Session, key: Key) -> ToolCall | Terminal | None:
    _, kind, id_ = key
    return session.tools.get(id_) if kind == "tool_call" else session.terminals.get(id_)


def _end_of(entity: ToolCall | Terminal) -> Point | None:
    return entity.ended if isinstance(entity, ToolCall) else entity.exited


def _name(key: Key) -> str:
    return f"{key[1].replace('_', ' ')} {quoted(key[2])}"
