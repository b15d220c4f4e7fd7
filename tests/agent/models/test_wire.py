"""Parts of JSON that a service sent."""

from __future__ import annotations

import pytest

from acp_agent.models import wire
from acp_protocol.jsonrpc import Json


@pytest.mark.parametrize("value", [None, True, "a", 1.5, -1, 10**30, [1], {"a": 1}])
def test_what_is_no_count_is_none(value: Json) -> None:
    assert wire.count(value) == 0
    assert wire.count(7) == 7


@pytest.mark.parametrize("value", [None, True, "1", -0.5, float("inf"), 10**400, [1]])
def test_what_is_no_amount_is_none(value: Json) -> None:
    assert wire.amount(value) is None
    assert wire.amount(2) == 2.0
