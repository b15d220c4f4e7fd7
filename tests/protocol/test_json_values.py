"""Fields of JSON that may be of any type."""

from __future__ import annotations

import pytest

from acp_protocol.json_values import (
    as_list,
    as_object,
    as_string,
    descendants,
    get_list,
    get_object,
    get_string,
    get_text,
    is_finite,
)
from acp_protocol.jsonrpc import Json


@pytest.mark.parametrize("value", [None, True, 1, 1.5])
def test_what_is_of_another_type_is_empty(value: Json) -> None:
    assert (as_object(value), as_list(value), as_string(value)) == ({}, [], "")
    holders: list[Json] = [{"field": value}, {}, value, [value]]
    for holder in holders:
        assert get_text(holder, "field") is None
        assert get_string(holder, "field") == ""
        assert (get_object(holder, "field"), get_list(holder, "field")) == ({}, [])


def test_what_is_of_the_type_is_itself() -> None:
    value: Json = {"text": "a", "list": [1], "object": {"a": 1}}
    assert get_string(value, "text") == get_text(value, "text") == as_string("a") == "a"
    assert (get_list(value, "list"), get_object(value, "object")) == ([1], {"a": 1})


def test_everything_inside_a_value_comes_in_the_order_in_which_it_is_written() -> None:
    value: Json = {"a": [1, {"b": 2}], "c": "d"}
    assert [*descendants(value)] == [value, [1, {"b": 2}], 1, {"b": 2}, 2, "d"]


def test_a_value_may_be_nested_to_any_depth() -> None:
    value: Json = 1.5
    for _ in range(100_000):
        value = [value]
    assert sum(1 for _ in descendants(value)) == 100_001
    assert is_finite(value)
