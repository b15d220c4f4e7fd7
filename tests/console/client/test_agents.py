from __future__ import annotations

import pytest

from acp_console.client.agents import DEMO_AGENT, UnknownAgentError, command_agent, find_agent


def test_the_demo_agent_is_found_by_its_name() -> None:
    assert find_agent("demo") is DEMO_AGENT


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownAgentError, match="unknown agent 'nope'; known agents: demo"):
        find_agent("nope")


def test_a_command_is_kept_word_for_word_and_named_after_its_program() -> None:
    agent = command_agent(["/opt/bin/my-agent", "--acp", "a b"])
    assert agent.command == ("/opt/bin/my-agent", "--acp", "a b")
    assert agent.name == "my-agent"
