"""What a reply costs."""

from __future__ import annotations

import pytest

from acp_agent.models.model import ModelOptions, Prices, Used

USED = Used(1_000_000, 500_000, cached_read=200_000, cached_written=100_000)


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
    assert prices.of(USED) == pytest.approx(cost)
    assert ModelOptions(prices=prices).priced(USED).cost == pytest.approx(cost)


def test_without_prices_nobody_says_what_it_costs() -> None:
    assert ModelOptions().priced(USED) is USED


def test_what_is_used_adds_up() -> None:
    one, other = Used(1, 2, 3, 4, 5, 0.5, 100), Used(10, 20, 30, 40, 50, None, 100)
    assert one + other == Used(11, 22, 33, 44, 55, 0.5)
    assert (other + other).cost is None
    assert one.total == 3
