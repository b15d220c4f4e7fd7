"""Continuum Router: other names for members, flat capabilities, cancelling by request.

| here                                    | official v1                                     |
|-----------------------------------------|-------------------------------------------------|
| capabilities side by side               | `fs`, `promptCapabilities`                      |
| `session/new` with `mode` alone         | with `cwd` and `mcpServers`                     |
| `session/set_mode` with `mode`          | with `sessionId` and `modeId`                   |
| `session/cancel`, a request             | a notification, which gets no answer            |
| `content` in prompts                    | `prompt`                                        |
| an update is `content`, several blocks  | an `agent_message_chunk` for each block         |
| a permission's tool call side by side   | `toolCall` and `options`                        |

What official ACP has no member for is kept in `_meta.continuum`; a token is kept nowhere. Calls of
the MCP bridge run the other way than in official ACP and pass as they are.

Source: Continuum Router, "Agent Communication Protocol (ACP)".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from acp_protocol import jsonrpc
from acp_protocol.dialects.continuum_blocks import read_block, write_block
from acp_protocol.dialects.continuum_tools import (
    has_tool,
    option_of,
    outcome_of,
    read_permission,
    read_tool_call,
    write_permission,
)
from acp_protocol.dialects.dialect import Reading
from acp_protocol.dialects.interpreter import (
    Answer,
    Call,
    Interpreter,
    Question,
    in_words,
    keep,
    marked,
    placed,
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
    aside,
    renamed,
    set_aside,
    taken_back,
    without,
    without_aside,
)
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Failure,
    Json,
    Request,
    RequestId,
    failure_line,
    notification_line,
    request_line,
    result_line,
)

APPLICATION_ERROR: Final = -32001
NOT_INITIALIZED: Final = -32002

_GENERATION: Final = ("model", "stream", "temperature", "maxTokens")
_HISTORY: Final = ("createdAt", "updatedAt", "mode", "historyLength")
_TIMES: Final = ("createdAt", "updatedAt")
_BRIDGE: Final = ("mcp", "mcpCapabilities")
_FILES: Final = ("readTextFile", "writeTextFile")
_PROMPTS: Final = ("image", "audio", "embeddedContext")
_WORDS: Final = {"prompt": "content", "modeId": "mode", "methodId": "method"}
_ABSENT: Final = re.compile(r"not found|no such|not exist|not open|unknown|expired", re.IGNORECASE)
"""What an error of the application says of something that is not there."""
_CURRENT: Final = frozenset({"session/cancel", "session/prompt", "session/set_mode"})
"""Calls that are about the session used last where they name none."""
_STATEFUL: Final = ("session/", "mcp/")
_UNLISTED: Final = frozenset(
    {jsonrpc.AUTH_REQUIRED, jsonrpc.RESOURCE_NOT_FOUND, -33000, -33001, -33002}
)
"""Official codes that its table has not; the last ones are those of MCP over ACP."""
_MODES: Final = {"code": "Code", "architect": "Architect"}
"""The modes that its own examples name."""


class Continuum(Interpreter):
    """Speaks as Continuum Router does, and as its clients do."""

    name: str = "continuum"

    def __init__(
        self, directory: str, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """`directory` is where sessions work whose client names none."""
        super().__init__()
        self._directory = directory
        self._now = now
        self._modes: dict[str, str] = {}
        self._former: dict[str, str] = {}
        """The modes before those."""
        self._tools: dict[str, None] = {}
        self._cancels = 0

    # Dialect to official

    def read_call(self, call: Call, sent_by: Side) -> Reading:
        """Turn a call of the dialect into official v1."""
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
                params = _marked(without(renamed(params, {"method": "methodId"}), "token"))
            case "session/new":
                params = self._placed(set_aside(params, ("mode",), self.name))
            case "session/load":
                params = self._placed(_marked(params))
            case "session/set_mode":
                params = self._in_session(renamed(params, {"mode": "modeId"}))
            case "session/prompt":
                params = self._in_session(self._read_prompt(params))
            case _:
                pass
        return Reading((with_params(call, params),))

    def read_answer(self, answer: Answer, question: Question) -> Reading:
        """Turn an answer of the dialect into official v1."""
        if question.notes.get("is_ours") or question.notes.get("is_told"):
            # Officially nobody asked: what was told gets no answer.
            return Reading(())
        if isinstance(answer, Failure):
            return Reading((self._read_failure(answer, question),))
        result = as_object(answer.result)
        match question.method:
            case "initialize":
                translated = _read_agent_capabilities(result)
            case "authenticate":
                translated = result
            case "session/new" | "session/load":
                session = session_in(result) or question.session
                translated = self._read_history(result, session, question.method)
            case "session/set_mode":
                self._note_mode(question.session, as_text(result.get("mode")))
                translated = set_aside(result, ("mode", "previousMode"), self.name)
            case "session/request_permission":
                translated = outcome_of(answer.result, question.notes)
            case _:
                translated = answer.result
        return Reading((with_result(answer, translated),))

    def _read_agent(self, call: Call, params: Object) -> Reading:
        if call.method == "session/request_permission" and has_tool(params):
            if isinstance(call, Request):
                return Reading((with_params(call, read_permission(params)),))
            # Nobody can answer it, so it is shown as what waits, not asked.
            params = params | {"status": "pending"}
        elif call.method != "session/update" or "update" in params:
            return Reading((call.raw,))
        params = self._in_session(params)
        if has_tool(params):
            key = f"{params.get('sessionId')} {params['toolCallId']}"
            is_new = key not in self._tools
            keep(self._tools, key, None)
            return Reading((_update(params, read_tool_call(params, is_new=is_new)),))
        if not isinstance(params.get("content"), list | dict):
            return Reading((call.raw,))
        content = params["content"]
        blocks = as_list(content) if isinstance(content, list) else [content]
        return Reading(tuple(_update(params, _chunk(read_block(block))) for block in blocks))

    def _read_cancel(self, call: Call, params: Object) -> Reading:
        if "sessionId" not in params and self.busy_session is not None:
            params = {"sessionId": self.busy_session} | params
        if not isinstance(call, Request):
            return Reading((with_params(call, params),))
        question = Question(call.method, session_in(params), {"is_told": True})
        self.ask("client", call.id, question)
        # Without a session there is nothing to cancel, but the question still wants its answer.
        known = (notification_line(call.method, params),) if session_in(params) else ()
        return Reading(known, (self._answer_cancel(call.id, params),))

    def _answer_cancel(self, id_: RequestId, params: Object) -> bytes:
        session = params.get("sessionId")
        if not self.is_initialized:
            return failure_line(id_, NOT_INITIALIZED, "The first request is initialize")
        if session is not None and not isinstance(session, str):
            return failure_line(id_, jsonrpc.INVALID_PARAMS, "sessionId is no string")
        if session is not None and not self.knows(session):
            data = {"sessionId": session}
            return failure_line(id_, APPLICATION_ERROR, "There is no such session", data)
        return result_line(id_, {})

    def _read_prompt(self, params: Object) -> Object:
        params = set_aside(params, _GENERATION, self.name)
        if "prompt" in params or not isinstance(params.get("content"), list):
            return params
        params = renamed(params, {"content": "prompt"})
        return params | {"prompt": [read_block(block) for block in params["prompt"]]}

    def _read_history(self, result: Object, session: str | None, method: str) -> Object:
        if not any(name in result for name in _HISTORY):
            return result
        mode = as_text(result.get("mode"))
        self._note_mode(session, mode)
        translated = set_aside(result, _HISTORY, self.name)
        if mode and "modes" not in result:
            names = _MODES | ({} if mode in _MODES else {mode: mode.capitalize()})
            available = [{"id": id_, "name": name} for id_, name in names.items()]
            translated["modes"] = {"currentModeId": mode, "availableModes": available}
        return without(translated, "sessionId") if method == "session/load" else translated

    def _read_failure(self, answer: Failure, question: Question) -> bytes:
        if answer.code == NOT_INITIALIZED and not self.is_initialized:
            return with_code(answer, jsonrpc.INVALID_REQUEST)
        if answer.code == APPLICATION_ERROR and _ABSENT.search(answer.message):
            if question.method.startswith("fs/"):
                return with_code(answer, jsonrpc.RESOURCE_NOT_FOUND)
            if "session" in answer.message.lower():
                session = question.session
                data: Json = {"sessionId": session} if session is not None else None
                data = data if answer.data is None else answer.data
                return with_code(answer, jsonrpc.RESOURCE_NOT_FOUND, data)
        return answer.raw

    # Official to dialect

    def write_call(self, call: Call, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official call into the dialect."""
        params = as_object(call.params)
        if sent_by == "agent":
            return (self._write_agent(call, params),)
        if call.method == "session/cancel" and not isinstance(call, Request):
            return (self._write_cancel(call, params),)
        match call.method:
            case "initialize":
                params = _write_capabilities(params)
            case "authenticate":
                params = renamed(without_aside(params, self.name), {"methodId": "method"})
            case "session/new" | "session/load":
                params = without(taken_back(params, ("mode",), self.name), "cwd", "mcpServers")
            case "session/set_mode":
                params = self._out_of_session(renamed(params, {"modeId": "mode"}))
            case "session/prompt":
                params = _write_prompt(taken_back(params, _GENERATION, self.name))
            case _:
                pass
        return (with_params(call, params),)

    def write_answer(self, answer: Answer, question: Question) -> tuple[bytes, ...]:
        """Turn an official answer into the dialect."""
        if isinstance(answer, Failure):
            return (self._write_failure(in_words(answer, _WORDS), question),)
        result = as_object(answer.result)
        match question.method:
            case "initialize":
                translated = _write_agent_capabilities(result)
            case "session/new" | "session/load":
                translated = self._write_history(result, question)
            case "session/set_mode":
                translated = self._write_modes(result, question)
            case "session/prompt" if result.get("stopReason") == "max_turn_requests":
                translated = result | {"stopReason": "max_tokens"}
            case _:
                translated = answer.result
        return (with_result(answer, translated),)

    def _write_agent(self, call: Call, params: Object) -> bytes:
        update = as_object(params.get("update"))
        match call.method, update.get("sessionUpdate"):
            case "session/update", "agent_message_chunk" if "content" in update:
                blocks = [write_block(update["content"])]
                return with_params(call, without(params, "update") | {"content": blocks})
            case "session/update", "current_mode_update":
                self._note_mode(session_in(params), as_text(update.get("currentModeId")))
                return call.raw
            case "session/request_permission", _ if isinstance(params.get("toolCall"), dict):
                return with_params(call, write_permission(params))
            case _:
                return call.raw

    def _write_cancel(self, call: Call, params: Object) -> bytes:
        self._cancels += 1
        # Nobody else numbers like this, so that the answer finds its way to us alone.
        id_ = f"cancel-{self._cancels}"
        self.ask("client", id_, Question(call.method, session_in(params), {"is_ours": True}))
        return request_line(id_, call.method, self._out_of_session(params) or None)

    def _write_history(self, result: Object, question: Question) -> Object:
        kept = aside(result, self.name)
        session = session_in(result) or question.session
        mode = as_text(as_object(result.get("modes")).get("currentModeId"))
        mode = mode or as_text(kept.get("mode")) or as_text(question.notes.get("mode")) or "code"
        self._note_mode(session, mode)
        time = _stamp(self._now())
        history: Object = {"sessionId": session} if session else {}
        history |= {"createdAt": time, "updatedAt": time, "mode": mode, "historyLength": 0}
        kept = kept | {name: _restamped(kept[name]) for name in _TIMES if name in kept}
        return history | kept | without(without_aside(result, self.name), "modes")

    def _write_modes(self, result: Object, question: Question) -> Object:
        session, mode = question.session, as_text(question.notes.get("mode"))
        # An update that tells of the mode comes before the answer.
        is_told = self._modes.get(session or "") == mode
        before = (self._former if is_told else self._modes).get(session or "")
        self._note_mode(session, mode)
        modes = {"mode": mode} | ({"previousMode": before} if before else {})
        return modes | taken_back(result, ("mode", "previousMode"), self.name)

    def _write_failure(self, answer: Failure, question: Question) -> bytes:
        if answer.code == jsonrpc.INVALID_REQUEST and not self.is_initialized:
            return with_code(answer, NOT_INITIALIZED)
        # An official peer is told so of what cannot be as things stand, too: a session too many, or
        # a turn that runs. Here that is of the application, and so is what is not in the table.
        is_state = answer.code == jsonrpc.INVALID_REQUEST and question.method.startswith(_STATEFUL)
        if is_state or answer.code in _UNLISTED:
            return with_code(answer, APPLICATION_ERROR)
        return answer.raw

    # What the connection knows

    def notes(self, call: Call) -> Object:
        """Return the mode that is asked for, or the options that are offered."""
        params = as_object(call.params)
        match call.method:
            case "session/new" | "session/set_mode":
                mode = params.get("mode", params.get("modeId"))
                return {"mode": mode or aside(params, self.name).get("mode")}
            case "session/request_permission":
                return option_of(params)
            case _:
                return {}

    def _note_mode(self, session: str | None, mode: str) -> None:
        if session and mode:
            keep(self._former, session, self._modes.get(session, mode))
            keep(self._modes, session, mode)

    def _placed(self, params: Object) -> Object:
        return placed(params, self._directory, self.name)

    def _in_session(self, params: Object) -> Object:
        if "sessionId" in params or self.session is None:
            return params
        return {"sessionId": self.session} | params

    def _out_of_session(self, params: Object) -> Object:
        return without(params, "sessionId") if session_in(params) == self.session else params


def _marked(params: Object) -> Object:
    """Return `params` so that an agent knows whose answer is wanted: that of the dialect."""
    return marked(params, Continuum.name, "isClient")


def _read_capabilities(params: Object) -> Object:
    flat = as_object(params.get("clientCapabilities"))
    files = {name: flat[name] for name in _FILES if name in flat}
    if not files:
        return params
    nested = {"fs": files | as_object(flat.get("fs"))} | without(flat, "fs", *_FILES)
    return params | {"clientCapabilities": nested}


def _write_capabilities(params: Object) -> Object:
    nested = as_object(params.get("clientCapabilities"))
    files = as_object(nested.get("fs"))
    flat = {name: files.get(name, False) for name in _FILES}
    flat["terminal"] = nested.get("terminal", False)
    return params | {"clientCapabilities": flat | without(nested, "fs")}


def _read_agent_capabilities(result: Object) -> Object:
    flat = as_object(result.get("agentCapabilities"))
    prompts = {name: flat[name] for name in _PROMPTS if name in flat}
    bridge = _BRIDGE if "mcp" in flat else ()
    if not prompts and not bridge:
        return result
    nested = set_aside(without(flat, *_PROMPTS), bridge, Continuum.name)
    nested["promptCapabilities"] = prompts | as_object(flat.get("promptCapabilities"))
    return result | {"agentCapabilities": nested}


def _write_agent_capabilities(result: Object) -> Object:
    nested = as_object(result.get("agentCapabilities"))
    prompts = as_object(nested.get("promptCapabilities"))
    flat: Object = {"loadSession": nested.get("loadSession", False)}
    flat |= {name: prompts.get(name, False) for name in _PROMPTS} | {"mcp": False}
    flat |= taken_back(
        without(nested, "promptCapabilities", *OFFICIAL_ALONE), _BRIDGE, Continuum.name
    )
    answered: Object = {"authMethods": []}
    return answered | result | {"agentCapabilities": flat}


def _write_prompt(params: Object) -> Object:
    if "content" in params or not isinstance(params.get("prompt"), list):
        return params
    params = renamed(params, {"prompt": "content"})
    return params | {"content": [write_block(block) for block in params["content"]]}


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _restamped(time: Json) -> Json:
    """Return a time as the document writes it; what is none, or in no zone, stays."""
    try:
        read = datetime.fromisoformat(as_text(time))
        return _stamp(read) if read.tzinfo else time
    except (ValueError, OverflowError):
        return time


def _chunk(block: Json) -> Object:
    return {"sessionUpdate": "agent_message_chunk", "content": block}


def _update(params: Mapping[str, Json], update: Object) -> bytes:
    session = {"sessionId": params.get("sessionId")}
    return notification_line("session/update", session | {"update": update})
