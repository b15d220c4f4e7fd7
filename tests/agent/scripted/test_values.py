"""JSON values of a scenario."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.scripted.values import difference, filled, merged
from acp_protocol.jsonrpc import Json

KNOWN: Json = {"id": 7, "name": "Ada", "answer": {"content": "milk", "list": [1, {"x": 2}]}}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("$id", 7),
        ("the $id", "the 7"),
        ("$name and $name", "Ada and Ada"),
        ("$answer.content", "milk"),
        ("<$answer.list.1.x>", "<2>"),
        ("$answer.none", None),
        ("$stranger", "$stranger"),
        ("$$id costs $$5", "$id costs $5"),
        ("5 $", "5 $"),
        ({"a": ["$id", "x"]}, {"a": [7, "x"]}),
    ],
)
def test_names_stand_for_what_is_known(value: Json, shown: Json) -> None:
    assert filled(value, KNOWN) == shown


def test_the_end_of_a_sentence_is_no_path() -> None:
    assert filled("Hello, $answer.content.", KNOWN) == "Hello, milk."


@given(VALUES)
def test_nothing_that_is_filled_raises(value: Json) -> None:
    filled(value, KNOWN)


@given(VALUES)
def test_every_value_is_as_it_is_expected_to_be(value: Json) -> None:
    assert difference(value, value) is None


@given(VALUES, VALUES)
def test_a_value_that_is_expected_is_found_by_its_look(expected: Json, actual: Json) -> None:
    found = difference(expected, actual)
    assert found is None or found.startswith("$")


@pytest.mark.parametrize(
    ("expected", "actual", "sentence"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, None),
        ({"a": "*"}, {"a": None}, None),
        ({"a": "*"}, {}, "$.a is missing"),
        ({"a": [1, 2]}, {"a": [1]}, "$.a has 1 entries, not 2"),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "$.a.1.b is 3, not 2"),
        (1, True, "$ is True, not 1"),
        ({}, None, "$ is None, not {}"),
    ],
)
def test_the_first_difference_is_told(expected: Json, actual: Json, sentence: str | None) -> None:
    assert difference(expected, actual) == sentence


def test_a_long_value_is_not_shown_to_its_end() -> None:
    assert len(difference("short", "x" * 10_000) or "") < 500


def test_members_are_put_over_members() -> None:
    whole = {"a": {"b": 1, "c": 2}, "d": [1]}
    assert merged(whole, {"a": {"c": 3}, "d": 4}) == {"a": {"b": 1, "c": 3}, "d": 4}
    assert whole == {"a": {"b": 1, "c": 2}, "d": [1]}
