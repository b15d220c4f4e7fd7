from __future__ import annotations

import sys

import pytest

from acp_console.agents.spec import ACP_AGENT, DEMO_AGENT, START_TIMEOUT_S, command_agent


def test_our_agent_is_run_and_no_package_of_its_name_in_the_working_directory() -> None:
    assert (sys.executable, "-P", "-m", "acp_agent") == ACP_AGENT


def test_a_command_is_kept_word_for_word_and_named_after_its_program() -> None:
    agent = command_agent(["/opt/bin/my-agent", "--acp", "a b"])
    assert agent.command == ("/opt/bin/my-agent", "--acp", "a b")
    assert agent.name == "my-agent"


def test_an_agent_keeps_its_own_version_and_dialect_unless_others_are_named() -> None:
    agent = command_agent(["my-agent"]).with_protocol(2, "acpex")
    assert agent.with_protocol(None).max_protocol_version == 2
    assert agent.with_protocol(None).dialect == "acpex"
    assert agent.with_protocol(1).max_protocol_version == 1
    assert DEMO_AGENT.with_protocol(None) == DEMO_AGENT


@pytest.mark.parametrize(
    ("command", "is_slow"),
    [
        ("my-agent --acp", False),
        ("gemini --acp", False),
        ("npx -y @google/gemini-cli --acp", True),
        ("/opt/bin/uvx kimi-cli acp", True),
        ("env LLM_API_KEY=1 openhands acp", True),
        ("my-agent --a --b --c npx", False),
    ],
)
def test_agents_that_start_slowly_have_longer_to_start(command: str, is_slow: bool) -> None:
    assert (command_agent(command.split()).start_timeout > START_TIMEOUT_S) is is_slow
