"""The state of a session as JSON, for scripts, comparisons and `show --view conversation`.

Fields are named as in the protocol if it has them.
"""

from __future__ import annotations

from typing import Final, assert_never

from acp_inspector.session.conversation import (
    SessionError,
    SessionInfo,
    SessionSnapshot,
)
from acp_inspector.session.items import (
    AgentMessage,
    Compaction,
    ElicitationItem,
    Item,
    Notice,
    PlanItem,
    SessionMessage,
    TerminalItem,
    TextItem,
    Thought,
    ToolCallItem,
    TurnEnd,
    UserMessage,
)
from acp_inspector.session.turn import SessionTurn
from acp_protocol.jsonrpc import Json


def session_to_json(snapshot: SessionSnapshot) -> dict[str, Json]:
    found: dict[str, Json] = {
        "sessionId": snapshot.session_id,
        "version": snapshot.version,
        **info_to_json(snapshot.info),
        "turns": [turn_to_json(turn) for turn in snapshot.turns],
        "items": [item_to_json(item) for item in snapshot.items],
        "terminals": [terminal_to_json(terminal) for terminal in snapshot.terminals],
        "errors": [_error(error) for error in snapshot.errors],
    }
    edited: dict[str, Json] = {
        item.key: [each.of for each in edits]
        for item in snapshot.items
        if (edits := snapshot.edits_of(item))
    }
    return found | {"edited": edited} if edited else found


def info_to_json(around: SessionInfo) -> dict[str, Json]:
    return {
        "cwd": around.cwd,
        "openedBy": around.opened_by,
        "parent": around.parent,
        "isClosed": around.is_closed,
        "title": around.title,
        "mode": around.current_mode,
        "modes": around.modes,
        "configOptions": around.config_options,
        "availableCommands": around.commands,
        "usage": around.usage,
        "state": around.state,
        "background": around.background,
        "isBusy": around.is_busy,
    }


def turn_to_json(turn: SessionTurn) -> dict[str, Json]:
    """Return a turn; times in seconds."""
    return {
        "turn": turn.number,
        "began": turn.began,
        "ended": turn.ended,
        "prompted": turn.is_prompted,
        "stopReason": turn.stop_reason,
        "error": turn.error,
        "usage": turn.usage,
    }


def item_to_json(item: Item) -> dict[str, Json]:
    """Return one item; `type` is its kind."""
    match item:
        case TextItem():
            return _text(item)
        case ToolCallItem():
            return _call(item)
        case PlanItem():
            steps = {"planId": item.plan_id or None, "entries": item.entries}
            return {"type": "plan", "key": item.key, **steps}
        case TurnEnd():
            ending = {"stopReason": item.stop_reason, "error": item.error, "usage": item.usage}
            return {"type": "turn_end", "key": item.key, **ending}
        case Compaction():
            more = {"status": item.status, "summary": item.summary}
            return {"type": "compaction", "key": item.key, **more}
        case ElicitationItem():
            form = {"text": item.text, "mode": item.mode, "schema": item.schema}
            return {"type": "elicitation", "key": item.key, **form, "outcome": item.outcome}
        case Notice():
            return {"type": "notice", "key": item.key, "text": item.text}
        case _:
            assert_never(item)


def terminal_to_json(terminal: TerminalItem) -> dict[str, Json]:
    facts = terminal.facts
    return {
        "terminalId": terminal.key,
        "command": facts.command,
        "cwd": facts.cwd,
        "output": terminal.text,
        "isOver": facts.is_over,
        "exitCode": facts.exit_code,
        "signal": facts.signal,
        "isReleased": facts.is_released,
    }


_TEXT_TYPES: Final[dict[type[TextItem], str]] = {
    UserMessage: "user",
    AgentMessage: "agent",
    Thought: "thought",
    SessionMessage: "session",
}


def _text(item: TextItem) -> dict[str, Json]:
    words = {"messageId": item.message_id, "text": item.text, "blocks": item.blocks}
    sender = {"sender": item.sender.now} if isinstance(item, SessionMessage) else {}
    return {"type": _TEXT_TYPES[type(item)], "key": item.key, **words, **sender}


def _call(item: ToolCallItem) -> dict[str, Json]:
    facts = item.facts
    return {
        "type": "tool_call",
        "key": item.key,
        "title": facts.title,
        "name": facts.name or None,
        "kind": facts.kind,
        "status": facts.status,
        "statuses": statuses(item),
        "content": item.content,
        "locations": list(facts.locations),
        "rawInput": facts.raw_input,
        "rawOutput": facts.raw_output,
        "permissions": [
            {"options": each.options, "outcome": each.outcome} for each in item.permissions
        ],
        "terminals": [terminal_to_json(terminal) for terminal in item.terminals.values()],
    }


def statuses(item: ToolCallItem) -> list[str]:
    """Return all statuses of a tool call, in order."""
    found: list[str] = []
    for _, facts in item.history:
        if found[-1:] != [facts.status]:
            found.append(facts.status)
    return found


def _error(error: SessionError) -> dict[str, Json]:
    return {
        "n": error.n,
        "from": error.side,
        "method": error.method,
        "code": error.code,
        "message": error.message,
    }
