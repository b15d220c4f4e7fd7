"""Continuum Router: other names for members, flat capabilities, cancelling by request.

| Continuum Router                        | official v1                                     |
|-----------------------------------------|-------------------------------------------------|
| capabilities side by side               | `fs`, `promptCapabilities`                      |
| `session/new` with `mode` alone         | with `cwd` and `mcpServers`                     |
| `session/set_mode` with `mode`          | with `sessionId` and `modeId`                   |
| `session/cancel`, a request             | a notification, which gets no response          |
| `content` in prompts                    | `prompt`                                        |
| an update is `content`, several blocks  | an `agent_message_chunk` for each block         |
| a permission's tool call side by side   | `toolCall` and `options`                        |

Fields that official ACP lacks are kept in `_meta.continuum`, except tokens. Calls of the MCP bridge
go in the opposite direction to official ACP and pass unchanged.

Source: Continuum Router, "Agent Communication Protocol (ACP)".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from acp_protocol import jsonrpc
from acp_protocol.dialects.base import (
    ASSUMED,
    META,
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
    marked,
    move_to_meta,
    moved_back,
    moved_to_meta,
    name_of,
    path_of,
    placed,
    renamed,
    session_in,
    update_frame,
    wants_login,
    with_blocks,
    with_code,
    with_params,
    with_result,
    without,
    without_moved,
)
from acp_protocol.dialects.spellings import WIRE_NAMES, official_names
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object, as_string, get_object
from acp_protocol.jsonrpc import (
    MCP_FAILED,
    MCP_LIMITED,
    MCP_NOT_FOUND,
    AnyResponse,
    ErrorResponse,
    Json,
    Request,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)
from acp_protocol.schema.vocabulary import PROMPT_CAPABILITIES
from acp_protocol.schema.words import TOOL_CALL_STATUSES


def read_block(block: Json) -> Json:
    members = as_object(block)
    match members.get("type"):
        case "image":
            return renamed(members, {"mediaType": "mimeType"})
        case "resource" if "resource" not in members and isinstance(members.get("uri"), str):
            link = renamed(members, {"mediaType": "mimeType"})
            name = as_string(link.get("name")) or name_of(link["uri"])
            return link | {"type": "resource_link", "name": name}
        case _:
            return block


def write_block(block: Json) -> Json:
    """Turn an official block into one of the dialect, which has neither audio nor contents."""
    members = as_object(block)
    match members.get("type"):
        case "image":
            return renamed(members, {"mimeType": "mediaType"})
        case "resource_link":
            reference = without(renamed(members, {"mimeType": "mediaType"}), "name")
            return reference | {"type": "resource"}
        case _:
            return block


OPTIONS: Final = {
    "allow_once": "Allow once",
    "allow_always": "Allow always",
    "reject_once": "Reject",
    "reject_always": "Reject always",
}
SELECTED: Final = "selected"
KINDS: Final = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"}
)
_STATUS: Final = {"ask": "pending", "rejected": "failed"}
_CONTENT_TYPES: Final = frozenset({"content", "diff", "terminal"})
_MEMBERS: Final = (
    *("toolCallId", "title", "name", "kind", "status"),
    *("content", "rawInput", "rawOutput", "_meta"),
)


def has_tool(params: Object) -> bool:
    """Return whether params hold the fields of a tool call beside the session."""
    return isinstance(params.get("toolCallId"), str) and "toolCall" not in params


def read_permission(params: Object, *, is_new: bool) -> Object:
    """Return the official params; a call that is new waits, another one goes on."""
    options = [{"optionId": word, "name": name, "kind": word} for word, name in OPTIONS.items()]
    tool = _tool(params)
    if more := without(params, "sessionId", "options", "locations", *_MEMBERS):
        # The user has to see all of it, also what has the same name twice.
        raw = tool.get("rawInput")
        is_joined = raw is None or (
            isinstance(raw, dict) and more.keys().isdisjoint(as_object(raw))
        )
        tool["rawInput"] = more | (as_object(raw) if is_joined else {"rawInput": raw})
    return {
        "sessionId": params.get("sessionId"),
        "toolCall": without(tool, "status") | ({"status": "pending"} if is_new else {}),
        "options": params.get("options", options),
    }


def write_permission(params: Object) -> Object:
    tool = as_object(params["toolCall"])
    id_ = as_string(tool.get("toolCallId"))
    places = [_write_location(place) for place in as_list(tool.get("locations"))]
    name = as_string(tool.get("name"))
    return {
        "sessionId": params.get("sessionId"),
        "toolCallId": id_,
        "title": as_string(tool.get("title")) or id_,
        **({"name": name} if name else {}),
        "kind": tool.get("kind") if as_string(tool.get("kind")) in KINDS else "other",
        "locations": places,
    }


def option_of(params: Object, *, are_shown: bool) -> Object:
    """Return the option that each word of a response selects.

    Of several lasting ones the first is selected, usually the narrowest; if there is none, the one
    that holds once. The ids of options are words too, if the client has seen them.
    """
    options = [as_object(option) for option in as_list(params.get("options"))]
    if not options:
        return {word: word for word in OPTIONS}
    ids = {as_string(option.get("optionId")): option.get("optionId") for option in options}
    by_kind = {as_string(each.get("kind")): each.get("optionId") for each in reversed(options)}
    instead = {f"{verb}_always": by_kind.get(f"{verb}_once") for verb in ("allow", "reject")}
    words = {word: id_ for word, id_ in (instead | by_kind).items() if word in OPTIONS}
    return words | (ids if are_shown else {})


def outcome_of(result: Json, options: Object) -> Json:
    """Turn the result of a permission request into the official one.

    Besides the official form a bare word is accepted: alone, as the outcome, or as the id of the
    option. All forms may select by one of the four words, because the options have no other names
    in the dialect. A word that was not offered allows nothing.
    """
    word = result
    while members := as_object(word):
        # The id stands beside "selected", or alone.
        inner = members.get("outcome", SELECTED)
        word = members.get("optionId") if inner == SELECTED else inner
    if not isinstance(word, str):
        return result
    option = options.get(word)
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": SELECTED, "optionId": option}}


def read_tool_call(params: Object, *, is_new: bool) -> Object:
    tool = _tool(params)
    if not is_new:
        return {"sessionUpdate": "tool_call_update"} | tool
    return {"sessionUpdate": "tool_call"} | {"title": tool["toolCallId"]} | tool


def _tool(params: Object) -> Object:
    tool = {name: params[name] for name in _MEMBERS if name in params}
    if "locations" in params:
        tool["locations"] = [_read_location(place) for place in as_list(params["locations"])]
    if "content" in tool:
        tool["content"] = [
            item
            if as_string(as_object(item).get("type")) in _CONTENT_TYPES
            else {"type": "content", "content": read_block(item)}
            for item in as_list(tool["content"])
        ]
    if "status" in tool:
        # Also `InProgress` for `in_progress`.
        word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", as_string(tool["status"])).lower()
        status = _STATUS.get(word, word)
        tool = without(tool, "status")
        if status in TOOL_CALL_STATUSES[1]:
            tool["status"] = status
    return tool


def _read_location(place: Json) -> Json:
    members = as_object(place)
    if not isinstance(members.get("uri"), str) or "path" in members:
        return place
    named = renamed(members, {"uri": "path", "startLine": "line"})
    return named | {"path": path_of(members["uri"])}


def _write_location(place: Json) -> Json:
    members = as_object(place)
    if not isinstance(members.get("path"), str):
        return place
    named = renamed(members, {"path": "uri", "line": "startLine"})
    return named | {"uri": file_uri(members["path"])}


APPLICATION_ERROR: Final = -32001
NOT_INITIALIZED: Final = -32002

_GENERATION: Final = ("model", "stream", "temperature", "maxTokens")
_HISTORY: Final = ("createdAt", "updatedAt", "mode", "historyLength")
_TIMES: Final = ("createdAt", "updatedAt")
_BRIDGE: Final = ("mcp", "mcpCapabilities")
_FILES: Final = ("readTextFile", "writeTextFile")
_WORDS: Final = WIRE_NAMES["continuum"]
_METHOD: Final = official_names("continuum", "methodId")
_MODE: Final = official_names("continuum", "modeId")
_ABSENT: Final = re.compile(r"not found|no such|not exist|not open|unknown|expired", re.IGNORECASE)
"""In the message of an application error: something does not exist."""
_CURRENT: Final = frozenset({"session/cancel", "session/prompt", "session/set_mode"})
"""Calls that concern the last used session if they name none."""
_STATEFUL: Final = ("session/", "mcp/")
_UNLISTED: Final = frozenset(
    {jsonrpc.AUTH_REQUIRED, jsonrpc.RESOURCE_NOT_FOUND, MCP_LIMITED, MCP_NOT_FOUND, MCP_FAILED}
)
"""Official codes that its table lacks; the last ones are those of MCP over ACP."""
_IS_CLIENT: Final = "isClient"
"""Tells the agent to respond as in the dialect."""
_MODES: Final = {"code": "Code", "architect": "Architect"}
"""The modes in its own examples."""
_ASSUMED: Final[Object] = {META: {"continuum": {ASSUMED: True}}}


class Continuum(Dialect):
    name: str = "continuum"
    takes_directory: bool = False
    takes_servers: bool = False
    takes_model: bool = True
    initializes_first: bool = True

    def __init__(
        self, directory: str, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        super().__init__(directory)
        self._now = now
        self._modes: dict[str, str] = {}
        self._former: dict[str, str] = {}
        """The previous mode of each session."""
        self._cancels = 0

    @staticmethod
    def login_fields(secret: str) -> Object:
        return {"token": secret}

    # Dialect to official

    def read_call(self, call: Call, sent_by: Side) -> Translation:
        params = as_object(call.params)
        if sent_by == "agent":
            return self._read_agent(call, params)
        if call.method in _CURRENT and "sessionId" in params and params["sessionId"] is None:
            params = without(params, "sessionId")
        if call.method == "session/cancel":
            return self._read_cancel(call, params)
        match call.method:
            case "initialize":
                params = _read_capabilities(params)
            case "authenticate":
                params = without(renamed(params, _METHOD), "token")
                params = marked(params, self.name, _IS_CLIENT)
            case "session/new":
                params = move_to_meta(params, ("mode",), self.name)
                params = placed(params, self.directory, self.name)
            case "session/load":
                params = marked(params, self.name, _IS_CLIENT)
                params = placed(params, self.directory, self.name)
            case "session/set_mode":
                params = self._in_session(_read_mode(params))
            case "session/prompt":
                params = move_to_meta(params, _GENERATION, self.name)
                params = self._in_session(_read_prompt(params))
            case _:
                pass
        return Translation((with_params(call, params),))

    def read_response(self, response: AnyResponse, request: PendingRequest) -> Translation:
        if request.notes.get("is_cancel"):
            # Officially this was a notification, which gets no response.
            return Translation(())
        if isinstance(response, ErrorResponse):
            return Translation((self._read_failure(response, request),))
        result = as_object(response.result)
        match request.method:
            case "initialize":
                translated = _read_agent_capabilities(result)
            case "authenticate":
                translated = result
            case "session/new" | "session/load":
                session = session_in(result) or request.session
                translated = self._read_history(result, session, request.method)
            case "session/set_mode":
                self._note_mode(request.session, as_string(result.get("mode")))
                translated = move_to_meta(result, ("mode", "previousMode"), self.name)
            case "session/request_permission":
                translated = outcome_of(response.result, request.notes)
            case _:
                translated = response.result
        return Translation((with_result(response, translated),))

    def _read_agent(self, call: Call, params: Object) -> Translation:
        if call.method == "session/request_permission" and has_tool(params):
            if isinstance(call, Request):
                is_new = self.calls.begin(session_in(params), params["toolCallId"])
                return Translation((with_params(call, read_permission(params, is_new=is_new)),))
            # A notification gets no response, so it is shown as a tool call, which waits if it
            # was not reported before.
            is_known = self.calls.has_begun(
                session_in(params) or self.session, params["toolCallId"]
            )
            params = without(params, "status") | ({} if is_known else {"status": "pending"})
        elif call.method != "session/update" or "update" in params:
            return Translation((call.raw,))
        params = self._in_session(params)
        if has_tool(params):
            is_new = self.calls.begin(session_in(params), params["toolCallId"])
            update = read_tool_call(params, is_new=is_new)
            return Translation((update_frame(params.get("sessionId"), update),))
        if not isinstance(params.get("content"), list | dict):
            return Translation((call.raw,))
        content = params["content"]
        blocks = as_list(content) if isinstance(content, list) else [content]
        updates = (chunk(read_block(block)) for block in blocks)
        return Translation(tuple(update_frame(params.get("sessionId"), each) for each in updates))

    def _read_cancel(self, call: Call, params: Object) -> Translation:
        if "sessionId" not in params and self.busy_session is not None:
            params = {"sessionId": self.busy_session} | params
        if not isinstance(call, Request):
            return Translation((with_params(call, params),))
        request = PendingRequest(call.method, session_in(params), {"is_cancel": True})
        self.add_request("client", call.id, request)
        # Without a session there is nothing to cancel, but the request still needs a response.
        known = (encode_notification(call.method, params),) if session_in(params) else ()
        session = params.get("sessionId")
        if not self.is_initialized:
            reply = encode_error(call.id, NOT_INITIALIZED, "The first request is initialize")
        elif session is not None and not isinstance(session, str):
            reply = encode_error(call.id, jsonrpc.INVALID_PARAMS, "sessionId is not a string")
        elif session is not None and not self.knows(session):
            data = {"sessionId": session}
            reply = encode_error(call.id, APPLICATION_ERROR, "There is no such session", data)
        else:
            reply = encode_result(call.id, {})
        return Translation(known, (reply,))

    def _read_history(self, result: Object, session: str | None, method: str) -> Object:
        if not any(name in result for name in _HISTORY):
            return result
        mode = as_string(result.get("mode"))
        self._note_mode(session, mode)
        translated = move_to_meta(result, _HISTORY, self.name)
        if mode and "modes" not in result:
            names = _MODES | ({} if mode in _MODES else {mode: mode.capitalize()})
            available: list[Object] = [{"id": id_, "name": name} for id_, name in names.items()]
            # An agent names its current mode only; it need not have the others.
            modes = [each if each["id"] == mode else each | _ASSUMED for each in available]
            translated["modes"] = {"currentModeId": mode, "availableModes": list(modes)}
        return without(translated, "sessionId") if method == "session/load" else translated

    def _read_failure(self, response: ErrorResponse, request: PendingRequest) -> bytes:
        if response.code == NOT_INITIALIZED and not self.is_initialized:
            return with_code(response, jsonrpc.INVALID_REQUEST)
        if response.code == APPLICATION_ERROR and wants_login(response, request.method):
            return with_code(response, jsonrpc.AUTH_REQUIRED)
        if response.code == APPLICATION_ERROR and _ABSENT.search(response.message):
            if request.method.startswith("fs/"):
                return with_code(response, jsonrpc.RESOURCE_NOT_FOUND)
            if "session" in response.message.lower():
                session = request.session
                data: Json = {"sessionId": session} if session is not None else None
                data = data if response.data is None else response.data
                return with_code(response, jsonrpc.RESOURCE_NOT_FOUND, data)
        return response.raw

    # Official to dialect

    def write_call(self, call: Call, sent_by: Side) -> tuple[bytes, ...]:
        params = as_object(call.params)
        if sent_by == "agent":
            return (self._write_agent(call, params),)
        if call.method == "session/cancel" and not isinstance(call, Request):
            return (self._write_cancel(call, params),)
        match call.method:
            case "initialize":
                params = _write_capabilities(params)
            case "authenticate":
                params = moved_back(params, ("token",), self.name)
                params = renamed(params, {"methodId": _WORDS["methodId"]})
            case "session/new" | "session/load":
                params = without(moved_back(params, ("mode",), self.name), "cwd", "mcpServers")
            case "session/set_mode":
                params = self._out_of_session(renamed(params, {"modeId": _WORDS["modeId"]}))
            case "session/prompt":
                params = moved_back(params, _GENERATION, self.name)
                params = with_blocks(params, "prompt", _WORDS["prompt"], write_block)
            case _:
                pass
        return (with_params(call, params),)

    def write_response(self, response: AnyResponse, request: PendingRequest) -> tuple[bytes, ...]:
        if isinstance(response, ErrorResponse):
            return (self._write_failure(in_words(response, _WORDS), request),)
        result = as_object(response.result)
        match request.method:
            case "initialize":
                translated = _write_agent_capabilities(result)
            case "session/new" | "session/load":
                translated = self._write_history(result, request)
            case "session/set_mode":
                translated = self._write_modes(result, request)
            case "session/prompt" if result.get("stopReason") == "max_turn_requests":
                translated = result | {"stopReason": "max_tokens"}
            case _:
                translated = response.result
        return (with_result(response, translated),)

    def _write_agent(self, call: Call, params: Object) -> bytes:
        update = get_object(params, "update")
        match call.method, update.get("sessionUpdate"):
            case "session/update", "agent_message_chunk" if "content" in update:
                blocks = [write_block(update["content"])]
                return with_params(call, without(params, "update") | {"content": blocks})
            case "session/update", "current_mode_update":
                self._note_mode(session_in(params), as_string(update.get("currentModeId")))
                return call.raw
            case "session/request_permission", _ if isinstance(params.get("toolCall"), dict):
                if isinstance(call, Request):
                    options = option_of(params, are_shown=False)
                    request = PendingRequest(call.method, session_in(params), options)
                    self.add_request("agent", call.id, request)
                return with_params(call, write_permission(params))
            case _:
                return call.raw

    def _write_cancel(self, call: Call, params: Object) -> bytes:
        self._cancels += 1
        # No client uses such ids, so the response can only belong to this request.
        id_ = f"cancel-{self._cancels}"
        request = PendingRequest(call.method, session_in(params), {"is_cancel": True})
        self.add_request("client", id_, request)
        return encode_request(id_, call.method, self._out_of_session(params) or None)

    def _write_history(self, result: Object, request: PendingRequest) -> Object:
        kept = moved_to_meta(result, self.name)
        session = session_in(result) or request.session
        mode = as_string(get_object(result, "modes").get("currentModeId"))
        mode = mode or as_string(kept.get("mode")) or as_string(request.notes.get("mode")) or "code"
        self._note_mode(session, mode)
        time = _stamp(self._now())
        history: Object = {"sessionId": session} if session else {}
        history |= {"createdAt": time, "updatedAt": time, "mode": mode, "historyLength": 0}
        for name in _TIMES:
            # Other forms of a time are rewritten; one without a zone stays.
            with suppress(ValueError, OverflowError):
                if (read := datetime.fromisoformat(as_string(kept.get(name)))).tzinfo:
                    kept = kept | {name: _stamp(read)}
        return history | kept | without(without_moved(result, self.name), "modes")

    def _write_modes(self, result: Object, request: PendingRequest) -> Object:
        session, mode = request.session, as_string(request.notes.get("mode"))
        # An update with the new mode may have come before the response.
        is_current = self._modes.get(session or "") == mode
        before = (self._former if is_current else self._modes).get(session or "")
        self._note_mode(session, mode)
        modes = {"mode": mode} | ({"previousMode": before} if before else {})
        return modes | moved_back(result, ("mode", "previousMode"), self.name)

    def _write_failure(self, response: ErrorResponse, request: PendingRequest) -> bytes:
        if response.code == jsonrpc.INVALID_REQUEST and not self.is_initialized:
            return with_code(response, NOT_INITIALIZED)
        # Official agents also refuse by this code what the state does not allow, such as a second
        # turn. In the dialect that is an application error, like every code missing in its table.
        is_state = response.code == jsonrpc.INVALID_REQUEST and request.method.startswith(_STATEFUL)
        if is_state or response.code in _UNLISTED:
            return with_code(response, APPLICATION_ERROR)
        return response.raw

    # State

    def extension_fields(self, call: Call) -> Object:
        """Return the requested mode, or the offered options."""
        params = as_object(call.params)
        match call.method:
            case "session/new" | "session/set_mode":
                mode = params.get("mode", params.get("modeId"))
                return {"mode": mode or moved_to_meta(params, self.name).get("mode")}
            case "session/request_permission":
                # Those of a tool call with its fields side by side are not listed.
                return option_of(params, are_shown=True)
            case _:
                return {}

    def _note_mode(self, session: str | None, mode: str) -> None:
        if session and mode:
            keep(self._former, session, self._modes.get(session, mode))
            keep(self._modes, session, mode)

    def _in_session(self, params: Object) -> Object:
        if "sessionId" in params or self.session is None:
            return params
        return {"sessionId": self.session} | params

    def _out_of_session(self, params: Object) -> Object:
        return without(params, "sessionId") if session_in(params) == self.session else params


def _read_prompt(params: Object) -> Object:
    return with_blocks(params, _WORDS["prompt"], "prompt", read_block)


def _read_mode(params: Object) -> Object:
    if "mode" not in params:
        return params
    return marked(renamed(params, _MODE), Continuum.name, _IS_CLIENT)


def _read_capabilities(params: Object) -> Object:
    flat = get_object(params, "clientCapabilities")
    files = {name: flat[name] for name in _FILES if name in flat}
    if not files:
        return params
    nested = {"fs": files | get_object(flat, "fs")} | without(flat, "fs", *_FILES)
    return params | {"clientCapabilities": nested}


def _write_capabilities(params: Object) -> Object:
    nested = get_object(params, "clientCapabilities")
    files = get_object(nested, "fs")
    flat = {name: files.get(name, False) for name in _FILES}
    flat["terminal"] = nested.get("terminal", False)
    return params | {"clientCapabilities": flat | without(nested, "fs")}


def _read_agent_capabilities(result: Object) -> Object:
    flat = get_object(result, "agentCapabilities")
    prompts = {name: flat[name] for name in PROMPT_CAPABILITIES.values() if name in flat}
    # Officially, "acp" there means the opposite direction.
    has_bridge = "acp" in get_object(flat, "mcpCapabilities")
    bridge = () if "mcp" not in flat else _BRIDGE if has_bridge else _BRIDGE[:1]
    if not prompts and not bridge:
        return result
    nested = move_to_meta(without(flat, *PROMPT_CAPABILITIES.values()), bridge, Continuum.name)
    nested["promptCapabilities"] = prompts | get_object(flat, "promptCapabilities")
    return result | {"agentCapabilities": nested}


def _write_agent_capabilities(result: Object) -> Object:
    nested = get_object(result, "agentCapabilities")
    prompts = get_object(nested, "promptCapabilities")
    flat: Object = {"loadSession": nested.get("loadSession", False)}
    flat |= {name: prompts.get(name, False) for name in PROMPT_CAPABILITIES.values()} | {
        "mcp": False
    }
    flat |= moved_back(
        without(nested, "promptCapabilities", *OFFICIAL_ALONE), _BRIDGE, Continuum.name
    )
    defaults: Object = {"authMethods": []}
    return defaults | result | {"agentCapabilities": flat}


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
