"""The conversations of one connection: a fold over its frames that never raises.

This module applies requests and responses to conversations; `updates` applies updates.

Source: ACP, Session Setup; Prompt Turn; Tool Calls; Session Modes; Terminals; Elicitation; ACP
version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.session.conversation import (
    Conversation,
    ConversationChange,
    Cursor,
    ItemEpoch,
    SessionError,
    SessionSnapshot,
)
from acp_inspector.session.edits import Edits, FrameEdit
from acp_inspector.session.effects import EFFECTS, is_allowed, note_effect
from acp_inspector.session.events import (
    RequestSent,
    ResponseReceived,
    SessionClosed,
    SessionEvent,
    SessionOpened,
    StateChanged,
    TurnBegan,
    TurnEnded,
    Updated,
)
from acp_inspector.session.exchanges import Exchange, Exchanges
from acp_inspector.session.fold import Sessions
from acp_inspector.session.items import (
    ElicitationItem,
    PermissionRequest,
    SubagentItem,
    ToolCallItem,
)
from acp_inspector.session.turn import SessionTurn
from acp_inspector.session.updates import apply_call, apply_update, exit_facts, shown
from acp_protocol.dialects.base import Dialect, has_placed_cwd
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import as_object, get, get_list, get_string
from acp_protocol.jsonrpc import (
    AnyResponse,
    ErrorResponse,
    Json,
    Request,
    SuccessResponse,
)
from acp_protocol.schema.vocabulary import RESTORING

Respond: TypeAlias = Callable[[AnyResponse], list[ConversationChange]]
"""Applies the response to a request."""


class Conversations:
    """Folds the frames of a connection, one by one."""

    def __init__(
        self,
        dialect: Dialect | str | None = None,
        *,
        exchanges: Exchanges | None = None,
    ) -> None:
        """Begin a connection.

        Args:
            dialect: the dialect of its frames, or its name; None: recognise it.
            exchanges: pairs its requests and responses; by default only the open ones are kept.
        """
        self.fold = Sessions(dialect, exchanges=exchanges or Exchanges(is_lean=True))
        self.cursor = Cursor()
        """Its position."""
        self.sessions: dict[str, Conversation] = {}
        self.errors: list[SessionError] = []
        """Error responses to requests without a session."""
        self._responds: dict[Exchange, Respond] = {}
        """Of open requests whose responses need values known at the request."""

    @property
    def version(self) -> int:
        """The protocol version that was agreed on."""
        return self.fold.version

    def get(self, session_id: str) -> Conversation:
        """Return the conversation of a session, an empty one if there is none yet."""
        if session_id not in self.sessions:
            session = self.fold.session(session_id)
            self.sessions[session_id] = Conversation(session_id, self.version, self.cursor, session)
        return self.sessions[session_id]

    def read(self, entries: Iterable[Entry], edits: Edits | None = None) -> None:
        """Apply the entries of a recording, its frames as they were sent."""
        for entry in entries:
            if isinstance(entry, Frame):
                edit = None if edits is None else edits.of(entry.seq)
                self.apply(entry if edit is None else edit.sent(entry), edit=edit)
            elif isinstance(entry, JournalEvent):
                self.note(entry)

    def apply(
        self,
        frame: Frame,
        events: Sequence[SessionEvent] | None = None,
        *,
        edit: FrameEdit | None = None,
    ) -> list[ConversationChange]:
        """Apply the next frame; return what it changed. Never raises.

        Args:
            frame: The next one, as it was sent.
            events: What `fold.feed` has returned for it, if the caller needs that too.
            edit: The edit that has made the frame what it is.
        """
        self.cursor.n, self.cursor.at = frame.seq, frame.time
        if events is None:
            events = self.fold.feed(frame)
        changes = [change for event in events for change in self._apply(event)]
        if edit is not None:
            for change in changes:
                if change.item is not None:
                    self.sessions[change.session_id].note_edit(change.item, edit)
        return changes

    def note(self, event: JournalEvent) -> None:
        """Take what an event says of the connection: that a new one begins, or its dialect."""
        if event.begins_connection:
            self.restart(event.seq, event.time)
        else:
            self.fold.decoder.note(event)

    def restart(self, n: int, at: float) -> None:
        """Begin a new connection with entry `n`: pending requests of the last one stay open.

        Args:
            n: Number of the entry that reports the new process.
            at: Its time, in seconds since the journal began.
        """
        self.cursor.n, self.cursor.at = n, at
        self._responds.clear()
        for turn in self.fold.restart(n, at):
            if turn.session_id:
                self.get(turn.session_id).add_turn_end(turn)
        for talk in self.sessions.values():
            talk.end_process()

    def at(self, n: int) -> dict[str, SessionSnapshot]:
        """Return the state after frame `n` of each session known by then."""
        known = ((key, talk) for key, talk in self.sessions.items() if talk.begun <= n)
        return {key: talk.at(n) for key, talk in known}

    # What happens

    def _apply(self, event: SessionEvent) -> list[ConversationChange]:
        match event:
            case Updated():
                return self._update(event)
            case RequestSent(exchange=Exchange() as exchange):
                return self._request(exchange, event.session, event.turn)
            case ResponseReceived(exchange=Exchange() as exchange):
                return self._response(event, exchange)
            case SessionOpened(session=str(id_), exchange=exchange, message=response):
                result = response.result if isinstance(response, SuccessResponse) else None
                return _opened(self.get(id_), exchange.request, result)
            case SessionClosed(session=str(id_)):
                self.get(id_).update_info(is_closed=True)
                return [ConversationChange(id_, None)]
            case TurnBegan(session=str(id_), turn=SessionTurn() as turn):
                self.get(id_).add_turn(turn)
                return []
            case TurnEnded(session=str(id_), turn=SessionTurn() as turn):
                return [self.get(id_).add_turn_end(turn)]
            case _:
                return []

    def _update(self, event: Updated) -> list[ConversationChange]:
        if event.session is None:
            return []
        talk = self.get(event.session)
        changes = apply_update(talk, event.kind, event.update)
        if isinstance(event, StateChanged):
            changes += self._mirror(talk)
        elif isinstance(line := changes[-1].item, SubagentItem) and line.session_id:
            self.get(line.session_id).update_info(parent=event.session)
        return changes

    def _mirror(self, child: Conversation) -> list[ConversationChange]:
        """Show the state of a subagent where it was announced, too."""
        parent = self.sessions.get(child.info.parent or "")
        line = parent.known_subagent(child.session_id) if parent is not None else None
        if parent is None or line is None or line.facts.state == child.info.state:
            return []
        line.change(self.cursor.n, state=child.info.state)
        return [ConversationChange(parent.session_id, line)]

    def _request(
        self, exchange: Exchange, id_: str | None, turn: SessionTurn | None
    ) -> list[ConversationChange]:
        request = exchange.request
        if exchange.requester == "agent":
            if request.method == "elicitation/create":
                asking = get(request.params, "requestId")
                prompt = self.fold.exchanges.open_request("client", asking)
                id_ = id_ or (None if prompt is None else prompt.session) or None
                return [] if id_ is None else self._later(exchange, _elicit(self.get(id_), request))
            if id_ is not None and request.method == "session/request_permission":
                return self._later(exchange, _ask_consent(self.get(id_), request))
        elif id_ is not None and request.method == "session/prompt":
            return self._later(exchange, _prompt(self.get(id_), request, turn))
        elif id_ in self.sessions and request.method in RESTORING:
            talk = self.sessions[id_]
            talk.restored = self.cursor.n
            replays_part = get(request.params, "replayFrom") is not None
            if (request.method == "session/load" or replays_part) and talk.items:
                return self._later(exchange, (_restored(talk, talk.restart()), []))
        return []

    def _later(
        self, exchange: Exchange, begun: tuple[Respond, list[ConversationChange]]
    ) -> list[ConversationChange]:
        self._responds[exchange], changes = begun
        return changes

    def _response(self, event: ResponseReceived, exchange: Exchange) -> list[ConversationChange]:
        request, response = exchange.request, event.message
        respond, talk = self._responds.pop(exchange, None), self.sessions.get(event.session or "")
        if request.method == "initialize":
            return []
        if isinstance(response, ErrorResponse):
            # As it was sent, whatever a dialect means by it.
            code = response.code if exchange.code is None else exchange.code
            text = response.message
            error = SessionError(self.cursor.n, event.frame.side, request.method, code, text)
            if talk is None:
                self.errors.append(error)
            else:
                talk.errors.add(error.n, error)
        if respond is not None and isinstance(response, SuccessResponse | ErrorResponse):
            return respond(response)
        if event.session is None or not isinstance(response, SuccessResponse):
            return []
        return _succeeded(self.get(event.session), request, response.result)


def _succeeded(talk: Conversation, request: Request, result: Json) -> list[ConversationChange]:
    if request.method in EFFECTS:
        started = _terminal(talk, request, result) if request.method == "terminal/create" else []
        return [*started, *note_effect(talk, request)]
    if request.method.startswith("terminal/"):
        return _terminal(talk, request, result)
    if request.method == "session/set_title":
        talk.update_info(title=get_string(result, "title") or get_string(request.params, "title"))
    elif request.method in {"session/set_mode", "session/set_config_option"}:
        if mode := get_string(request.params, "modeId"):
            talk.set_mode(mode)
        talk.update_options(result)
    else:
        return []
    return [ConversationChange(talk.session_id, None)]


# Sessions and prompts


def _restored(talk: Conversation, before: ItemEpoch) -> Respond:
    """Return a function that restores the items if a replay fails."""

    def respond(response: AnyResponse) -> list[ConversationChange]:
        if isinstance(response, ErrorResponse):
            talk.restore(before)
        return []

    return respond


def _opened(talk: Conversation, request: Request, result: Json) -> list[ConversationChange]:
    requested = get_string(request.params, "sessionId")
    is_fork = request.method == "session/fork" and talk.session_id != requested
    parent = requested if is_fork else talk.info.parent
    cwd = get_string(request.params, "cwd") or None
    if talk.info.cwd and has_placed_cwd(as_object(request.params)):
        cwd = talk.info.cwd
    talk.update_info(
        cwd=cwd,
        opened_by=request.method,
        parent=parent,
        is_closed=False,
        directories=get_list(request.params, "additionalDirectories"),
        servers=[get_string(each, "name") for each in get_list(request.params, "mcpServers")],
    )
    talk.update_options(result)
    if request.method in RESTORING:
        talk.restored = talk.cursor.n
    return [ConversationChange(talk.session_id, None)]


def _prompt(
    talk: Conversation, request: Request, turn: SessionTurn | None
) -> tuple[Respond, list[ConversationChange]]:
    message, states = talk.add_prompt(get(request.params, "prompt")), talk.states

    def respond(response: AnyResponse) -> list[ConversationChange]:
        talk.update_info(open_prompts=talk.info.open_prompts - 1)
        has_ended = turn is not None and turn.ended == talk.cursor.n
        is_error = isinstance(response, ErrorResponse)
        if (has_ended or is_error) and message in talk.unbound:
            talk.unbound.remove(message)
        if turn is not None and has_ended:
            return _cancelled(talk) if turn.stop_reason == "cancelled" else []
        if isinstance(response, ErrorResponse):
            error = str(RequestFailedError(response.code, response.message, response.data))
            return [talk.add_rejection(error)]
        # Version 2: the prompt is in the conversation now, and work on it begins.
        message_id = get_string(response.result, "messageId")
        if message_id and not talk.has_message(message_id):
            talk.bind(message, message_id)
        if talk.states == states:
            talk.update_info(state="running")
        return [ConversationChange(talk.session_id, None)]

    return respond, [ConversationChange(talk.session_id, message, is_new=True)]


def _cancelled(talk: Conversation) -> list[ConversationChange]:
    """Show open calls as cancelled: version 1 has no such status, so a client has to."""
    changes: list[ConversationChange] = []
    for call in talk.open_calls():
        talk.change_call(call, status="cancelled")
        changes.append(ConversationChange(talk.session_id, call))
    return changes


# Requests of the agent


def _ask_consent(talk: Conversation, request: Request) -> tuple[Respond, list[ConversationChange]]:
    params = request.params
    change = apply_call(talk, subject_of(params, talk.version))
    call, n = change.item, talk.cursor.n
    assert isinstance(call, ToolCallItem)
    permission = PermissionRequest(
        request.id,
        get_list(params, "options"),
        title=get_string(params, "title"),
        description=get_string(params, "description"),
        cwd=talk.info.cwd,
    )
    call.add_permission(permission, n)

    def respond(response: AnyResponse) -> list[ConversationChange]:
        result = response.result if isinstance(response, SuccessResponse) else None
        outcome = get(result, "outcome")
        permission.outcome = {"outcome": "cancelled"} if outcome is None else outcome
        permission.answered = talk.cursor.n
        if call.facts.began_at is not None and not call.is_over:
            talk.change_call(call, began_at=talk.cursor.at)
        if is_allowed(permission):
            talk.allowed.append(call)
        return [ConversationChange(talk.session_id, call)]

    return respond, [ConversationChange(talk.session_id, call)]


def subject_of(params: Json, version: int = 1) -> Json:
    """Return the subject of a permission request, as an update of a tool call.

    A subject of no known type counts as the input of a call.
    """
    call, title = get(params, "toolCall"), get_string(params, "title")
    if call is not None and (version < 2 or not title):
        # In version 2 it is no subject: another one is decided on.
        return call
    match get(params, "subject"):
        case {"type": "tool_call", "toolCall": {} as call}:
            return call
        case {"type": "command", "command": str(command), **more}:
            called = {"toolCallId": more.get("toolCallId"), "title": title, "kind": "execute"}
            return {**called, "rawInput": {"command": command, "cwd": more.get("cwd")}}
        case subject:
            return {"title": title, "rawInput": subject}


def _elicit(talk: Conversation, request: Request) -> tuple[Respond, list[ConversationChange]]:
    """Add an elicitation, for a session or for a request of the client in it."""
    params = request.params
    text = f"asks you: {get_string(params, 'message')}"
    elicitation = ElicitationItem(talk.next_key(ElicitationItem.key_prefix), text, talk.cursor.n)
    elicitation.request_id = request.id
    elicitation.mode = get_string(params, "mode")
    schema = get(params, "requestedSchema")
    elicitation.schema = get(params, "url") if schema is None else schema

    def respond(response: AnyResponse) -> list[ConversationChange]:
        result = response.result if isinstance(response, SuccessResponse) else None
        elicitation.set_outcome({"action": "cancel"} if result is None else result, talk.cursor.n)
        return [ConversationChange(talk.session_id, elicitation)]

    return respond, [talk.add(elicitation)]


def _terminal(talk: Conversation, request: Request, result: Json) -> list[ConversationChange]:
    """Version 1: apply a response about the client's terminals."""
    params, n = request.params, talk.cursor.n
    key = get_string(result if request.method == "terminal/create" else params, "terminalId")
    if not key:
        return []
    is_new = request.method == "terminal/create"
    # A client may reuse an id after its release: that is another terminal.
    terminal = talk.new_terminal(key) if is_new else talk.terminal(key)
    match request.method:
        case "terminal/create":
            words = [get_string(params, "command"), *map(str, get_list(params, "args"))]
            cwd = get_string(params, "cwd") or None
            terminal.change(n, command=" ".join(words).strip() or None, cwd=cwd)
        case "terminal/output":
            terminal.set_output(get_string(result, "output"), n)
            if get(result, "exitStatus") is not None:
                terminal.change(n, **exit_facts(get(result, "exitStatus")))
        case "terminal/wait_for_exit":
            terminal.change(n, **exit_facts(result))
        case "terminal/release":
            terminal.change(n, is_released=True)
        case _:
            return []
    return [shown(talk, terminal)]
