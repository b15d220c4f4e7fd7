"""What tools are called before a service."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.types import ToolSpec
from acp_agent.models.wire import ToolNames, schema_of
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.mcp_ids import NAME_LENGTH


def offered(*names: str) -> ToolNames:
    return ToolNames([ToolSpec(name, "", {}) for name in names])


def test_a_name_that_is_taken_stays() -> None:
    names = offered("git.hub__find", "git_hub__find", "read")
    assert names.sent("git_hub__find") == "git_hub__find"
    assert names.sent("git.hub__find") == "git_hub__find_2"
    assert names.received("git_hub__find_2") == "git.hub__find"


def test_a_tool_that_is_no_longer_there_has_a_name_too() -> None:
    assert offered("read").sent("old.tool") == "old_tool"
    assert offered("read").received("what") == "what"


@given(tools=st.lists(st.text(max_size=80) | st.sampled_from(["a.b", "a_b", "a-b", "x" * 90])))
def test_every_tool_has_one_name_that_services_take(tools: list[str]) -> None:
    names = offered(*tools)
    told = {tool: names.sent(tool) for tool in tools}
    assert len(set(told.values())) == len(told)
    for tool, name in told.items():
        assert re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{NAME_LENGTH}}}", name)
        assert names.received(name) == tool


def test_arguments_are_an_object_whatever_a_tool_says() -> None:
    assert schema_of(ToolSpec("a", "", {})) == {"type": "object", "properties": {}}
    whole: Json = {"type": "object", "properties": {"path": {}}, "required": ["path"]}
    assert schema_of(ToolSpec("a", "", whole)) == whole
