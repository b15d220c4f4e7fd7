"""The ids by which pieces of a message belong together.

Source: ACP, "Prompt Turn", version 2's "Prompt Lifecycle"; the RFD about message ids.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import asks, calls, check, learns, results, updates
from acp_inspector.lint.rules.updates import CHUNKS, WHOLE
from acp_inspector.lint.state import Ask, Point

REMEMBERED: Final = 50_000
"""Messages of one session that are remembered."""
CHARACTERS: Final = 200
"""Characters of a message's first piece that are remembered."""
CLIENT_CALLS: Final = (
    "session/new",
    "session/load",
    "session/resume",
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
    prompt: Ask | None
    """The turn of it."""
    is_shared: bool = False
    """Pieces of another kind had its id."""


@dataclass(slots=True)
class _Stream:
    """The pieces of one kind."""

    current: str | None
    has_ids: bool
    first: Point
    is_mixed: bool = False


@dataclass(slots=True)
class _Told:
    """What one session told."""

    messages: dict[str, _Message] = field(default_factory=dict[str, _Message])
    streams: dict[str, _Stream] = field(default_factory=dict[str, _Stream])
    inserted: dict[str, Point] = field(default_factory=dict[str, Point])
    """By the ids that prompts were answered with: the answer (v2)."""
    pieces: dict[tuple[str, str], tuple[Point, str]] = field(
        default_factory=dict[tuple[str, str], tuple[Point, str]]
    )
    """By kind and id: the first piece of messages that were not told as a whole yet (v2)."""


@dataclass(slots=True)
class _Messages:
    """What was told, by session."""

    told: dict[str, _Told] = field(default_factory=dict[str, _Told])


def _told(moment: Moment) -> _Told | None:
    return moment.state.of(_Messages).told.get(moment.session_id or "")


@learns(asks("session/load", "session/resume"))
def _begin_anew(moment: Moment) -> None:
    if moment.session_id is not None:
        moment.state.of(_Messages).told.pop(moment.session_id, None)


@learns(updates(*CHUNKS))
def _keep_chunk(moment: Moment) -> None:
    if moment.session is None:
        return
    sessions = moment.state.of(_Messages).told
    told = sessions.get(moment.session.id)
    if told is None:
        told = sessions[moment.session.id] = _Told()
    role, id_ = moment.variant or "", moment.update.get("messageId")
    name = id_ if isinstance(id_, str) else None
    if moment.version == 2:
        if name is not None and (role, name) not in told.pieces and len(told.pieces) < REMEMBERED:
            text = members(moment.update.get("content")).get("text")
            piece = text[:CHARACTERS] if isinstance(text, str) else ""
            told.pieces[role, name] = (moment.point, piece)
        return
    stream = told.streams.get(role)
    if stream is None:
        told.streams[role] = _Stream(name, name is not None, moment.point)
    else:
        stream.current = name
        stream.is_mixed = stream.is_mixed or stream.has_ids is not (name is not None)
    if name is None:
        return
    message = told.messages.get(name)
    if message is not None:
        message.last = moment.point
        message.is_shared = message.is_shared or message.role != role
    elif len(told.messages) < REMEMBERED:
        told.messages[name] = _Message(role, moment.point, moment.session.last_prompt)


@check(
    "ACP-L182",
    updates(*CHUNKS, *WHOLE),
    fix="Send the messageId with every piece.",
)
def messages_have_ids(moment: Moment) -> Found:
    """Tell of messages of version 2, and pieces of them, without an id."""
    if isinstance(moment.update.get("messageId"), str):
        return FINE
    what = "no string" if "messageId" in moment.update else "missing"
    return moment.problem(
        f"the messageId of {moment.variant} is {what}", path="params.update.messageId"
    )


def _known(moment: Moment) -> _Message | None:
    """Return the message of version 1 that a live chunk goes on with."""
    id_, told = moment.update.get("messageId"), _told(moment)
    if told is None or not isinstance(id_, str):
        return None
    if moment.session is None or moment.session.is_replaying:
        return None
    return told.messages.get(id_)


@check(
    "ACP-L185",
    updates(*CHUNKS),
    fix="Give what is of another kind another messageId.",
)
def ids_are_of_one_role(moment: Moment) -> Found:
    """Tell, once for each, of ids that stand for messages of two kinds."""
    message = _known(moment)
    if message is None:
        return None
    if message.role == moment.variant or message.is_shared:
        return FINE
    return moment.problem(
        f"the messageId {quoted(moment.update['messageId'])} was used for {message.role} before",
        message.last,
        path="params.update.messageId",
    )


@check(
    "ACP-L186",
    updates(*CHUNKS),
    fix="End one message before the next of its kind begins.",
)
def messages_are_not_interleaved(moment: Moment) -> Found:
    """Tell of messages that go on after the next one of their kind began."""
    message, told = _known(moment), _told(moment)
    if message is None or told is None or message.role != moment.variant:
        return None
    id_ = moment.update["messageId"]
    if told.streams[message.role].current == id_:
        return FINE
    return moment.problem(
        f"the message {quoted(id_)} goes on after another one began",
        message.last,
        path="params.update.messageId",
    )


@check(
    "ACP-L187",
    updates(*CHUNKS),
    fix="Send the messageId with every chunk, or with none.",
)
def ids_are_there_or_not(moment: Moment) -> Found:
    """Tell, once for each kind, of chunks that have an id where others had none, or none."""
    told = _told(moment)
    stream = None if told is None else told.streams.get(moment.variant or "")
    if stream is None or moment.session is None or moment.session.is_replaying:
        return None
    has_id = isinstance(moment.update.get("messageId"), str)
    if has_id is stream.has_ids or stream.is_mixed:
        return FINE
    what = "a messageId, unlike" if has_id else "no messageId, unlike"
    return moment.problem(
        f"this {moment.variant} has {what} those before",
        stream.first,
        path="params.update.messageId",
    )


@check("ACP-L188", calls(*CLIENT_CALLS), fix="Leave ids of messages to the agent.")
def clients_invent_no_ids(moment: Moment) -> Found:
    """Tell of requests that come with an id for their message."""
    if "messageId" not in moment.params:
        return FINE
    return moment.problem(f"{moment.method} has a messageId", path="params.messageId")


@check("ACP-L189", updates(*CHUNKS), fix="Give every message an id of its own.")
def ids_are_not_used_again(moment: Moment) -> Found:
    """Tell of messages of version 1 with the id of one of an earlier turn."""
    message = _known(moment)
    if moment.version != 1 or message is None or moment.session is None:
        return None
    if message.prompt is moment.session.last_prompt or message.role != moment.variant:
        return FINE
    if message.prompt is None or message.prompt.answered is None:
        return FINE
    return moment.problem(
        f"the messageId {quoted(moment.update['messageId'])} was used in an earlier turn",
        message.last,
        path="params.update.messageId",
    )


@check("ACP-L189", results("session/prompt"), fix="Give every message an id of its own.")
def prompts_have_ids_of_their_own(moment: Moment) -> Found:
    """Tell of two prompts of version 2 that became one message.

    A message of the agent may be changed at any time, so that no use of its id is a reuse.
    """
    id_, told = moment.result_object.get("messageId"), _told(moment)
    if moment.version != 2 or not isinstance(id_, str):
        return None
    earlier = None if told is None else told.inserted.get(id_)
    if earlier is None:
        return FINE
    return moment.problem(
        f"the messageId {quoted(id_)} is that of an earlier prompt",
        earlier,
        moment.ask,
        path="result.messageId",
    )


@learns(results("session/prompt"))
def _keep_inserted(moment: Moment) -> None:
    id_ = moment.result_object.get("messageId")
    if moment.session is None or not isinstance(id_, str):
        return
    told = moment.state.of(_Messages).told.setdefault(moment.session.id, _Told())
    if len(told.inserted) < REMEMBERED:
        told.inserted.setdefault(id_, moment.point)


@check("ACP-L191", updates(*WHOLE), fix="Send the whole message before the pieces that follow it.")
def pieces_follow_what_they_belong_to(moment: Moment) -> Found:
    """Tell of pieces that the whole message, which came after them, does not have.

    It replaces them, so that they are lost: probably they were meant to follow it.
    """
    told, id_ = _told(moment), moment.update.get("messageId")
    content = entries(moment.update.get("content"))
    if not isinstance(id_, str) or not content or moment.session is None:
        return None
    role = f"{moment.variant}_chunk"
    point, piece = (None, "") if told is None else told.pieces.get((role, id_), (None, ""))
    if point is None or not piece or moment.session.is_replaying:
        return FINE
    texts = [text for each in content if isinstance(text := members(each).get("text"), str)]
    if piece in "".join(texts):
        return FINE
    return moment.problem(
        f"the message {quoted(id_)} is told as a whole, without the piece that came before",
        point,
        path="params.update.content",
    )


@check("ACP-L191", updates("tool_call"), fix="Announce a tool call before it is updated.")
def tool_calls_come_before_their_updates(moment: Moment) -> Found:
    """Tell of tool calls of version 1 that were updated before they were announced."""
    id_ = moment.update.get("toolCallId")
    if moment.version != 1 or moment.session is None or not isinstance(id_, str):
        return None
    tool = moment.session.tools.get(id_)
    if tool is None or tool.is_announced or moment.session.is_replaying:
        return FINE
    return moment.problem(
        f"the tool call {quoted(id_)} was updated before it was announced",
        tool.first,
        path="params.update.toolCallId",
    )


@learns(updates(*WHOLE))
def _keep_whole(moment: Moment) -> None:
    told, id_ = _told(moment), moment.update.get("messageId")
    if told is not None and isinstance(id_, str) and "content" in moment.update:
        told.pieces[f"{moment.variant}_chunk", id_] = (moment.point, "")
