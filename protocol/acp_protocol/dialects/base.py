"""What all dialects share: open requests, sessions, and translating fields without raising."""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeAlias, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

from acp_protocol.dialects.reported_calls import ReportedCalls
from acp_protocol.dialects.spellings import WIRE_NAMES, spellings
from acp_protocol.framing import Framing, Side, opposite
from acp_protocol.json_values import as_list, as_object, as_string, as_text, get, get_object
from acp_protocol.jsonrpc import (
    INVALID_PARAMS,
    AnyResponse,
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
from acp_protocol.schema.vocabulary import CALL_UPDATES, CLOSING, OPENING

Object: TypeAlias = dict[str, Json]
Call: TypeAlias = Request | Notification

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

REMEMBERED: Final = 1024
"""Entries that each memory keeps, such as open requests; older ones are forgotten."""
MAX_TEXT: Final = 100_000
"""Characters of a turn's text that are kept, from its end."""
META: Final = "_meta"
ASSUMED: Final = "isAssumed"
"""Marks what a dialect has by its document, and the peer has not named."""
PROMPT: Final = "session/prompt"
PERMISSION: Final = "session/request_permission"
_IS_PLACED: Final = "isPlaced"
_SESSION: Final = ("sessionId", *sorted(spellings("sessionId") - {"sessionId"}))
OFFICIAL_ALONE: Final = ("sessionCapabilities", "auth")
"""Capabilities that only official peers have; a dialect's peer must not seem to have them."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A frame of a dialect in official version 1."""

    forward: tuple[bytes, ...]
    """The equivalent official v1 frames, in order; possibly none or several."""
    replies: tuple[bytes, ...] = ()
    """Frames of the dialect to send back, because official ACP has no such response."""


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """What reading the response to a request needs."""

    method: str
    session: str | None
    notes: Object


GUARDED: Final = frozenset({*OPENING, PROMPT, "session/list"})
"""Requests that an agent refuses until the user has logged in."""
_LOGIN: Final = re.compile(
    r"\b(?:log|logged|sign|signed)[ -]?in\b|authenticat|unauthori[sz]ed|credential|api[ _-]?key",
    re.IGNORECASE,
)
"""In the message of an error: the user has to log in."""


def wants_login(response: ErrorResponse, method: str) -> bool:
    """Return whether an agent refuses a request because the user has not logged in, by its words.

    For dialects that have no error code for this.
    """
    return method in GUARDED and _LOGIN.search(response.message) is not None


class Dialect(ABC):
    """Reads and writes one dialect; each connection needs its own, because it keeps state.

    Responses name no method, so a dialect has to see the requests too, in both directions. Frames
    that are official already, unknown or malformed pass unchanged. Subclasses translate; where they
    raise `ValueError` (a broken URI, a number that JSON does not have), the frame passes unchanged.
    """

    name: str
    """The name that selects this dialect."""
    framing: Framing = "lines"
    """How its frames are separated on stdio."""
    takes_directory: bool = True
    """Whether a session is opened with a directory; otherwise it has that of the agent."""
    takes_servers: bool = True
    """Whether a session is opened with MCP servers."""
    takes_model: bool = False
    """Whether a prompt names the model."""
    initializes_first: bool = False
    """Whether its document has agents refuse every other request before `initialize`."""

    def __init__(self, directory: str = "") -> None:
        """`directory` is that of sessions whose client names none; empty: unknown."""
        self.directory = directory
        self._pending: dict[tuple[Side, tuple[str, RequestId]], PendingRequest] = {}
        self._sessions: dict[str, None] = {}
        """The known sessions, the last used one at the end."""
        self._texts: dict[str, str] = {}
        """The text of the running turn of each session."""
        self.calls = ReportedCalls()
        """The tool calls that were read, or written."""
        self.is_initialized = False

    @property
    def session(self) -> str | None:
        """The session that was opened or used last, or else that of an open prompt."""
        known = next(reversed(self._sessions), None)
        return known if known is not None else next(reversed(self._running()), None)

    @property
    def busy_session(self) -> str | None:
        """The last used session with a running turn, or else the last used one."""
        running, last = self._running(), self.session
        return running[-1] if running and last not in running else last

    def copy(self) -> Self:
        """Return one with the same state, which goes its own way from here."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict):
                setattr(twin, name, dict(cast("dict[Any, Any]", value)))
        twin.calls = self.calls.copy()
        return twin

    def knows(self, session: str) -> bool:
        return session in self._sessions or session in self._running()

    def read(self, raw: bytes, sent_by: Side) -> Translation:
        """Turn a frame of the dialect, from either side, into official v1; never raises."""
        message = read_message(raw)
        try:
            if isinstance(message, InvalidMessage):
                return self.read_foreign(message, sent_by)
            if isinstance(message, Call) and self._may_translate(message, sent_by):
                if sent_by == "agent":
                    self.note_tool_call(as_object(message.params))
                return self.read_call(message, sent_by)
            if isinstance(message, AnyResponse) and (found := self._responded(message, sent_by)):
                return self.read_response(message, found)
        except (ValueError, RecursionError):
            # Numbers out of range, broken URIs, deep nesting: nothing can be translated.
            pass
        return Translation((raw,))

    def write(self, raw: bytes, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official v1 frame, from either side, into the dialect; never raises."""
        message = read_message(raw)
        try:
            if isinstance(message, Call) and self._may_translate(message, sent_by):
                if message.method == PERMISSION:
                    self.permission(as_object(message.params))
                return self.write_call(message, sent_by)
            if isinstance(message, AnyResponse) and (found := self._responded(message, sent_by)):
                return self.write_response(message, found)
        except (ValueError, RecursionError):
            pass
        return (raw,)

    @staticmethod
    def login_fields(secret: str) -> Object:
        """Return the fields of `authenticate` with a secret of the user; none if it has no place.

        They are sent if `_meta` has them under the dialect's name.
        """
        del secret
        return {}

    @abstractmethod
    def read_call(self, call: Call, sent_by: Side) -> Translation:
        """Turn a request or notification of the dialect into official v1."""

    @abstractmethod
    def read_response(self, response: AnyResponse, request: PendingRequest) -> Translation:
        """Turn a response of the dialect into official v1."""

    @abstractmethod
    def write_call(self, call: Call, sent_by: Side) -> tuple[bytes, ...]:
        """Turn an official request or notification into the dialect."""

    @abstractmethod
    def write_response(self, response: AnyResponse, request: PendingRequest) -> tuple[bytes, ...]:
        """Turn an official response into the dialect."""

    def read_foreign(self, frame: InvalidMessage, sent_by: Side) -> Translation:
        """Turn a frame that is no JSON-RPC into official v1."""
        del sent_by
        return Translation((frame.raw,))

    def extension_fields(self, call: Call) -> Object:
        """Return what else reading the response to `call` needs; it may be in either form."""
        del call
        return {}

    def add_request(self, sent_by: Side, id: RequestId, request: PendingRequest) -> None:  # noqa: A002
        keep(self._pending, (sent_by, id_key(id)), request)

    def find_request(self, sent_by: Side, id: Json) -> PendingRequest | None:  # noqa: A002
        """Return the open request with this id; `id` may be any JSON."""
        return self._pending.get((sent_by, id_key(id))) if type(id) in {str, int} else None

    def find_pending(
        self, sent_by: Side, method: str, session: str | None, note: str | None = None
    ) -> RequestId:
        """Return the id of the last such open request; None if there is none.

        Without `session` it may be in any session; `note` is one that it has to have.
        """
        return next(
            (
                id_
                for (side, (_, id_)), request in reversed(self._pending.items())
                if (side, request.method) == (sent_by, method)
                and (session is None or request.session == session)
                and (note is None or note in request.notes)
            ),
            None,
        )

    def begin_text(self, session: str | None) -> None:
        self._texts.pop(session or "", None)

    def add_text(self, session: str | None, text: str) -> None:
        """Append streamed text to the turn of `session`."""
        keep(self._texts, session or "", (self._texts.get(session or "", "") + text)[-MAX_TEXT:])

    def was_streamed(self, session: str | None, text: str) -> bool:
        """Return whether the text of the turn ends with `text`."""
        return self._texts.get(session or "", "").rstrip().endswith(text.strip()[-MAX_TEXT:])

    def in_full(self, session: str | None, update: Object) -> Object:
        """Return an update as read from the dialect, with the content that its call had before."""
        id_, content = update.get("toolCallId"), update.get("content")
        if update.get("sessionUpdate") == "tool_call":
            self.calls.begin(session, id_)
            self.calls.note(session, id_, as_list(content))
        elif update.get("sessionUpdate") == "tool_call_update" and isinstance(content, list):
            return update | {"content": self.calls.add(session, id_, as_list(content))}
        return update

    def unsent(self, session: str | None, update: Object, written: Collection[str]) -> list[Object]:
        """Return an official update with content of a tool call that the dialect cannot write.

        It replaces the content that the reader has, so it comes before what the dialect writes.

        Args:
            session: The session.
            update: The update of a tool call that is written.
            written: The types of content that the dialect writes.
        """
        id_ = update.get("toolCallId")
        content = [
            item
            for item in as_list(update.get("content"))
            if as_object(item).get("type") not in written and not text_of(get(item, "content"))
        ]
        if not content or not self.calls.has_changed(session, id_, content):
            return []
        return [{"sessionUpdate": "tool_call_update", "toolCallId": id_, "content": content}]

    def permission(self, params: Object) -> Object:
        """Note the tool call in official params; return them without its status if it has begun.

        Officially the request may set the status. Dialects do not know that: a call that was
        reported in terms of the dialect goes on.
        """
        tool, session = get_object(params, "toolCall"), session_in(params)
        id_, content = tool.get("toolCallId"), tool.get("content")
        if isinstance(content, list):
            self.calls.note(session, id_, as_list(content))
        if tool.get("status") == "pending" and self.calls.has_begun(session, id_):
            return params | {"toolCall": without(tool, "status")}
        return params

    def note_tool_call(self, params: Object) -> None:
        """Note the tool call that params of an official update report, if there is one."""
        update = get_object(params, "update")
        content = update.get("content")
        if as_string(update.get("sessionUpdate")) in CALL_UPDATES and isinstance(content, list):
            self.calls.note(session_in(params), update.get("toolCallId"), as_list(content))

    def _may_translate(self, call: Call, sent_by: Side) -> bool:
        """Remember a request; return whether its params are by name."""
        if isinstance(call, Request):
            session = session_in(call.params)
            fields = self.extension_fields(call)
            request = PendingRequest(call.method, session or self.session, fields)
            self.add_request(sent_by, call.id, request)
            # A prompt for an unknown session does not change which session is current.
            if call.method == PROMPT and session in self._sessions:
                keep(self._sessions, session, None)
        return not isinstance(call.params, list)

    def _responded(self, response: AnyResponse, sent_by: Side) -> PendingRequest | None:
        """Forget and return the request of `response`, and note the session that it opens."""
        request = self._pending.pop((opposite(sent_by), id_key(response.id)), None)
        if request is None or isinstance(response, ErrorResponse):
            return request
        self.is_initialized |= request.method == "initialize"
        session = session_in(response.result) or request.session
        if session is not None:
            is_unseen = request.method == PROMPT and session not in self._sessions
            if request.method in OPENING or is_unseen:
                keep(self._sessions, session, None)
            elif request.method in CLOSING:
                self._sessions.pop(session, None)
        return request

    def _running(self) -> list[str]:
        return [
            request.session
            for (side, _), request in self._pending.items()
            if side == "client" and request.method == PROMPT and request.session
        ]


def keep(memory: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Put an entry last into `memory`, and remove the first one if it is full."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]


# Fields. Nothing below changes its arguments.


def session_in(value: Json) -> str | None:
    members = as_object(value)
    for name in _SESSION:
        if name in members:
            return as_text(members[name])
    return None


def without(value: Mapping[str, Json], *names: str) -> Object:
    return {name: member for name, member in value.items() if name not in names}


def renamed(value: Mapping[str, Json], names: Mapping[str, str]) -> Object:
    """Return `value` with fields under their new names, unless a new name is taken already."""
    return {
        names[name] if name in names and names[name] not in value else name: member
        for name, member in value.items()
    }


def move_to_meta(value: Mapping[str, Json], names: Iterable[str], dialect: str) -> Object:
    """Return `value` with these fields moved to `_meta`, under the dialect's name."""
    moved = {name: value[name] for name in names if name in value}
    if not moved:
        return dict(value)
    meta = as_object(value.get(META))
    return without(value, *moved) | {META: meta | {dialect: moved_to_meta(value, dialect) | moved}}


def moved_to_meta(value: Mapping[str, Json], dialect: str) -> Object:
    """Return what `move_to_meta` has moved."""
    return as_object(as_object(value.get(META)).get(dialect))


def without_moved(value: Mapping[str, Json], dialect: str) -> Object:
    if not moved_to_meta(value, dialect):
        return dict(value)
    meta = without(as_object(value[META]), dialect)
    return without(value, META) | ({META: meta} if meta else {})


def moved_back(value: Mapping[str, Json], names: Iterable[str], dialect: str) -> Object:
    """Return `value` with these fields where they were before `move_to_meta` moved them."""
    kept = moved_to_meta(value, dialect)
    return without_moved(value, dialect) | {name: kept[name] for name in names if name in kept}


def marked(params: Mapping[str, Json], dialect: str, mark: str) -> Object:
    """Return `params` with a mark of the dialect in `_meta`."""
    meta = as_object(params.get(META))
    return dict(params) | {META: meta | {dialect: {mark: True} | moved_to_meta(params, dialect)}}


def placed(params: Mapping[str, Json], directory: str, dialect: str) -> Object:
    """Return the params that open a session, with a directory and MCP servers filled in.

    A mark in `_meta` says if the directory is only our default: an existing session has its own.
    """
    servers = params.get("mcpServers")
    lacking: Object = {"cwd": directory} if directory else {}
    whole: Object = lacking | dict(params) | {"mcpServers": [] if servers is None else servers}
    is_ours = "cwd" not in params and "sessionId" in params
    return marked(whole, dialect, _IS_PLACED) if is_ours else whole


def has_placed_cwd(params: Mapping[str, Json]) -> bool:
    """Return whether `placed` has added a directory, though the session has its own."""
    return any(moved_to_meta(params, name).get(_IS_PLACED) is True for name in WIRE_NAMES)


def with_blocks(params: Object, old: str, new: str, translate: Callable[[Json], Json]) -> Object:
    """Return params of a prompt with their blocks translated, in the field `new` for `old`."""
    if new in params or not isinstance(params.get(old), list):
        return params
    return renamed(params, {old: new}) | {new: [translate(block) for block in params[old]]}


def text_of(block: Json) -> str:
    """Return the text of an official block; empty for other blocks."""
    members = as_object(block)
    return as_string(members.get("text")) if members.get("type") == "text" else ""


def chunk(block: Json) -> Object:
    """Return the official update with a block of the agent's message."""
    return {"sessionUpdate": "agent_message_chunk", "content": block}


def update_frame(session: Json, update: Object) -> bytes:
    return encode_notification("session/update", {"sessionId": session, "update": update})


def name_of(uri: str) -> str:
    """Return the last part of the path of `uri`, or all of it if there is none."""
    return unquote(urlsplit(uri).path.rstrip("/").rpartition("/")[2]) or uri


def path_of(uri: str) -> str:
    """Return the path in a file URI; other URIs are returned unchanged."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def file_uri(path: str) -> str:
    return "file://" + quote(path)


def is_assumed(value: Mapping[str, Json]) -> bool:
    """Return whether the peer has not named `value` itself, see `ASSUMED`."""
    marks = as_object(value.get(META)).values()
    return any(as_object(mark).get(ASSUMED) is True for mark in marks)


# Frames


def with_params(call: Call, params: Mapping[str, Json]) -> bytes:
    """Return the frame of `call` with other params; its own bytes if they are equal."""
    if params == call.params or (call.params is None and not params):
        return call.raw
    if isinstance(call, Request):
        return encode_request(call.id, call.method, params)
    return encode_notification(call.method, params)


def with_result(response: SuccessResponse, result: Json) -> bytes:
    """Return the frame of `response` with another result; its own bytes if it is equal."""
    return response.raw if result == response.result else encode_result(response.id, result)


def with_code(response: ErrorResponse, code: int, data: Json = None) -> bytes:
    """Return the frame of `response` with another code and data; None keeps its data."""
    data = response.data if data is None else data
    if (code, data) == (response.code, response.data):
        return response.raw
    return encode_error(response.id, code, response.message, data)


def in_words(response: ErrorResponse, names: Mapping[str, str]) -> ErrorResponse:
    """Return `response` with the dialect's names of params in its message."""
    if response.code != INVALID_PARAMS:
        return response
    official = "|".join(map(re.escape, names))
    pattern = rf"((?:^|; |: )(?:params\.)?)({official})(?=[.: ])"
    message = re.sub(pattern, lambda found: found[1] + names[found[2]], response.message)
    if message == response.message:
        return response
    raw = encode_error(response.id, response.code, message, response.data)
    return replace(response, message=message, raw=raw)
