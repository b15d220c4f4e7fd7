"""What a request is about: a file, a command, a tool call, a mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from acp_inspector.session.conversations import subject_of
from acp_inspector.views.frame_row import command_line
from acp_protocol.json_values import get_list, get_string
from acp_protocol.jsonrpc import Json, Request

NamedKind: TypeAlias = Literal["terminal", "call"]
NameOf: TypeAlias = Callable[[NamedKind, str], str]
"""Returns the command of a terminal, or the title of a tool call, by its id; or ""."""


def no_name(kind: NamedKind, id_: str) -> str:
    del kind, id_
    return ""


def permitted_call(request: Request) -> str:
    """Return the tool call for which a permission is requested; empty if there is none."""
    if request.method != "session/request_permission":
        return ""
    return get_string(subject_of(request.params), "toolCallId")


def request_subject(method: str, params: Json, name_of: NameOf = no_name) -> str:
    """Return a short description of what a request is about; not escaped.

    A request about a terminal is described by the command that runs in it, and a permission
    without a title by that of its tool call, where `name_of` knows them.
    """
    match method:
        case "session/prompt":
            texts = (get_string(block, "text") for block in get_list(params, "prompt"))
            return next((text for text in texts if text), "")
        case "session/request_permission":
            title = get_string(params, "title") or get_string(subject_of(params), "title")
            call = get_string(subject_of(params), "toolCallId")
            return title or name_of("call", call) or call
        case "elicitation/create":
            return get_string(params, "message")
        case "terminal/create":
            return command_line(params)
        case _:
            if terminal := get_string(params, "terminalId"):
                return name_of("terminal", terminal) or terminal
            names = ("path", "modeId", "configId", "methodId", "method", "cwd")
            return next((found for name in names if (found := get_string(params, name))), "")
