"""What requests and their answers do to conversations.

Source: ACP, Session Setup; Prompt Turn; Tool Calls; Terminals; Elicitation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from acp_inspector.analysis.calls import Permission, ToolCall
from acp_inspector.analysis.conversation import Change, Conversation
from acp_inspector.analysis.items import Elicitation, UserMessage, entries, member, string
from acp_inspector.analysis.snapshot import Stretch, Trouble
from acp_inspector.analysis.turns import Turn
from acp_inspector.analysis.updates import apply_call, exit_facts, shown
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Failure, Json, Request, Result

if TYPE_CHECKING:
    from acp_inspector.analysis.conversations import Conversations

OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
_CHOOSING: Final = frozenset({"session/set_mode", "session/set_config_option"})
_CLOSING: Final = frozenset({"session/close", "session/delete"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that waits for its answer, and what that will be about."""

    session_id: str
    method: str
    params: Json
    permission: Permission | None = None
    call: ToolCall | None = None
    elicitation: Elicitation | None = None
    message: UserMessage | None = None
    turn: Turn | None = None
    n: int = 0
    """The frame of a prompt."""
    states: int = 0
    """How many states the agent had told when it was asked (version 2)."""
    before: Stretch | None = None
    """What stood before the agent was asked to tell all of it again."""


def take_request(talks: Conversations, side: Side, request: Request) -> tuple[Asked, list[Change]]:
    """Let a request change the conversations; return what its answer will need."""
    session_id, method = string(request.params, "sessionId"), request.method
    plain = Asked(session_id, method, request.params)
    if side == "agent":
        if method == "elicitation/create":
            return _elicit(talks, request)
        if session_id and method == "session/request_permission":
            return _ask_consent(talks.get(session_id), request)
        return plain, []
    if not session_id:
        return plain, []
    if method == "session/prompt":
        return _prompt(talks.get(session_id), request)
    is_replay = method == "session/load" or (
        method == "session/resume" and member(request.params, "replayFrom") is not None
    )
    talk = talks.sessions.get(session_id)
    if is_replay and talk is not None and talk.items:
        return Asked(session_id, method, request.params, before=talk.restart()), []
    return plain, []


def take_answer(
    talks: Conversations, side: Side, asked: Asked, answer: Result | Failure
) -> list[Change]:
    """Let the answer to a question change the conversations."""
    result = answer.result if isinstance(answer, Result) else None
    if asked.method == "initialize":
        if member(result, "protocolVersion") == 2:
            talks.version = 2
        return []
    if isinstance(answer, Failure):
        _note_trouble(talks, side, asked, answer)
    if asked.method in OPENING:
        return _opened(talks, asked, answer)
    if not asked.session_id:
        return []
    talk = talks.get(asked.session_id)
    if asked.method == "session/prompt":
        return _prompt_answered(talk, asked, answer)
    if asked.permission is not None:
        outcome = member(result, "outcome")
        asked.permission.outcome = outcome if outcome is not None else {"outcome": "cancelled"}
        asked.permission.answered = talk.cursor.n
        return [Change(asked.session_id, asked.call)]
    if asked.elicitation is not None:
        asked.elicitation.answer({"action": "cancel"} if result is None else result, talk.cursor.n)
        return [Change(asked.session_id, asked.elicitation)]
    if isinstance(answer, Failure):
        return []
    return _went_well(talk, asked, result)


def _went_well(talk: Conversation, asked: Asked, result: Json) -> list[Change]:
    if asked.method.startswith("terminal/"):
        return _terminal(talk, asked, result)
    if asked.method in _CLOSING:
        talk.set(is_closed=True)
    elif asked.method in _CHOOSING:
        if mode := string(asked.params, "modeId"):
            talk.set(current_mode=mode)
        talk.offer(result)
    else:
        return []
    return [Change(talk.session_id, None)]


def _note_trouble(talks: Conversations, side: Side, asked: Asked, answer: Failure) -> None:
    trouble = Trouble(talks.cursor.n, side, asked.method, answer.code, answer.message)
    talk = talks.sessions.get(asked.session_id)
    if talk is None:
        talks.troubles.append(trouble)
    else:
        talk.troubles.add(trouble.n, trouble)


# Sessions and prompts


def _opened(talks: Conversations, asked: Asked, answer: Result | Failure) -> list[Change]:
    if isinstance(answer, Failure) or answer.result is None:
        if asked.before is not None:
            talks.get(asked.session_id).restore(asked.before)
        return []
    session_id = string(answer.result, "sessionId") or asked.session_id
    if not session_id:
        return []
    talk = talks.get(session_id)
    is_fork = asked.method == "session/fork" and session_id != asked.session_id
    parent = asked.session_id if is_fork else talk.surroundings.parent
    cwd = string(asked.params, "cwd") or None
    talk.set(cwd=cwd, opened_by=asked.method, parent=parent, is_closed=False)
    talk.offer(answer.result)
    return [Change(session_id, None)]


def _prompt(talk: Conversation, request: Request) -> tuple[Asked, list[Change]]:
    message = talk.prompted(member(request.params, "prompt"))
    asked = Asked(
        *(talk.session_id, request.method, None),
        message=message,
        turn=talk.begin_turn(),
        n=talk.cursor.n,
        states=talk.states,
    )
    return asked, [Change(talk.session_id, message, is_new=True)]


def _prompt_answered(talk: Conversation, asked: Asked, answer: Result | Failure) -> list[Change]:
    talk.set(open_prompts=talk.surroundings.open_prompts - 1)
    result = answer.result if isinstance(answer, Result) else None
    message_id = string(result, "messageId")
    if message_id and "stopReason" not in (result or {}):
        return _inserted(talk, asked, message_id)
    return _turn_ended(talk, asked, answer)


def _inserted(talk: Conversation, asked: Asked, message_id: str) -> list[Change]:
    """A prompt of version 2 stands in the conversation, and work on it begins."""
    if asked.message is not None and not talk.knows(message_id):
        talk.bind(asked.message, message_id)
    if talk.states == asked.states:
        talk.set(state="running")
    return [Change(talk.session_id, None)]


def _turn_ended(talk: Conversation, asked: Asked, answer: Result | Failure) -> list[Change]:
    if asked.message in talk.unbound:
        talk.unbound.remove(asked.message)
    turn = asked.turn
    if isinstance(answer, Failure):
        # Version 2: a prompt that is refused while others are worked on ends nothing.
        goes_on = turn is not None and (turn.has_run or turn.began < asked.n)
        error = f"{answer.message} ({answer.code})"
        return [talk.ended(None, error, turn=None if goes_on else turn)]
    stop = string(answer.result, "stopReason") or None
    changes: list[Change] = []
    if stop == "cancelled":
        # Version 1 has no such status: the client has to show open calls as cancelled itself.
        for call in talk.open_calls():
            call.change(talk.cursor.n, status="cancelled")
            changes.append(Change(talk.session_id, call))
    return [*changes, talk.ended(stop, None, member(answer.result, "usage"), turn)]


# What the agent asks


def _ask_consent(talk: Conversation, request: Request) -> tuple[Asked, list[Change]]:
    change = apply_call(talk, subject_of(request.params))
    call, n = change.item, talk.cursor.n
    assert isinstance(call, ToolCall)
    permission = Permission(request.id, entries(member(request.params, "options")), asked=n)
    call.ask(permission, n)
    asked = Asked(talk.session_id, request.method, None, permission=permission, call=call)
    return asked, [Change(talk.session_id, call)]


def subject_of(params: Json) -> Json:
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


def _elicit(talks: Conversations, request: Request) -> tuple[Asked, list[Change]]:
    """Let the agent ask the user, for a session or for a request of the client."""
    params = request.params
    session_id = string(params, "sessionId") or _asking_session(talks, member(params, "requestId"))
    if not session_id:
        return Asked("", request.method, params), []
    talk = talks.get(session_id)
    text = f"asks you: {string(params, 'message')}"
    elicitation = Elicitation(talk.next_key("elicitation"), text, talk.cursor.n)
    elicitation.request_id = request.id
    elicitation.mode = string(params, "mode")
    schema = member(params, "requestedSchema")
    elicitation.schema = member(params, "url") if schema is None else schema
    asked = Asked(session_id, request.method, None, elicitation=elicitation)
    return asked, [talk.add(elicitation)]


def _asking_session(talks: Conversations, id_: Json) -> str:
    """Return the session of a request that the client waits for."""
    found = talks.asked("client", id_) if isinstance(id_, str | int) else None
    return "" if found is None else found.session_id


def _terminal(talk: Conversation, asked: Asked, result: Json) -> list[Change]:
    """Version 1: what the agent learns of the client's terminals."""
    params, n = asked.params, talk.cursor.n
    key = string(result if asked.method == "terminal/create" else params, "terminalId")
    if not key:
        return []
    is_new = asked.method == "terminal/create"
    # A client may give an id again once it was released: that is another terminal.
    terminal = talk.new_terminal(key) if is_new else talk.terminal(key)
    match asked.method:
        case "terminal/create":
            words = [string(params, "command"), *map(str, entries(member(params, "args")))]
            cwd = string(params, "cwd") or None
            terminal.change(n, command=" ".join(words).strip() or None, cwd=cwd)
        case "terminal/output":
            terminal.poll(string(result, "output"), n)
            if member(result, "exitStatus") is not None:
                terminal.change(n, **exit_facts(member(result, "exitStatus")))
        case "terminal/wait_for_exit":
            terminal.change(n, **exit_facts(result))
        case "terminal/release":
            terminal.change(n, is_released=True)
        case _:
            return []
    return [shown(talk, terminal)]
