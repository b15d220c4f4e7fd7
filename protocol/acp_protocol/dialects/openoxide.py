"""OpenOxide: lengths before frames, names with underscores, prompts that are no JSON-RPC.

| here                                      | official v1                                   |
|-------------------------------------------|-----------------------------------------------|
| `Content-Length` before each frame        | a newline after each                          |
| `session_id`, `working_dir`               | `sessionId`, `cwd`                            |
| `{"type":"prompt","session_id","content"}` | `session/prompt`                             |
| abilities of the agent, side by side      | `agentCapabilities`; most have no counterpart |
| `slash_commands` when initialized         | `available_commands_update` once there is a session |
| events by type                            | updates                                       |
| diffs in one text                         | the texts before and after                    |
| cancelling by the prompt's request id     | by session                                    |

The source is a blueprint: it names neither methods nor events, so what it leaves open is spelled
like official ACP with underscores. A prompt is read with and without JSON-RPC around it and written
with, because its answer needs the id. What official ACP has no member for is in `_meta.openoxide`.

Source: OpenOxide, "ACP Server".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_protocol.dialects.dialect import Reading
from acp_protocol.dialects.interpreter import (
    PROMPT,
    Answer,
    Call,
    Interpreter,
    Question,
    in_words,
    keep,
    placed,
    session_in,
    with_params,
    with_result,
)
from acp_protocol.dialects.members import (
    Object,
    as_list,
    as_object,
    as_text,
    aside,
    renamed,
    set_aside,
    without,
    without_aside,
)
from acp_protocol.dialects.openoxide_events import (
    Events,
    chunk,
    is_diff,
    read_commands,
)
from acp_protocol.dialects.streamed import Streamed
from acp_protocol.framing import Framing, Side
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    Failure,
    Json,
    Malformed,
    Request,
    RequestId,
    encode,
    failure_line,
    notification_line,
    parse,
    request_line,
    result_line,
)

ABILITIES: Final[Object] = {
    "file_read": True,
    "file_write": True,
    "terminal_exec": True,
    "web_search": False,
    "slash_commands": [],
    "streaming": True,
    "session_fork": False,
}
"""What an agent is said to be able to do that does not say so itself."""

VERSION: Final[Object] = {"protocolVersion": 1}
"""What the handshake leaves out: the blueprint knows no other version."""
CANCEL: Final = "cancel"
_CANCELS: Final = frozenset({CANCEL, "session/cancel", "$/cancel_request"})
_WIRE_NAMES: Final = {
    "sessionId": "session_id",
    "cwd": "working_dir",
    "modeId": "mode_id",
    "configId": "config_id",
    "updatedAt": "updated_at",
    "nextCursor": "next_cursor",
}
_NAMES: Final = {wire: name for name, wire in _WIRE_NAMES.items()} | {"mcp_servers": "mcpServers"}
_ROOMS: Final = ("session/", "fs/", "terminal/")
"""Where the names of members are known to be its own."""
_OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})


class Openoxide(Interpreter):
    """Speaks as the agent of the OpenOxide blueprint does, and as its clients do."""

    name: str = "openoxide"
    framing: Framing = "headers"

    def __init__(self, directory: str) -> None:
        """`directory` is where sessions work whose client names none."""
        super().__init__()
        self._directory = directory
        self._events = Events()
        self._streamed = Streamed()
        self._commands: list[Json] = []
        self._cancelled: dict[tuple[str, RequestId], None] = {}
        self._prompts = 0

    # Dialect to official

    def read_foreign(self, frame: Malformed, sent_by: Side) -> Reading:
        """Turn a prompt or an event without JSON-RPC around it into official v1."""
        value = as_object(parse(frame.raw))
        session = session_in(value) or self.session
        if sent_by == "client" and value.get("type") == "prompt" and session is not None:
            self._prompts += 1
            # Nobody else numbers like this, so that the answer is known to be for no request.
            id_ = f"prompt-{self._prompts}"
            self.ask("client", id_, Question(PROMPT, session, {"is_bare": True}))
            params = self._read_prompt({"session_id": session} | value)
            return Reading((request_line(id_, PROMPT, params),))
        if sent_by == "agent" and "jsonrpc" not in value and session is not None:
            return self._read_event(value, session, frame.raw)
        return Reading((frame.raw,))

    def read_call(self, call: Call, sent_by: Side) -> Reading:
        """Turn a call of the dialect into official v1."""
        params = as_object(call.params)
        if sent_by == "agent":
            if call.method != "session/update" or "update" in params:
                return Reading((with_params(call, _official(call.method, params)),))
            session = session_in(params) or self.session
            return self._read_event(params, session, call.raw)
        if call.method in _CANCELS and ("request_id" in params or call.method == CANCEL):
            return self._read_cancel(call, params)
        if call.method == "session/cancel" and isinstance(call, Request) and session_in(params):
            official = notification_line(call.method, _official(call.method, params))
            return Reading((official,), (result_line(call.id, {}),))
        if call.method == PROMPT:
            return Reading((with_params(call, self._read_prompt(params)),))
        if call.method == "initialize":
            params = VERSION | params
        params = _official(call.method, params)
        if call.method in _OPENING:
            params = placed(set_aside(params, ("config",), self.name), self._directory, self.name)
        return Reading((with_params(call, params),))

    def read_answer(self, answer: Answer, question: Question) -> Reading:
        """Turn an answer of the dialect into official v1."""
        if question.method in _CANCELS:
            # Officially nobody asked: what was told gets no answer.
            return Reading(())
        if isinstance(answer, Failure):
            return Reading((answer.raw,))
        result = as_object(answer.result)
        match question.method:
            case "initialize":
                self._commands = as_list(result.get("slash_commands"))
                return Reading((with_result(answer, _read_abilities(result)),))
            case "session/new" | "session/load" | "session/resume" | "session/fork":
                translated = _official(question.method, result)
                session = session_in(translated) or question.session
                return Reading((with_result(answer, translated), *self._advertised(session)))
            case "session/prompt":
                is_cancelled = question.notes.get("key") in self._cancelled
                stop = as_text(result.get("stop_reason", result.get("stopReason")))
                stop = stop or ("cancelled" if is_cancelled else "end_turn")
                kept = without(result, "role", "content", "tool_uses", "tool_results")
                ended = without(kept, "stop_reason") | {"stopReason": stop}
                last = self._read_last(result, question.session)
                return Reading((*last, with_result(answer, ended)))
            case "session/request_permission" if isinstance(result.get("outcome"), dict):
                outcome = renamed(as_object(result["outcome"]), {"option_id": "optionId"})
                return Reading((with_result(answer, result | {"outcome": outcome}),))
            case _:
                translated = _official(question.method, result) if result else answer.result
                return Reading((with_result(answer, translated),))

    def _read_event(self, event: Object, session: str | None, raw: bytes) -> Reading:
        update = self._events.read(event, session)
        if update is None or session is None:
            return Reading((raw,))
        if event.get("type") == "text_delta":
            self._streamed.add(session, event["text"])
        return Reading((_update(session, update),))

    def _read_prompt(self, params: Object) -> Object:
        self._events.begin(session_in(params))
        self._streamed.begin(session_in(params))
        params = renamed(params, _NAMES)
        if "prompt" not in params and isinstance(params.get("content"), list):
            if params.get("type") == "prompt":
                params = without(params, "type")
            params = renamed(params, {"content": "prompt"})
        if not isinstance(params.get("prompt"), list):
            return params
        return params | {"prompt": [_read_block(block) for block in params["prompt"]]}

    def _read_cancel(self, call: Call, params: Object) -> Reading:
        if "request_id" not in params:
            problem = "Invalid params: request_id is missing"
            is_request = isinstance(call, Request)
            refusal = failure_line(call.id, INVALID_PARAMS, problem) if is_request else None
            return Reading((), (refusal,) if refusal else ())
        asked = self.asked("client", params["request_id"])
        back = (result_line(call.id, {}),) if isinstance(call, Request) else ()
        if asked is not None and asked.method == PROMPT:
            session = {"sessionId": asked.session}
            return Reading((notification_line("session/cancel", session),), back)
        official = {"requestId": params["request_id"]}
        return Reading((notification_line("$/cancel_request", official),), back)

    def _read_last(self, result: Object, session: str | None) -> list[bytes]:
        """Return the chunks for what the result says beyond what was streamed."""
        blocks = [_read_block(block) for block in as_list(result.get("content"))]
        text = "".join(as_text(as_object(block).get("text")) for block in blocks)
        if session is None or self._streamed.ends_with(session, text):
            return []
        return [_update(session, chunk(block)) for block in blocks]

    def _advertised(self, session: str | None) -> tuple[bytes, ...]:
        if session is None or not self._commands:
            return ()
        return (_update(session, read_commands(self._commands)),)

    # Official to dialect

    def write_call(self, call: Call, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official call into the dialect."""
        params = as_object(call.params)
        if sent_by == "agent":
            return self._write_agent(call, params)
        match call.method:
            case "session/cancel" | "$/cancel_request":
                return (self._write_cancel(call, params),)
            case "session/prompt":
                self._streamed.begin(session_in(params))
                self._events.begin(session_in(params))
                params = _write_prompt(params)
            case _ if call.method in _OPENING:
                config = {"config": aside(params, self.name).get("config", {})}
                params = without_aside(without(params, "mcpServers"), self.name)
                params = _spoken(call.method, params) | config
            case _:
                params = _spoken(call.method, params)
        return (with_params(call, params),)

    def write_answer(self, answer: Answer, question: Question) -> tuple[bytes, ...]:
        """Turn an official answer into the dialect."""
        if isinstance(answer, Failure):
            names = {} if question.notes.get("says_prompt") else {"prompt": "content"}
            answer = in_words(answer, _WIRE_NAMES | names)
            is_bare = question.notes.get("is_bare")
            error = {"type": "error", "code": answer.code, "message": answer.message}
            return (encode(error) if is_bare else answer.raw,)
        result = as_object(answer.result)
        match question.method:
            case "initialize":
                return (with_result(answer, _write_abilities(result)),)
            case "session/prompt":
                turn: Object = {"role": "agent", "content": []}
                turn |= renamed(result, {"stopReason": "stop_reason"})
                if not question.notes.get("is_bare"):
                    return (with_result(answer, turn),)
                bare: Object = {"type": "response", "session_id": question.session}
                return (encode(bare | turn),)
            case _:
                translated = _spoken(question.method, result) if result else answer.result
                return (with_result(answer, translated),)

    def _write_agent(self, call: Call, params: Object) -> tuple[bytes, ...]:
        is_update = call.method == "session/update"
        update = as_object(params.get("update"))
        events = self._events.write(update, session_in(params)) if is_update else None
        if events is None:
            return (with_params(call, _spoken(call.method, params)),)
        session = {"session_id": params.get("sessionId")}
        return tuple(notification_line(call.method, session | event) for event in events)

    def _write_cancel(self, call: Call, params: Object) -> bytes:
        id_: Json = params.get("requestId")
        if call.method == "session/cancel":
            id_ = self.waiting("client", PROMPT, session_in(params) or "")
        if type(id_) not in (str, int):
            return call.raw
        keep(self._cancelled, (type(id_).__name__, id_), None)
        return notification_line(CANCEL, {"request_id": id_})

    def notes(self, call: Call) -> Object:
        """Return the id of a prompt, for telling whether it was cancelled, and its words."""
        if isinstance(call, Request) and call.method == PROMPT:
            says_prompt = "prompt" in as_object(call.params)
            return {"key": (type(call.id).__name__, call.id), "says_prompt": says_prompt}
        return {}


def _read_abilities(result: Object) -> Object:
    if not result.keys() & ABILITIES.keys():
        return result
    official = set_aside(result, ABILITIES, Openoxide.name)
    capabilities = as_object(result.get("agentCapabilities"))
    if result.get("session_fork") is True:
        sessions: Object = {"fork": {}}
        sessions |= as_object(capabilities.get("sessionCapabilities"))
        capabilities = capabilities | {"sessionCapabilities": sessions}
    return VERSION | official | {"agentCapabilities": capabilities}


def _write_abilities(result: Object) -> Object:
    capabilities = as_object(result.get("agentCapabilities"))
    sessions = as_object(capabilities.get("sessionCapabilities"))
    abilities = ABILITIES | {"session_fork": isinstance(sessions.get("fork"), dict)}
    return abilities | aside(result, Openoxide.name)


def _official(method: str, members: Object) -> Object:
    return _named(members, _NAMES) if method.startswith(_ROOMS) else members


def _spoken(method: str, members: Object) -> Object:
    return _named(members, _WIRE_NAMES) if method.startswith(_ROOMS) else members


def _named(members: Object, names: Mapping[str, str]) -> Object:
    """Return members under other names, in a list of sessions too."""
    if isinstance(members.get("sessions"), list):
        sessions = [
            renamed(as_object(each), names) if isinstance(each, dict) else each
            for each in as_list(members["sessions"])
        ]
        members = members | {"sessions": sessions}
    return renamed(members, names)


def _read_block(block: Json) -> Json:
    members = _untagged(as_object(block))
    match members.get("type"):
        case "diff" if is_diff(members):
            return {"type": "text", "text": f"```diff\n{members['unified_diff']}```"}
        case "terminal" if isinstance(members.get("output"), str):
            return {"type": "text", "text": members["output"]}
        case "slash_command" if isinstance(members.get("command"), str):
            return {"type": "text", "text": f"/{members['command'].removeprefix('/')}"}
        case _:
            return members or block


def _untagged(block: Object) -> Object:
    """Return a block that is spelled as the blueprint's types are without further words."""
    match list(block.items()):
        case [("Text", str(text))]:
            return {"type": "text", "text": text}
        case [("SlashCommand", str(command))]:
            return {"type": "slash_command", "command": command}
        case [("Diff" | "Terminal" as name, dict())]:
            return {"type": name.lower()} | as_object(block[name])
        case _:
            return block


def _write_prompt(params: Object) -> Object:
    if "content" in params or not isinstance(params.get("prompt"), list):
        return renamed(params, _WIRE_NAMES)
    typed: Object = {"type": "prompt"}
    return typed | renamed(params, _WIRE_NAMES | {"prompt": "content"})


def _update(session: str, update: Object) -> bytes:
    return notification_line("session/update", {"sessionId": session, "update": update})
