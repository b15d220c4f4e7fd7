from __future__ import annotations

from acp_console.client.agents import DEMO_AGENT, command_agent


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
