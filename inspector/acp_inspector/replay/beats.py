"""What one side said, as a list of beats that can be compared by meaning.

How text was cut into chunks, how often a tool call was touched and in which order keys stood is
nobody's promise; what was said, asked and answered, and in which order, is. So runs of chunks
become one text, a tool call and its updates become its states in order and its last content, a plan
becomes its last value of the turn. Everything else is a beat of its own.

Source: docs/design/replay.md, "semantic".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never, cast

from acp_inspector.journal import Frame
from acp_protocol.jsonrpc import (
    Batch,
    Failure,
    Json,
    Malformed,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
    id_key,
    read_message,
)

_CHUNKS: Final = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
_LAST_VALUE: Final = frozenset(
    {"plan", "current_mode_update", "config_option_update", "usage_update"}
)


@dataclass(slots=True)
class Beat:
    """One thing that was said."""

    name: str
    """What kind of thing: a method, `answer to METHOD`, an update's name."""
    session: str | None
    value: Json
    frames: list[int] = field(default_factory=list[int])
    """Numbers of the frames that it is made of."""
    id: RequestId = None
    """The id of a request, to be bound; None otherwise."""
    is_request: bool = False


class Beats:
    """Folds the frames that the agent sent; the client's are needed to know what was asked."""

    def __init__(self) -> None:
        self.beats: list[Beat] = []
        self._asked: dict[tuple[str, RequestId], tuple[str, str | None]] = {}
        self._calls: dict[tuple[str | None, str], Beat] = {}
        self._values: dict[tuple[str | None, str], Beat] = {}

    @property
    def is_answer_open(self) -> bool:
        """Whether the agent owes the client an answer."""
        return bool(self._asked)

    def apply(self, frame: Frame) -> None:
        """Take the next frame of either side."""
        self.take(frame, read_message(frame.raw))

    def take(self, frame: Frame, message: Message) -> None:
        """Take the next frame, of which `message` is what counts."""
        if frame.side == "client":
            if isinstance(message, Request):
                session = _session(message.params)
                self._asked[id_key(message.id)] = (message.method, session)
            return
        match message:
            case Notification(method="session/update", params=params):
                self._update(frame, _session(params), _member(params, "update"))
            case Notification(method=method, params=params):
                self._add(frame, Beat(method, _session(params), params))
            case Request(id=id_, method=method, params=params):
                beat = Beat(method, _session(params), params, id=id_, is_request=True)
                self._add(frame, beat)
            case Result(id=id_, result=result):
                self._answer(frame, id_, {"result": result})
            case Failure(id=id_, code=code, message=text, data=data):
                self._answer(frame, id_, {"error": {"code": code, "message": text, "data": data}})
            case Batch() | Malformed():
                text = frame.raw.decode(errors="replace")
                self._add(frame, Beat("no message", None, text))
            case _:
                assert_never(message)

    def _add(self, frame: Frame, beat: Beat) -> None:
        beat.frames.append(frame.n)
        self.beats.append(beat)

    def _answer(self, frame: Frame, id_: RequestId, value: Json) -> None:
        method, session = self._asked.pop(id_key(id_), (f"nothing that was asked ({id_!r})", None))
        if method == "session/new":
            # It stands before all that is said of the session it opens.
            session = _session(value.get("result"))
        self._add(frame, Beat(f"answer to {method}", session, value))
        if method == "session/prompt":
            # The next turn's plan and mode are news again.
            self._values = {key: beat for key, beat in self._values.items() if key[0] != session}

    def _update(self, frame: Frame, session: str | None, update: Json) -> None:
        name = _member(update, "sessionUpdate")
        name = name if isinstance(name, str) else "update without a name"
        call_id = _member(update, "toolCallId")
        if name in _CHUNKS:
            self._chunk(frame, session, name, update)
        elif name in {"tool_call", "tool_call_update"} and isinstance(call_id, str):
            self._tool_call(frame, session, call_id, cast("Mapping[str, Json]", update))
        elif name in _LAST_VALUE and (session, name) in self._values:
            beat = self._values[session, name]
            beat.value = update
            beat.frames.append(frame.n)
        else:
            beat = Beat(name, session, update)
            self._add(frame, beat)
            if name in _LAST_VALUE:
                self._values[session, name] = beat

    def _chunk(self, frame: Frame, session: str | None, name: str, update: Json) -> None:
        content, message_id = _member(update, "content"), _member(update, "messageId")
        text = _member(content, "text") if _member(content, "type") == "text" else None
        if not isinstance(text, str):
            self._add(frame, Beat(name, session, update))
            return
        last = self._last(session)
        if last is not None and last.name == name and _member(last.value, "text") is not None:
            same = _member(last.value, "messageId") == message_id
            if same:
                last.value["text"] += text
                last.frames.append(frame.n)
                return
        self._add(frame, Beat(name, session, {"messageId": message_id, "text": text}))

    def _last(self, session: str | None) -> Beat | None:
        return next((beat for beat in reversed(self.beats) if beat.session == session), None)

    def _tool_call(
        self, frame: Frame, session: str | None, call_id: str, update: Mapping[str, Json]
    ) -> None:
        beat = self._calls.get((session, call_id))
        if beat is None:
            beat = Beat("tool call", session, {"toolCallId": call_id, "states": [], "last": {}})
            self._calls[session, call_id] = beat
            self.beats.append(beat)
        beat.frames.append(frame.n)
        members = {key: value for key, value in update.items() if key not in _TOOL_KEYS}
        beat.value["last"] |= {key: value for key, value in members.items() if value is not None}
        states: list[Json] = beat.value["states"]
        status = update.get("status")
        if status is not None and states[-1:] != [status]:
            states.append(status)


_TOOL_KEYS: Final = frozenset({"sessionUpdate", "toolCallId", "status"})


def beats_of(frames: Iterable[Frame]) -> list[Beat]:
    """Return the beats of the agent in `frames`."""
    beats = Beats()
    for frame in frames:
        beats.apply(frame)
    return beats.beats


def _session(params: Json) -> str | None:
    session = _member(params, "sessionId")
    return session if isinstance(session, str) else None


def _member(value: Json, name: str) -> Json:
    return cast("Mapping[str, Json]", value).get(name) if isinstance(value, Mapping) else None
