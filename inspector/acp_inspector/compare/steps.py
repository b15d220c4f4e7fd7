"""Turns the messages of both sides into comparable steps.

On the level `semantic` the chunks of a text and the updates of a tool call become one step each,
because chunk boundaries vary between runs; of plans, modes, options and usage the last value of a
turn counts. What is sent between two turns belongs to the later one: whether it precedes the prompt
is a race. Values other than plans are sent asynchronously: they are in channels of their own, and
do not end the text before them. The level `shape` keeps only methods, kinds, statuses, endings
and capabilities, and notes where a message does not fit the schema. On the level `strict` each
message is a step.

Source: docs/design/replay.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from acp_inspector.journal import Frame
from acp_inspector.jsonpath import formatted_member
from acp_inspector.session.events import TurnEnded
from acp_inspector.session.exchanges import Exchange, PairedMessage
from acp_inspector.session.fold import Sessions
from acp_protocol.framing import Side
from acp_protocol.json_text import json_text
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import (
    ENVELOPE,
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    parse,
)
from acp_protocol.schema.vocabulary import (
    ASYNCHRONOUS,
    CALL_UPDATES,
    REPLACING,
    RESTORING,
    TEXT_CHUNKS,
)
from acp_protocol.tool_calls import merge

Level: TypeAlias = Literal["strict", "semantic", "shape"]

_CALL_HEADER: Final = ("sessionUpdate", "toolCallId", "status")
"""Fields of an update of a tool call that are apart from its last state."""
MAX_SHAPE_DEPTH: Final = 20
"""Levels of nesting that the level `shape` keeps."""
_SHAPE: Final = frozenset(
    {
        *("sessionUpdate", "status", "states", "kind", "stopReason", "state", "code", "outcome"),
        *("action", "protocolVersion", "type", "operation", "mode", "truncated"),
    }
)
"""Fields whose value the level `shape` keeps; of others it keeps objects, and the different ones
in lists."""
_CAPABILITIES: Final = frozenset({"agentCapabilities", "clientCapabilities", "capabilities"})
"""Fields that the level `shape` keeps as they are, because they do not depend on the model."""
_TYPE_NAMES: Final[dict[object, str]] = {
    **dict.fromkeys((int, float), "number"),
    str: "string",
    bool: "boolean",
    type(None): "null",
}
_UPDATE: Final = "$.params.update"
_JOINED_PATHS: Final = {
    **dict.fromkeys(TEXT_CHUNKS, (("$.text", ".content.text"),)),
    "tool call": (("$.last", ""), ("$.states", ".status")),
    "terminal": (("$.data", ".data"),),
}
"""For steps that join updates: the paths in an update of the parts of the value."""


@dataclass(slots=True, eq=False)
class JournalStep:
    """One action of a side."""

    side: Side
    name: str
    """A method, `response to METHOD`, or the kind of an update."""
    session: str | None
    value: Json
    turn: int = 0
    """The number of prompts in its session so far, including this step."""
    frames: list[int] = field(default_factory=list[int])
    """Numbers of its frames."""
    id: RequestId = None
    """The id of a request; None otherwise."""
    is_request: bool = False
    root: str = "$.params"
    """The path of `value` in its message; empty where it has none."""
    channel: str = ""
    """The kind of an asynchronous update; empty for steps that keep their order."""
    opened: int = 0
    """The frame of the request that it responds to; 0 for other steps."""
    closed: int = 0
    """The frame of the response to a request; 0 without one."""
    is_between_turns: bool = False
    """An update that was sent while its session was open and had no turn: it belongs to the next
    one, since whether it precedes the prompt is a race."""
    dropped_states: int = 0
    """States of a tool call that were left out: repeats, and falls back to `pending`."""
    replaced: list[Json] = field(default_factory=list[Json])
    """The values that updates of the step had until later ones replaced them, oldest first."""
    beside: dict[str, Json] = field(default_factory=dict[str, Json])
    """The distinct values that its messages have beside `value`, as lists, by their path."""

    @property
    def other_values(self) -> list[Json]:
        """The replaced values, without those that were replaced by the same."""
        later = [*self.replaced, self.value][1:]
        pairs = zip(self.replaced, later, strict=True)
        return [value for value, next_ in pairs if not _are_equal(value, next_)]

    def path_in_message(self, path: str) -> str:
        """Return the path in a message of a JSONPath in `value`, as `--ignore` takes it."""
        if self.root == _UPDATE:
            for inner, outer in _JOINED_PATHS.get(self.name, ()):
                rest = path.removeprefix(inner)
                if rest != path and rest[:1] in {"", ".", "["}:
                    # Each update adds one value to the list.
                    return _UPDATE + outer + (rest if inner == "$.last" else "")
        return self.root + path.removeprefix("$")


class Steps:
    """Turns the frames of one connection into steps."""

    def __init__(
        self,
        level: Level = "semantic",
        *,
        strict: AbstractSet[str] = frozenset(),
        dialect: str | None = None,
    ) -> None:
        """Begin a connection.

        Args:
            level: How closely the steps are compared.
            strict: The tolerances that are switched off.
            dialect: The dialect of the frames; None: it is recognised.
        """
        self.steps: list[JournalStep] = []
        self._level: Level = level
        self._strict = strict
        self.sessions = Sessions(dialect)
        """Decides which turn a message belongs to."""
        self._has_turn = False
        """Whether the message that is read belongs to a turn."""
        self._last: dict[tuple[Side, str | None], JournalStep] = {}
        self._streamed: dict[tuple[Side, str | None], JournalStep] = {}
        """The last one that is no request or notification with a method of its own."""
        self._values: dict[tuple[str | None, str], JournalStep] = {}
        self._entities: dict[tuple[str | None, str], JournalStep] = {}
        self._texts: dict[JournalStep, list[str]] = {}
        """The chunks of each text."""
        self._beside: dict[JournalStep, dict[str, dict[str, Json]]] = {}
        """What steps have beside their values: by path and by its own text."""
        self._requests: dict[Exchange, JournalStep] = {}

    def apply(self, frame: Frame, paired: Sequence[PairedMessage]) -> None:
        for message, exchange in paired:
            events = self.sessions.apply(frame, message, exchange)
            self._has_turn = events[0].turn is not None
            step = self._message(frame, message, exchange, events[0].session)
            if isinstance(events[-1], TurnEnded):
                self._end_turn(events[-1].session)
            match message:
                case Notification(method="session/update", params=params):
                    # Most frames are updates, and parsing each of them again takes long.
                    self._note(step, "$.params", params, {"sessionId", "update"})
                case _ if len(paired) == 1:
                    self._note_message(step, frame)
                case _:
                    pass
            if self._level == "shape":
                self._note_faults(step, message, exchange)

    def restart(self, n: int, at: float) -> None:
        """Begin a new process with entry `n`: turns do not go on in it."""
        self.sessions.restart(n, at)
        self._values.clear()

    def _message(
        self, frame: Frame, message: Message, exchange: Exchange | None, session: str | None
    ) -> JournalStep:
        match message:
            case Request(id=id_, method=method, params=params):
                step = self._request(frame, id_, method, session, params)
                if exchange is not None:
                    self._requests[exchange] = step
                return step
            case Notification(method="session/update", params=params):
                return self._update(frame, session, get(params, "update"))
            case Notification(method=method, params=params):
                return self._add(frame, method, session, params)
            case SuccessResponse(id=id_, result=result):
                return self._answer(frame, id_, session, exchange, {"result": result})
            case ErrorResponse(id=id_, code=code, message=text, data=data):
                error = {"code": code, "message": text, "data": data}
                return self._answer(frame, id_, session, exchange, {"error": error})
            case InvalidMessage() | Batch():
                text = frame.data.decode(errors="replace")
                return self._add(frame, "malformed message", None, text, root="")

    def _note_faults(self, step: JournalStep, message: Message, exchange: Exchange | None) -> None:
        """Note where a message does not fit the schema."""
        # It takes a while to import.
        from acp_protocol.schema.validate import validate_params, validate_result

        match message:
            case Request(method=method, params=params) | Notification(method=method, params=params):
                faults = validate_params(method, params, self.sessions.version)
            case SuccessResponse(result=result) if exchange is not None:
                faults = validate_result(exchange.request.method, result, self.sessions.version)
            case _:
                return
        for fault in faults:
            path = re.sub(r"\.\d+(?=\.|$)", "[*]", f"$.{fault.path}")
            values = self._beside.setdefault(step, {}).setdefault(path, {})
            values[fault.reason] = fault.reason

    def _note_message(self, step: JournalStep, frame: Frame) -> None:
        """Note the members that JSON-RPC does not have."""
        try:
            value = parse(frame.data)
        except ValueError:
            return
        # Messages of dialects without it have members of their own.
        if get(value, "jsonrpc") is not None:
            self._note(step, "$", value, ENVELOPE)
            self._note(step, "$.error", get(value, "error"), {"code", "message", "data"})

    def _note(self, step: JournalStep, path: str, value: Json, known: AbstractSet[str]) -> None:
        """Note the unknown members of a value; of `_meta` only names and types, if not `strict`."""
        if self._level == "shape" or not isinstance(value, Mapping) or value.keys() <= known:
            return
        for name, inner in cast("Mapping[str, Json]", value).items():
            if name not in known and inner is not None:
                kept = outline(inner) if name == "_meta" and self._level != "strict" else inner
                values = self._beside.setdefault(step, {}).setdefault(
                    path + formatted_member(name), {}
                )
                values[_text(kept)] = kept

    def finished(self) -> list[JournalStep]:
        """Return the steps for comparison."""
        for step, chunks in self._texts.items():
            step.value["text"] = "".join(chunks)
        for step, found in self._beside.items():
            step.beside = {
                path: [values[k] for k in sorted(values)] for path, values in found.items()
            }
        for step in self.steps:
            # No later turn exists that it could belong to.
            step.turn = min(step.turn, self.sessions.session(step.session).prompts)
            if "replaced-values" in self._strict and (others := step.other_values):
                step.beside[_UPDATE] = others
            if self._level == "shape":
                step.value = shape(step.value)
                step.replaced = list(map(shape, step.replaced))
        return self.steps

    def _add(
        self,
        frame: Frame,
        name: str,
        session: str | None,
        value: Json,
        root: str = "$.params",
        channel: str = "",
    ) -> JournalStep:
        turn = self.sessions.session(session).prompts
        step = JournalStep(
            frame.side, name, session, value, turn, [frame.seq], root=root, channel=channel
        )
        self.steps.append(step)
        if not channel:
            self._last[frame.side, session] = step
            if root != "$.params":
                self._streamed[frame.side, session] = step
        if root == _UPDATE and self.sessions.session(session).is_open and not self._has_turn:
            step.is_between_turns = True
            step.turn += "late-updates" not in self._strict and self._level != "strict"
        return step

    def _request(
        self, frame: Frame, id_: RequestId, method: str, session: str | None, params: Json
    ) -> JournalStep:
        if method in RESTORING or method == "session/close":
            # The history that it replays has an order, and tool calls of its own.
            self._entities = {
                key: each for key, each in self._entities.items() if key[0] != session
            }
        step = self._add(frame, method, session, params)
        step.id, step.is_request = id_, True
        return step

    def _answer(
        self,
        frame: Frame,
        id_: RequestId,
        session: str | None,
        exchange: Exchange | None,
        value: Mapping[str, Json],
    ) -> JournalStep:
        if exchange is None:
            name = "response to no request"
            return self._add(frame, name, None, {"id": id_, **value}, root="$")
        name = f"response to {exchange.request.method}"
        step = self._add(frame, name, session, value, root="$")
        step.opened = exchange.request_frame.seq
        if (request := self._requests.pop(exchange, None)) is not None:
            request.closed = frame.seq
        return step

    def _end_turn(self, session: str | None) -> None:
        """End the turn of a session: values from now on belong to the next one."""
        self._values = {key: each for key, each in self._values.items() if key[0] != session}

    def _update(self, frame: Frame, session: str | None, update: Json) -> JournalStep:
        name = get_string(update, "sessionUpdate") or "update of no kind"
        if self._level == "strict":
            return self._add(frame, name, session, update, _UPDATE)
        if name in TEXT_CHUNKS:
            return self._chunk(frame, session, name, update)
        if name in CALL_UPDATES and get_string(update, "toolCallId"):
            return self._call(frame, session, name, update)
        if name in {"terminal_update", "terminal_output_chunk"} and get_string(
            update, "terminalId"
        ):
            return self._terminal(frame, session, update)
        if name in REPLACING:
            return self._value(frame, session, name, update)
        return self._add(frame, name, session, update, _UPDATE)

    def _chunk(self, frame: Frame, session: str | None, name: str, update: Json) -> JournalStep:
        content = get(update, "content")
        text = get_string(content, "text") if get_string(content, "type") == "text" else None
        if text is None:
            return self._add(frame, name, session, update, _UPDATE)
        message_id = get(update, "messageId")
        step = self._last.get((frame.side, session))
        if isinstance(message_id, str) and step is not None and step.root == "$.params":
            # A request may overtake the rest of a message, which has its id.
            step = self._streamed.get((frame.side, session))
        if step in self._texts and step.name == name and step.value["messageId"] == message_id:
            self._texts[step].append(text)
            step.frames.append(frame.seq)
        else:
            value: Json = {"messageId": message_id, "text": ""}
            step = self._add(frame, name, session, value, _UPDATE)
            self._texts[step] = [text]
        self._note(step, _UPDATE, update, {"sessionUpdate", "content", "messageId"})
        # A text that is not a string is compared like any other member.
        known = {"type", "text"} if isinstance(get(content, "text"), str) else {"type"}
        self._note(step, f"{_UPDATE}.content", content, known)
        return step

    def _call(self, frame: Frame, session: str | None, name: str, update: Json) -> JournalStep:
        value: Json = {
            "toolCallId": get_string(update, "toolCallId"),
            # In version 1 a call begins with another kind of update.
            "sessionUpdate": "tool_call_update",
            "states": [],
            "last": {},
        }
        step = self._entity(frame, session, "tool call", value)
        before, fields = step.value["last"], cast("Mapping[str, Json]", update)
        last = step.value["last"] = merge(before, fields, self.sessions.version)
        for each in _CALL_HEADER:
            last.pop(each, None)
        if name == "tool_call_content_chunk":
            return step
        if name == "tool_call":
            step.value["sessionUpdate"] = name
        step.replaced += [
            {each: before[each]}
            for each in fields
            if each in before and not _are_equal(before[each], last.get(each))
        ]
        states: list[Json] = step.value["states"]
        status = get(update, "status")
        is_repeated = states[-1:] == [status] or (status == "pending" and bool(states))
        if status is None:
            pass
        elif is_repeated and "call-states" not in self._strict:
            step.dropped_states += 1
        else:
            states.append(status)
        return step

    def _entity(self, frame: Frame, session: str | None, name: str, value: Json) -> JournalStep:
        """Return the step of a tool call or terminal; it begins with `value`, its id first."""
        key = (session, f"{name} {next(iter(value.values()))}")
        step = self._entities.get(key)
        if step is None:
            step = self._entities[key] = self._add(frame, name, session, value, _UPDATE)
        else:
            step.frames.append(frame.seq)
        return step

    def _terminal(self, frame: Frame, session: str | None, update: Json) -> JournalStep:
        value: Json = {"terminalId": get_string(update, "terminalId"), "data": []}
        step = self._entity(frame, session, "terminal", value)
        members = dict(cast("Mapping[str, Json]", update))
        for name in ("sessionUpdate", "terminalId"):
            members.pop(name, None)
        if "data" in members:
            step.value["data"].append(members.pop("data"))
        if "output" in members:
            step.value["data"] = [get(members.pop("output"), "data")]
        step.value |= members
        return step

    def _value(self, frame: Frame, session: str | None, name: str, update: Json) -> JournalStep:
        step = self._values.get((session, name))
        is_in_channel = name in ASYNCHRONOUS and "late-updates" not in self._strict
        if step is None:
            channel = name if is_in_channel else ""
            step = self._add(frame, name, session, update, _UPDATE, channel)
            self._values[session, name] = step
            # Whether such a value precedes the prompt is a race, in any case.
            step.turn = self.sessions.session(session).prompts + (not self._has_turn)
        else:
            step.replaced.append(step.value)
            step.value = update
            if self._level != "shape":
                self._beside.pop(step, None)
            step.frames.append(frame.seq)
            # The value that counts was sent within the turn.
            step.is_between_turns &= not self._has_turn
        return step


def outline(value: Json, depth: int = MAX_SHAPE_DEPTH) -> Json:
    """Return the names and the types in a value, at most `depth` levels deep."""
    if depth and isinstance(value, Mapping):
        members = cast("Mapping[str, Json]", value)
        return {name: outline(inner, depth - 1) for name, inner in members.items()}
    if depth and isinstance(value, list):
        kinds = [outline(each, depth - 1) for each in cast("list[Json]", value)]
        return list({_text(each): each for each in kinds}.values())
    kind: object = value.__class__
    return _TYPE_NAMES.get(kind, "nested")


def shape(value: Json, depth: int = MAX_SHAPE_DEPTH) -> Json:
    """Reduce a value to the level `shape`, at most `depth` levels deep; None if nothing is left."""
    if depth and isinstance(value, Mapping):
        members = cast("Mapping[str, Json]", value)
        kept: dict[str, Json] = {}
        for name, inner in members.items():
            if name in {"rawInput", "rawOutput", "_meta"}:
                continue
            if name in _CAPABILITIES or (name in _SHAPE and isinstance(inner, str | int | list)):
                kept[name] = inner
            elif left := shape(inner, depth - 1):
                kept[name] = left
        return kept
    if depth and isinstance(value, list):
        # How many there are depends on the model.
        shapes = filter(None, (shape(each, depth - 1) for each in cast("list[Json]", value)))
        return list({_text(each): each for each in shapes}.values())
    return None


def _text(value: Json) -> str:
    return json_text(value, sort_keys=True)


def _are_equal(one: Json, other: Json) -> bool:
    try:
        return one == other
    except RecursionError:
        return False
