"""Carries the state on: what each message adds to what is known of the connection.

Called after all checks have judged the message by the state before it. Nothing here finds fault:
what makes no sense is passed over, for rules to tell of.

Source: ACP, "Initialization", "Session Setup", "Prompt Turn", "Tool Calls", "Terminals".
"""

from __future__ import annotations

from typing import Final, cast

from acp_inspector.lint.moment import INITIALIZE, Moment, entries, members
from acp_inspector.lint.registry import asks, failures, learns, results, tells, updates
from acp_inspector.lint.state import (
    Ask,
    Origin,
    Session,
    Terminal,
    ToolCall,
)
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json, RequestId, id_key, is_request_id

FINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""Statuses of tool calls after which nothing is to be expected."""
REMEMBERED: Final = 4096
"""Answered requests that are kept, for answers that come twice."""


def remember(moment: Moment) -> None:
    """Learn what every message tells: who asked what, and who has seen what."""
    state = moment.state
    state.last[moment.side] = moment.frame
    if moment.kind in {"request", "notification"}:
        state.calls[moment.side] += 1
        is_late = state.initialize is None or not (moment.method or "").startswith("$/")
        if state.version is None and moment.method not in INITIALIZE and is_late:
            state.version = state.taken_for(moment.side)
    if moment.kind == "request" and (key := moment.key) is not None:
        ask = Ask(
            moment.n,
            moment.at,
            moment.side,
            moment.id,
            cast("str", moment.method),
            moment.params,
            moment.session_id,
        )
        state.ask(key, ask)
    elif moment.ask is not None and (key := moment.key) is not None:
        _answer(moment, moment.ask)
        state.close(key)
        state.answered.pop(key, None)
        state.answered[key] = moment.ask
        if len(state.answered) > REMEMBERED:
            del state.answered[next(iter(state.answered))]


def _answer(moment: Moment, ask: Ask) -> None:
    ask.answered = moment.point
    if moment.kind == "result":
        ask.result = moment.result
    else:
        ask.error = moment.error
    # Whoever answers has received the question, and all that came before it.
    moment.state.seen[moment.side] = max(moment.state.seen[moment.side], ask.n)


@learns(tells("$/cancel_request"))
def _cancelled_request(moment: Moment) -> None:
    id_: Json = moment.params.get("requestId")
    if is_request_id(id_):
        key = (moment.side, *id_key(cast("RequestId", id_)))
        state = moment.state
        if (ask := state.asks.get(key)) is not None:
            if ask.cancelled is not None and key in state.later:
                ask = state.later[key][-1]
            ask.cancelled = ask.cancelled or moment.point


@learns(asks(*INITIALIZE))
def _asked_to_initialize(moment: Moment) -> None:
    if moment.key is not None:
        moment.state.initialize = moment.state.newest
    for name in ("clientCapabilities", "capabilities"):
        if claims := members(moment.params.get(name)):
            moment.state.capabilities["client"] = claims
            break


@learns(results(*INITIALIZE))
def _initialized(moment: Moment) -> None:
    state, result = moment.state, moment.result_object
    if moment.version is not None:
        state.version = moment.version
    state.is_ready = True
    asked = moment.ask.params if moment.ask is not None else {}
    sources: tuple[tuple[Side, dict[str, Json]], ...] = (("client", asked), ("agent", result))
    for side, source in sources:
        # Who can speak both versions sends both sets: that of the agreed one counts.
        sets = members(source.get(f"{side}Capabilities")), members(source.get("capabilities"))
        first, second = reversed(sets) if state.version == 2 else sets
        state.capabilities[side] = first or second
    state.auth_methods = [members(each) for each in entries(result.get("authMethods"))]


@learns(results("authenticate", "auth/login"))
def _logged_in(moment: Moment) -> None:
    moment.state.login = moment.point


@learns(results("logout", "auth/logout"))
def _logged_out(moment: Moment) -> None:
    moment.state.login = None


@learns(results("session/new", "session/fork"))
def _created(moment: Moment) -> None:
    session = moment.result_object.get("sessionId")
    if isinstance(session, str) and moment.ask is not None:
        origin: Origin = "new" if moment.method == "session/new" else "fork"
        _open(_known(moment, session, origin), moment.ask)


@learns(asks("session/load", "session/resume"))
def _taken_up(moment: Moment) -> None:
    if moment.session_id is None or moment.key is None:
        return
    is_load = moment.method == "session/load"
    session = _known(moment, moment.session_id, "load" if is_load else "resume")
    ask = moment.state.newest
    if ask is not None and (is_load or moment.params.get("replayFrom") is not None):
        session.replays.append(ask)
        # History is told from its beginning: entities come up anew.
        session.tools.clear()
        for id_ in [id_ for id_, each in session.terminals.items() if each.create is None]:
            del session.terminals[id_]


@learns(results("session/load", "session/resume"), failures("session/load", "session/resume"))
def _took_up(moment: Moment) -> None:
    if moment.session is None or moment.ask is None:
        return
    if moment.ask in moment.session.replays:
        moment.session.replays.remove(moment.ask)
    if moment.kind == "result":
        _open(moment.session, moment.ask)


@learns(results("session/list"))
def _listed(moment: Moment) -> None:
    for each in map(members, entries(moment.result_object.get("sessions"))):
        if isinstance(id_ := each.get("sessionId"), str):
            session = _known(moment, id_, "listed")
            if session.cwd is None:
                session.cwd = each.get("cwd")


@learns(results("session/close"))
def _closed(moment: Moment) -> None:
    if moment.session is not None:
        moment.session.is_open = False
        moment.session.closed = moment.point


@learns(results("session/delete"))
def _deleted(moment: Moment) -> None:
    if moment.session is not None:
        moment.session.is_open = False
        moment.session.deleted = moment.point


def _known(moment: Moment, id_: str, origin: Origin) -> Session:
    sessions = moment.state.sessions
    if id_ not in sessions:
        sessions[id_] = Session(id_, origin, moment.point)
    return sessions[id_]


def _open(session: Session, ask: Ask) -> None:
    session.is_open = True
    session.closed = session.deleted = None
    session.cwd = ask.params.get("cwd")
    session.roots = entries(ask.params.get("additionalDirectories"))


@learns(updates("subagent_update"))
def _child_told(moment: Moment) -> None:
    if isinstance(id_ := moment.update.get("sessionId"), str):
        child = _known(moment, id_, "child")
        child.is_open = child.is_open or child.origin == "child"


@learns(asks("session/prompt"))
def _prompted(moment: Moment) -> None:
    ask = moment.state.newest
    if moment.session is not None and moment.key is not None and ask is not None:
        moment.session.prompts.append(ask)
        moment.session.last_prompt = ask


@learns(results("session/prompt"), failures("session/prompt"))
def _prompt_answered(moment: Moment) -> None:
    session = moment.session
    if session is None or moment.ask is None:
        return
    if moment.ask in session.prompts:
        session.prompts.remove(moment.ask)
    if moment.state.version != 2 and not session.prompts:
        session.cancel = None


@learns(tells("session/cancel"))
def _cancelled(moment: Moment) -> None:
    if moment.session is not None and moment.session.is_busy:
        moment.session.cancel = moment.point


@learns(updates("state_update"))
def _state_told(moment: Moment) -> None:
    session, state = moment.session, moment.update.get("state")
    if session is None or not isinstance(state, str):
        return
    session.state, session.state_at = state, moment.point
    if state == "idle":
        session.cancel = None


@learns(updates("tool_call", "tool_call_update"))
def _tool_told(moment: Moment) -> None:
    if moment.session is not None:
        is_announced = moment.variant == "tool_call" or moment.state.version == 2
        tool = _learn_tool(moment, moment.session, moment.update, is_announced=is_announced)
        if tool is not None and moment.variant == "tool_call":
            tool.created = tool.created or moment.point


@learns(updates("tool_call_content_chunk"))
def _tool_content_told(moment: Moment) -> None:
    tool = _tool(moment, moment.session, moment.update.get("toolCallId"))
    if tool is not None:
        _learn_terminal(tool, members(moment.update.get("content")))


@learns(asks("session/request_permission"))
def _permission_asked(moment: Moment) -> None:
    if moment.session is None or moment.key is None:
        return
    told = permission_tool(moment.params)
    _learn_tool(moment, moment.session, told, is_announced=True)
    tool = _tool(moment, moment.session, permission_tool_id(moment.params))
    if tool is not None:
        tool.permission, tool.outcome = moment.state.newest, None


@learns(results("session/request_permission"))
def _permission_answered(moment: Moment) -> None:
    if moment.session is None or moment.ask is None:
        return
    outcome = members(moment.result_object.get("outcome"))
    name = outcome.get("outcome")
    if name == "selected":
        chosen = [
            option.get("kind")
            for option in map(members, entries(moment.ask.params.get("options")))
            if option.get("optionId") == outcome.get("optionId")
        ]
        name = chosen[0] if chosen else "not offered"
    tool = moment.session.tools.get(permission_tool_id(moment.ask.params) or "")
    if tool is not None and tool.permission is moment.ask:
        tool.outcome = name if isinstance(name, str) else None


def permission_tool(params: dict[str, Json]) -> dict[str, Json]:
    """Return what a request for permission tells of its tool call; empty if nothing."""
    subject = members(params.get("subject"))
    return members(params.get("toolCall")) or members(subject.get("toolCall"))


def permission_tool_id(params: dict[str, Json]) -> str | None:
    """Return the tool call that a request for permission is about; None if it is about none."""
    id_ = permission_tool(params).get("toolCallId")
    if not isinstance(id_, str):
        id_ = members(params.get("subject")).get("toolCallId")
    return id_ if isinstance(id_, str) else None


def _tool(moment: Moment, session: Session | None, id_: Json) -> ToolCall | None:
    if session is None or not isinstance(id_, str):
        return None
    tool = session.tools.get(id_)
    if tool is None:
        tool = session.tools[id_] = ToolCall(id_, moment.point)
    return tool


def _learn_tool(
    moment: Moment, session: Session, told: dict[str, Json], *, is_announced: bool
) -> ToolCall | None:
    tool = _tool(moment, session, told.get("toolCallId"))
    if tool is None:
        return None
    tool.is_announced = tool.is_announced or is_announced
    for name in ("title", "kind", "name", "capabilities"):
        if name in told:
            setattr(tool, name, told[name])
    status = told.get("status")
    if isinstance(status, str):
        tool.status, tool.status_at = status, moment.point
        if status in FINAL:
            tool.ended = tool.ended or moment.point
        elif session.is_replaying:
            tool.ended = None
    for item in entries(told.get("content")):
        _learn_terminal(tool, members(item))
    return tool


def _learn_terminal(tool: ToolCall, item: dict[str, Json]) -> None:
    if item.get("type") == "terminal" and isinstance(id_ := item.get("terminalId"), str):
        tool.terminals.add(id_)


@learns(results("terminal/create"))
def _terminal_created(moment: Moment) -> None:
    id_ = moment.result_object.get("terminalId")
    if moment.session is not None and moment.ask is not None and isinstance(id_, str):
        terminal = Terminal(id_, moment.session.id, moment.point, create=moment.ask)
        moment.session.terminals[id_] = moment.state.terminals[id_] = terminal


@learns(asks("terminal/release", "terminal/kill"))
def _terminal_ended(moment: Moment) -> None:
    terminal = find_terminal(moment)
    if terminal is None:
        return
    if moment.method == "terminal/release":
        terminal.released = terminal.released or moment.point
    else:
        terminal.killed = terminal.killed or moment.point


@learns(results("terminal/wait_for_exit", "terminal/output"))
def _terminal_exited(moment: Moment) -> None:
    terminal = find_terminal(moment)
    told: Json = moment.result
    if moment.method == "terminal/output":
        told = moment.result_object.get("exitStatus")
    if terminal is not None and told is not None:
        terminal.exited = terminal.exited or moment.point
        terminal.exit_status = told


@learns(updates("terminal_update"))
def _terminal_told(moment: Moment) -> None:
    session, told = moment.session, moment.update
    id_ = told.get("terminalId")
    if session is None or not isinstance(id_, str):
        return
    if id_ not in session.terminals:
        session.terminals[id_] = Terminal(id_, session.id, moment.point)
    terminal = session.terminals[id_]
    if "exitStatus" in told:
        terminal.exit_status = told["exitStatus"]
        terminal.exited = None if told["exitStatus"] is None else moment.point
    if "capabilities" in told:
        terminal.capabilities = told["capabilities"]


def find_terminal(moment: Moment) -> Terminal | None:
    """Return the client's terminal that a `terminal/*` request, or its answer, names.

    That of its own session first.
    """
    params = moment.params if moment.ask is None else moment.ask.params
    id_ = params.get("terminalId")
    if not isinstance(id_, str):
        return None
    own = None if moment.session is None else moment.session.terminals.get(id_)
    return own if own is not None else moment.state.terminals.get(id_)
