"""Message ids, which join the chunks of a message.

Source: ACP, "Prompt Turn", version 2's "Prompt Lifecycle"; the RFD about message ids.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, fix, track
from acp_inspector.lint.state import Point, SentRequest
from acp_protocol.json_values import as_list, as_object
from acp_protocol.schema.vocabulary import MESSAGE_CHUNKS, RESTORING, WHOLE_MESSAGES

rule = LintSubject("updates", page="rfds/message-id.mdx")

REMEMBERED: Final = 50_000
"""Messages of one session that are remembered."""
CHARACTERS: Final = 200
"""Characters of a message's first piece that are remembered."""
CLIENT_CALLS: Final = (
    "session/new",
    *RESTORING,
    "session/prompt",
    "session/cancel",
    "session/set_mode",
    "session/set_config_option",
)


@dataclass(slots=True)
class _Message:
    """A message of version 1, by its id."""

    role: str
    last: Point
    """Its newest piece."""
    prompt: SentRequest | None
    """The turn of it."""
    is_shared: bool = False
    """Pieces of another kind had its id."""


@dataclass(slots=True)
class _Stream:
    """The chunks of one kind."""

    current: str | None
    has_ids: bool
    first: Point
    is_mixed: bool = False


@dataclass(slots=True)
class _SessionMessages:
    """The messages of one session."""

    messages: dict[str, _Message] = field(default_factory=dict[str, _Message])
    streams: dict[str, _Stream] = field(default_factory=dict[str, _Stream])
    inserted: dict[str, Point] = field(default_factory=dict[str, Point])
    """By the ids that prompts were answered with: the response (v2)."""
    pieces: dict[tuple[str, str], tuple[Point, str]] = field(
        default_factory=dict[tuple[str, str], tuple[Point, str]]
    )
    """By kind and id: the first chunk of each message that was not sent as a whole yet (v2)."""


class _Messages(dict[str, _SessionMessages]):
    """The messages of each session."""


def _session_messages(context: Context) -> _SessionMessages | None:
    return context.state.of(_Messages).get(context.session_id or "")


@track(on.request(*RESTORING))
def _begin_anew(context: Context) -> None:
    if context.session_id is not None:
        context.state.of(_Messages).pop(context.session_id, None)


@track(on.update(*MESSAGE_CHUNKS))
def _keep_chunk(context: Context) -> None:
    if context.session is None:
        return
    sessions = context.state.of(_Messages)
    by_session = sessions.get(context.session.id)
    if by_session is None:
        by_session = sessions[context.session.id] = _SessionMessages()
    role, id_ = context.variant or "", context.update.get("messageId")
    name = id_ if isinstance(id_, str) else None
    if context.version == 2:
        if (
            name is not None
            and (role, name) not in by_session.pieces
            and len(by_session.pieces) < REMEMBERED
        ):
            text = as_object(context.update.get("content")).get("text")
            piece = text[:CHARACTERS] if isinstance(text, str) else ""
            by_session.pieces[role, name] = (context.point, piece)
        return
    stream = by_session.streams.get(role)
    if stream is None:
        by_session.streams[role] = _Stream(name, name is not None, context.point)
    else:
        stream.current = name
        stream.is_mixed = stream.is_mixed or stream.has_ids is not (name is not None)
    if name is None:
        return
    message = by_session.messages.get(name)
    if message is not None:
        message.last = context.point
        message.is_shared = message.is_shared or message.role != role
    elif len(by_session.messages) < REMEMBERED:
        by_session.messages[name] = _Message(role, context.point, context.session.last_prompt)


def _known(context: Context) -> _Message | None:
    """Return the message of version 1 that a live chunk continues."""
    id_, by_session = context.update.get("messageId"), _session_messages(context)
    if by_session is None or not isinstance(id_, str):
        return None
    if context.session is None or context.session.is_replaying:
        return None
    return by_session.messages.get(id_)


@rule.error(185, "implied", "agent", on.update(*MESSAGE_CHUNKS), version=1)
@details(source="rfds/message-id.mdx", since="2026-11")
@fix("Use different messageIds for messages of different kinds.")
def message_id_changes_role(context: Context) -> CheckResult:
    """One `messageId` is used for one role only (user, agent, thought). v2 gives each message type
    its own id space.
    """
    message = _known(context)
    if message is None:
        return None
    if message.role == context.variant or message.is_shared:
        return OK
    return context.problem(
        f"the messageId {quoted(context.update['messageId'])} was used for {message.role} before",
        message.last,
        at="messageId",
    )


@rule.warning(
    186, "implied", "agent", on.update(*MESSAGE_CHUNKS), version=1, source="v1/prompt-turn.mdx"
)
@fix("End one message before the next of its kind begins.")
def older_message_continued(context: Context) -> CheckResult:
    """After a chunk with another `messageId` of the same kind, an older `messageId` is not
    continued.
    """
    message, by_session = _known(context), _session_messages(context)
    if message is None or by_session is None or message.role != context.variant:
        return None
    id_ = context.update["messageId"]
    if by_session.streams[message.role].current == id_:
        return OK
    return context.problem(
        f"the message {quoted(id_)} goes on after another one began", message.last, at="messageId"
    )


@rule.info(
    187, "heuristic", "agent", on.update(*MESSAGE_CHUNKS), version=1, source="rfds/message-id.mdx"
)
@fix("Send the messageId with every chunk, or with none.")
def inconsistent_message_ids(context: Context) -> CheckResult:
    """Chunks of one stream consistently have or lack `messageId`."""
    by_session = _session_messages(context)
    stream = None if by_session is None else by_session.streams.get(context.variant or "")
    if stream is None or context.session is None or context.session.is_replaying:
        return None
    has_id = isinstance(context.update.get("messageId"), str)
    if has_id is stream.has_ids or stream.is_mixed:
        return OK
    what = "a messageId, unlike" if has_id else "no messageId, unlike"
    return context.problem(
        f"this {context.variant} has {what} those before", stream.first, at="messageId"
    )


@rule.warning(189, "implied", "agent", on.update(*MESSAGE_CHUNKS))
@fix("Give every message an id of its own.")
def reused_message_id(context: Context) -> CheckResult:
    """A message id is not reused for a later, different message in the session (outside replay)."""
    message = _known(context)
    if context.version != 1 or message is None or context.session is None:
        return None
    if message.prompt is context.session.last_prompt or message.role != context.variant:
        return OK
    if message.prompt is None or message.prompt.responded is None:
        return OK
    return context.problem(
        f"the messageId {quoted(context.update['messageId'])} was used in an earlier turn",
        message.last,
        at="messageId",
    )


@check("reused-message-id", on.result("session/prompt"))
def prompts_have_ids_of_their_own(context: Context) -> CheckResult:
    """Flag two prompts of version 2 with the same message id.

    The agent may change its messages at any time, so repeating their ids is no reuse.
    """
    id_, by_session = context.result_object.get("messageId"), _session_messages(context)
    if context.version != 2 or not isinstance(id_, str):
        return None
    earlier = None if by_session is None else by_session.inserted.get(id_)
    if earlier is None:
        return OK
    return context.problem(
        f"the messageId {quoted(id_)} is that of an earlier prompt",
        earlier,
        context.request,
        at="messageId",
    )


@track(on.result("session/prompt"))
def _keep_inserted(context: Context) -> None:
    id_ = context.result_object.get("messageId")
    if context.session is None or not isinstance(id_, str):
        return
    by_session = context.state.of(_Messages).setdefault(context.session.id, _SessionMessages())
    if len(by_session.inserted) < REMEMBERED:
        by_session.inserted.setdefault(id_, context.point)


@check(
    "reordered-updates",
    on.update(*WHOLE_MESSAGES),
    fix="Send the whole message before the pieces that follow it.",
)
def pieces_follow_what_they_belong_to(context: Context) -> CheckResult:
    """Flag chunks that a later whole message lacks.

    The message replaces them; they were probably meant to follow it.
    """
    by_session, id_ = _session_messages(context), context.update.get("messageId")
    content = as_list(context.update.get("content"))
    if not isinstance(id_, str) or not content or context.session is None:
        return None
    role = f"{context.variant}_chunk"
    point, piece = (
        (None, "") if by_session is None else by_session.pieces.get((role, id_), (None, ""))
    )
    if point is None or not piece or context.session.is_replaying:
        return OK
    texts = [text for each in content if isinstance(text := as_object(each).get("text"), str)]
    if piece in "".join(texts):
        return OK
    return context.problem(
        f"the message {quoted(id_)} is reported as a whole, without the piece that came before",
        point,
        at="content",
    )


@rule.info(191, "heuristic", "agent", on.update("tool_call"), source="v2/prompt-lifecycle.mdx")
@fix("Announce a tool call before it is updated.")
def reordered_updates(context: Context) -> CheckResult:
    """Updates for one entity are not reordered: no chunk before the update that its text depends
    on.
    """
    id_ = context.update.get("toolCallId")
    if context.version != 1 or context.session is None or not isinstance(id_, str):
        return None
    tool = context.session.tools.get(id_)
    if tool is None or tool.is_announced or context.session.is_replaying:
        return OK
    return context.problem(
        f"the tool call {quoted(id_)} was updated before it was announced",
        tool.first,
        at="toolCallId",
    )


@track(on.update(*WHOLE_MESSAGES))
def _keep_whole(context: Context) -> None:
    by_session, id_ = _session_messages(context), context.update.get("messageId")
    if by_session is not None and isinstance(id_, str) and "content" in context.update:
        by_session.pieces[f"{context.variant}_chunk", id_] = (context.point, "")


@rule.error(182, "must", "agent", on.update(*MESSAGE_CHUNKS, *WHOLE_MESSAGES), version=2)
@details(source="v2/prompt-lifecycle.mdx", case="updates.message-id")
@fix("Send the messageId with every piece.")
@checked_by(schema, at="messageId")
def missing_message_id() -> None:
    """Every message update and chunk has a non-null string `messageId`."""


@rule.error(188, "implied", "client", on.call(*CLIENT_CALLS), case="prompt.no-message-id")
@fix("Leave ids of messages to the agent.")
@checked_by(schema, at="messageId", kinds="member")
def client_message_id() -> None:
    """Clients never invent message ids (no `messageId` in requests)."""
