"""What each kind of `session/update` does to a conversation, in both versions.

Whatever is not known is kept as a notice: nothing that an agent says is lost in silence.

Source: ACP, Prompt Turn, `session/update`; Tool Calls; Agent Plan; the same of version 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast

from acp_inspector.analysis.conversation import Change, Conversation
from acp_inspector.analysis.items import (
    AgentMessage,
    Plan,
    Thought,
    ToolCall,
    UserMessage,
    entries,
    member,
    string,
)
from acp_protocol.jsonrpc import Json

Apply: TypeAlias = Callable[[Conversation, Json], Change]


def apply_update(talk: Conversation, update: Json) -> Change:
    """Let one update change the conversation; return what it changed."""
    name = string(update, "sessionUpdate")
    apply = UPDATES.get(name)
    return (
        talk.notice(f"update {name or 'without a name'}") if apply is None else apply(talk, update)
    )


def apply_call(talk: Conversation, update: Json) -> Change:
    """Create or change a tool call; what is absent stays, and in version 2 null clears."""
    call, is_new = talk.call(string(update, "toolCallId") or talk.next_key("toolcall"))
    for name, unset in (("title", ""), ("kind", "other"), ("status", "pending")):
        if value := string(update, name):
            setattr(call, name, value)
        elif _is_cleared(talk, update, name):
            setattr(call, name, unset)
    for name in ("content", "locations"):
        value = member(update, name)
        if isinstance(value, list) or _is_cleared(talk, update, name):
            setattr(call, name, entries(value))
    for name, attribute in (("rawInput", "raw_input"), ("rawOutput", "raw_output")):
        value = member(update, name)
        if value is not None or _is_cleared(talk, update, name):
            setattr(call, attribute, value)
    _show_terminals(talk, call)
    return Change(talk.session_id, call, is_new)


def _is_cleared(talk: Conversation, update: Json, name: str) -> bool:
    if talk.version < 2 or not isinstance(update, dict):
        return False
    members = cast("Mapping[str, Json]", update)
    return name in members and members[name] is None


def _show_terminals(talk: Conversation, call: ToolCall) -> None:
    shown = [block for block in call.content if member(block, "type") == "terminal"]
    keys = [string(block, "terminalId") for block in shown]
    call.terminals = {key: talk.terminal(key) for key in keys}


def _call_chunk(talk: Conversation, update: Json) -> Change:
    call, is_new = talk.call(string(update, "toolCallId") or talk.next_key("toolcall"))
    call.content = [*call.content, member(update, "content")]
    _show_terminals(talk, call)
    return Change(talk.session_id, call, is_new)


def _terminal(talk: Conversation, update: Json) -> Change:
    terminal = talk.terminal(string(update, "terminalId"))
    members = cast("Mapping[str, Json]", update)
    for name in ("command", "cwd"):
        if name in members:
            setattr(terminal, name, string(update, name) or None)
    if "output" in members:
        terminal.replace(string(members["output"], "data"))
    if "exitStatus" in members:
        status = members["exitStatus"]
        code = member(status, "exitCode")
        terminal.is_over = status is not None
        terminal.exit_code = code if isinstance(code, int) else None
        terminal.signal = string(status, "signal") or None
    return Change(talk.session_id, talk.shower(terminal))


def _terminal_chunk(talk: Conversation, update: Json) -> Change:
    terminal = talk.terminal(string(update, "terminalId"))
    terminal.add(string(update, "data"))
    return Change(talk.session_id, talk.shower(terminal))


def _user_chunk(talk: Conversation, update: Json) -> Change:
    """Take the user's words from an agent, unless it only echoes the prompt that is running."""
    if _bound(talk, update):
        return Change(talk.session_id, None)
    last = next((item for item in reversed(talk.items) if isinstance(item, UserMessage)), None)
    text = member(member(update, "content"), "text")
    is_known = last is not None and isinstance(text, str) and text in last.text
    if talk.is_busy and is_known and not string(update, "messageId"):
        return Change(talk.session_id, None)
    return talk.chunk(UserMessage, update)


def _user_message(talk: Conversation, update: Json) -> Change:
    _bound(talk, update)
    return talk.message(UserMessage, update)


def _bound(talk: Conversation, update: Json) -> bool:
    """Tell whether the update echoes a prompt, and let that be known by its id from here on."""
    message_id = string(update, "messageId")
    if not message_id or talk.knows(message_id) or not talk.unbound:
        return False
    # Prompts are inserted in their order, so the oldest without an id is the one.
    talk.bind(talk.unbound[0], message_id)
    return True


def _state(talk: Conversation, update: Json) -> Change:
    before, talk.state = talk.state, string(update, "state") or "unknown"
    talk.states += 1
    if talk.state != "idle" or before in {None, "idle"}:
        return Change(talk.session_id, None)
    error = member(update, "error")
    told = f"{string(error, 'message')} ({member(error, 'code')})" if error is not None else None
    return talk.ended(string(update, "stopReason") or None, told, member(update, "usage"))


def _plan(talk: Conversation, update: Json) -> Change:
    source = member(update, "plan") if "plan" in (update or {}) else update
    is_new = talk.plan is None
    if talk.plan is None:
        talk.plan = Plan(talk.next_key("plan"))
        talk.items.append(talk.plan)
    if isinstance(text := member(source, "content"), str):
        talk.plan.entries = [{"content": line} for line in text.splitlines() if line.strip()]
    else:
        talk.plan.entries = entries(member(source, "entries"))
    return Change(talk.session_id, talk.plan, is_new)


def _plan_removed(talk: Conversation, update: Json) -> Change:
    del update
    if talk.plan is not None:
        talk.plan.entries = []
    return Change(talk.session_id, talk.plan)


def _mode(talk: Conversation, update: Json) -> Change:
    mode = string(update, "currentModeId")
    talk.current_mode = mode or talk.current_mode
    return talk.notice(f"mode: {mode}")


def _notice(talk: Conversation, update: Json) -> Change:
    parts = (string(update, "title"), string(update, "description"))
    return talk.notice(": ".join(part for part in parts if part) or "a notice without words")


def _compaction(talk: Conversation, update: Json) -> Change:
    return talk.notice(f"context compaction: {string(update, 'status') or 'in progress'}")


def _offer(talk: Conversation, update: Json) -> Change:
    talk.offer(update)
    return Change(talk.session_id, None)


def _usage(talk: Conversation, update: Json) -> Change:
    talk.usage = update
    return Change(talk.session_id, None)


def _info(talk: Conversation, update: Json) -> Change:
    title = member(update, "title")
    talk.title = title if isinstance(title, str) else talk.title
    return Change(talk.session_id, None)


UPDATES: Final[Mapping[str, Apply]] = {
    "user_message_chunk": _user_chunk,
    "agent_message_chunk": lambda talk, update: talk.chunk(AgentMessage, update),
    "agent_thought_chunk": lambda talk, update: talk.chunk(Thought, update),
    "user_message": _user_message,
    "agent_message": lambda talk, update: talk.message(AgentMessage, update),
    "agent_thought": lambda talk, update: talk.message(Thought, update),
    "tool_call": apply_call,
    "tool_call_update": apply_call,
    "tool_call_content_chunk": _call_chunk,
    "terminal_update": _terminal,
    "terminal_output_chunk": _terminal_chunk,
    "state_update": _state,
    "plan": _plan,
    "plan_update": _plan,
    "plan_removed": _plan_removed,
    "current_mode_update": _mode,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _offer,
    "available_commands_update": _offer,
    "config_option_update": _offer,
    "session_info_update": _info,
    "usage_update": _usage,
}
"""What to do for each kind of update that is known."""
