"""What all dialects need: who asked what, and that nothing on the wire can make a reader fail."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias, TypeVar

from acp_protocol.dialects.json_fields import META, Object, as_object
from acp_protocol.framing import Framing, Side
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    Batch,
    ErrorResponse,
    InvalidMessage,
    Json,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    id_key,
    read_message,
)


@dataclass(frozen=True, slots=True)
class Translation:
    """What a frame in a dialect comes to."""

    forward: tuple[bytes, ...]
    """The official v1 frames that say the same, in order; there may be none, or several."""
    replies: tuple[bytes, ...] = ()
    """Frames in the dialect that its sender has to get, because official ACP has no such answer."""


class Dialect(Protocol):
    """Reads and writes one way of speaking; each connection has its own, for it remembers.

    Answers name no method, so a dialect has to see the questions too, whichever way they go: of
    each exchange one frame is read or written, and so is the other. What is official already,
    unknown or malformed passes as the same bytes.
    """

    @property
    def name(self) -> str:
        """The word that chooses this dialect."""
        ...

    @property
    def framing(self) -> Framing:
        """How its frames are kept apart on stdio."""
        ...

    def read(self, raw: bytes, sent_by: Side) -> Translation:
        """Turn a frame of the dialect, from either side, into official v1; never raises."""
        ...

    def write(self, raw: bytes, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official v1 frame, from either side, into the dialect; never raises."""
        ...


Call: TypeAlias = Request | Notification
Answer: TypeAlias = SuccessResponse | ErrorResponse

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

REMEMBERED: Final = 1024
"""Entries that are kept of anything, requests without an answer above all; older ones are lost."""
PROMPT: Final = "session/prompt"
_OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""Requests after which their session is the one that the next words are about, if they succeed."""
_ENDING: Final = frozenset({"session/close", "session/delete"})


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """What must be known of a request when its answer comes."""

    method: str
    session: str | None
    notes: Object


class DialectBase(ABC):
    """A dialect, but for what the dialect is about."""

    name: str
    framing: Framing = "lines"

    def __init__(self) -> None:
        self._questions: dict[tuple[Side, tuple[str, RequestId]], PendingRequest] = {}
        self._sessions: dict[str, None] = {}
        """The sessions that there are, those used last at the end."""
        self.is_initialized = False

    @property
    def session(self) -> str | None:
        """The session that was opened or used last; before any is known, that of a prompt."""
        known = next(reversed(self._sessions), None)
        return known if known is not None else next(reversed(self._running()), None)

    @property
    def busy_session(self) -> str | None:
        """The session that was used last of those with a running turn, or else of all."""
        running, last = self._running(), self.session
        return running[-1] if running and last not in running else last

    def knows(self, session: str) -> bool:
        """Tell whether this session was opened or used."""
        return session in self._sessions or session in self._running()

    def read(self, raw: bytes, sent_by: Side) -> Translation:
        """Turn a frame of the dialect into official v1."""
        message = read_message(raw)
        try:
            match message:
                case Request() | Notification():
                    self._remember(message, sent_by)
                    if not isinstance(message.params, list):
                        return self.read_call(message, sent_by)
                case SuccessResponse() | ErrorResponse():
                    question = self._answered(message, sent_by)
                    if question is not None:
                        return self.read_response(message, question)
                case InvalidMessage():
                    return self.read_foreign(message, sent_by)
                case Batch():
                    pass
        except (ValueError, RecursionError):
            # Numbers beyond all bounds, broken URIs, nesting to the brim: nothing to translate.
            pass
        return Translation((raw,))

    def write(self, raw: bytes, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official v1 frame into the dialect."""
        message = read_message(raw)
        try:
            match message:
                case Request() | Notification():
                    self._remember(message, sent_by)
                    if not isinstance(message.params, list):
                        return self.write_call(message, sent_by)
                case SuccessResponse() | ErrorResponse():
                    question = self._answered(message, sent_by)
                    if question is not None:
                        return self.write_response(message, question)
                case InvalidMessage() | Batch():
                    pass
        except (ValueError, RecursionError):
            pass
        return (raw,)

    @abstractmethod
    def read_call(self, call: Call, sent_by: Side) -> Translation:
        """Turn a request or notification of the dialect into official v1."""

    @abstractmethod
    def read_response(self, answer: Answer, question: PendingRequest) -> Translation:
        """Turn an answer of the dialect into official v1."""

    @abstractmethod
    def write_call(self, call: Call, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official request or notification into the dialect."""

    @abstractmethod
    def write_response(self, answer: Answer, question: PendingRequest) -> tuple[bytes, ...]:
        """Turn an official answer into the dialect."""

    def read_foreign(self, frame: InvalidMessage, sent_by: Side) -> Translation:
        """Turn what is no JSON-RPC into official v1."""
        del sent_by
        return Translation((frame.raw,))

    def extension_fields(self, call: Call) -> Object:
        """Return what else must be known of `call`, in either form, when its answer comes."""
        del call
        return {}

    def add_request(self, sent_by: Side, id: RequestId, question: PendingRequest) -> None:  # noqa: A002
        """Remember a request."""
        keep(self._questions, (sent_by, id_key(id)), question)

    def find_request(self, sent_by: Side, id: Json) -> PendingRequest | None:  # noqa: A002
        """Return the request that waits under this id; `id` may be any JSON."""
        return self._questions.get((sent_by, id_key(id))) if type(id) in {str, int} else None

    def find_pending(self, sent_by: Side, method: str, session: str) -> RequestId:
        """Return the id of the last such request without an answer; None if there is none."""
        return next(
            (
                id_
                for (side, (_, id_)), question in reversed(self._questions.items())
                if (side, question.method, question.session) == (sent_by, method, session)
            ),
            None,
        )

    def _remember(self, call: Call, sent_by: Side) -> None:
        if isinstance(call, Request):
            session = session_in(call.params)
            self.add_request(
                sent_by,
                call.id,
                PendingRequest(call.method, session or self.session, self.extension_fields(call)),
            )
            # Whoever names a session that there is not has not changed what others are about.
            if call.method == PROMPT and session in self._sessions:
                keep(self._sessions, session, None)

    def _answered(self, answer: Answer, sent_by: Side) -> PendingRequest | None:
        asker: Side = "agent" if sent_by == "client" else "client"
        question = self._questions.pop((asker, id_key(answer.id)), None)
        if question is not None and isinstance(answer, SuccessResponse):
            self.is_initialized |= question.method == "initialize"
            self._note_session(question, session_in(answer.result) or question.session)
        return question

    def _note_session(self, question: PendingRequest, session: str | None) -> None:
        if session is None:
            return
        is_unseen = question.method == PROMPT and session not in self._sessions
        if question.method in _OPENING or is_unseen:
            keep(self._sessions, session, None)
        elif question.method in _ENDING:
            self._sessions.pop(session, None)

    def _running(self) -> list[str]:
        questions = (
            question for (side, _), question in self._questions.items() if side == "client"
        )
        return [each.session for each in questions if each.method == PROMPT and each.session]


def keep(memory: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Put an entry last into a memory that forgets its first ones when it is full."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]


def session_in(value: Json) -> str | None:
    """Return the session that params or a result name."""
    members = as_object(value)
    session = members.get("sessionId", members.get("session_id"))
    return session if isinstance(session, str) else None


def placed(params: Mapping[str, Json], directory: str, dialect: str) -> Object:
    """Return the params that open a session, with a place to work in and MCP servers.

    Where the place is only ours, `_meta` says so: a session that there is has one of its own.
    """
    servers = params.get("mcpServers")
    lacking: Object = {"cwd": directory}
    whole: Object = lacking | dict(params) | {"mcpServers": [] if servers is None else servers}
    is_ours = "cwd" not in params and "sessionId" in params
    return marked(whole, dialect, "isPlaced") if is_ours else whole


def marked(params: Mapping[str, Json], dialect: str, mark: str) -> Object:
    """Return `params` with a mark of the dialect, which an agent that knows it may heed."""
    meta = as_object(params.get(META))
    return dict(params) | {META: meta | {dialect: {mark: True} | as_object(meta.get(dialect))}}


def with_params(call: Call, params: Mapping[str, Json]) -> bytes:
    """Return `call` with other params; its own bytes where they are the same.

    Raises:
        ValueError: a number has no spelling in JSON.
    """
    if params == call.params or (call.params is None and not params):
        return call.raw
    if isinstance(call, Request):
        return encode_request(call.id, call.method, params)
    return encode_notification(call.method, params)


def with_result(answer: SuccessResponse, result: Json) -> bytes:
    """Return `answer` with another result; its own bytes where it is the same.

    Raises:
        ValueError: a number has no spelling in JSON.
    """
    return answer.raw if result == answer.result else encode_result(answer.id, result)


def with_code(answer: ErrorResponse, code: int, data: Json = None) -> bytes:
    """Return `answer` with another code and other data, its own data where None is given.

    Raises:
        ValueError: a number has no spelling in JSON.
    """
    data = answer.data if data is None else data
    if (code, data) == (answer.code, answer.data):
        return answer.raw
    return encode_error(answer.id, code, answer.message, data)


def in_words(answer: ErrorResponse, names: Mapping[str, str]) -> ErrorResponse:
    """Return `answer` so that what it finds wrong with params bears the dialect's names.

    Raises:
        ValueError: a number has no spelling in JSON.
    """
    if answer.code != INVALID_PARAMS:
        return answer
    said = "|".join(map(re.escape, names))
    pattern = rf"((?:^|; |: )(?:params\.)?)({said})(?=[.: ])"
    message = re.sub(pattern, lambda found: found[1] + names[found[2]], answer.message)
    if message == answer.message:
        return answer
    raw = encode_error(answer.id, answer.code, message, answer.data)
    return replace(answer, message=message, raw=raw)


KEPT: Final = 100_000
"""Signs of a turn's text that are kept, from its end."""


class SentText:
    """The text of the running turn of each session."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def begin(self, session: str | None) -> None:
        """Forget what was said in the turn before."""
        self._texts.pop(session or "", None)

    def add(self, session: str | None, text: str) -> None:
        """Note what is said."""
        keep(self._texts, session or "", (self._texts.get(session or "", "") + text)[-KEPT:])

    def ends_with(self, session: str | None, text: str) -> bool:
        """Tell whether `text` is what was said last, or all that was said."""
        return self._texts.get(session or "", "").rstrip().endswith(text.strip()[-KEPT:])
