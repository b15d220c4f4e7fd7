"""How the arguments of tool calls are read: strictly, and null means absent."""

from __future__ import annotations

from typing import Any

import pytest

from acp_agent.tools.call import PreparedCall, ToolFailedError
from acp_agent.tools.registry import builtin_tools
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json

TOOLS = builtin_tools()

REQUIRED: dict[str, dict[str, Json]] = {
    "read": {"path": "notes.md"},
    "list": {},
    "find": {"pattern": "*"},
    "search": {"pattern": "x"},
    "edit": {"path": "notes.md", "new": "x"},
    "patch": {"patch": "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"},
    "write": {"path": "new.md", "text": "x"},
    "move": {"path": "notes.md", "to": "new.md"},
    "delete": {"path": "notes.md"},
    "run": {"command": ["true"]},
    "fetch": {"url": "https://example.com/"},
    "plan": {"steps": []},
    "think": {"thought": "x"},
}
"""For each tool, arguments that are enough."""


def optional_arguments(name: str) -> list[str]:
    schema: Any = TOOLS[name].offer.parameters
    return sorted(set(schema["properties"]) - set(schema.get("required", ())))


@pytest.mark.parametrize("name", TOOLS)
async def test_null_for_an_optional_argument_means_absent(workspace: Workspace, name: str) -> None:
    nulls = dict.fromkeys(optional_arguments(name))
    nulls.pop("new", None)
    absent: PreparedCall = await TOOLS[name].prepare(REQUIRED[name], workspace)
    null: PreparedCall = await TOOLS[name].prepare({**REQUIRED[name], **nulls}, workspace)
    assert (null.title, null.content, null.subjects) == (
        absent.title,
        absent.content,
        absent.subjects,
    )


async def test_null_inside_the_items_of_a_list_means_absent(workspace: Workspace) -> None:
    step: Json = {"content": "x", "status": "pending", "priority": None}
    call = await TOOLS["plan"].prepare({"steps": [step]}, workspace)
    assert call.plan == [{"content": "x", "status": "pending", "priority": "medium"}]
    edit: Json = {"new": "x", "old": None, "all": None}
    await TOOLS["edit"].prepare({"path": "notes.md", "new": None, "edits": [edit]}, workspace)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("write", {"path": "notes.md", "is_new": "true"}, "is_new must be true or false"),
        ("write", {"path": "notes.md", "is_new": 1}, "is_new must be true or false"),
        ("write", {"isNew": True}, "there is no argument isNew"),
        ("write", {"text": None}, "the argument text is missing"),
        ("run", {"command": ["echo", None]}, r"command\[2\] must be a string"),
        ("run", {"command": ["echo", True]}, r"command\[2\] must be a string"),
        ("run", {"command": []}, "command must have at least 1 item"),
        ("run", {"command": "true"}, "command must be a list"),
        ("run", {"seconds": 3601}, "seconds must be at most 3600"),
        ("run", {"seconds": 0}, "seconds must be greater than 0"),
        ("run", {"seconds": "3"}, "seconds must be a number"),
        ("read", {"line": True}, "line must be a whole number"),
        ("read", {"line": 1.5}, "line must be a whole number"),
        ("read", {"line": 0}, "line must be at least 1"),
        ("read", {"path": "\ud800"}, "path has no UTF-8 form"),
        ("read", {"\ud800": 1}, "has no UTF-8 form"),
        ("plan", {"steps": [{"status": "done"}]}, r"steps\[1\].content is missing"),
        (
            "plan",
            {"steps": [{"content": "x", "status": "done"}]},
            r"steps\[1\].status must be one of pending, in_progress, completed",
        ),
    ],
)
async def test_an_argument_of_the_wrong_type_is_refused_in_a_plain_sentence(
    workspace: Workspace, name: str, change: dict[str, Json], reason: str
) -> None:
    with pytest.raises(ToolFailedError, match=reason):
        await TOOLS[name].prepare({**REQUIRED[name], **change}, workspace)


async def test_a_whole_number_may_be_written_with_a_point(workspace: Workspace) -> None:
    call = await TOOLS["read"].prepare({"path": "notes.md", "line": 2.0}, workspace)
    assert call.title == "Read notes.md from line 2"


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_is_short_and_whole(name: str) -> None:
    text = repr(TOOLS[name].offer.parameters)
    for word in ("$ref", "$defs", "anyOf", "'title'", "'default'"):
        assert word not in text
    assert TOOLS[name].offer.parameters["additionalProperties"] is False


async def test_numbers_in_a_command_are_words(workspace: Workspace) -> None:
    call = await TOOLS["run"].prepare({"command": ["sleep", 5, 0.5]}, workspace)
    assert call.title == "Run sleep 5 0.5"
