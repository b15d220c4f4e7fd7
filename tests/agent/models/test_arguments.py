"""What calls are asked with, and what they go by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.anthropic import ID
from acp_agent.models.wire import CallIds, read_arguments


def test_who_has_an_id_of_its_own_keeps_it_and_others_get_one() -> None:
    ids = CallIds("call")
    first, second = ids.at(1), ids.at(4)
    assert [first("a"), first(""), first("a")] == ["a", "call_1_1", "call_1_2"]
    assert [second("a"), second("b")] == ["call_4_0", "b"]


@pytest.mark.parametrize("told", ["functions.read:0", "ü", "x" * 65, "a b", ""])
def test_an_id_that_the_service_does_not_know_is_another_one(told: str) -> None:
    assert CallIds("toolu", ID).at(3)(told) == "toolu_3_0"


@given(st.lists(st.lists(st.sampled_from(["", "a", "call_0_0", "call_0_1", "call_1_0"]))))
def test_no_two_calls_go_by_one_id(told: list[list[str]]) -> None:
    ids = CallIds("call", ID)
    given_ = [ids.at(place)(each) for place, reply in enumerate(told) for each in reply]
    assert len(set(given_)) == len(given_)
    assert all(ID.fullmatch(each) for each in given_)


def test_no_arguments_are_empty_ones() -> None:
    assert read_arguments("read", " ").arguments == {}
