"""What commands are answered with: whatever names hold, it stays text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.mcp.servers import McpServers
from acp_agent.models.types import TokenUsage
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.permissions.grants import PermissionPolicy
from acp_agent.permissions.policy import PolicyRule
from acp_agent.tools.call import Outcome, PreparedCall
from acp_agent.tools.registry import builtin_tools
from acp_agent.tools.subject import Subject
from acp_agent.turn.slash_command_list import LOCAL_COMMANDS
from acp_agent.turn.slash_command_replies import (
    SessionInfo,
    code,
    help_text,
    permissions_text,
    tools_text,
    usage_text,
)
from tests.agent.conftest import selected

TOOLS = builtin_tools()

AROUND = SessionInfo(
    LOCAL_COMMANDS, "m", McpServers(TOOLS), SessionPermissions(), TokenUsage(0, 0), None, ()
)


def command(*words: str) -> PreparedCall:
    async def run(*_: object) -> Outcome:
        raise AssertionError

    return PreparedCall("run", "execute", run, subjects=[Subject("command", words)])


@given(st.text(max_size=50))
def test_a_name_stays_code_whatever_backticks_are_in_it(name: str) -> None:
    shown = code(name)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert shown.endswith(fence)
    assert fence not in shown[len(fence) : -len(fence)].split(" ")
    assert "\n" not in shown


def test_help_names_commands_and_instructions() -> None:
    told = help_text(replace(AROUND, instructions=["AGENTS.md"]))
    assert [f"`/{each.name}" in told for each in LOCAL_COMMANDS] == [True] * len(LOCAL_COMMANDS)
    assert told.endswith("The model is told the instructions of the project in `AGENTS.md`.")
    cut = help_text(replace(AROUND, instructions=["AGENTS.md"], is_cut=True))
    assert cut.endswith("it is told the first 32768 characters.")
    assert "instructions" not in help_text(AROUND)


def test_tools_are_named_with_their_kinds() -> None:
    told = tools_text(AROUND)
    assert "- `read` (read): " in told
    assert told.endswith("There are no MCP servers in this session.")


def test_what_was_spent_is_told_as_far_as_it_is_known() -> None:
    assert usage_text(AROUND).startswith("Nothing was spent")
    spent = TokenUsage(1200, 80, reasoning_tokens=30, cache_read_tokens=1000, cost=0.01234)
    told = usage_text(replace(AROUND, spent=spent, usage={"used": 640, "size": 1000}))
    assert told.splitlines()[2:] == [
        "- read: 1200 tokens, 1000 of them from a cache",
        "- written: 80 tokens, 30 of them for thoughts",
        "- cost: $0.0123",
        "- window: 640 of 1000 tokens, 64 %",
    ]
    unknown = usage_text(replace(AROUND, spent=TokenUsage(1, 1)))
    assert "nobody says" in unknown
    assert "`--window`" in unknown


def test_what_is_remembered_is_told_and_can_be_forgotten(tmp_path: Path) -> None:
    rules = PermissionPolicy(rules=(PolicyRule("deny", "delete"),))
    permissions = SessionPermissions(rules, tmp_path)
    around = replace(AROUND, permissions=permissions)
    assert permissions_text(around, "").endswith(
        "Nothing is remembered of your answers in this session."
    )
    assert permissions_text(around, "forget").startswith("Nothing is remembered")
    call = command("cargo", "te`st")
    permissions.record_choice(call, selected("allow-always"))
    told = permissions_text(around, "")
    assert "- `deny delete`" in told
    assert "- allow exactly ``cargo 'te`st'``" in told
    assert permissions.decide(call) is not None
    assert "forgets it" in permissions_text(around, "everything")
    assert permissions_text(around, "forget") == "1 answer was forgotten: you are asked again."
    assert permissions.decide(call) is None


@pytest.mark.parametrize("usage", [{"used": "a", "size": 1}, {"used": 1, "size": 0}, {}])
def test_a_window_that_makes_no_sense_is_not_told(usage: dict[str, object]) -> None:
    assert "nobody says" in usage_text(replace(AROUND, spent=TokenUsage(1, 1), usage=usage))
