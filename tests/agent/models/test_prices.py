"""What a reply costs."""

from __future__ import annotations

import pytest

from acp_agent.models.types import TokenUsage
from acp_agent.settings.model import Prices

USED = TokenUsage(1_000_000, 500_000, cache_read_tokens=200_000, cache_write_tokens=100_000)


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        (Prices(2.0, 8.0), 6.0),
        (Prices(2.0, 8.0, 0.5), 5.7),
        (Prices(2.0, 8.0, 0.5, 4.0), 5.9),
        (Prices(0.0, 0.0), 0.0),
    ],
)
def test_what_is_cached_has_its_own_price(prices: Prices, cost: float) -> None:
    assert USED.priced(prices).cost == pytest.approx(cost)


def test_without_prices_nobody_says_what_it_costs() -> None:
    assert USED.priced(None) is USED


def test_what_is_used_adds_up() -> None:
    one, other = TokenUsage(1, 2, 3, 4, 5, 0.5, 100), TokenUsage(10, 20, 30, 40, 50, None, 100)
    assert one + other == TokenUsage(11, 22, 33, 44, 55, 0.5)
    assert (other + other).cost is None
    assert one.total == 3
