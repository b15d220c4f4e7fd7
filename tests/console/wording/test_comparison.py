"""What a comparison says of each step."""

from __future__ import annotations

import pytest

from acp_console.wording.comparison import step_text
from acp_inspector.compare.steps import JournalStep
from acp_protocol.jsonrpc import Json

UPDATE = "$.params.update"


@pytest.mark.parametrize(
    ("name", "root", "value", "says"),
    [
        (
            "session_info_update",
            UPDATE,
            {"sessionUpdate": "session_info_update", "title": "Mend the test", "updatedAt": "now"},
            'title "Mend the test", updated now',
        ),
        (
            "plan",
            UPDATE,
            {
                "sessionUpdate": "plan",
                "entries": [{"content": "look", "status": "completed"}, {"status": "pending"}],
            },
            "1 of 2 steps done",
        ),
        (
            "plan_update",
            UPDATE,
            {"sessionUpdate": "plan_update", "plan": {"entries": [{"status": "completed"}]}},
            "1 of 1 steps done",
        ),
        ("agent_message_chunk", UPDATE, {"messageId": None, "text": "Hi\nthere"}, "Hi⏎there"),
        ("tool call", UPDATE, {"toolCallId": "c", "last": {"title": "Read a"}}, "Read a"),
        ("session/prompt", "$.params", {"prompt": [{"type": "text", "text": "go"}]}, "go"),
        ("fs/read_text_file", "$.params", {"sessionId": "s", "path": "/w/a"}, "path /w/a"),
        (
            "response to fs/read_text_file",
            "$",
            {"error": {"code": -32002, "message": "no such file", "data": None}},
            "-32002 no such file",
        ),
        (
            "response to fs/read_text_file",
            "$",
            {"result": {"content": "Hi"}},
            '{"result": {"content": "Hi"}}',
        ),
        ("brand_new", UPDATE, {"sessionUpdate": "brand_new"}, '{"sessionUpdate": "brand_new"}'),
        ("plan", UPDATE, None, "null"),
    ],
)
def test_a_step_says_in_words_what_its_messages_say(
    name: str, root: str, value: Json, says: str
) -> None:
    assert step_text(JournalStep("agent", name, "s", value, root=root), 100) == f"{name}  {says}"
