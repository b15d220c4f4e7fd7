"""The work of a version 2 session: accepted prompts, states, and the agent's messages.

This module has no checks; several modules use it.

Source: ACP version 2, "Prompt Lifecycle".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, cast

from acp_inspector.lint import on
from acp_inspector.lint.context import Context
from acp_inspector.lint.registry import track
from acp_inspector.lint.state import LintState, Point, SentRequest
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json, RequestId, id_key, is_request_id
from acp_protocol.schema.vocabulary import AGENT_CHUNKS, CLOSING, USER_MESSAGES

REMEMBERED: Final = 4096
"""Most user messages kept per session, and agent messages per piece of work."""


@dataclass(frozen=True, slots=True)
class Echo:
    """A user message as the agent reported it back."""

    point: Point
    content: list[Json] | None
    """The content; None if it was sent in chunks."""


@dataclass(slots=True)
class Foreground:
    """The foreground work of one session."""

    echoes: dict[str, Echo] = field(default_factory=dict[str, Echo])
    """User messages by id, as first reported outside replays."""
    named: dict[str, SentRequest] = field(default_factory=dict[str, SentRequest])
    """Prompts by the message id in their results."""
    accepted: list[SentRequest] = field(default_factory=list[SentRequest])
    """Accepted prompts whose work has not ended."""
    inserted: Point | None = None
    """The newest sign that a prompt was accepted, if no state was reported since."""
    is_busy: bool = False
    """The last reported state was not idle."""
    began: Point | None = None
    """Where the session last went from idle to another state."""
    ended: Point | None = None
    """Where it last went back to idle."""
    states: set[str] = field(default_factory=set[str])
    """The states reported since work began."""
    word_ids: set[str] = field(default_factory=set[str])
    """Ids of the agent's messages since work began."""
    early: Point | None = None
    """The first new message since a prompt was accepted, if no state was reported yet."""
    after_cancel: set[str] = field(default_factory=set[str])
    """Ids of messages and tool calls of cancelled work, until other work begins."""
    spoke_waiting: int = 0
    """The `requires_action` during which text was last reported."""
    waited: bool = False
    """`requires_action` was reported at some time."""
    stopped: Point | None = None
    """The last thing a client did that may stop work."""
    answered: Point | None = None
    """The client's last answer to a request of the agent."""
    reported: dict[str, Json] = field(default_factory=dict[str, Json])
    """The last state update, and its number of direct repetitions."""
    reported_at: Point | None = None
    repeats: int = 0
    replayed: Point | None = None
    """The last replayed message."""


class _Sessions(dict[str, Foreground]):
    """The foreground work of each session."""


def foreground(context: Context) -> Foreground:
    """Return the foreground work of a message's session."""
    return _of(context.state, context.session_id or "")


def _of(state: LintState, session: str) -> Foreground:
    by_session = foregrounds_of(state)
    own = by_session.get(session)
    if own is None:
        own = by_session[session] = Foreground()
    return own


def foregrounds_of(state: LintState) -> dict[str, Foreground]:
    """Return the foreground work of each session, by id."""
    return state.of(_Sessions)


def background_of(update: dict[str, Json]) -> list[dict[str, Json]] | None:
    """Return the background work in a state update; None without a list."""
    listed = update.get("background")
    return [as_object(each) for each in as_list(listed)] if isinstance(listed, list) else None


def _is_live(context: Context) -> bool:
    session = context.session
    if context.version != 2 or session is None:
        return False
    if session.is_replaying:
        foreground(context).replayed = context.point
        return False
    return True


@track(on.update(*USER_MESSAGES))
def _user_message_sent(context: Context) -> None:
    id_ = context.update.get("messageId")
    if not _is_live(context) or not isinstance(id_, str):
        return
    own = foreground(context)
    if id_ in own.echoes or len(own.echoes) >= REMEMBERED:
        return
    content = context.update.get("content")
    is_whole = context.variant == "user_message" and isinstance(content, list)
    own.echoes[id_] = Echo(context.point, as_list(content) if is_whole else None)
    if context.session is not None and (context.session.prompts or id_ in own.named):
        own.inserted = context.point


@track(on.response("session/prompt"))
def _prompt_answered(context: Context) -> None:
    id_ = context.result_object.get("messageId")
    if context.kind != "result" or not _is_live(context) or context.request is None:
        return
    own = foreground(context)
    own.inserted = context.point
    if len(own.accepted) < REMEMBERED:
        own.accepted.append(context.request)
    if isinstance(id_, str):
        own.named[id_] = context.request
        if len(own.named) > REMEMBERED:
            del own.named[next(iter(own.named))]


@track(on.update(*AGENT_CHUNKS, "agent_message", "agent_thought"))
def _agent_words_sent(context: Context) -> None:
    if context.version != 2:
        return
    id_ = context.update.get("messageId")
    if not _is_live(context) or not isinstance(id_, str):
        return
    own = foreground(context)
    session = context.session
    if session is not None and session.state == "requires_action":
        own.spoke_waiting = 0 if session.state_at is None else session.state_at.seq
    if id_ in own.word_ids:
        return
    if len(own.word_ids) < REMEMBERED:
        own.word_ids.add(id_)
    if not own.is_busy and own.inserted is not None and own.early is None:
        own.early = context.point


@track(on.update("tool_call_update"))
def _tool_updated(context: Context) -> None:
    """Treat new tool calls after a prompt as the response to it."""
    if context.version != 2 or context.session is None or context.session.is_replaying:
        return
    id_ = context.update.get("toolCallId")
    tool = context.session.tools.get(id_) if isinstance(id_, str) else None
    if tool is None or tool.first.seq != context.seq:
        return
    own = foreground(context)
    if not own.is_busy and own.inserted is not None and own.early is None:
        own.early = context.point


@track(on.update("state_update"))
def _state_updated(context: Context) -> None:
    state = context.update.get("state")
    if context.version != 2 or context.session is None or not isinstance(state, str):
        return
    own = foreground(context)
    _count(context, own)
    own.inserted = own.early = None
    own.waited = own.waited or state == "requires_action"
    if state != "idle":
        if not own.is_busy:
            own.is_busy, own.began = True, context.point
            own.states.clear()
            own.word_ids.clear()
            own.after_cancel.clear()
        if len(own.states) < REMEMBERED:
            own.states.add(state)
    elif own.is_busy:
        if context.update.get("stopReason") == "cancelled":
            own.after_cancel = own.word_ids | _unfinished(context, own)
        own.is_busy, own.ended = False, context.point
        own.word_ids = set()
        own.accepted.clear()


def _count(context: Context, own: Foreground) -> None:
    before = context.previous
    is_next = (
        before is not None and own.reported_at is not None and before.seq == own.reported_at.seq
    )
    own.repeats = own.repeats + 1 if is_next and own.reported == context.update else 0
    own.reported, own.reported_at = context.update, context.point


def _unfinished(context: Context, own: Foreground) -> set[str]:
    """Return tool calls of the cancelled work that should have ended."""
    background = background_of(context.update)
    if background is None or context.session is None or own.began is None:
        # Without a list, each of them may be background work.
        return set()
    behind = {id_ for each in background if isinstance(id_ := each.get("toolCallId"), str)}
    found: set[str] = set()
    for tool in reversed(context.session.tools.values()):
        if tool.first.seq < own.began.seq:
            break
        if tool.id not in behind:
            found.add(tool.id)
    return found


@track(
    on.notification("session/cancel"),
    on.request(*CLOSING, "session/archive"),
    on.request("tool_call/cancel", "terminal/cancel"),
)
def _stopped(context: Context) -> None:
    if context.version == 2 and context.session is not None:
        foreground(context).stopped = context.point


@track(on.notification("$/cancel_request"))
def _withdrew(context: Context) -> None:
    if context.version != 2 or context.side != "client":
        return
    id_: Json = context.params.get("requestId")
    if not is_request_id(id_):
        return
    ask = context.state.requests.get(("client", *id_key(cast("RequestId", id_))))
    if ask is not None and ask.session is not None and ask.cancelled is not None:
        _of(context.state, ask.session).stopped = context.point


@track(on.result("session/request_permission", "elicitation/create"))
def _answered(context: Context) -> None:
    if context.version == 2 and context.session is not None:
        own = foreground(context)
        own.stopped = own.answered = context.point
