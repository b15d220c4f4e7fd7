"""The protocol's own words."""

from __future__ import annotations

from acp_agent.scripted import schema
from acp_agent.tools.call import TOOL_KINDS


def test_kinds_are_those_that_the_agent_has_tools_of() -> None:
    assert set(schema.tool_kinds()) == set(TOOL_KINDS)


def test_the_words_of_both_versions_are_known_once() -> None:
    statuses, updates = schema.tool_statuses(), schema.update_names()
    assert {"completed", "paused"} <= set(statuses)
    assert {"tool_call", "state_update", "tool_call_content_chunk"} <= set(updates)
    for words in (statuses, updates):
        assert len(words) == len(set(words))


def test_why_a_turn_ends() -> None:
    assert "max_turn_requests" in schema.stop_reasons()
