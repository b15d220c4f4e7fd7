"""The row of a frame in the tables of `show` and of the Traffic screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, assert_never, cast

from acp_inspector.messages import DecodedFrame, FrameKind
from acp_protocol.framing import Side
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_list, as_object, get, get_list, get_string
from acp_protocol.jsonrpc import (
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
)

SUMMARY_WIDTH = 200
"""Characters of a summary, at most, where nothing else is said."""
SHOWN_PARTS = 8
"""Messages of an array that its summary names, at most."""
SHOWN_TEXTS = 2
"""Texts of an update that are shown, where nothing else says which."""


@dataclass(frozen=True, slots=True)
class FrameRow:
    """What a table shows of a frame; every text is escaped."""

    n: int
    at: float
    side: Side
    kind: FrameKind
    method: str
    """Its own, or that of the request it responds to."""
    id: RequestId
    has_id: bool
    session: str
    latency: float | None
    """Seconds from the request, for a response."""
    size: int
    """Bytes."""
    summary: str
    parts: tuple[FrameRow, ...] = ()
    """The rows of its messages, if it is an array or means several."""
    dialect: str | None = None
    """The dialect that it is in; None for the published protocol."""


def decoded_row(decoded: DecodedFrame, width: int = SUMMARY_WIDTH) -> FrameRow:
    """Return the row of a frame that has been paired; its summary is cut to a width."""
    frame = decoded.frame
    method = decoded.method or ""
    return FrameRow(
        n=frame.seq,
        at=frame.time,
        side=frame.side,
        kind=decoded.kind,
        method=single_line(method, 60),
        id=decoded.id,
        has_id=decoded.has_id,
        session=single_line(decoded.session or "", 80),
        latency=decoded.latency,
        size=len(frame.data),
        summary=single_line(_summary(decoded, method), width),
        parts=tuple(decoded_row(each, width) for each in decoded.parts)
        if decoded.has_parts
        else (),
        dialect=decoded.dialect,
    )


def _summary(decoded: DecodedFrame, method: str) -> str:
    message, error = decoded.meaning, decoded.error
    match message:
        case Request(params=params) | Notification(params=params):
            return call_summary(method, params)
        case SuccessResponse(result=result):
            return _result(result)
        case ErrorResponse(code=code, message=text):
            return f"{code} {text}" if error is None else f"{error.code} {error.message}"
        case Batch():
            return _array_summary(decoded)
        case InvalidMessage(reason=reason):
            return reason
        case _:
            assert_never(message)


def _array_summary(decoded: DecodedFrame) -> str:
    """Return how many messages an array has, and the methods or kinds of the first ones."""
    parts = decoded.parts
    names = [part.method or part.kind for part in parts[:SHOWN_PARTS]]
    count = f"{len(parts)} message" + "s" * (len(parts) != 1)
    return f"{count}: {', '.join(names)}" + ", …" * (len(parts) > SHOWN_PARTS) if names else count


def call_summary(method: str, params: Json) -> str:
    """Return what a request or notification says, which is not safe to show."""
    match method:
        case "session/update":
            update = get(params, "update")
            return f"{get_string(update, 'sessionUpdate')} {update_summary(update)}".rstrip()
        case "session/prompt":
            return _first(get(params, "prompt"))
        case "session/request_permission":
            title = get_string(get(params, "toolCall"), "title") or get_string(params, "title")
            return f"{title} ({len(get_list(params, 'options'))} options)".lstrip()
        case "initialize":
            name = get_string(get(params, "clientInfo") or get(params, "info"), "name")
            return f"version {get(params, 'protocolVersion')} {name}"
        case "terminal/create":
            return command_line(params)
        case "session/set_config_option":
            return f"{get_string(params, 'configId')} {get(params, 'value')}".lstrip()
        case _:
            for name in _SHOWN_PARAMS:
                if (value := get(params, name)) is not None:
                    return f"{name} {value}"
            return ""


def command_line(params: Json) -> str:
    """Return the command and the arguments of a request for a terminal."""
    return " ".join([get_string(params, "command"), *map(str, get_list(params, "args"))])


_SHOWN_PARAMS = ("path", "cwd", "command", "modeId", "methodId", "terminalId", "requestId")
"""Params of which the first one is shown."""


def update_summary(update: Json) -> str:
    """Return what an update says beside its name, which is not safe to show."""
    name = get_string(update, "sessionUpdate")
    match name:
        case "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk":
            return _quoted(get(update, "content"))
        case "agent_message" | "agent_thought" | "user_message":
            return _first(get(update, "content"))
        case "state_update":
            parts = [get_string(update, key) for key in ("state", "stopReason")]
            return " ".join(filter(None, parts))
        case "tool_call" | "tool_call_update":
            parts = [get_string(update, key) for key in ("toolCallId", "title", "status")]
            return " ".join(filter(None, parts))
        case "plan" | "plan_update":
            steps = get_list(get(update, "plan") or update, "entries")
            done = sum(get_string(step, "status") == "completed" for step in steps)
            return f"{done} of {len(steps)} steps done"
        case _:
            summary = _SESSION_UPDATES.get(name)
            return " ".join(_texts(update)[:SHOWN_TEXTS]) if summary is None else summary(update)


def _session_info(update: Json) -> str:
    parts = [f'title "{title}"'] if (title := get_string(update, "title")) else []
    if not parts and "title" in as_object(update):
        parts.append("no title")
    if updated := get_string(update, "updatedAt"):
        parts.append(f"updated {updated}")
    return ", ".join(parts)


def _usage(update: Json) -> str:
    used, size, cost = (get(update, key) for key in ("used", "size", "cost"))
    parts = [f"{used} of {size} tokens"] if used is not None else []
    if (amount := get(cost, "amount")) is not None:
        parts.append(f"{amount} {get_string(cost, 'currency')}".rstrip())
    return ", ".join(parts)


def _commands(update: Json) -> str:
    commands = get_list(update, "availableCommands")
    names = [f"/{get_string(each, 'name')}" for each in commands[:SHOWN_PARTS]]
    count = f"{len(commands)} command" + "s" * (len(commands) != 1)
    return f"{count}: {' '.join(names)}" + " …" * (len(commands) > SHOWN_PARTS) if names else count


def _options(update: Json) -> str:
    options = get_list(update, "configOptions")[:SHOWN_PARTS]
    return ", ".join(f"{get_string(each, 'id')} {get(each, 'currentValue')}" for each in options)


_SESSION_UPDATES: Final[Mapping[str, Callable[[Json], str]]] = {
    "session_info_update": _session_info,
    "usage_update": _usage,
    "available_commands_update": _commands,
    "config_option_update": _options,
}


def _texts(update: Json) -> list[str]:
    """Return the members that are text, but for the kind."""
    members = as_object(update).items()
    return [each for key, each in members if isinstance(each, str) and key != "sessionUpdate"]


def result_summary(result: Json) -> str:
    """Return what a result says, which is not safe to show; empty if it only has other members."""
    for name in ("stopReason", "sessionId", "messageId", "protocolVersion", "exitCode", "signal"):
        if (value := get(result, name)) is not None:
            return f"{name} {value}"
    outcome = get(result, "outcome")
    return " ".join(filter(None, [get_string(outcome, "outcome"), get_string(outcome, "optionId")]))


def _result(result: Json) -> str:
    if summary := result_summary(result):
        return summary
    if isinstance(result, Mapping):
        return ", ".join(str(key) for key in cast("Mapping[str, Json]", result))
    return str(result)


def _first(blocks: Json) -> str:
    return _quoted((as_list(blocks) or [None])[0])


def _quoted(block: Json) -> str:
    text = get(block, "text")
    if not isinstance(text, str):
        text = f"[{get_string(block, 'type') or 'nothing'}]"
    return f'"{text}"'
