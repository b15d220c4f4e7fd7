"""What the agent is started with."""

from __future__ import annotations

import pytest

from acp_agent.conduct import TurnLimits
from acp_agent.config.configuration import Configuration, configuration_of
from acp_agent.mcp.limits import Limits
from acp_agent.models.choice import ModelChoice
from acp_agent.rules import PermissionRules


def test_nothing_set_is_what_is_there_by_itself() -> None:
    configuration = configuration_of({})
    assert configuration == Configuration()
    rules, limits = PermissionRules(), TurnLimits()
    assert configuration.permissions.default_policy == rules.default_policy
    assert set(configuration.permissions.auto_allow) == rules.auto_allow
    assert set(configuration.permissions.always_ask) == rules.always_ask
    assert configuration.limits.requests == limits.requests
    assert configuration.limits.tokens == limits.tokens
    assert configuration.limits.seconds == limits.seconds
    assert configuration.mcp.max_connections == Limits().connections
    assert configuration.mcp.spawn_timeout == Limits().spawn_timeout


def test_values_come_to_the_room_that_their_key_names() -> None:
    configuration = configuration_of(
        {"model.name": "ollama:x", "limits.tokens": 5}, [ModelChoice(name="demo")]
    )
    assert configuration.model == ModelChoice(name="ollama:x")
    assert configuration.limits.tokens == 5
    assert [other.name for other in configuration.others] == ["demo"]


def test_a_key_that_nobody_has_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError):
        configuration_of({"limits.token": 5})
