"""ACPex: renamed capabilities, updates by kind, tool calls as functions, codes of its own.

| here                                  | official v1                                          |
|---------------------------------------|------------------------------------------------------|
| `capabilities` with `fileSystem`      | `clientCapabilities` with `fs`                       |
| a terminal's five abilities           | one `terminal`, true if all five are                 |
| `sessions`, `mcp`, `prompts`          | `loadSession`, `mcpCapabilities`, `promptCapabilities` |
| `meta`, `authenticationMethods`       | `agentInfo`, `authMethods`                           |
| `content` in prompts                  | `prompt`                                             |
| content in a prompt's result          | one more `agent_message_chunk` before it             |
| `done`                                | `end_turn`                                           |
| `update.kind`                         | `update.sessionUpdate`                               |

What official ACP has no member for is kept in `_meta.acpex`; what authenticates is kept nowhere.
Files and terminals are taken to be as in official ACP.

Source: ACPex, "Agent Client Protocol Overview".
"""

from __future__ import annotations

from typing import Final

from acp_protocol import jsonrpc
from acp_protocol.dialects.acpex_blocks import read_block, text_of, write_block
from acp_protocol.dialects.acpex_updates import read_update, write_update
from acp_protocol.dialects.dialect import Reading
from acp_protocol.dialects.interpreter import (
    Answer,
    Call,
    Interpreter,
    Question,
    in_words,
    session_in,
    with_code,
    with_params,
    with_result,
)
from acp_protocol.dialects.members import (
    OFFICIAL_ALONE,
    Object,
    as_list,
    as_object,
    as_text,
    file_uri,
    path_of,
    renamed,
    set_aside,
    taken_back,
    without,
)
from acp_protocol.dialects.streamed import Streamed
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Failure, Json, notification_line

NOT_FOUND: Final = -32001
PERMISSION_DENIED: Final = -32002
INVALID_STATE: Final = -32003
NOT_SUPPORTED: Final = -32004

_TERMINAL: Final = ("create", "output", "waitForExit", "kill", "release")
_FOREIGN: Final = ("prompts", "authenticationMethods")
_DONE: Final = frozenset({"done", "stop", "complete"})
_GATED: Final = ("fs/", "terminal/", "session/load")
_CODES: Final = {
    PERMISSION_DENIED: jsonrpc.INTERNAL_ERROR,
    INVALID_STATE: jsonrpc.INVALID_REQUEST,
    NOT_SUPPORTED: jsonrpc.METHOD_NOT_FOUND,
}


class Acpex(Interpreter):
    """Speaks as agents and clients made with ACPex do."""

    name: str = "acpex"

    def __init__(self) -> None:
        super().__init__()
        self._streamed = Streamed()

    # Dialect to official

    def read_call(self, call: Call, sent_by: Side) -> Reading:
        """Turn a call of the dialect into official v1."""
        params = as_object(call.params)
        match sent_by, call.method:
            case "agent", "session/update":
                return Reading(self._read_update(call, params))
            case "client", "initialize":
                params = _read_capabilities(params)
            case "client", "authenticate":
                params = without(params, "data")
            case "client", "session/prompt":
                self._streamed.begin(session_in(params))
                params = _read_prompt(params)
            case _:
                pass
        return Reading((with_params(call, params),))

    def read_answer(self, answer: Answer, question: Question) -> Reading:
        """Turn an answer of the dialect into official v1."""
        if isinstance(answer, Failure):
            return Reading((_read_failure(answer, question.method),))
        match question.method:
            case "initialize":
                translated = _read_agent_capabilities(as_object(answer.result))
                return Reading((with_result(answer, translated),))
            case "session/prompt":
                result = as_object(answer.result)
                ended = with_result(answer, _read_stop(result) if result else answer.result)
                return Reading((*self._read_last(result, question.session), ended))
            case _:
                return Reading((answer.raw,))

    def _read_update(self, call: Call, params: Object) -> tuple[bytes, ...]:
        update = as_object(params.get("update"))
        # Official tool calls have a kind, too: that of the tool.
        official = None if "sessionUpdate" in update else read_update(update)
        for each in official or [update]:
            if each.get("sessionUpdate") == "agent_message_chunk":
                self._streamed.add(session_in(params), text_of(each.get("content")))
        if official is None:
            return (call.raw,)
        return tuple(_update(params, each) for each in official)

    def _read_last(self, result: Object, session: str | None) -> list[bytes]:
        """Return the chunks for what the result says beyond what was streamed."""
        blocks = [read_block(block) for block in as_list(result.get("content"))]
        text = "".join(text_of(block) for block in blocks)
        if session is None or self._streamed.ends_with(session, text):
            blocks = [block for block in blocks if not text_of(block)]
        chunks = ({"sessionUpdate": "agent_message_chunk", "content": block} for block in blocks)
        return [_update({"sessionId": session}, chunk) for chunk in chunks]

    # Official to dialect

    def write_call(self, call: Call, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official call into the dialect."""
        params = as_object(call.params)
        match sent_by, call.method:
            case "agent", "session/update":
                updates = write_update(as_object(params.get("update")))
                if updates is None:
                    return (call.raw,)
                return tuple(_update(params, each) for each in updates)
            case "client", "initialize":
                params = _write_capabilities(params)
            case "client", "session/prompt":
                self._streamed.begin(session_in(params))
                params = _write_prompt(params)
            case _:
                pass
        return (with_params(call, params),)

    def write_answer(self, answer: Answer, question: Question) -> tuple[bytes, ...]:
        """Turn an official answer into the dialect."""
        if isinstance(answer, Failure):
            answer = in_words(answer, {"prompt": "content"})
            return (self._write_failure(answer, question.method),)
        result = as_object(answer.result)
        match question.method:
            case "initialize":
                return (with_result(answer, _write_agent_capabilities(result)),)
            case "session/prompt":
                reason = "done" if result.get("stopReason") == "end_turn" else None
                stop: Object = {"stopReason": reason} if reason else {}
                empty: Object = {"content": []}
                return (with_result(answer, empty | result | stop),)
            case _:
                return (answer.raw,)

    def _write_failure(self, answer: Failure, method: str) -> bytes:
        match answer.code:
            case jsonrpc.RESOURCE_NOT_FOUND:
                uri = as_text(as_object(answer.data).get("uri"))
                return with_code(answer, NOT_FOUND, {"path": path_of(uri)} if uri else None)
            case jsonrpc.AUTH_REQUIRED:
                # Whoever did not authenticate before did things in the wrong order.
                return with_code(answer, NOT_FOUND if method == "authenticate" else INVALID_STATE)
            case jsonrpc.INVALID_REQUEST if not self.is_initialized:
                return with_code(answer, INVALID_STATE)
            case jsonrpc.METHOD_NOT_FOUND if method.startswith(_GATED):
                return with_code(answer, NOT_SUPPORTED)
            case _:
                return answer.raw


def _read_capabilities(params: Object) -> Object:
    theirs = params.get("capabilities")
    if not isinstance(theirs, dict) or "clientCapabilities" in params:
        return set_aside(params, ("authenticationMethods",), Acpex.name)
    ours = renamed(as_object(theirs), {"fileSystem": "fs"})
    if isinstance(ours.get("terminal"), dict):
        terminal = as_object(ours["terminal"])
        ours["terminal"] = all(terminal.get(ability) is True for ability in _TERMINAL)
    ours = set_aside(ours, ("prompts",), Acpex.name)
    params = without(params, "capabilities") | {"clientCapabilities": ours}
    return set_aside(params, ("authenticationMethods",), Acpex.name)


def _write_capabilities(params: Object) -> Object:
    ours = as_object(params.get("clientCapabilities"))
    theirs: Object = {"fileSystem": as_object(ours.get("fs"))}
    has_terminal = ours.get("terminal") is True
    theirs["terminal"] = dict.fromkeys(_TERMINAL, has_terminal)
    theirs |= taken_back(without(ours, "fs", "terminal"), ("prompts",), Acpex.name)
    params = taken_back(params, ("authenticationMethods",), Acpex.name)
    methods: Object = {"authenticationMethods": []}
    return methods | without(params, "clientCapabilities") | {"capabilities": theirs}


def _read_agent_capabilities(result: Object) -> Object:
    theirs = as_object(result.get("agentCapabilities"))
    sessions = theirs.get("sessions")
    ours = renamed(theirs, {"mcp": "mcpCapabilities", "prompts": "promptCapabilities"})
    if isinstance(sessions, dict):
        load = as_object(sessions).get("load", False)
        ours = {"loadSession": load} | without(ours, "sessions")
    result = renamed(result, {"meta": "agentInfo", "authenticationMethods": "authMethods"})
    if "agentCapabilities" in result:
        result["agentCapabilities"] = ours
    if "authMethods" in result:
        methods = as_list(result["authMethods"])
        result["authMethods"] = [_auth_method(method) for method in methods]
    return result


def _write_agent_capabilities(result: Object) -> Object:
    ours = as_object(result.get("agentCapabilities"))
    theirs: Object = {"sessions": {"new": True, "load": ours.get("loadSession", False)}}
    named = {"mcpCapabilities": "mcp", "promptCapabilities": "prompts"}
    theirs |= renamed(without(ours, "loadSession", *OFFICIAL_ALONE), named)
    result = renamed(result, {"agentInfo": "meta", "authMethods": "authenticationMethods"})
    methods: Object = {"authenticationMethods": []}
    return methods | result | {"agentCapabilities": theirs}


def _auth_method(method: Json) -> Json:
    if isinstance(method, str):
        return {"id": method, "name": method}
    members = as_object(method)
    return {"name": members["id"]} | members if "id" in members else method


def _read_prompt(params: Object) -> Object:
    if "prompt" in params or not isinstance(params.get("content"), list):
        return params
    params = renamed(params, {"content": "prompt"})
    return params | {"prompt": [read_block(block) for block in params["prompt"]]}


def _write_prompt(params: Object) -> Object:
    if "content" in params or not isinstance(params.get("prompt"), list):
        return params
    params = renamed(params, {"prompt": "content"})
    return params | {"content": [write_block(block) for block in params["content"]]}


def _read_stop(result: Object) -> Object:
    reason = as_text(result.get("stopReason"))
    stop: Object = {"stopReason": "end_turn"} if reason in _DONE else {}
    return without(result, "content") | stop


def _read_failure(answer: Failure, method: str) -> bytes:
    if answer.code != NOT_FOUND:
        return with_code(answer, _CODES.get(answer.code, answer.code))
    if method == "authenticate":
        return with_code(answer, jsonrpc.AUTH_REQUIRED)
    path = as_text(as_object(answer.data).get("path"))
    return with_code(answer, jsonrpc.RESOURCE_NOT_FOUND, {"uri": file_uri(path)} if path else None)


def _update(params: Object, update: Object) -> bytes:
    session = {"sessionId": params.get("sessionId")}
    return notification_line("session/update", session | {"update": update})
