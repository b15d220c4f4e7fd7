"""Times as sources tell them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.importers.model import EARLIEST, LATEST, seconds


@pytest.mark.parametrize(
    ("told", "unit", "at"), [(1.5, 1.0, 1.5), (0, 1.0, 0.0), ("2.5", 1.0, 2.5), (1500, 0.001, 1.5)]
)
def test_a_number_is_a_time(told: object, unit: float, at: float) -> None:
    assert seconds(told, unit) == at


@pytest.mark.parametrize(
    "told", [10**400, 1e308, float("inf"), float("nan"), "nan", "soon", LATEST + 1, EARLIEST - 1]
)
def test_a_time_out_of_range_is_refused(told: object) -> None:
    with pytest.raises(ValueError, match=r"out of range|could not convert"):
        seconds(told)


@pytest.mark.parametrize("told", [None, [], {}])
def test_what_is_no_number_is_refused(told: object) -> None:
    with pytest.raises(TypeError):
        seconds(told)


@given(st.floats() | st.integers())
def test_what_is_not_refused_has_a_date(told: float) -> None:
    try:
        at = seconds(told)
    except ValueError:
        return
    assert datetime.fromtimestamp(at, UTC)
