"""Much traffic, and every kind of update."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from acp_inspector.conformance.client.checks import TEXT_BLOCK, check_survival, expect_no_reply
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT
from acp_protocol.jsonrpc import Json

case = partial(CLIENT.case, persona="chatty")


@case("chatty.flood", "Prompt turn, Updates")
async def flood(stage: Stage) -> None:
    """Two thousand updates in a row do no harm."""
    for number in range(2000):
        await stage.say(f"word {number} ")
    await check_survival(stage)


@case("chatty.long", "Transports, stdio")
async def long_message(stage: Stage) -> None:
    """A message of a million bytes is read like any other."""
    await stage.say("x" * 1_000_000)
    await check_survival(stage)


@case("chatty.every-update", "Prompt turn, Updates")
async def every_update(stage: Stage) -> None:
    """Every kind of update of the protocol is understood."""
    at = len(stage.messages)
    for kind, fields in _EVERY_UPDATE[stage.version]:
        await stage.update(kind, **fields)
    await stage.settle()
    expect_no_reply(stage, at, "an update")


_IMAGE: Final[Json] = {"type": "image", "mimeType": "image/png", "data": "AA=="}
_LINK: Final[Json] = {"type": "resource_link", "name": "a", "uri": "file:///home/ada/a"}
_ENTRIES: Final[Json] = [{"content": "Look", "priority": "high", "status": "pending"}]
_USAGE: Final[dict[str, Json]] = {
    "used": 10,
    "size": 1000,
    "cost": {"amount": 0.5, "currency": "USD"},
}
_TITLE: Final[dict[str, Json]] = {"title": "A talk", "updatedAt": "2026-01-01T00:00:00Z"}
_DIFF: Final[Json] = {
    "type": "diff",
    "changes": [{"operation": "add", "path": "/home/ada/a", "fileType": "text"}],
    "patch": {
        "format": "git_patch",
        "text": "diff --git /home/ada/a /home/ada/a\nnew file mode 100644\n"
        "--- /dev/null\n+++ /home/ada/a\n@@ -0,0 +1 @@\n+b\n",
    },
}
_EVERY_UPDATE: Final[Mapping[int, tuple[tuple[str, dict[str, Json]], ...]]] = {
    1: (
        ("agent_thought_chunk", {"content": TEXT_BLOCK}),
        ("agent_message_chunk", {"content": _IMAGE}),
        ("agent_message_chunk", {"content": _LINK}),
        ("plan", {"entries": _ENTRIES}),
        ("plan", {"entries": []}),
        ("current_mode_update", {"currentModeId": "code"}),
        ("session_info_update", _TITLE),
        ("usage_update", _USAGE),
        ("available_commands_update", {"availableCommands": []}),
        (
            "tool_call",
            {"toolCallId": "e1", "title": "Look", "kind": "search", "status": "pending"},
        ),
        (
            "tool_call_update",
            {"toolCallId": "e1", "status": "in_progress", "rawInput": {"q": 1}},
        ),
        (
            "tool_call_update",
            {
                "toolCallId": "e1",
                "status": "completed",
                "locations": [{"path": "/home/ada/a", "line": 3}],
                "content": [
                    {"type": "content", "content": TEXT_BLOCK},
                    {"type": "diff", "path": "/home/ada/a", "oldText": None, "newText": "b"},
                ],
            },
        ),
    ),
    2: (
        ("agent_thought_chunk", {"messageId": "t1", "content": TEXT_BLOCK}),
        ("agent_thought", {"messageId": "t1", "content": [TEXT_BLOCK]}),
        ("agent_message_chunk", {"messageId": "m1", "content": _IMAGE}),
        ("agent_message_chunk", {"messageId": "m1", "content": _LINK}),
        ("agent_message", {"messageId": "m1", "content": [TEXT_BLOCK]}),
        ("agent_message", {"messageId": "m1", "content": None}),
        ("plan_update", {"plan": {"type": "items", "planId": "p1", "entries": _ENTRIES}}),
        ("plan_update", {"plan": {"type": "items", "planId": "p1", "entries": []}}),
        ("session_info_update", _TITLE),
        ("session_info_update", {"title": None}),
        ("usage_update", _USAGE),
        ("available_commands_update", {"availableCommands": []}),
        ("notice", {"severity": "info", "title": "A notice"}),
        ("compaction_update", {"compactionId": "k1", "status": "in_progress"}),
        ("compaction_update", {"compactionId": "k1", "status": "completed"}),
        ("terminal_update", {"terminalId": "t1", "command": "true", "cwd": "/home/ada"}),
        ("terminal_output_chunk", {"terminalId": "t1", "data": "b2sK"}),
        ("terminal_update", {"terminalId": "t1", "exitStatus": {"exitCode": 0}}),
        (
            "tool_call_update",
            {"toolCallId": "e1", "title": "Look", "kind": "search", "status": "pending"},
        ),
        (
            "tool_call_content_chunk",
            {"toolCallId": "e1", "content": {"type": "content", "content": TEXT_BLOCK}},
        ),
        (
            "tool_call_update",
            {
                "toolCallId": "e1",
                "status": "completed",
                "rawInput": {"q": 1},
                "locations": [{"path": "/home/ada/a", "line": 3}],
                "content": [
                    {"type": "content", "content": TEXT_BLOCK},
                    _DIFF,
                    {"type": "terminal", "terminalId": "t1"},
                ],
            },
        ),
        ("tool_call_update", {"toolCallId": "e1", "content": None}),
    ),
}
"""By version of the protocol."""


@case("chatty.many-calls", "Tool calls")
async def many_calls(stage: Stage) -> None:
    """A hundred tool calls at the same time do no harm."""
    for status in ("pending", "in_progress", "completed"):
        for number in range(100):
            is_new = status == "pending" and stage.version == 1
            kind = "tool_call" if is_new else "tool_call_update"
            await stage.update(kind, toolCallId=f"m{number}", title=f"Call {number}", status=status)
    await check_survival(stage)
