"""Applies each kind of `session/update` to a conversation, in both versions.

Unknown updates are kept as notices, so that nothing is lost silently.

Source: ACP, Prompt Turn, `session/update`; Tool Calls; Agent Plan; the same of version 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from acp_inspector.session.conversation import Conversation, ConversationChange
from acp_inspector.session.items import (
    AgentMessage,
    Compaction,
    ModeNotice,
    SessionMessage,
    SubagentItem,
    TerminalItem,
    Thought,
    ToolCallItem,
    UserMessage,
    terminal_keys,
)
from acp_protocol.json_values import as_list, as_object, get, get_int, get_list, get_string
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.turn_updates import is_echo
from acp_protocol.schema.vocabulary import OUTPUT
from acp_protocol.tool_calls import changes

Apply: TypeAlias = Callable[[Conversation, Json], ConversationChange]


_UNSET: Final = {"title": "", "name": "", "kind": "other", "status": "pending"}
"""Fields of a tool call, each with its value once it is cleared."""


def apply_update(talk: Conversation, name: str, update: Json) -> list[ConversationChange]:
    """Apply an update of the kind `name`; the last of the changes is what it says itself."""
    apply = UPDATES.get(name)
    notices = talk.note_late(name)
    if name in OUTPUT and talk.echo is not None and (blocks := talk.echo.unlike()):
        # Nothing of that message will follow.
        talk.echo = None
        notices += [talk.chunk(UserMessage, {"content": each}) for each in blocks]
    if talk.version == 1 and name == "user_message_chunk" and not _is_echo(talk, update):
        notices += talk.note_history()
    unknown = f"update {name or 'without a name'}"
    return [*notices, talk.notice(unknown) if apply is None else apply(talk, update)]


def apply_call(talk: Conversation, update: Json) -> ConversationChange:
    """Create or change a tool call; what is no value of a field leaves it as it is."""
    call, is_new = talk.call(get_string(update, "toolCallId") or talk.next_key("toolcall"))
    fields = changes(as_object(update), talk.version)
    facts: dict[str, Any] = {}
    for name, unset in _UNSET.items():
        value = fields.get(name, "")
        if value is None or (isinstance(value, str) and value):
            facts[name] = unset if value is None else value
    locations, content = (fields.get(name, "") for name in ("locations", "content"))
    if locations is None or isinstance(locations, list):
        facts["locations"] = as_list(locations)
    for name, attribute in (("rawInput", "raw_input"), ("rawOutput", "raw_output")):
        if name in fields:
            facts[attribute] = fields[name]
    if "capabilities" in fields:
        facts["can_cancel"] = _can_cancel(update)
    # Agents add it for clients that show the output of a command and do not run it.
    if (ending := get(get(update, "_meta"), "terminal_exit")) is not None:
        facts |= {"exit_code": get_int(ending, "exit_code")}
        facts |= {"signal": get_string(ending, "signal") or None}
    if facts:
        talk.change_call(call, **facts)
    if content is None or isinstance(content, list):
        call.replace(as_list(content), talk.cursor.n)
        _show_terminals(talk, call, as_list(content))
    return ConversationChange(talk.session_id, call, is_new)


def _can_cancel(update: Json) -> bool:
    return get(get(update, "capabilities"), "cancel") is not None


def _show_terminals(talk: Conversation, call: ToolCallItem, content: list[Json]) -> None:
    for key in terminal_keys(content):
        talk.show(call, talk.terminal(key))


def _call_chunk(talk: Conversation, update: Json) -> ConversationChange:
    call, is_new = talk.call(get_string(update, "toolCallId") or talk.next_key("toolcall"))
    content = get(update, "content")
    call.add(content, talk.cursor.n)
    _show_terminals(talk, call, [content])
    return ConversationChange(talk.session_id, call, is_new)


def _terminal(talk: Conversation, update: Json) -> ConversationChange:
    terminal = talk.terminal(get_string(update, "terminalId"))
    members = cast("Mapping[str, Json]", update)
    facts: dict[str, Any] = {}
    for name in ("command", "cwd"):
        if name in members:
            facts[name] = get_string(update, name) or None
    if "exitStatus" in members:
        facts |= exit_facts(members["exitStatus"])
    if "capabilities" in members:
        facts["can_cancel"] = _can_cancel(update)
    if facts:
        terminal.change(talk.cursor.n, **facts)
    if "output" in members:
        terminal.replace(get_string(members["output"], "data"), talk.cursor.n)
    return shown(talk, terminal)


def exit_facts(status: Json) -> dict[str, Any]:
    """Return the terminal fields that an exit status sets; None: the terminal has not ended."""
    code = get(status, "exitCode")
    return {
        "is_over": status is not None,
        "exit_code": code if isinstance(code, int) else None,
        "signal": get_string(status, "signal") or None,
    }


def shown(talk: Conversation, terminal: TerminalItem) -> ConversationChange:
    """Return the change of a terminal, as one of the tool call that shows it."""
    calls = talk.calls_showing(terminal.key)
    return ConversationChange(talk.session_id, calls[-1] if calls else None, terminal=terminal)


def _terminal_chunk(talk: Conversation, update: Json) -> ConversationChange:
    terminal = talk.terminal(get_string(update, "terminalId"))
    terminal.add(get_string(update, "data"), talk.cursor.n)
    return shown(talk, terminal)


def _user_chunk(talk: Conversation, update: Json) -> ConversationChange:
    """Add a user message from the agent, unless it echoes the running prompt."""
    content = get(update, "content")
    echo = talk.echo if talk.info.is_busy else None
    is_repeated = echo is not None and echo.takes(content)
    if _bound(talk, update) or is_repeated:
        return ConversationChange(talk.session_id, None)
    if echo is None:
        return talk.chunk(UserMessage, update)
    # It only began like the prompt, so all of it is a message of its own.
    talk.echo = None
    if talk.has_message(get_string(update, "messageId")):
        return talk.chunk(UserMessage, update)
    members = as_object(update)
    changes = [
        talk.chunk(UserMessage, {**members, "content": each}) for each in (*echo.taken, content)
    ]
    return replace(changes[-1], is_new=changes[0].is_new)


def _is_echo(talk: Conversation, update: Json) -> bool:
    """Return whether a user message repeats the last prompt, or a part of it."""
    return talk.last_user_message is not None and is_echo(
        talk.last_user_message.content, get(update, "content")
    )


def _user_message(talk: Conversation, update: Json) -> ConversationChange:
    _bound(talk, update)
    return talk.message(UserMessage, update)


def _bound(talk: Conversation, update: Json) -> bool:
    """Return whether the update echoes a prompt; if so, set that prompt's message id."""
    message_id = get_string(update, "messageId")
    if not message_id or talk.has_message(message_id) or not talk.unbound:
        return False
    # Prompts are inserted in their order, so the oldest without an id is the one.
    talk.bind(talk.unbound[0], message_id)
    return True


def _state(talk: Conversation, update: Json) -> ConversationChange:
    talk.states += 1
    talk.update_info(state=get_string(update, "state") or "unknown")
    if isinstance(background := get(update, "background"), list):
        talk.update_info(background=as_list(background))
    return ConversationChange(talk.session_id, None)


def _plan(talk: Conversation, update: Json) -> ConversationChange:
    source = get(update, "plan") if "plan" in (update or {}) else update
    plan, is_new = talk.plan_of_id(get_string(source, "planId"))
    steps = get_list(source, "entries")
    if isinstance(text := get(source, "content"), str):
        steps = [{"content": line} for line in text.splitlines() if line.strip()]
    plan.replace(steps, talk.cursor.n)
    return ConversationChange(talk.session_id, plan, is_new)


def _plan_removed(talk: Conversation, update: Json) -> ConversationChange:
    plan_id = get_string(update, "planId")
    if talk.plan is None:
        return ConversationChange(talk.session_id, None)
    plan = talk.plan_of_id(plan_id)[0] if plan_id else talk.plan
    plan.replace([], talk.cursor.n)
    return ConversationChange(talk.session_id, plan)


def _mode(talk: Conversation, update: Json) -> ConversationChange:
    mode = get_string(update, "currentModeId")
    if mode:
        talk.set_mode(mode)
    key = talk.next_key(ModeNotice.key_prefix)
    return talk.add(ModeNotice(key, talk.info.mode_name, talk.info.mode, talk.cursor.n))


def _notice(talk: Conversation, update: Json) -> ConversationChange:
    parts = (get_string(update, "title"), get_string(update, "description"))
    return talk.notice(": ".join(part for part in parts if part) or "a notice without words")


def _compacted(talk: Conversation, update: Json) -> tuple[Compaction, bool]:
    key = get_string(update, "compactionId") or talk.next_key("compaction")
    line, is_new = talk.entity(Compaction, f"compaction {key}", "context compaction: in_progress")
    assert isinstance(line, Compaction)
    return line, is_new


def _compaction(talk: Conversation, update: Json) -> ConversationChange:
    line, is_new = _compacted(talk, update)
    has_summary = isinstance(update, dict) and "summary" in update
    summary = get_list(update, "summary") if has_summary else None
    line.change(talk.cursor.n, get_string(update, "status") or "in_progress", summary)
    return ConversationChange(talk.session_id, line, is_new)


def _compaction_chunk(talk: Conversation, update: Json) -> ConversationChange:
    line, is_new = _compacted(talk, update)
    line.add(get(update, "content"), talk.cursor.n)
    return ConversationChange(talk.session_id, line, is_new)


def _subagent(talk: Conversation, update: Json) -> ConversationChange:
    child, members = get_string(update, "sessionId"), cast("Mapping[str, Json]", update)
    line, is_new = talk.entity(SubagentItem, f"subagent {child}", "subagent")
    assert isinstance(line, SubagentItem)
    line.session_id = child
    facts: dict[str, Any] = {
        name: get_string(update, name) for name in ("title", "description") if name in members
    }
    if "state" in members:
        facts["state"] = get_string(members["state"], "state")
    if "capabilities" in members:
        facts["can_cancel"] = _can_cancel(update)
    line.change(talk.cursor.n, **facts)
    return ConversationChange(talk.session_id, line, is_new)


def _session_message(talk: Conversation, update: Json) -> ConversationChange:
    message, is_new = talk.text(SessionMessage, get_string(update, "messageId") or None)
    if sender := get_string(update, "senderSessionId"):
        message.sender.set(talk.cursor.n, sender)
    if "content" in (update or {}):
        message.replace(get_list(update, "content"), talk.cursor.n)
    return ConversationChange(talk.session_id, message, is_new)


def _offer(talk: Conversation, update: Json) -> ConversationChange:
    talk.update_options(update)
    return ConversationChange(talk.session_id, None)


def _usage(talk: Conversation, update: Json) -> ConversationChange:
    usage: dict[str, Json] = {}
    if talk.version >= 2 and "cost" not in (update or {}):
        # Version 2: a cost that is not sent again stays unchanged.
        usage = {"cost": cost} if (cost := get(talk.info.usage, "cost")) is not None else {}
    values = cast("Mapping[str, Json]", update).items()
    usage |= {name: value for name, value in values if name != "sessionUpdate"}
    talk.update_info(usage=usage)
    return ConversationChange(talk.session_id, None)


def _info(talk: Conversation, update: Json) -> ConversationChange:
    if "title" in (update or {}):
        # Null clears, in both versions.
        talk.update_info(title=get_string(update, "title") or None)
    return ConversationChange(talk.session_id, None)


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
    "compaction_summary_chunk": _compaction_chunk,
    "subagent_update": _subagent,
    "session_message": _session_message,
    "session_message_chunk": lambda talk, update: talk.chunk(SessionMessage, update),
    "available_commands_update": _offer,
    "config_option_update": _offer,
    "session_info_update": _info,
    "usage_update": _usage,
}
"""The function for each known kind of update."""
