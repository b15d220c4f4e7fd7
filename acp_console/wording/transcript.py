"""A conversation, or its changes, as lines of text; every line is safe to show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from acp_console.wording.calls import call_result
from acp_console.wording.events import edits_text
from acp_console.wording.modes import unasked_in_mode
from acp_inspector.session.conversation import SessionSnapshot
from acp_inspector.session.items import (
    ElicitationItem,
    Item,
    ModeNotice,
    Notice,
    PlanItem,
    SessionMessage,
    TextItem,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from acp_inspector.views.state_diff import (
    ItemAppeared,
    ItemChanged,
    ItemVanished,
    SessionAppeared,
    SessionInfoChanged,
    SessionVanished,
    StateChange,
    TextGrew,
)
from acp_inspector.views.to_json import statuses
from acp_protocol.host.sanitize import escape_controls, prose_text, single_line
from acp_protocol.json_text import json_text
from acp_protocol.json_values import get_string
from acp_protocol.jsonrpc import Json

WIDTH: Final = 160
"""Characters that are shown in one line, at most."""
_INDENT: Final = "  "
_ANSWERED: Final = {"accept": "accepted", "decline": "declined", "cancel": "dismissed"}
"""What the user did with a form or a page, by the action of the response."""


def transcript_lines(snapshot: SessionSnapshot) -> Iterator[str]:
    """Yield a session as text: session info first, then all items."""
    around = snapshot.info
    state = "busy" if snapshot.info.is_busy else "closed" if around.is_closed else "ready"
    parts = [f"session {snapshot.session_id}", f"version {snapshot.version}", state]
    parts += [f"mode {around.mode_name}"] if around.current_mode else []
    parts += [f"“{around.title}”"] if around.title else []
    parts += [f"child of {around.parent}"] if around.parent else []
    yield single_line(", ".join(parts), WIDTH)
    for item in snapshot.items:
        yield from (f"{_INDENT}{line}".rstrip() for line in item_lines(item))
        if edits := snapshot.edits_of(item):
            yield _INDENT * 2 + edits_text(edits)
    for trouble in snapshot.errors:
        problem = f"{trouble.message} ({trouble.code})"
        line = f"error of the {trouble.side} to {trouble.method} in frame {trouble.n}: {problem}"
        yield _INDENT + single_line(line, WIDTH)


def item_lines(item: Item) -> Iterator[str]:
    """Yield one item; its further lines are indented."""
    match item:
        case TextItem():
            yield from _text(item)
        case ToolCallItem():
            yield from _call(item)
        case PlanItem():
            yield f"plan, {len(item.entries)} steps"
            for entry in item.entries:
                step = f"{get_string(entry, 'status') or '?'}: {get_string(entry, 'content')}"
                yield _INDENT + single_line(step, WIDTH)
        case TurnEnd():
            yield single_line(turn_end_text(item), WIDTH)
        case Notice():
            yield single_line(f"{notice_sign(item)} {notice_text(item)}", WIDTH)
        case _:
            assert_never(item)


STOPS: Final = {
    "max_tokens": "■ stopped: token limit",
    "max_turn_requests": "■ stopped: limit of requests to the model",
    "refusal": "✗ refused: the agent does not go on with this",
    "cancelled": "— cancelled",
    "end_turn": "— ended",
}
"""What is said of each stop reason: the sign tells a limit and a refusal from what a user did."""


def turn_end_text(item: TurnEnd) -> str:
    """Return how a turn ended; not escaped."""
    if item.error:
        return f"✗ turn failed: {item.error}"
    if item.is_silent and item.stop_reason == "end_turn":
        return "— ended without a reply"
    return STOPS.get(item.stop_reason or "end_turn", f"■ stopped: {item.stop_reason}")


def notice_sign(item: Notice) -> str:
    """Return the sign before a notice: a warning where the agent does not ask any more."""
    if not isinstance(item, ModeNotice):
        return "·"
    return "⚠" if unasked_in_mode(item.mode or {"id": item.name}) == "anything" else "·"


def notice_text(item: Notice) -> str:
    """Return the text of a notice; for an elicitation, with its outcome."""
    if not isinstance(item, ElicitationItem):
        return item.text
    action = get_string(item.outcome, "action")
    return f"{item.text} · {_ANSWERED.get(action, action) or 'open'}"


def _text(item: TextItem) -> Iterator[str]:
    match item:
        case UserMessage():
            who = "you"
        case Thought():
            who = "thought"
        case SessionMessage():
            who = f"session {item.sender.now}".strip()
        case _:
            who = "agent"
    lines: list[str] = []
    for text, block in item.segments():
        lines += prose_text(text).rstrip().splitlines()
        if block is not None:
            lines.append(single_line(f"[{get_string(block, 'type') or 'nothing'}]", WIDTH))
    # What is not text never stands beside the name.
    is_text = bool(lines) and item.places[:1] != [0]
    first = lines.pop(0) if is_text else ""
    yield f"{single_line(who, WIDTH)}: {first}"
    yield from ((_INDENT + line).rstrip() for line in lines)


def _call(item: ToolCallItem) -> Iterator[str]:
    states = " → ".join(statuses(item))
    head = f"tool {item.facts.title or item.key} ({item.facts.kind}): {states}"
    yield single_line(" · ".join((head, *call_result(item).parts)), WIDTH)
    for permission in item.permissions:
        outcome = permission.outcome
        chosen = get_string(outcome, "optionId") or get_string(outcome, "outcome")
        yield _INDENT + single_line(f"permission: {chosen or 'open'}", WIDTH)
    for block in item.content:
        yield _INDENT + single_line(_content(block), WIDTH)
    for terminal in item.terminals.values():
        yield _INDENT + single_line(f"$ {terminal.facts.command or terminal.key}", WIDTH)
        yield from (_INDENT * 2 + line for line in escape_controls(terminal.text).splitlines())


def _content(block: Json) -> str:
    match block:
        case {"type": "diff", "path": str(path)}:
            return f"[diff of {path}]"
        case {"type": "content", "content": {"type": "text", "text": str(text)}}:
            return text
        case _:
            return f"[{get_string(block, 'type') or 'nothing'}]"


def change_lines(change: StateChange) -> Iterator[str]:
    match change:
        case SessionAppeared(session_id):
            yield single_line(f"+ session {session_id}", WIDTH)
        case SessionVanished(session_id):
            yield single_line(f"- session {session_id}", WIDTH)
        case ItemAppeared(_, key, item):
            yield single_line(f"+ {key}: {_short(item)}", WIDTH)
        case ItemVanished(_, key, item):
            yield single_line(f"- {key}: {_short(item)}", WIDTH)
        case TextGrew(_, key, more):
            yield single_line(f"* {key} goes on: {more}", WIDTH)
        case ItemChanged(_, key, name, before, after):
            yield single_line(f"* {key}, {name}: {_json(before)} → {_json(after)}", WIDTH)
        case SessionInfoChanged(_, name, before, after):
            yield single_line(f"* {name}: {_json(before)} → {_json(after)}", WIDTH)
        case _:
            assert_never(change)


def _short(item: object) -> str:
    for name in ("text", "title", "stopReason", "error"):
        if found := get_string(item, name):
            return f"{get_string(item, 'type')} “{found}”"
    return get_string(item, "type")


def _json(value: Json) -> str:
    text = json_text(value)
    return text if len(text) <= WIDTH // 2 else text[: WIDTH // 2] + "…"
