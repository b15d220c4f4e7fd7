"""ACPex: renamed capabilities, updates by kind, tool calls as functions, codes of its own.

| ACPex                                 | official v1                                          |
|---------------------------------------|------------------------------------------------------|
| `capabilities` with `fileSystem`      | `clientCapabilities` with `fs`                       |
| a terminal's five abilities           | one `terminal`, true if all five are                 |
| `sessions`, `mcp`, `prompts`          | `loadSession`, `mcpCapabilities`, `promptCapabilities` |
| `meta`, `authenticationMethods`       | `agentInfo`, `authMethods`                           |
| `content` in prompts                  | `prompt`                                             |
| content in a prompt's result          | one more `agent_message_chunk` before it             |
| `done`                                | `end_turn`                                           |
| `update.kind`                         | `update.sessionUpdate`                               |

Fields that official ACP lacks are kept in `_meta.acpex`, except credentials. Files and terminals
are assumed to work as in official ACP.

Source: ACPex, "Agent Client Protocol Overview".
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Final

from acp_protocol import jsonrpc
from acp_protocol.dialects.base import (
    GUARDED,
    OFFICIAL_ALONE,
    Call,
    Dialect,
    Object,
    PendingRequest,
    Translation,
    chunk,
    file_uri,
    in_words,
    keep,
    move_to_meta,
    moved_back,
    name_of,
    path_of,
    renamed,
    session_in,
    text_of,
    update_frame,
    wants_login,
    with_blocks,
    with_code,
    with_params,
    with_result,
    without,
)
from acp_protocol.dialects.spellings import WIRE_NAMES
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object, as_string, get_object
from acp_protocol.jsonrpc import AnyResponse, ErrorResponse, Json, encode, parse
from acp_protocol.schema.words import TOOL_CALL_STATUSES
from acp_protocol.tool_calls import is_final

_NUMBER: Final = re.compile(r"\A\s*\d{1,9}[.)]\s+")


def read_update(update: Object) -> list[Object] | None:
    """Turn an update of the dialect into official ones; None if it cannot be read."""
    content = update.get("content")
    members = as_object(content)
    match update.get("kind"):
        case "message" if isinstance(content, str):
            return [chunk({"type": "text", "text": content})]
        case "agent_message_chunk" if isinstance(members.get("content"), list):
            return [chunk(read_block(each)) for each in members["content"]]
        case "agent_thought_chunk" if isinstance(members.get("thought"), str):
            block = {"type": "text", "text": members["thought"]}
            return [{"sessionUpdate": "agent_thought_chunk", "content": block}]
        case "tool_call" if isinstance(members.get("toolCallId"), str):
            return [_read_tool_call(members)]
        case "tool_call_update" if isinstance(members.get("toolCallId"), str):
            if "output" in members:
                return [tool_output(members["toolCallId"], members["output"], members)]
            more = without(members, "content", "function") | _read_function(members)
            return [{"sessionUpdate": "tool_call_update"} | more]
        case "plan" if isinstance(members.get("steps"), list):
            steps = [step for step in members["steps"] if isinstance(step, str)]
            entries = [plan_entry(_NUMBER.sub("", step, count=1)) for step in steps]
            return [{"sessionUpdate": "plan", "entries": entries}]
        case _:
            return None


def write_update(update: Object) -> list[Object] | None:
    """Turn an official update into those of the dialect; None if it has no counterpart."""
    match update.get("sessionUpdate"):
        case "agent_message_chunk" if "content" in update:
            content = [write_block(update["content"])]
            message = {"role": "assistant", "content": content}
            return [{"kind": "agent_message_chunk", "content": message}]
        case "agent_thought_chunk" if thought := text_of(update.get("content")):
            return [{"kind": "agent_thought_chunk", "content": {"thought": thought}}]
        case "tool_call":
            raw = update.get("rawInput", {})
            arguments = json.dumps(raw, ensure_ascii=False, separators=(",", ":"))
            name = as_string(update.get("name")) or as_string(update.get("title"))
            function = {"name": name, "arguments": arguments}
            content = {"toolCallId": update.get("toolCallId"), "type": "function"}
            call = {"kind": "tool_call", "content": content | {"function": function}}
            return [call] if _output(update) is None else [call, _write_tool_update(update)]
        case "tool_call_update" if _output(update) is not None:
            return [_write_tool_update(update)]
        case "plan":
            entries = as_list(update.get("entries"))
            texts = [as_string(as_object(entry).get("content")) for entry in entries]
            steps = [f"{number}. {text}" for number, text in enumerate(texts, start=1)]
            return [{"kind": "plan", "content": {"steps": steps}}]
        case _:
            return None


def tool_output(id: Json, output: Json, members: Object) -> Object:  # noqa: A002
    """Return the official update of a tool call with `output`, which has ended.

    The dialects have no status here, but one in `members` counts: the call has failed, or goes on.
    """
    status = members.get("status")
    text = output if isinstance(output, str) else encode(output).decode()
    block = {"type": "content", "content": {"type": "text", "text": text}}
    raw: Object = {"rawOutput": output} if isinstance(output, dict) else {}
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": id,
        "status": status if status in TOOL_CALL_STATUSES[1] else "completed",
        "content": [block] if text else [],
        **raw,
    }


def unlike_completed(update: Object) -> Object:
    """Return the status of an official tool call that puts something out, unless it is done."""
    status = update.get("status", "in_progress")
    return {} if status == "completed" else {"status": status}


def output_text(update: Object) -> str:
    """Return what an official tool call has put out, as text; empty for nothing."""
    raw = update.get("rawOutput")
    if isinstance(raw, str):
        return raw
    items = (as_object(item) for item in as_list(update.get("content")))
    text = "".join(text_of(item.get("content")) for item in items)
    return text or ("" if raw is None else encode(raw).decode())


def plan_entry(text: str, status: str = "pending") -> Object:
    return {"content": text, "priority": "medium", "status": status}


def tool_call(id: Json, members: Object) -> Object:  # noqa: A002
    """Return an official tool call that begins, with the name and the kind in `members`.

    Nothing is guessed from the name: permissions look at the name and the kind.
    """
    given = {name: members[name] for name in ("name", "kind") if as_string(members.get(name))}
    called: Object = {
        "sessionUpdate": "tool_call",
        "toolCallId": id,
        "title": given.get("name", id),
    }
    return called | given | {"status": "in_progress"}


def _read_function(members: Object) -> Object:
    """Return the name and the input of the function in a tool call, as official fields."""
    function, read = get_object(members, "function"), Object()
    if name := as_string(function.get("name")):
        read["name"] = name
    if "arguments" in function:
        arguments = function["arguments"]
        with suppress(ValueError):
            arguments = parse(arguments.encode()) if isinstance(arguments, str) else arguments
        read["rawInput"] = arguments
    return read


def _read_tool_call(members: Object) -> Object:
    function = _read_function(members)
    return tool_call(members["toolCallId"], members | function) | function


def _write_tool_update(update: Object) -> Object:
    content = {"toolCallId": update.get("toolCallId"), "output": _output(update)}
    return {"kind": "tool_call_update", "content": content | unlike_completed(update)}


def _output(update: Object) -> str | None:
    """Return a tool call's text; None while it may still run and has no output."""
    text = output_text(update)
    return text if text or is_final(update.get("status")) else None


_CONTENTS = ("uri", "mimeType", "text", "blob")


def read_block(block: Json) -> Json:
    members = as_object(block)
    match members.get("type"):
        case "image" | "audio" if isinstance(members.get("source"), dict):
            source = without(as_object(members["source"]), "type")
            return without(members, "source") | renamed(source, {"mediaType": "mimeType"})
        case "resource" if "resource" not in members and isinstance(members.get("uri"), str):
            if "text" not in members and "blob" not in members:
                return {"name": name_of(members["uri"])} | members | {"type": "resource_link"}
            contents = {name: members[name] for name in _CONTENTS if name in members}
            return without(members, *_CONTENTS) | {"resource": contents}
        case "resource_link" if "name" not in members and isinstance(members.get("uri"), str):
            return members | {"name": name_of(members["uri"])}
        case _:
            return block


def write_block(block: Json) -> Json:
    members = as_object(block)
    match members.get("type"):
        case "image" | "audio" if isinstance(members.get("data"), str):
            source = {"type": "base64", "mediaType": members.get("mimeType")}
            rest = without(members, "data", "mimeType")
            return rest | {"source": source | {"data": members["data"]}}
        case "resource" if isinstance(members.get("resource"), dict):
            return without(members, "resource") | as_object(members["resource"])
        case "resource_link":
            return without(members, "name")
        case _:
            return block


NOT_FOUND: Final = -32001
PERMISSION_DENIED: Final = -32002
INVALID_STATE: Final = -32003
NOT_SUPPORTED: Final = -32004

_CLOSED: Final = frozenset({NOT_FOUND, PERMISSION_DENIED, INVALID_STATE})
"""The codes of an agent that wants a login, besides its message."""
_TERMINAL: Final = ("create", "output", "waitForExit", "kill", "release")
PROMPTS: Final[Json] = {"audio": True, "image": True, "embeddedContext": True}
"""What our clients send in prompts besides text; the published protocol has no claim for it."""
_FOREIGN: Final = ("prompts", "authenticationMethods")
_DONE: Final = frozenset({"done", "stop", "complete"})
_STATEFUL: Final = ("initialize", "session/")
_GATED: Final = ("fs/", "terminal/", "session/load")
_WORDS: Final = WIRE_NAMES["acpex"]
_CODES: Final = {
    INVALID_STATE: jsonrpc.INVALID_REQUEST,
    NOT_SUPPORTED: jsonrpc.METHOD_NOT_FOUND,
}


class Acpex(Dialect):
    name: str = "acpex"

    def __init__(self, directory: str = "") -> None:
        super().__init__(directory)
        self._plans: dict[str, Json] = {}
        """The plan of the running turn of each session, as it was written last."""
        self._has_logins = False
        """Whether the agent offers logins, and the user has used none."""

    @staticmethod
    def login_fields(secret: str) -> Object:
        """Return `data`: the JSON object that `secret` is, or else with it as the key of an API."""
        with suppress(ValueError, RecursionError):
            if isinstance(data := parse(secret.encode()), dict):
                return {"data": data}
        return {"data": {"apiKey": secret}}

    # Dialect to official

    def read_call(self, call: Call, sent_by: Side) -> Translation:
        params = as_object(call.params)
        match sent_by, call.method:
            case "agent", "session/update":
                return Translation(self._read_update(call, params))
            case "agent", "session/request_permission":
                params = self.permission(_read_permission(params))
            case "client", "initialize":
                params = _read_capabilities(params)
            case "client", "authenticate":
                params = without(params, "data")
            case "client", "session/prompt":
                self._begin_turn(session_in(params))
                params = with_blocks(params, _WORDS["prompt"], "prompt", read_block)
            case _:
                pass
        return Translation((with_params(call, params),))

    def read_response(self, response: AnyResponse, request: PendingRequest) -> Translation:
        if isinstance(response, ErrorResponse):
            return Translation((self._read_failure(response, request.method),))
        match request.method:
            case "initialize":
                translated = _read_agent_capabilities(as_object(response.result))
                self._has_logins = bool(as_list(translated.get("authMethods")))
                return Translation((with_result(response, translated),))
            case "session/prompt":
                result = as_object(response.result)
                done: Object = {"stopReason": "end_turn"}
                stop = done if as_string(result.get("stopReason")) in _DONE else {}
                ended = without(result, "content") | stop if result else response.result
                last = self._read_last(result, request.session)
                return Translation((*last, with_result(response, ended)))
            case "authenticate":
                self._has_logins = False
                return Translation((response.raw,))
            case _:
                return Translation((response.raw,))

    def _read_failure(self, response: ErrorResponse, method: str) -> bytes:
        # The dialect has no code for a missing login, which is a state that the user has to change.
        is_state = response.code == INVALID_STATE and self._has_logins and method in GUARDED
        if is_state or (response.code in _CLOSED and wants_login(response, method)):
            return with_code(response, jsonrpc.AUTH_REQUIRED)
        return _read_failure(response, method)

    def _read_update(self, call: Call, params: Object) -> tuple[bytes, ...]:
        update = get_object(params, "update")
        # Official tool calls have a kind, too: that of the tool.
        official = None if "sessionUpdate" in update else read_update(update)
        official = official and [self.in_full(session_in(params), each) for each in official]
        for each in official or [update]:
            if each.get("sessionUpdate") == "agent_message_chunk":
                self.add_text(session_in(params), text_of(each.get("content")))
        if official is None:
            return (call.raw,)
        return tuple(update_frame(params.get("sessionId"), each) for each in official)

    def _read_last(self, result: Object, session: str | None) -> list[bytes]:
        """Return chunks with the content of the result that was not streamed."""
        blocks = [read_block(block) for block in as_list(result.get("content"))]
        text = "".join(text_of(block) for block in blocks)
        if session is None or self.was_streamed(session, text):
            blocks = [block for block in blocks if not text_of(block)]
        return [update_frame(session, chunk(block)) for block in blocks]

    def _begin_turn(self, session: str | None) -> None:
        """Forget the text and the plan of the turn before."""
        self.begin_text(session)
        self._plans.pop(session or "", None)

    def _is_new(self, update: Object, session: str | None) -> bool:
        """Return False for a plan that was written already: here its steps have no status."""
        if update.get("kind") != "plan":
            return True
        before = self._plans.get(session or "")
        keep(self._plans, session or "", update["content"])
        return before != update["content"]

    # Official to dialect

    def write_call(self, call: Call, sent_by: Side) -> tuple[bytes, ...]:
        params = as_object(call.params)
        match sent_by, call.method:
            case "agent", "session/update":
                update, session = get_object(params, "update"), session_in(params)
                updates = write_update(update)
                if updates is None:
                    self.note_tool_call(params)
                    return (call.raw,)
                place = int(update.get("sessionUpdate") == "tool_call")
                updates[place:place] = self.unsent(session, update, written=())
                updates = [each for each in updates if self._is_new(each, session)]
                return tuple(update_frame(params.get("sessionId"), each) for each in updates)
            case "client", "initialize":
                params = _write_capabilities(params)
            case "client", "authenticate":
                params = moved_back(params, ("data",), self.name)
            case "client", "session/prompt":
                self._begin_turn(session_in(params))
                params = with_blocks(params, "prompt", _WORDS["prompt"], write_block)
            case _:
                pass
        return (with_params(call, params),)

    def write_response(self, response: AnyResponse, request: PendingRequest) -> tuple[bytes, ...]:
        if isinstance(response, ErrorResponse):
            response = in_words(response, _WORDS)
            return (self._write_failure(response, request.method),)
        result = as_object(response.result)
        match request.method:
            case "initialize":
                return (with_result(response, _write_agent_capabilities(result)),)
            case "session/prompt":
                reason = "done" if result.get("stopReason") == "end_turn" else None
                stop: Object = {"stopReason": reason} if reason else {}
                empty: Object = {"content": []}
                return (with_result(response, empty | result | stop),)
            case _:
                return (response.raw,)

    def _write_failure(self, response: ErrorResponse, method: str) -> bytes:
        match response.code:
            case jsonrpc.RESOURCE_NOT_FOUND:
                return with_code(response, NOT_FOUND, _write_place(response.data))
            case jsonrpc.INVALID_PARAMS if _reason(response.data) == jsonrpc.NOT_PERMITTED:
                return with_code(response, PERMISSION_DENIED, _write_place(response.data))
            case jsonrpc.INVALID_PARAMS if _reason(response.data) == jsonrpc.NOT_OFFERED:
                return with_code(response, NOT_SUPPORTED)
            case jsonrpc.AUTH_REQUIRED:
                # Other methods came in the wrong order: authentication is first.
                return with_code(response, NOT_FOUND if method == "authenticate" else INVALID_STATE)
            case jsonrpc.INVALID_REQUEST if not self.is_initialized or method.startswith(_STATEFUL):
                # Such as a second turn: the message itself is valid.
                return with_code(response, INVALID_STATE)
            case jsonrpc.METHOD_NOT_FOUND if method.startswith(_GATED):
                return with_code(response, NOT_SUPPORTED)
            case _:
                return response.raw


def _reason(data: Json) -> Json:
    return as_object(data).get("reason")


def _write_place(data: Json) -> Json:
    """Return the data of an error with the path of its file in place of the URI."""
    members = as_object(data)
    if uri := as_string(members.get("uri")):
        return {"path": path_of(uri)} | without(members, "uri", "reason")
    return data


def _read_place(data: Json) -> Object:
    members = as_object(data)
    if path := as_string(members.get("path")):
        return {"uri": file_uri(path)} | without(members, "path")
    return members


def _read_permission(params: Object) -> Object:
    """Return params whose tool call has the name and the input of its function."""
    call = get_object(params, "toolCall")
    if "function" not in call:
        return params
    return params | {"toolCall": without(call, "type", "function") | _read_function(call)}


def _read_capabilities(params: Object) -> Object:
    theirs = params.get("capabilities")
    if isinstance(theirs, dict) and "clientCapabilities" not in params:
        ours = renamed(as_object(theirs), {"fileSystem": "fs"})
        if isinstance(ours.get("terminal"), dict):
            terminal = as_object(ours["terminal"])
            has_all = all(terminal.get(ability) is True for ability in _TERMINAL)
            kept = {} if has_all else move_to_meta(ours, ("terminal",), Acpex.name)
            ours |= kept | {"terminal": has_all}
        ours = move_to_meta(ours, ("prompts",), Acpex.name)
        params = without(params, "capabilities") | {"clientCapabilities": ours}
    return move_to_meta(params, ("authenticationMethods",), Acpex.name)


def _write_capabilities(params: Object) -> Object:
    ours = get_object(params, "clientCapabilities")
    theirs: Object = {"fileSystem": get_object(ours, "fs")}
    has_terminal = ours.get("terminal") is True
    theirs["terminal"] = dict.fromkeys(_TERMINAL, has_terminal)
    theirs["prompts"] = PROMPTS
    theirs |= moved_back(without(ours, "fs", "terminal"), ("prompts", "terminal"), Acpex.name)
    params = moved_back(params, ("authenticationMethods",), Acpex.name)
    methods: Object = {"authenticationMethods": []}
    return methods | without(params, "clientCapabilities") | {"capabilities": theirs}


def _read_agent_capabilities(result: Object) -> Object:
    theirs = get_object(result, "agentCapabilities")
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
    ours = get_object(result, "agentCapabilities")
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


def _read_failure(response: ErrorResponse, method: str) -> bytes:
    match response.code:
        case code if code == NOT_FOUND and method == "authenticate":
            return with_code(response, jsonrpc.AUTH_REQUIRED)
        case code if code == NOT_FOUND:
            place = _read_place(response.data) or None
            return with_code(response, jsonrpc.RESOURCE_NOT_FOUND, place)
        case code if code == PERMISSION_DENIED:
            data = _read_place(response.data) | {"reason": jsonrpc.NOT_PERMITTED}
            return with_code(response, jsonrpc.INVALID_PARAMS, data)
        case code if code == NOT_SUPPORTED and not method.startswith(_GATED):
            data = as_object(response.data) | {"reason": jsonrpc.NOT_OFFERED}
            return with_code(response, jsonrpc.INVALID_PARAMS, data)
        case code:
            return with_code(response, _CODES.get(code, code))
