"""The conversations of one connection: the fold of its frames, which never fails.

Source: ACP, Prompt Turn; Tool Calls; Session Modes; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.analysis.conversation import Change, Conversation
from acp_inspector.analysis.items import (
    Permission,
    ToolCall,
    UserMessage,
    entries,
    member,
    string,
)
from acp_inspector.analysis.reading import Reader
from acp_inspector.analysis.updates import apply_call, apply_update
from acp_inspector.journal import Frame
from acp_protocol.dialects.dialect import Dialect
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    Failure,
    Json,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
    id_key,
)

_OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_CHOOSING: Final = frozenset({"session/set_mode", "session/set_config_option"})


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request whose answer matters to a conversation."""

    session_id: str
    method: str
    permission: Permission | None = None
    call: ToolCall | None = None
    mode: str | None = None
    message: UserMessage | None = None
    states: int = 0
    """How many states the agent had told when it was asked (version 2)."""


class Conversations:
    """Takes the frames of a connection, one after the other."""

    def __init__(self, dialect: Dialect | None = None) -> None:
        """Read what is spoken in `dialect`; None: recognise it."""
        self._reader = Reader(dialect)
        self.sessions: dict[str, Conversation] = {}
        self.version = 1
        """The protocol version that was agreed on."""
        self._asked: dict[tuple[Side, tuple[str, RequestId]], _Asked] = {}

    def get(self, session_id: str) -> Conversation:
        """Return the conversation of a session, an empty one if nothing was said yet."""
        if session_id not in self.sessions:
            self.sessions[session_id] = Conversation(session_id, self.version)
        return self.sessions[session_id]

    def apply(self, frame: Frame) -> list[Change]:
        """Take the next frame; return what it changed. Never fails, whatever the frame says."""
        messages = self._reader.messages(frame)
        return [change for message in messages for change in self._apply(frame.side, message)]

    def _apply(self, side: Side, message: Message) -> list[Change]:
        match message:
            case Request() as request:
                return self._request(side, request)
            case Notification(method="session/update", params=params) if side == "agent":
                session_id, update = member(params, "sessionId"), member(params, "update")
                if not isinstance(session_id, str):
                    return []
                return [apply_update(self.get(session_id), update)]
            case Result() | Failure() as answer:
                asker: Side = "agent" if side == "client" else "client"
                asked = self._asked.pop((asker, id_key(answer.id)), None)
                return [] if asked is None else self._answer(asked, answer)
            case _:
                return []

    def _request(self, side: Side, request: Request) -> list[Change]:
        asked, changes = None, list[Change]()
        session_id = string(request.params, "sessionId")
        if side == "agent":
            if session_id and request.method == "session/request_permission":
                asked = self._consent_asked(self.get(session_id), request)
                changes = [Change(session_id, asked.call)]
        elif request.method == "initialize" or request.method in _OPENING:
            asked = _Asked(session_id, request.method)
        elif request.method in _CHOOSING:
            mode = string(request.params, "modeId") or None
            asked = _Asked(session_id, request.method, mode=mode)
        elif session_id and request.method == "session/prompt":
            talk = self.get(session_id)
            message = talk.prompted(member(request.params, "prompt"))
            asked = _Asked(session_id, request.method, message=message, states=talk.states)
            changes = [Change(session_id, message, is_new=True)]
        if asked is not None:
            self._asked[side, id_key(request.id)] = asked
        return changes

    def _consent_asked(self, talk: Conversation, request: Request) -> _Asked:
        change = apply_call(talk, _subject(request.params))
        call = change.item
        assert isinstance(call, ToolCall)
        call.permission = Permission(request.id, entries(member(request.params, "options")))
        return _Asked(talk.session_id, request.method, call.permission, call)

    def _answer(self, asked: _Asked, answer: Result | Failure) -> list[Change]:
        result = answer.result if isinstance(answer, Result) else None
        if asked.method == "initialize":
            if member(result, "protocolVersion") == 2:
                self.version = 2
            return []
        if asked.method in _OPENING:
            return self._opened(asked, result)
        talk = self.get(asked.session_id)
        if asked.permission is not None:
            outcome = member(result, "outcome")
            asked.permission.outcome = outcome if outcome is not None else {"outcome": "cancelled"}
            return [Change(asked.session_id, asked.call)]
        if asked.method in _CHOOSING:
            if isinstance(answer, Result) and asked.mode is not None:
                talk.current_mode = asked.mode
            talk.offer(result)
            return [Change(asked.session_id, None)]
        talk.open_prompts -= 1
        message_id = string(result, "messageId")
        if message_id and "stopReason" not in (result or {}):
            return _inserted(talk, asked, message_id)
        return _turn_ended(talk, asked, answer)

    def _opened(self, asked: _Asked, result: Json) -> list[Change]:
        session_id = string(result, "sessionId") or asked.session_id
        if not session_id or result is None:
            return []
        self.get(session_id).offer(result)
        return [Change(session_id, None)]


def _subject(params: Json) -> Json:
    """Return what consent is asked for, as an update of a tool call."""
    subject = member(params, "subject")
    if member(subject, "type") == "tool_call":
        return member(subject, "toolCall")
    if member(params, "toolCall") is not None:
        return member(params, "toolCall")
    title = string(params, "title")
    if member(subject, "type") == "command":
        command = {"command": member(subject, "command"), "cwd": member(subject, "cwd")}
        called = {"toolCallId": member(subject, "toolCallId")}
        return {**called, "title": title, "kind": "execute", "rawInput": command}
    return {"title": title}


def _inserted(talk: Conversation, asked: _Asked, message_id: str) -> list[Change]:
    """A prompt of version 2 stands in the conversation, and work on it begins."""
    if asked.message is not None and not talk.knows(message_id):
        talk.bind(asked.message, message_id)
    if talk.states == asked.states:
        talk.state = "running"
    return [Change(talk.session_id, None)]


def _turn_ended(talk: Conversation, asked: _Asked, answer: Result | Failure) -> list[Change]:
    if asked.message in talk.unbound:
        talk.unbound.remove(asked.message)
    if isinstance(answer, Failure):
        return [talk.ended(None, f"{answer.message} ({answer.code})")]
    stop = string(answer.result, "stopReason") or None
    changes: list[Change] = []
    if stop == "cancelled":
        # Version 1 has no such status: the client has to show open calls as cancelled itself.
        for call in talk.open_calls():
            call.status = "cancelled"
            changes.append(Change(talk.session_id, call))
    return [*changes, talk.ended(stop, usage=member(answer.result, "usage"))]
