"""The updates that steps send, in the words of each version.

Source: ACP, Prompt Turn, Tool Calls, Agent Plan; ACP version 2.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast

from acp_agent.diffs import git_patch
from acp_agent.scripted.values import members
from acp_protocol.jsonrpc import Json

Speaker: TypeAlias = Literal["agent_message", "agent_thought", "user_message"]
CONSENTS: Final = {
    "allow_once": "Allow",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}
"""The kinds of options of a permission request, and what they are called here."""


class MessagesV1:
    """The words of one session; it knows which tool calls there are and what they show."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.calls: dict[str, list[Json]] = {}
        """What each tool call shows."""
        self.terminals: set[str] = set()
        """The agent's own terminals that the client knows."""

    def message(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return a piece of what somebody says."""
        named = {} if message_id is None else {"messageId": message_id}
        return {"sessionUpdate": f"{speaker}_chunk", **named, "content": block}

    def whole(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return all that somebody says in a message, in place of what was said of it before."""
        return self.message(speaker, block, message_id)

    def prompt(self, blocks: Sequence[Json], message_id: str) -> list[Json]:
        """Return what the user said, as a replay tells it."""
        del message_id
        return [self.message("user_message", block, None) for block in blocks]

    def plan(self, entries: Sequence[Json]) -> Json:
        """Return the whole plan."""
        return {"sessionUpdate": "plan", "entries": list(entries)}

    def call(self, call_id: str, changed: Mapping[str, Json]) -> Json:
        """Return a new tool call, or the changes of one that was sent before."""
        is_new = call_id not in self.calls
        self._remember(call_id, changed)
        fields = self.spoken(changed)
        if is_new:
            begin = {"toolCallId": call_id, "title": call_id, "status": "pending"}
            return {"sessionUpdate": "tool_call", **begin, **fields}
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}

    def more(self, call_id: str, content: Json) -> Json:
        """Return that a tool call shows something more."""
        self.calls.setdefault(call_id, []).append(content)
        shown = self.spoken({"content": list(self.calls[call_id])})
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **shown}

    def terminal(
        self, terminal_id: str, call_id: str | None, command: Json, cwd: str
    ) -> list[Json]:
        """Return that there is a terminal of ours, which a tool call shows; only version 2 has."""
        del call_id, command, cwd
        self.terminals.add(terminal_id)
        return []

    def printed(self, terminal_id: str, call_id: str | None, output: Sequence[bytes]) -> list[Json]:
        """Return what a terminal of ours prints; here its tool call shows it as text."""
        del terminal_id
        text = b"".join(output).decode("utf-8", "replace")
        return [self.more(call_id, shown_text(text))] if call_id is not None and text else []

    def exited(self, terminal_id: str, code: int) -> list[Json]:
        """Return that the command of a terminal of ours has ended."""
        del terminal_id, code
        return []

    def pending(
        self, call_id: str, title: str, changed: Mapping[str, Json], options: Sequence[Json]
    ) -> Json:
        """Return the params of the request for consent to a tool call."""
        del title
        self._remember(call_id, changed)
        return {
            "sessionId": self.session_id,
            "toolCall": {"toolCallId": call_id, **self.spoken(changed)},
            "options": list(options),
        }

    def mode(self, mode: str, modes: Sequence[str]) -> Json:
        """Return that the session is in another mode."""
        del modes
        return {"sessionUpdate": "current_mode_update", "currentModeId": mode}

    def modes(self, mode: str, modes: Sequence[str]) -> dict[str, Json]:
        """Return the modes, as a member of the answer that opens a session."""
        listed = [{"id": each, "name": each.capitalize()} for each in modes]
        return {"modes": {"currentModeId": mode, "availableModes": listed}}

    def commands(self, commands: Mapping[str, str]) -> Json:
        """Return the commands that a prompt may begin with, and what they do."""
        listed = [{"name": name, "description": does} for name, does in commands.items()]
        return {"sessionUpdate": "available_commands_update", "availableCommands": listed}

    def state(self, state: str, **more: Json) -> Json:
        """Return what the session is at; None where the version has no word for it."""
        del state, more
        return None

    def spoken(self, changed: Mapping[str, Json]) -> dict[str, Json]:
        """Return the members of a tool call in the words of the version."""
        spoken = dict(changed)
        if spoken.get("status") == "cancelled":
            spoken["status"] = "failed"
        if spoken.get("status") == "paused":
            spoken["status"] = "in_progress"
        return spoken

    def _remember(self, call_id: str, changed: Mapping[str, Json]) -> None:
        shown = self.calls.setdefault(call_id, [])
        if "content" in changed:
            shown[:] = changed["content"]


def text_block(text: str) -> Json:
    """Return a text as content."""
    return {"type": "text", "text": text}


def shown_text(text: str) -> Json:
    """Return a text as what a tool call shows."""
    return {"type": "content", "content": text_block(text)}


def plan_entry(value: Json) -> Json:
    """Return an entry of a plan; a text alone is one that has not begun."""
    if isinstance(value, str):
        return {"content": value, "priority": "medium", "status": "pending"}
    return {"priority": "medium", "status": "pending"} | members(value)


PLAN: Final = "main"
"""The id of the only plan."""
MODE: Final = "mode"
"""The id of the option that modes have become."""


class MessagesV2(MessagesV1):
    """The words of one session of version 2: messages have ids, calls begin with an update."""

    def message(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return a piece of what somebody says, as a part of its message."""
        return {"sessionUpdate": f"{speaker}_chunk", "messageId": message_id, "content": block}

    def whole(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return all that somebody says in a message, in place of what was said of it before."""
        return {"sessionUpdate": speaker, "messageId": message_id, "content": [block]}

    def prompt(self, blocks: Sequence[Json], message_id: str) -> list[Json]:
        """Return what the user said, whole."""
        shown = {"messageId": message_id, "content": list(blocks)}
        return [{"sessionUpdate": "user_message", **shown}]

    def plan(self, entries: Sequence[Json]) -> Json:
        """Return the whole plan."""
        plan = {"type": "items", "planId": PLAN, "entries": list(entries)}
        return {"sessionUpdate": "plan_update", "plan": plan}

    def call(self, call_id: str, changed: Mapping[str, Json]) -> Json:
        """Return a tool call, or what has changed about it: that is one thing here."""
        begin: dict[str, Json] = {}
        if call_id not in self.calls:
            begin = {"title": call_id, "status": "pending"}
        self._remember(call_id, changed)
        fields = {**begin, **self.spoken(changed)}
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}

    def more(self, call_id: str, content: Json) -> Json:
        """Return that a tool call shows something more."""
        self.calls.setdefault(call_id, []).append(content)
        shown = {"toolCallId": call_id, "content": _content(content)}
        return {"sessionUpdate": "tool_call_content_chunk", **shown}

    def terminal(
        self, terminal_id: str, call_id: str | None, command: Json, cwd: str
    ) -> list[Json]:
        """Return that there is a terminal of ours, and that a tool call shows it."""
        fields: list[Json] = []
        if terminal_id not in self.terminals:
            about = {"terminalId": terminal_id, "command": command, "cwd": cwd}
            fields.append({"sessionUpdate": "terminal_update", **about})
            if call_id is not None:
                shown = {"type": "terminal", "terminalId": terminal_id}
                fields.append(self.more(call_id, shown))
        self.terminals.add(terminal_id)
        return fields

    def printed(self, terminal_id: str, call_id: str | None, output: Sequence[bytes]) -> list[Json]:
        """Return what a terminal of ours prints, byte by byte."""
        del call_id
        chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id}
        return [{**chunk, "data": b64encode(piece).decode()} for piece in output]

    def exited(self, terminal_id: str, code: int) -> list[Json]:
        """Return that the command of a terminal of ours has ended."""
        status = {"terminalId": terminal_id, "exitStatus": {"exitCode": code}}
        return [{"sessionUpdate": "terminal_update", **status}]

    def pending(
        self, call_id: str, title: str, changed: Mapping[str, Json], options: Sequence[Json]
    ) -> Json:
        """Return the params of the request for consent to a tool call."""
        self._remember(call_id, changed)
        call = {"toolCallId": call_id, **self.spoken(changed)}
        return {
            "sessionId": self.session_id,
            "title": title,
            "subject": {"type": "tool_call", "toolCall": call},
            "options": list(options),
        }

    def mode(self, mode: str, modes: Sequence[str]) -> Json:
        """Return that the session is in another mode, which is an option like others."""
        return {"sessionUpdate": "config_option_update", **self.modes(mode, modes)}

    def modes(self, mode: str, modes: Sequence[str]) -> dict[str, Json]:
        """Return the modes, as a member of the answer that opens a session."""
        option = {
            "configId": MODE,
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": mode,
            "options": [{"value": each, "name": each.capitalize()} for each in modes],
        }
        return {"configOptions": [option]}

    def commands(self, commands: Mapping[str, str]) -> Json:
        """Return the commands that a prompt may begin with, and what they do."""
        listed = [
            {"type": "command", "name": name, "description": does}
            for name, does in commands.items()
        ]
        return {"sessionUpdate": "available_commands_update", "availableCommands": listed}

    def state(self, state: str, **more: Json) -> Json:
        """Return what the session is at."""
        return {"sessionUpdate": "state_update", "state": state, **more}

    def spoken(self, changed: Mapping[str, Json]) -> dict[str, Json]:
        """Return the members of a tool call with its diffs as this version has them."""
        spoken = dict(changed)
        if isinstance(content := spoken.get("content"), list):
            spoken["content"] = [_content(each) for each in cast("list[Json]", content)]
        return spoken


def _content(content: Json) -> Json:
    diff = members(content)
    if diff.get("type") != "diff" or "newText" not in diff:
        return content
    path, old, new = diff["path"], diff.get("oldText"), diff["newText"]
    operation = "add" if old is None else "modify"
    return {
        "type": "diff",
        "changes": [{"operation": operation, "path": path, "fileType": "text"}],
        "patch": {"format": "git_patch", "text": git_patch(path, old, new)},
    }
