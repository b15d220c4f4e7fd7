"""Cancellation of single tool calls and terminals of version 2.

Source: ACP version 2, schema, CancelToolCallRequest, CancelTerminalRequest, ToolCallUpdate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, fix, track
from acp_inspector.lint.state import Point, SeenSession, SeenTerminal, SeenToolCall, SentRequest
from acp_inspector.lint.tracker import permission_tool
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import INVALID_PARAMS, Json
from acp_protocol.schema.vocabulary import FINAL_STATUSES

rule = LintSubject("version-2", version=2)

GRACE_S: Final = 10.0
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
    """Whether an entity can be cancelled, by its last reported capabilities."""

    is_open: bool
    was_open: bool
    """Before that."""
    since: Point


@dataclass(slots=True)
class _Cancels:
    offers: dict[Key, _Offer] = field(default_factory=dict[Key, _Offer])
    faults: dict[int, str] = field(default_factory=dict[int, str])
    """By frame: why the requested cancellation is impossible."""
    accepted: dict[Key, SentRequest] = field(default_factory=dict[Key, SentRequest])
    """Cancellations that the agent accepted."""


@track(on.update("tool_call_update", "terminal_update"), on.request("session/request_permission"))
def _keep_offer(context: Context) -> None:
    if context.version != 2 or context.session is None:
        return
    fields = context.update or permission_tool(context.params)
    if "capabilities" not in fields:
        return
    is_terminal = context.variant == "terminal_update"
    id_ = fields.get("terminalId" if is_terminal else "toolCallId")
    if not isinstance(id_, str):
        return
    offers = context.state.of(_Cancels).offers
    key = (context.session.id, "terminal" if is_terminal else "tool_call", id_)
    before = offers.get(key)
    is_open = _can_cancel(fields["capabilities"])
    if before is None and len(offers) >= REMEMBERED:
        return
    if before is None or before.is_open is not is_open:
        offers[key] = _Offer(is_open, before is not None and before.is_open, context.point)


def _can_cancel(capabilities: Json) -> bool:
    return isinstance(as_object(capabilities).get("cancel"), dict)


def _is_offered(context: Context) -> CheckResult:
    key, session = _key(context, context.params), context.session
    if key is None or session is None:
        return None
    offer = context.state.of(_Cancels).offers.get(key)
    if offer is None and session.origin != "new" and _entity(session, key) is None:
        # Capabilities reported before this connection are unknown.
        return None
    if offer is not None and (
        offer.is_open or (offer.was_open and not context.had_received(offer.since))
    ):
        return OK
    entity = _entity(session, key)
    return context.problem(
        f"the {_name(key)} does not offer to be cancelled",
        (None if entity is None else entity.first) if offer is None else offer.since,
    )


@rule.error(448, "must", "client", on.request("tool_call/cancel"))
@fix("Cancel tool calls that offer it, only.")
@checked_by(_is_offered)
def tool_cancel_not_offered() -> None:
    """`tool_call/cancel` only while the tool call's latest `capabilities.cancel` is non-null."""


@rule.error(449, "must", "client", on.request("terminal/cancel"))
@fix("Cancel terminals that offer it, only.")
@checked_by(_is_offered)
def terminal_cancel_not_offered() -> None:
    """`terminal/cancel` only while the terminal's latest `capabilities.cancel` is non-null."""


@track(on.request(*NAMES))
def _keep_fault(context: Context) -> None:
    key, session = _key(context, context.params), context.session
    faults = context.state.of(_Cancels).faults
    if key is None or session is None or context.version != 2 or len(faults) >= REMEMBERED:
        return
    if not session.is_open:
        # A missing session is reported first.
        return
    entity = _entity(session, key)
    if entity is None:
        if session.origin == "new":
            faults[context.seq] = f"unknown {_name(key)}"
    elif _end_of(entity) is not None:
        faults[context.seq] = f"ended {_name(key)}"
    elif not _can_cancel(entity.capabilities):
        faults[context.seq] = f"{_name(key)}, which does not offer it,"


@rule.error(452, "must", "agent", on.response(*NAMES))
@fix("Answer -32602 where nothing can be cancelled.")
def invalid_cancel_accepted(context: Context) -> CheckResult:
    """Cancelling an unknown, finished or non-cancellable tool call or terminal is answered -32602
    (not -32601, not success).
    """
    ask = context.request
    if ask is None or context.session is None or ask.cancelled is not None:
        return None
    fault = context.state.of(_Cancels).faults.get(ask.seq)
    if fault is None:
        return None
    if context.code == INVALID_PARAMS:
        return OK
    how = "agreed to" if context.kind == "result" else f"refused with {context.code}"
    return context.problem(f"cancelling the {fault} is {how}", ask)


@track(on.result(*NAMES))
def _keep_acceptance(context: Context) -> None:
    ask, session = context.request, context.session
    if ask is None or session is None or context.version != 2:
        return
    key, accepted = _key(context, ask.params), context.state.of(_Cancels).accepted
    if key is not None and len(accepted) < REMEMBERED:
        accepted[key] = ask


def _unended(ending: EndContext, kind: str, what: str) -> CheckResult:
    found: list[Problem] = []
    has_any = False
    for key, ask in ending.state.of(_Cancels).accepted.items():
        session = ending.state.sessions.get(key[0])
        entity = None if session is None else _entity(session, key)
        if key[1] != kind or session is None or entity is None or ask.responded is None:
            continue
        has_any = True
        is_due = session.is_open and ending.point.time - ask.responded.time > GRACE_S
        if is_due and _end_of(entity) is None:
            text = f"the {_name(key)} was to be cancelled, but no final {what} came"
            found.append(Problem(text, (ask.seq, ask.responded.seq)))
    return tuple(found) if has_any else None


@rule.error(450, "must", "agent", on.END)
@fix("Report the end of a tool call that was cancelled.")
@checked_by(_unended, kind="tool_call", what="status")
def cancelled_call_not_final() -> None:
    """An accepted `tool_call/cancel` is followed by a final `tool_call_update` of that call."""


@rule.error(451, "must", "agent", on.END)
@fix("Report the exit of a terminal that was cancelled.")
@checked_by(_unended, kind="terminal", what="exitStatus")
def cancelled_terminal_without_exit() -> None:
    """An accepted `terminal/cancel` is followed by a `terminal_update` with `exitStatus`."""


@rule.info(453, "should", "agent", on.END)
@fix("Withdraw capabilities.cancel with the end.")
def cancel_still_offered(ending: EndContext) -> CheckResult:
    """`capabilities.cancel` is withdrawn when the tool call is final or the terminal exited."""
    found: list[Problem] = []
    has_any = False
    last = ending.state.last.get("agent")
    for entity in _entities(ending):
        ended = _end_of(entity)
        has_any = has_any or entity.capabilities is not None
        if ended is None or last is None or last.seq <= ended.seq:
            continue
        if _can_cancel(entity.capabilities):
            kind = "tool call" if isinstance(entity, SeenToolCall) else "terminal"
            text = f"the {kind} {quoted(entity.id)} has ended, but still offers to be cancelled"
            found.append(Problem(text, (ended.seq,)))
    return tuple(found) if has_any else None


def _entities(ending: EndContext) -> Iterator[SeenToolCall | SeenTerminal]:
    for session in ending.state.sessions.values():
        yield from session.tools.values()
        yield from session.terminals.values()


@rule.warning(454, "heuristic", "agent", on.update("tool_call_update"))
@fix("Pause tool calls that are in progress.")
def wrong_pause(context: Context) -> CheckResult:
    """`paused` is entered from `in_progress`, not from `pending` or a final status."""
    session, id_ = context.session, context.update.get("toolCallId")
    if context.update.get("status") != "paused" or session is None or session.is_replaying:
        return None
    tool = session.tools.get(id_) if isinstance(id_, str) else None
    if tool is None or not (tool.status in {None, "pending"} or tool.status in FINAL_STATUSES):
        return OK
    return context.problem(
        f"a tool call is paused that is {tool.status or 'pending'}",
        tool.status_at or tool.first,
        at="status",
    )


def _key(context: Context, params: dict[str, Json]) -> Key | None:
    kind, name = NAMES[context.method or ""]
    id_ = params.get(name)
    if context.session_id is None or not isinstance(id_, str):
        return None
    return (context.session_id, kind, id_)


def _entity(session: SeenSession, key: Key) -> SeenToolCall | SeenTerminal | None:
    _, kind, id_ = key
    return session.tools.get(id_) if kind == "tool_call" else session.terminals.get(id_)


def _end_of(entity: SeenToolCall | SeenTerminal) -> Point | None:
    return entity.ended if isinstance(entity, SeenToolCall) else entity.exited


def _name(key: Key) -> str:
    return f"{key[1].replace('_', ' ')} {quoted(key[2])}"
