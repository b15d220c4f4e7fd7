"""The updates that steps send, in the words of each version.

A scenario sends bytes that the agent's own `acp_agent.updates` never would: calls without an end,
messages with chosen ids, statuses of another version. So it builds its messages by itself.

Source: ACP, Prompt Turn, Tool Calls, Agent Plan; ACP version 2.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from acp_agent.world.diffs import git_patch
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json

Speaker: TypeAlias = Literal["agent_message", "agent_thought", "user_message"]
CONSENTS: Final = {
    "allow_once": "Allow",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}
"""The kinds of options of a permission request, and what they are called here."""
PLAN: Final = "main"
"""The id of the only plan of version 2."""
MODE: Final = "mode"
"""The id of the option that modes are in version 2."""


class MessagesV1:
    """Builds the messages of one session; it knows the tool calls and what they show."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.calls: dict[str, list[Json]] = {}
        """The content of each tool call."""
        self.terminals: set[str] = set()
        """The agent's own terminals that the client knows."""

    def message(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return a piece of a message."""
        named = {} if message_id is None else {"messageId": message_id}
        return {"sessionUpdate": f"{speaker}_chunk", **named, "content": block}

    def whole(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return a whole message, which version 2 puts in the place of what it was before."""
        return self.message(speaker, block, message_id)

    def prompt(self, blocks: Sequence[Json], message_id: str) -> list[Json]:
        """Return the prompt of the user, as a replay sends it."""
        del message_id
        return [self.message("user_message", block, None) for block in blocks]

    def plan(self, entries: Sequence[Json]) -> Json:
        return {"sessionUpdate": "plan", "entries": list(entries)}

    def call(self, call_id: str, changed: Mapping[str, Json]) -> Json:
        """Return a new tool call, or the changes of one that was sent before."""
        is_new = call_id not in self.calls
        fields = self._remember(call_id, changed)
        if is_new:
            begin = {"toolCallId": call_id, "title": call_id, "status": "pending"}
            return {"sessionUpdate": "tool_call", **begin, **fields}
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}

    def more(self, call_id: str, content: Json) -> Json:
        """Return that a tool call has content beside what it has had before."""
        self.calls.setdefault(call_id, []).append(content)
        fields = self._spelled({"content": list(self.calls[call_id])})
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}

    def terminal(
        self, terminal_id: str, call_id: str | None, command: Json, cwd: str
    ) -> list[Json]:
        """Return that the agent has a terminal, which a tool call shows; only version 2 can."""
        del call_id, command, cwd
        self.terminals.add(terminal_id)
        return []

    def printed(self, terminal_id: str, call_id: str | None, output: Sequence[bytes]) -> list[Json]:
        """Return the output of the agent's terminal; here its tool call shows it as text."""
        del terminal_id
        text = b"".join(output).decode("utf-8", "replace")
        return [self.more(call_id, shown_text(text))] if call_id is not None and text else []

    def exited(self, terminal_id: str, code: int) -> list[Json]:
        del terminal_id, code
        return []

    def pending(
        self, call_id: str, title: str, changed: Mapping[str, Json], options: Sequence[Json]
    ) -> Json:
        """Return the params of the request for consent to a tool call."""
        del title
        call = {"toolCallId": call_id, **self._remember(call_id, changed)}
        return {"sessionId": self.session_id, "toolCall": call, "options": list(options)}

    def mode(self, mode: str, modes: Sequence[str]) -> Json:
        del modes
        return {"sessionUpdate": "current_mode_update", "currentModeId": mode}

    def modes(self, mode: str, modes: Sequence[str]) -> dict[str, Json]:
        """Return the modes, as a member of the result that opens a session."""
        listed = [{"id": each, "name": each.capitalize()} for each in modes]
        return {"modes": {"currentModeId": mode, "availableModes": listed}}

    def commands(self, commands: Mapping[str, str]) -> Json:
        listed = [{"name": name, "description": does} for name, does in commands.items()]
        return {"sessionUpdate": "available_commands_update", "availableCommands": listed}

    def state(self, state: str, **more: Json) -> Json:
        """Return the state of the session; None if the version has none."""
        del state, more
        return None

    def _remember(self, call_id: str, changed: Mapping[str, Json]) -> dict[str, Json]:
        """Keep the content of a tool call; return the changes in the words of the version."""
        shown = self.calls.setdefault(call_id, [])
        if "content" in changed:
            shown[:] = changed["content"]
        return self._spelled(changed)

    def _spelled(self, changed: Mapping[str, Json]) -> dict[str, Json]:
        status = {"cancelled": "failed", "paused": "in_progress"}
        return {
            name: status.get(value, value) if name == "status" else value
            for name, value in changed.items()
        }


class MessagesV2(MessagesV1):
    """Builds the messages of version 2: they have ids, and tool calls begin with an update."""

    def message(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        return {"sessionUpdate": f"{speaker}_chunk", "messageId": message_id, "content": block}

    def whole(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        return {"sessionUpdate": speaker, "messageId": message_id, "content": [block]}

    def prompt(self, blocks: Sequence[Json], message_id: str) -> list[Json]:
        shown = {"messageId": message_id, "content": list(blocks)}
        return [{"sessionUpdate": "user_message", **shown}]

    def plan(self, entries: Sequence[Json]) -> Json:
        plan = {"type": "items", "planId": PLAN, "entries": list(entries)}
        return {"sessionUpdate": "plan_update", "plan": plan}

    def call(self, call_id: str, changed: Mapping[str, Json]) -> Json:
        begin = {} if call_id in self.calls else {"title": call_id, "status": "pending"}
        fields = begin | self._remember(call_id, changed)
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}

    def more(self, call_id: str, content: Json) -> Json:
        self.calls.setdefault(call_id, []).append(content)
        shown = {"toolCallId": call_id, "content": _content_v2(content)}
        return {"sessionUpdate": "tool_call_content_chunk", **shown}

    def terminal(
        self, terminal_id: str, call_id: str | None, command: Json, cwd: str
    ) -> list[Json]:
        if terminal_id in self.terminals:
            return []
        self.terminals.add(terminal_id)
        about = {"terminalId": terminal_id, "command": command, "cwd": cwd}
        updates: list[Json] = [{"sessionUpdate": "terminal_update", **about}]
        if call_id is not None:
            updates.append(self.more(call_id, {"type": "terminal", "terminalId": terminal_id}))
        return updates

    def printed(self, terminal_id: str, call_id: str | None, output: Sequence[bytes]) -> list[Json]:
        del call_id
        chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id}
        return [{**chunk, "data": b64encode(piece).decode()} for piece in output]

    def exited(self, terminal_id: str, code: int) -> list[Json]:
        status = {"terminalId": terminal_id, "exitStatus": {"exitCode": code}}
        return [{"sessionUpdate": "terminal_update", **status}]

    def pending(
        self, call_id: str, title: str, changed: Mapping[str, Json], options: Sequence[Json]
    ) -> Json:
        call = {"toolCallId": call_id, **self._remember(call_id, changed)}
        subject = {"type": "tool_call", "toolCall": call}
        params = {"sessionId": self.session_id, "title": title, "subject": subject}
        return {**params, "options": list(options)}

    def mode(self, mode: str, modes: Sequence[str]) -> Json:
        return {"sessionUpdate": "config_option_update", **self.modes(mode, modes)}

    def modes(self, mode: str, modes: Sequence[str]) -> dict[str, Json]:
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
        listed = [
            {"type": "command", "name": name, "description": does}
            for name, does in commands.items()
        ]
        return {"sessionUpdate": "available_commands_update", "availableCommands": listed}

    def state(self, state: str, **more: Json) -> Json:
        return {"sessionUpdate": "state_update", "state": state, **more}

    def _spelled(self, changed: Mapping[str, Json]) -> dict[str, Json]:
        spelled = dict(changed)
        if isinstance(changed.get("content"), list):
            spelled["content"] = [_content_v2(each) for each in changed["content"]]
        return spelled


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def shown_text(text: str) -> Json:
    """Return a text as content of a tool call."""
    return {"type": "content", "content": text_block(text)}


def plan_entry(value: Json) -> Json:
    """Return an entry of a plan; a text alone is one that has not begun."""
    usual = {"priority": "medium", "status": "pending"}
    return {"content": value, **usual} if isinstance(value, str) else usual | as_object(value)


def _content_v2(content: Json) -> Json:
    """Return content of a tool call, with its diff as version 2 has it."""
    diff = as_object(content)
    if diff.get("type") != "diff" or "newText" not in diff:
        return content
    path, old, new = diff["path"], diff.get("oldText"), diff["newText"]
    operation = "add" if old is None else "modify"
    return {
        "type": "diff",
        "changes": [{"operation": operation, "path": path, "fileType": "text"}],
        "patch": {"format": "git_patch", "text": git_patch(path, old, new)},
    }
