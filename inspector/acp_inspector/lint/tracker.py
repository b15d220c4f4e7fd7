"""Updates the state of the connection with each message.

Called after all checks have seen the message and the state before it. Nothing is reported here:
invalid values are skipped; rules report them.

Source: ACP, "Initialization", "Session Setup", "Prompt Turn", "Tool Calls", "Terminals".
"""

from __future__ import annotations

from typing import Final, cast

from acp_inspector.lint import on
from acp_inspector.lint.context import INITIALIZE, Context, is_version_1_in_disguise
from acp_inspector.lint.registry import track
from acp_inspector.lint.state import Origin, SeenSession, SeenTerminal, SeenToolCall, SentRequest
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json, RequestId, id_key, is_request_id
from acp_protocol.schema.vocabulary import CREATING, FINAL_STATUSES, RESTORING
from acp_protocol.tool_calls import changes

REMEMBERED: Final = 4096
"""Completed requests to keep, to recognize duplicate responses."""


def update_state(context: Context) -> None:
    """Update pending requests, and what each side has seen."""
    state = context.state
    state.last[context.side] = context.frame
    if context.kind in {"request", "notification"}:
        state.calls[context.side] += 1
        is_late = state.initialize is None or not (context.method or "").startswith("$/")
        if state.version is None and context.method not in INITIALIZE and is_late:
            state.version = state.assumed_version(context.side)
    if context.kind == "request" and (key := context.key) is not None:
        if (earlier := state.requests.get(key)) is not None and earlier.is_refused:
            # It is sent again.
            state.close(key)
        ask = SentRequest(
            context.seq,
            context.time,
            context.side,
            context.id,
            cast("str", context.method),
            context.params,
            context.session_id,
            is_invalid=not state.is_ready
            or context.id is None
            or not context.method
            or context.decoded.kind == "malformed"
            or not isinstance(context.value.get("params"), dict | None)
            or key in state.requests,
        )
        state.add_request(key, ask)
    elif context.request is not None and (key := context.key) is not None:
        _answer(context, context.request)
        state.close(key)
        state.responded.pop(key, None)
        state.responded[key] = context.request
        if len(state.responded) > REMEMBERED:
            del state.responded[next(iter(state.responded))]


def _answer(context: Context, ask: SentRequest) -> None:
    ask.responded = context.point
    if context.kind == "result":
        ask.result = context.result
    else:
        ask.error = context.error
    # The responding side has received the request and all earlier frames.
    context.state.seen[context.side] = max(context.state.seen[context.side], ask.seq)


@track(on.notification("$/cancel_request"))
def _cancelled_request(context: Context) -> None:
    id_: Json = context.params.get("requestId")
    if is_request_id(id_):
        key = (context.side, *id_key(cast("RequestId", id_)))
        state = context.state
        if (ask := state.requests.get(key)) is not None:
            if ask.cancelled is not None and key in state.later:
                ask = state.later[key][-1]
            ask.cancelled = ask.cancelled or context.point


@track(on.request(*INITIALIZE))
def _initialize_sent(context: Context) -> None:
    if context.key is not None:
        context.state.initialize = context.state.newest
    for name in ("clientCapabilities", "capabilities"):
        if claims := as_object(context.params.get(name)):
            context.state.capabilities["client"] = claims
            break


@track(on.result(*INITIALIZE))
def _initialized(context: Context) -> None:
    state, result = context.state, context.result_object
    if context.version is not None:
        state.version = context.version
    state.is_ready = True
    state.is_disguised = is_version_1_in_disguise(result)
    request_params = context.request.params if context.request is not None else {}
    sources: tuple[tuple[Side, dict[str, Json]], ...] = (
        ("client", request_params),
        ("agent", result),
    )
    for side, source in sources:
        # A side with both versions may send both sets; the one of the negotiated version counts.
        sets = as_object(source.get(f"{side}Capabilities")), as_object(source.get("capabilities"))
        first, second = reversed(sets) if state.version == 2 else sets
        state.capabilities[side] = first or second
    state.auth_methods = [as_object(each) for each in as_list(result.get("authMethods"))]


@track(on.result("authenticate", "auth/login"))
def _logged_in(context: Context) -> None:
    context.state.login = context.point


@track(on.result("logout", "auth/logout"))
def _logged_out(context: Context) -> None:
    context.state.login = None


@track(on.result(*CREATING))
def _created(context: Context) -> None:
    session = context.result_object.get("sessionId")
    if isinstance(session, str) and context.request is not None:
        origin: Origin = "new" if context.method == "session/new" else "fork"
        _open(_known(context, session, origin), context.request)


@track(on.request(*RESTORING))
def _taken_up(context: Context) -> None:
    if context.session_id is None or context.key is None:
        return
    is_load = context.method == "session/load"
    session = _known(context, context.session_id, "load" if is_load else "resume")
    ask = context.state.newest
    if ask is not None and (is_load or context.params.get("replayFrom") is not None):
        session.replays.append(ask)
        # The history is replayed from its beginning: entities appear again.
        session.tools.clear()
        for id_ in [id_ for id_, each in session.terminals.items() if each.create is None]:
            del session.terminals[id_]


@track(on.update("replay_complete"))
def _replayed(context: Context) -> None:
    """End a replay before its response: what follows is not history."""
    if context.session is not None and context.session.replays:
        del context.session.replays[0]


@track(on.response(*RESTORING))
def _took_up(context: Context) -> None:
    if context.session is None or context.request is None:
        return
    if context.request in context.session.replays:
        context.session.replays.remove(context.request)
    if context.kind == "result":
        _open(context.session, context.request)


@track(on.result("session/list"))
def _listed(context: Context) -> None:
    for each in map(as_object, as_list(context.result_object.get("sessions"))):
        if isinstance(id_ := each.get("sessionId"), str):
            session = _known(context, id_, "listed")
            if session.cwd is None:
                session.cwd = each.get("cwd")


@track(on.result("session/close"))
def _closed(context: Context) -> None:
    if context.session is not None:
        context.session.is_open = False
        context.session.closed = context.point


@track(on.result("session/delete"))
def _deleted(context: Context) -> None:
    if context.session is not None:
        context.session.is_open = False
        context.session.deleted = context.point


def _known(context: Context, id_: str, origin: Origin) -> SeenSession:
    sessions = context.state.sessions
    if id_ not in sessions:
        sessions[id_] = SeenSession(id_, origin, context.point)
    return sessions[id_]


def _open(session: SeenSession, ask: SentRequest) -> None:
    session.is_open = True
    session.closed = session.deleted = None
    session.cwd = ask.params.get("cwd")
    session.roots = as_list(ask.params.get("additionalDirectories"))


@track(on.update("subagent_update"))
def _child_updated(context: Context) -> None:
    if isinstance(id_ := context.update.get("sessionId"), str):
        child = _known(context, id_, "child")
        child.is_open = child.is_open or child.origin == "child"


@track(on.request("session/prompt"))
def _prompted(context: Context) -> None:
    ask = context.state.newest
    if context.session is not None and context.key is not None and ask is not None:
        context.session.prompts.append(ask)
        context.session.last_prompt = ask


@track(on.result("session/prompt"), on.error("session/prompt"))
def _prompt_answered(context: Context) -> None:
    session = context.session
    if session is None or context.request is None:
        return
    if context.request in session.prompts:
        session.prompts.remove(context.request)
    if context.state.version != 2 and not session.prompts:
        session.cancel = None


@track(on.notification("session/cancel"))
def _cancelled(context: Context) -> None:
    if context.session is not None and context.session.is_busy:
        context.session.cancel = context.point


@track(on.update("state_update"))
def _state_updated(context: Context) -> None:
    session, state = context.session, context.update.get("state")
    if session is None or not isinstance(state, str):
        return
    session.state, session.state_at = state, context.point
    if state == "idle":
        session.cancel = None


@track(on.response())
def _replied(context: Context) -> None:
    if context.side == "client" and context.session is not None and context.request is not None:
        context.session.replied = context.point


@track(on.update("tool_call", "tool_call_update"))
def _tool_updated(context: Context) -> None:
    if context.session is not None:
        _reacted(context, context.session)
        is_announced = context.variant == "tool_call" or context.state.version == 2
        tool = _learn_tool(context, context.session, context.update, is_announced=is_announced)
        if tool is not None and context.variant == "tool_call":
            tool.created = tool.created or context.point


def _reacted(context: Context, session: SeenSession) -> None:
    """A call goes on after its permission request got a response: the agent has received it."""
    id_, status = context.update.get("toolCallId"), context.update.get("status")
    tool = session.tools.get(id_) if isinstance(id_, str) else None
    reply = None if tool is None or tool.permission is None else tool.permission.responded
    if tool is None or reply is None or status in {None, tool.status} or context.has_crossed(reply):
        return
    context.state.seen[context.side] = max(context.state.seen[context.side], reply.seq)


@track(on.update("tool_call_content_chunk"))
def _tool_content_updated(context: Context) -> None:
    tool = _tool(context, context.session, context.update.get("toolCallId"))
    if tool is not None:
        _learn_terminal(tool, as_object(context.update.get("content")))


@track(on.request("session/request_permission"))
def _permission_requested(context: Context) -> None:
    if context.session is None or context.key is None:
        return
    fields = permission_tool(context.params)
    _learn_tool(context, context.session, fields, is_announced=True)
    tool = _tool(context, context.session, permission_tool_id(context.params))
    if tool is not None:
        tool.permission, tool.outcome = context.state.newest, None


@track(on.result("session/request_permission"))
def _permission_answered(context: Context) -> None:
    if context.session is None or context.request is None:
        return
    outcome = as_object(context.result_object.get("outcome"))
    name = outcome.get("outcome")
    if name == "selected":
        chosen = [
            option.get("kind")
            for option in map(as_object, as_list(context.request.params.get("options")))
            if option.get("optionId") == outcome.get("optionId")
        ]
        name = chosen[0] if chosen else "not offered"
    tool = context.session.tools.get(permission_tool_id(context.request.params) or "")
    if tool is not None and tool.permission is context.request:
        tool.outcome = name if isinstance(name, str) else None


def permission_tool(params: dict[str, Json]) -> dict[str, Json]:
    """Return the tool call's fields in a permission request; empty if there are none."""
    subject = as_object(params.get("subject"))
    return as_object(params.get("toolCall")) or as_object(subject.get("toolCall"))


def permission_tool_id(params: dict[str, Json]) -> str | None:
    """Return the id of the tool call in a permission request; None without one."""
    id_ = permission_tool(params).get("toolCallId")
    if not isinstance(id_, str):
        id_ = as_object(params.get("subject")).get("toolCallId")
    return id_ if isinstance(id_, str) else None


def _tool(context: Context, session: SeenSession | None, id_: Json) -> SeenToolCall | None:
    if session is None or not isinstance(id_, str):
        return None
    tool = session.tools.get(id_)
    if tool is None:
        tool = session.tools[id_] = SeenToolCall(id_, context.point)
    return tool


def _learn_tool(
    context: Context, session: SeenSession, fields: dict[str, Json], *, is_announced: bool
) -> SeenToolCall | None:
    tool = _tool(context, session, fields.get("toolCallId"))
    if tool is None:
        return None
    tool.is_announced = tool.is_announced or is_announced
    fields = changes(fields, context.version or 1)
    for name in ("title", "kind", "name", "capabilities"):
        if name in fields:
            setattr(tool, name, fields[name])
    status = fields.get("status")
    if isinstance(status, str):
        tool.status, tool.status_at = status, context.point
        if status in FINAL_STATUSES:
            tool.ended = tool.ended or context.point
        elif session.is_replaying:
            tool.ended = None
    for item in as_list(fields.get("content")):
        _learn_terminal(tool, as_object(item))
    return tool


def _learn_terminal(tool: SeenToolCall, item: dict[str, Json]) -> None:
    if item.get("type") == "terminal" and isinstance(id_ := item.get("terminalId"), str):
        tool.terminals.add(id_)


@track(on.result("terminal/create"))
def _terminal_created(context: Context) -> None:
    id_ = context.result_object.get("terminalId")
    if context.session is not None and context.request is not None and isinstance(id_, str):
        terminal = SeenTerminal(id_, context.session.id, context.point, create=context.request)
        context.session.terminals[id_] = context.state.terminals[id_] = terminal


@track(on.request("terminal/release", "terminal/kill"))
def _terminal_ended(context: Context) -> None:
    terminal = find_terminal(context)
    if terminal is None:
        return
    if context.method == "terminal/release":
        terminal.released = terminal.released or context.point
    else:
        terminal.killed = terminal.killed or context.point


@track(on.result("terminal/wait_for_exit", "terminal/output"))
def _terminal_exited(context: Context) -> None:
    terminal = find_terminal(context)
    fields: Json = context.result
    if context.method == "terminal/output":
        fields = context.result_object.get("exitStatus")
    if terminal is not None and fields is not None:
        terminal.exited = terminal.exited or context.point
        terminal.exit_status = fields


@track(on.update("terminal_update"))
def _terminal_updated(context: Context) -> None:
    session, fields = context.session, context.update
    id_ = fields.get("terminalId")
    if session is None or not isinstance(id_, str):
        return
    if id_ not in session.terminals:
        session.terminals[id_] = SeenTerminal(id_, session.id, context.point)
    terminal = session.terminals[id_]
    if "exitStatus" in fields:
        terminal.exit_status = fields["exitStatus"]
        terminal.exited = None if fields["exitStatus"] is None else context.point
    if "capabilities" in fields:
        terminal.capabilities = fields["capabilities"]


def find_terminal(context: Context) -> SeenTerminal | None:
    """Return the client's terminal that a `terminal/*` request, or its response, names.

    The terminal of its own session takes precedence.
    """
    params = context.params if context.request is None else context.request.params
    id_ = params.get("terminalId")
    if not isinstance(id_, str):
        return None
    own = None if context.session is None else context.session.terminals.get(id_)
    return own if own is not None else context.state.terminals.get(id_)
