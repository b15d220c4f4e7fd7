"""Durations in numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.views.statistics import BOUNDS, Histogram

SECONDS = st.lists(st.floats(0, 1000), min_size=1, max_size=50)


def durations(*seconds: float) -> Histogram:
    found = Histogram()
    for each in seconds:
        found.add(each)
    return found


def test_none_have_no_percentiles() -> None:
    assert (durations().summary().count, durations().summary().p50) == (0, None)
    assert durations().histogram() == []


def test_one_is_its_own_percentile() -> None:
    summary = durations(2.0).summary()
    assert (summary.minimum, summary.p50, summary.p99, summary.maximum) == (2.0, 2.0, 2.0, 2.0)


def test_percentiles_lie_between_the_values() -> None:
    summary = durations(*range(101)).summary()
    assert (summary.p50, summary.p90, summary.p99, summary.mean) == pytest.approx((50, 90, 99, 50))


@given(SECONDS)
def test_percentiles_are_in_order_and_every_value_is_in_one_bar(seconds: list[float]) -> None:
    found = durations(*seconds)
    summary = found.summary()
    assert summary.minimum is not None
    assert summary.p50 is not None
    assert summary.p90 is not None
    assert summary.p99 is not None
    assert summary.maximum is not None
    slack = 1e-9
    assert summary.minimum <= summary.p50 + slack
    assert summary.p50 <= summary.p90 + slack <= summary.p99 + 2 * slack
    assert summary.p99 <= summary.maximum + slack
    assert sum(count for _, count in found.histogram()) == len(found) == len(seconds)


def test_a_bar_goes_up_to_its_bound() -> None:
    last = BOUNDS[-1]
    assert durations(0.0001, 0.00011, last, last + 1).histogram() == [
        *((0.0001, 1), (0.0002, 1), (last, 1), (None, 1))
    ]
