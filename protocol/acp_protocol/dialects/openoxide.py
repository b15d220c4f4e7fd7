"""OpenOxide: lengths before frames, names with underscores, prompts that are no JSON-RPC.

| OpenOxide                                 | official v1                                   |
|-------------------------------------------|-----------------------------------------------|
| `Content-Length` before each frame        | a newline after each                          |
| `session_id`, `working_dir`               | `sessionId`, `cwd`                            |
| `{"type":"prompt","session_id","content"}` | `session/prompt`                             |
| abilities of the agent, side by side      | `agentCapabilities`; most have no counterpart |
| `slash_commands` when initialized         | `available_commands_update` once there is a session |
| events by type                            | updates                                       |
| diffs in one text                         | the texts before and after                    |
| cancelling by the prompt's request id     | by session                                    |

The source is a blueprint that names neither methods nor events; where it leaves them open, the
names of official ACP are used, with underscores. A prompt is read with and without JSON-RPC around
it, and written with it, because its response needs the id. Fields that official ACP lacks are kept
in `_meta.openoxide`.

Source: OpenOxide, "ACP Server".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from acp_protocol.dialects.acpex import (
    output_text,
    plan_entry,
    tool_call,
    tool_output,
    unlike_completed,
)
from acp_protocol.dialects.base import (
    PERMISSION,
    PROMPT,
    REMEMBERED,
    Call,
    Dialect,
    Object,
    PendingRequest,
    Translation,
    chunk,
    in_words,
    keep,
    move_to_meta,
    moved_to_meta,
    placed,
    renamed,
    session_in,
    update_frame,
    with_code,
    with_params,
    with_result,
    without,
    without_moved,
)
from acp_protocol.dialects.spellings import WIRE_NAMES, official_names
from acp_protocol.dialects.unified_diff import texts_from_diff, write_unified_diff
from acp_protocol.framing import Framing, Side
from acp_protocol.json_values import as_list, as_object, as_string, as_text, get_object
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    AnyResponse,
    ErrorResponse,
    InvalidMessage,
    Json,
    Request,
    RequestId,
    encode,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    parse,
)
from acp_protocol.schema.vocabulary import OPENING, RESTORING
from acp_protocol.schema.words import PLAN_ENTRY_STATUSES
from acp_protocol.tool_calls import is_final


@dataclass(slots=True)
class _Turn:
    """What was read and written in the running turn of a session."""

    steps: list[Object] = field(default_factory=list[Object])
    """The plan, as it was read."""
    sent: dict[str, Json] = field(default_factory=dict[str, Json])
    """The steps that were written, and their status."""
    tool: str | None = None
    seen: dict[str, None] = field(default_factory=dict[str, None])
    """The tool calls, results and diffs that were read, so that the answer does not repeat them."""
    uses: list[Json] = field(default_factory=list[Json])
    """The tool calls that were written."""
    results: list[Json] = field(default_factory=list[Json])
    """Their results."""

    def copy(self) -> _Turn:
        lists = [*self.steps], dict(self.sent)
        return _Turn(*lists, self.tool, dict(self.seen), [*self.uses], [*self.results])


def _is_diff(value: Object) -> bool:
    return all(isinstance(value.get(name), str) for name in ("path", "unified_diff"))


def read_commands(commands: Json) -> Object:
    available = [
        {"name": name, "description": as_string(command.get("description"))}
        for command in map(as_object, as_list(commands))
        if (name := as_string(command.get("command")).removeprefix("/"))
    ]
    return {"sessionUpdate": "available_commands_update", "availableCommands": available}


def write_commands(commands: Iterable[tuple[str, str]]) -> list[Json]:
    """Return commands, given by name and description, as the dialect advertises them."""
    return [{"command": f"/{name}", "description": about} for name, about in commands]


def _write_tool_update(update: Object) -> list[Object]:
    id_ = update.get("toolCallId")
    items = [as_object(item) for item in as_list(update.get("content"))]
    events: list[Object] = []
    for item in items:
        if item.get("type") == "diff":
            path, before = as_string(item.get("path")), as_text(item.get("oldText"))
            diff = write_unified_diff(path, before, as_string(item.get("newText")))
            events.append({"type": "diff", "id": id_, "path": path, "unified_diff": diff})
    text = output_text(update)
    if text or is_final(update.get("status")):
        result = {"type": "tool_result", "id": id_, "output": text}
        events.append(result | unlike_completed(update))
    return events


def _read_step(event: Object, steps: list[Object]) -> Object:
    """Add a step to the plan, or update the status of one that is there."""
    text, status = event["step"], as_string(event.get("status"))
    places = [place for place, step in enumerate(steps) if step["content"] == text]
    entry = plan_entry(text, status if status in PLAN_ENTRY_STATUSES[1] else "pending")
    if status and places:
        steps[places[0]] = entry
    elif len(steps) < REMEMBERED:
        steps.append(entry)
    return {"sessionUpdate": "plan", "entries": list(steps)}


def _write_step(entry: Object, sent: dict[str, Json]) -> Object | None:
    """Return an entry of a plan as a step; None if it was sent with this status already."""
    text, status = as_string(entry.get("content")), as_string(entry.get("status")) or "pending"
    before = sent.get(text)
    keep(sent, text, status)
    if before == status:
        return None
    step = {"type": "plan_step", "step": text}
    return step if before is None and status == "pending" else step | {"status": status}


ABILITIES: Final[Object] = {
    "file_read": True,
    "file_write": True,
    "terminal_exec": True,
    "web_search": False,
    "slash_commands": [],
    "streaming": True,
    "session_fork": False,
}
"""The abilities of an agent that does not state its own."""

VERSION: Final[Object] = {"protocolVersion": 1}
"""Added to the handshake, which has no version."""
_SESSIONS: Final[Object] = {"list": {}, "resume": {}, "delete": {}}
"""What every agent can do with sessions; the dialect has no claims for it."""
CANCEL: Final = "cancel"
_ANSWERS: Final = frozenset({"response", "error"})
_IS_BARE: Final = "is_bare"
"""Notes that a prompt came without JSON-RPC around it."""
_TOOL: Final = WIRE_NAMES["openoxide"]["toolCall"]
_PARTS: Final = {"tool_uses": "tool_call", "tool_results": "tool_result"}
"""The type of the event that reports what an answer has in these fields."""
_CANCELS: Final = frozenset({CANCEL, "session/cancel", "$/cancel_request"})
_FIELDS: Final = ("sessionId", "cwd", "modeId", "configId", "updatedAt", "nextCursor")
"""Members that have another name in most messages."""
_WIRE_NAMES: Final = {name: WIRE_NAMES["openoxide"][name] for name in _FIELDS}
_NAMES: Final = official_names("openoxide", *_FIELDS, "mcpServers")
_OPTION: Final = official_names("openoxide", "optionId")
_PROMPT: Final = official_names("openoxide", "prompt")
_REQUEST_ID: Final = WIRE_NAMES["openoxide"]["requestId"]
_STOP: Final = WIRE_NAMES["openoxide"]["stopReason"]
_RENAMED_METHODS: Final = ("session/", "fs/", "terminal/")
"""Prefixes of the methods whose fields are renamed."""


class Openoxide(Dialect):
    name: str = "openoxide"
    framing: Framing = "headers"
    takes_servers: bool = False

    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self._turns: dict[str, _Turn] = {}
        self._diffs = 0
        self._commands: list[Json] = []
        self._cancelled: dict[tuple[str, RequestId], None] = {}
        self._prompts = 0

    def copy(self) -> Self:
        """Return one with the same state, which goes its own way from here."""
        twin = super().copy()
        twin._turns.update((session, turn.copy()) for session, turn in self._turns.items())  # noqa: SLF001 - of its own class
        return twin

    # Dialect to official

    def read_foreign(self, frame: InvalidMessage, sent_by: Side) -> Translation:
        """Turn a prompt or an event without JSON-RPC around it into official v1."""
        value = as_object(parse(frame.raw))
        session = session_in(value) or self.session
        if sent_by == "client" and value.get("type") == "prompt" and session is not None:
            self._prompts += 1
            # No client uses such ids, so the response is known to belong to a bare prompt.
            id_ = f"prompt-{self._prompts}"
            self.add_request("client", id_, PendingRequest(PROMPT, session, {_IS_BARE: True}))
            params = self._read_prompt({"session_id": session} | value)
            return Translation((encode_request(id_, PROMPT, params),))
        if sent_by == "client" or "jsonrpc" in value:
            return Translation((frame.raw,))
        if as_string(value.get("type")) in _ANSWERS:
            return self._read_answer(value, frame.raw)
        if session is not None:
            return self._read_event(value, session, frame.raw)
        return Translation((frame.raw,))

    def read_call(self, call: Call, sent_by: Side) -> Translation:
        params = as_object(call.params)
        if sent_by == "agent":
            if call.method == PERMISSION:
                return Translation((with_params(call, self.permission(_read_permission(params))),))
            if call.method != "session/update" or "update" in params:
                return Translation((with_params(call, _named(call.method, params, _NAMES)),))
            session = session_in(params) or self.session
            return self._read_event(params, session, call.raw)
        if call.method in _CANCELS and (_REQUEST_ID in params or call.method == CANCEL):
            return self._read_cancel(call, params)
        if call.method == "session/cancel" and isinstance(call, Request) and session_in(params):
            official = encode_notification(call.method, _named(call.method, params, _NAMES))
            return Translation((official,), (encode_result(call.id, {}),))
        if call.method == PROMPT:
            return Translation((with_params(call, self._read_prompt(params)),))
        if call.method == "initialize":
            params = VERSION | params
        params = _named(call.method, params, _NAMES)
        if call.method in OPENING:
            params = placed(move_to_meta(params, ("config",), self.name), self.directory, self.name)
        return Translation((with_params(call, params),))

    def read_response(self, response: AnyResponse, request: PendingRequest) -> Translation:
        if request.method in _CANCELS:
            # Officially this was a notification, which gets no response.
            return Translation(())
        if isinstance(response, ErrorResponse):
            return Translation((_with_names(response, _NAMES),))
        result = as_object(response.result)
        match request.method:
            case "initialize":
                self._commands = as_list(result.get("slash_commands"))
                if not result.keys() & ABILITIES.keys():
                    return Translation((response.raw,))
                official = without(result, *ABILITIES)
                official |= {"agentCapabilities": _read_abilities(result)}
                return Translation((with_result(response, VERSION | official),))
            case _ if request.method in OPENING:
                translated = _named(request.method, result, _NAMES)
                session = session_in(translated) or request.session
                if request.method in RESTORING:
                    # Officially the result of these does not repeat the session of the request.
                    translated = without(translated, "sessionId")
                frames = [with_result(response, translated)]
                if session is not None and self._commands:
                    frames.append(update_frame(session, read_commands(self._commands)))
                return Translation(tuple(frames))
            case "session/prompt":
                is_cancelled = request.notes.get("key") in self._cancelled
                stop = as_string(result.get(_STOP, result.get("stopReason")))
                stop = stop or ("cancelled" if is_cancelled else "end_turn")
                kept = without(result, "role", "content", "tool_uses", "tool_results")
                ended = without(kept, _STOP) | {"stopReason": stop}
                last = self._read_last(result, request.session)
                return Translation((*last, with_result(response, ended)))
            case _ if request.method == PERMISSION:
                return Translation((with_result(response, _with_outcome(result, _OPTION)),))
            case _:
                translated = _named(request.method, result, _NAMES) if result else response.result
                return Translation((with_result(response, translated),))

    def _read_event(self, event: Object, session: str | None, raw: bytes) -> Translation:
        update = None if session is None else self._read_update(event, session)
        if update is None:
            return Translation((raw,))
        return Translation((update_frame(session, self.in_full(session, update)),))

    def _read_answer(self, answer: Object, raw: bytes) -> Translation:
        """Turn the answer to a prompt without JSON-RPC around it into a response."""
        data = as_object(answer.get("data"))
        session = session_in(answer) or session_in(data)
        id_ = self.find_pending("client", PROMPT, session, _IS_BARE)
        if id_ is None:
            return Translation((raw,))
        if answer["type"] == "response":
            return self.read(encode_result(id_, without(answer, "type", "session_id")), "agent")
        code, message = answer.get("code"), as_string(answer.get("message"))
        known = code if type(code) is int else INTERNAL_ERROR
        return self.read(encode_error(id_, known, message, answer.get("data")), "agent")

    def _read_update(self, event: Object, session: str) -> Object | None:
        keep(self._turn(session).seen, _mark(event), None)
        match event.get("type"):
            case "text_delta" if isinstance(event.get("text"), str):
                self.add_text(session, event["text"])
                return chunk({"type": "text", "text": event["text"]})
            case "tool_call" if isinstance(event.get("id"), str):
                self._turn(session).tool = event["id"]
                call = tool_call(event["id"], event)
                return call | ({"rawInput": event["input"]} if "input" in event else {})
            case "tool_result" if isinstance(event.get("id"), str):
                return tool_output(event["id"], event.get("output", ""), event)
            case "plan_step" if isinstance(event.get("step"), str):
                return _read_step(event, self._turn(session).steps)
            case "diff" if _is_diff(event):
                return self._read_diff(event, session)
            case None if isinstance(event.get("slash_commands"), list):
                return read_commands(event["slash_commands"])
            case _:
                return None

    def _read_diff(self, event: Object, session: str) -> Object:
        before, after = texts_from_diff(event["unified_diff"])
        diff = {"type": "diff", "path": event["path"], "oldText": before, "newText": after}
        tool = as_string(event.get("id")) or self._turn(session).tool
        if tool is not None:
            return {"sessionUpdate": "tool_call_update", "toolCallId": tool, "content": [diff]}
        self._diffs += 1
        call = tool_call(f"diff-{self._diffs}", {}) | {"title": f"Edit {event['path']}"}
        return call | {"status": "completed", "content": [diff]}

    def _begin_turn(self, session: str | None) -> None:
        """Forget the text, the plan and the tool of the turn before."""
        self.begin_text(session)
        self._turns.pop(session or "", None)

    def _turn(self, session: str | None) -> _Turn:
        turn = self._turns.get(session or "") or _Turn()
        keep(self._turns, session or "", turn)
        return turn

    def _read_prompt(self, params: Object) -> Object:
        self._begin_turn(session_in(params))
        params = renamed(params, _NAMES)
        if "prompt" not in params and isinstance(params.get("content"), list):
            if params.get("type") == "prompt":
                params = without(params, "type")
            params = renamed(params, _PROMPT)
        if not isinstance(params.get("prompt"), list):
            return params
        return params | {"prompt": [_read_block(block) for block in params["prompt"]]}

    def _read_cancel(self, call: Call, params: Object) -> Translation:
        if _REQUEST_ID not in params:
            problem = f"Invalid params: {_REQUEST_ID} is missing"
            is_request = isinstance(call, Request)
            refusal = encode_error(call.id, INVALID_PARAMS, problem) if is_request else None
            return Translation((), (refusal,) if refusal else ())
        prompt = self.find_request("client", params[_REQUEST_ID])
        back = (encode_result(call.id, {}),) if isinstance(call, Request) else ()
        if prompt is not None and prompt.method == PROMPT:
            self._note_cancelled(params[_REQUEST_ID])
            session = {"sessionId": prompt.session}
            return Translation((encode_notification("session/cancel", session),), back)
        official = {"requestId": params[_REQUEST_ID]}
        return Translation((encode_notification("$/cancel_request", official),), back)

    def _note_cancelled(self, prompt: Json) -> None:
        """Note the request id of a prompt whose answer, if it has no reason, is the end of it."""
        keep(self._cancelled, (type(prompt).__name__, prompt), None)

    def _read_last(self, result: Object, session: str | None) -> list[bytes]:
        """Return updates with what the result holds that was not streamed."""
        if session is None:
            return []
        seen = dict(self._turn(session).seen)
        events = [
            {"type": kind} | as_object(each)
            for name, kind in _PARTS.items()
            for each in as_list(result.get(name))
        ]
        blocks: list[Json] = []
        for block in map(_typed, as_list(result.get("content"))):
            is_diff = as_object(block).get("type") == "diff" and _is_diff(as_object(block))
            (events if is_diff else blocks).append(as_object(block) if is_diff else block)
        fresh = [event for event in events if _mark(event) not in seen]
        updates = [self._read_update(event, session) for event in fresh]
        read = [_read_block(block) for block in blocks]
        text = "".join(as_string(as_object(block).get("text")) for block in read)
        if not self.was_streamed(session, text):
            updates += [chunk(block) for block in read]
        return [
            update_frame(session, self.in_full(session, each))
            for each in updates
            if each is not None
        ]

    # Official to dialect

    def write_call(self, call: Call, sent_by: Side) -> tuple[bytes, ...]:
        params = as_object(call.params)
        if sent_by == "agent":
            return self._write_agent(call, params)
        match call.method:
            case "session/cancel" | "$/cancel_request":
                id_: Json = params.get("requestId")
                if call.method == "session/cancel":
                    id_ = self.find_pending("client", PROMPT, session_in(params) or "")
                if type(id_) not in (str, int):
                    return (call.raw,)
                self._note_cancelled(id_)
                return (encode_notification(CANCEL, {_REQUEST_ID: id_}),)
            case "session/prompt":
                self._begin_turn(session_in(params))
                if "content" in params or not isinstance(params.get("prompt"), list):
                    params = renamed(params, _WIRE_NAMES)
                else:
                    typed: Object = {"type": "prompt"}
                    params = typed | renamed(params, _WIRE_NAMES | {"prompt": "content"})
            case "initialize":
                # The handshake has no version, by which it differs from an official one.
                params = without(params, *VERSION)
            case _ if call.method in OPENING:
                config = {"config": moved_to_meta(params, self.name).get("config", {})}
                params = without_moved(without(params, "mcpServers"), self.name)
                params = _named(call.method, params, _WIRE_NAMES) | config
            case _:
                params = _named(call.method, params, _WIRE_NAMES)
        return (with_params(call, params),)

    def write_response(self, response: AnyResponse, request: PendingRequest) -> tuple[bytes, ...]:
        if isinstance(response, ErrorResponse):
            names = {} if request.notes.get("has_prompt") else {"prompt": "content"}
            response = in_words(response, _WIRE_NAMES | names)
            if _IS_BARE not in request.notes:
                return (_with_names(response, _WIRE_NAMES),)
            return (encode(_bare_error(response, request.session)),)
        result = as_object(response.result)
        match request.method:
            case "initialize":
                abilities = _write_abilities(get_object(result, "agentCapabilities"))
                return (with_result(response, abilities),)
            case "session/prompt":
                # The text was streamed.
                done = self._turns.get(request.session or "") or _Turn()
                turn: Object = {"role": "agent", "content": []}
                turn |= {"tool_uses": done.uses, "tool_results": done.results}
                turn |= renamed(result, {"stopReason": _STOP})
                if _IS_BARE not in request.notes:
                    return (with_result(response, turn),)
                bare: Object = {"type": "response", "session_id": request.session}
                return (encode(bare | turn),)
            case _ if request.method == PERMISSION:
                names = {"optionId": WIRE_NAMES[self.name]["optionId"]}
                return (with_result(response, _with_outcome(result, names)),)
            case _:
                translated = (
                    _named(request.method, result, _WIRE_NAMES) if result else response.result
                )
                return (with_result(response, translated),)

    def _write_agent(self, call: Call, params: Object) -> tuple[bytes, ...]:
        if call.method == PERMISSION:
            return (with_params(call, _write_permission(params)),)
        update = get_object(params, "update")
        is_update = call.method == "session/update"
        events = self._write_update(update, session_in(params)) if is_update else None
        if events is None:
            self.note_tool_call(params)
            return (with_params(call, _named(call.method, params, _WIRE_NAMES)),)
        session = {"session_id": params.get("sessionId")}
        return tuple(encode_notification(call.method, session | event) for event in events)

    def _write_update(self, update: Object, session: str | None) -> list[Object] | None:
        """Turn an official update into events; None if there are none for it."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk" if get_object(update, "content").get("type") == "text":
                text = as_string(as_object(update["content"]).get("text"))
                return [{"type": "text_delta", "text": text}]
            case "tool_call":
                name = as_string(update.get("name")) or as_string(update.get("title"))
                call = {"type": "tool_call", "id": update.get("toolCallId"), "name": name}
                call |= {"input": update["rawInput"]} if "rawInput" in update else {}
                parts = [call, *self._write_unsent(update, session), *_write_tool_update(update)]
                return self._noted(parts, session)
            case "tool_call_update" if events := _write_tool_update(update):
                return self._noted([*self._write_unsent(update, session), *events], session)
            case "available_commands_update":
                commands = map(as_object, as_list(update.get("availableCommands")))
                named = (
                    (as_string(each.get("name")), as_string(each.get("description")))
                    for each in commands
                )
                return [{"slash_commands": write_commands(named)}]
            case "plan":
                sent = self._turn(session).sent
                entries = map(as_object, as_list(update.get("entries")))
                return [step for entry in entries if (step := _write_step(entry, sent)) is not None]
            case _:
                return None

    def _noted(self, events: list[Object], session: str | None) -> list[Object]:
        """Note tool calls and results for the answer to the prompt; return all events."""
        turn = self._turn(session)
        for event in events:
            for name, kind in _PARTS.items():
                parts = turn.uses if name == "tool_uses" else turn.results
                if event.get("type") == kind and len(parts) < REMEMBERED:
                    parts.append(without(event, "type"))
        return events

    def _write_unsent(self, update: Object, session: str | None) -> list[Object]:
        """Return what is between the events of a tool call that they do not say."""
        return [{"update": each} for each in self.unsent(session, update, written=("diff",))]

    def extension_fields(self, call: Call) -> Object:
        """Return the id of a prompt, and whether it names its content `prompt`."""
        if isinstance(call, Request) and call.method == PROMPT:
            has_prompt = "prompt" in as_object(call.params)
            return {"key": (type(call.id).__name__, call.id), "has_prompt": has_prompt}
        return {}


def _named(method: str, members: Object, names: Mapping[str, str]) -> Object:
    """Return the fields of a call or result under other names, also in a list of sessions."""
    if not method.startswith(_RENAMED_METHODS):
        return members
    if isinstance(members.get("sessions"), list):
        sessions = [
            renamed(as_object(each), names) if isinstance(each, dict) else each
            for each in as_list(members["sessions"])
        ]
        members = members | {"sessions": sessions}
    return renamed(members, names)


def _read_abilities(result: Object) -> Object:
    """Return official capabilities with the abilities of a result, which stay readable there."""
    capabilities = get_object(result, "agentCapabilities")
    sessions: Object = _SESSIONS | ({"fork": {}} if result.get("session_fork") is True else {})
    sessions |= get_object(capabilities, "sessionCapabilities")
    capabilities = capabilities | {"sessionCapabilities": sessions}
    given = {name: result[name] for name in ABILITIES if name in result}
    return move_to_meta(capabilities | given, ABILITIES, Openoxide.name)


def _write_abilities(capabilities: Object) -> Object:
    sessions = get_object(capabilities, "sessionCapabilities")
    abilities = ABILITIES | {"session_fork": isinstance(sessions.get("fork"), dict)}
    return abilities | moved_to_meta(capabilities, Openoxide.name)


def _with_names(response: ErrorResponse, names: Mapping[str, str]) -> bytes:
    """Return the frame of an error with the fields of its data under other names."""
    return with_code(response, response.code, _named_data(response.data, names))


def _named_data(data: Json, names: Mapping[str, str]) -> Json:
    return renamed(as_object(data), names) if isinstance(data, dict) else data


def _bare_error(response: ErrorResponse, session: str | None) -> Object:
    error: Object = {"type": "error", "session_id": session}
    error |= {"code": response.code, "message": response.message}
    data = _named_data(response.data, _WIRE_NAMES)
    return error if data is None else error | {"data": data}


def _with_outcome(result: Object, names: Mapping[str, str]) -> Object:
    if not isinstance(result.get("outcome"), dict):
        return result
    return result | {"outcome": renamed(as_object(result["outcome"]), names)}


def _read_permission(params: Object) -> Object:
    params = renamed(params, _NAMES | {_TOOL: "toolCall"})
    if isinstance(params.get("toolCall"), dict):
        tool = renamed(as_object(params["toolCall"]), {"id": "toolCallId", "input": "rawInput"})
        if isinstance(tool.get("content"), list):
            tool = tool | {"content": [_read_diff_item(item) for item in tool["content"]]}
        params = params | {"toolCall": tool}
    return _with_options(params, _OPTION)


def _write_permission(params: Object) -> Object:
    params = renamed(params, _WIRE_NAMES | {"toolCall": _TOOL})
    if isinstance(params.get(_TOOL), dict):
        tool = renamed(as_object(params[_TOOL]), {"toolCallId": "id", "rawInput": "input"})
        if isinstance(tool.get("content"), list):
            tool = tool | {"content": [_write_diff_item(item) for item in tool["content"]]}
        params = params | {_TOOL: tool}
    return _with_options(params, {name: wire for wire, name in _OPTION.items()})


def _with_options(params: Object, names: Mapping[str, str]) -> Object:
    if not isinstance(params.get("options"), list):
        return params
    options = [
        renamed(as_object(each), names) if isinstance(each, dict) else each
        for each in as_list(params["options"])
    ]
    return params | {"options": options}


def _read_diff_item(item: Json) -> Json:
    members = as_object(item)
    if members.get("type") != "diff" or not _is_diff(members):
        return item
    before, after = texts_from_diff(members["unified_diff"])
    return without(members, "unified_diff") | {"oldText": before, "newText": after}


def _write_diff_item(item: Json) -> Json:
    members = as_object(item)
    if members.get("type") != "diff" or not isinstance(members.get("newText"), str):
        return item
    path, before = as_string(members.get("path")), as_text(members.get("oldText"))
    diff = write_unified_diff(path, before, members["newText"])
    return without(members, "oldText", "newText") | {"unified_diff": diff}


def _mark(event: Object) -> str:
    """Return what two events have in common that report the same; nothing for most events."""
    match event.get("type"):
        case "tool_call" | "tool_result" as kind:
            return f"{kind} {as_string(event.get('id'))}"
        case "diff":
            return (
                f"diff {hash((as_string(event.get('path')), as_string(event.get('unified_diff'))))}"
            )
        case _:
            return ""


def _typed(block: Json) -> Json:
    """Return a block with its type as a field; Rust may write it as the only key."""
    members = as_object(block)
    match list(members.items()):
        case [("Text", str(text))]:
            return {"type": "text", "text": text}
        case [("SlashCommand", str(command))]:
            return {"type": "slash_command", "command": command}
        case [("Diff" | "Terminal" as name, dict())]:
            return {"type": name.lower()} | as_object(members[name])
        case _:
            return block


def _read_block(block: Json) -> Json:
    block = _typed(block)
    members = as_object(block)
    match members.get("type"):
        case "diff" if _is_diff(members):
            return {"type": "text", "text": f"```diff\n{members['unified_diff']}```"}
        case "terminal" if isinstance(members.get("output"), str):
            return {"type": "text", "text": members["output"]}
        case "slash_command" if isinstance(members.get("command"), str):
            return {"type": "text", "text": f"/{members['command'].removeprefix('/')}"}
        case _:
            return block
