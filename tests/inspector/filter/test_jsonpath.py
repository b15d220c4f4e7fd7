"""Places in JSON."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.jsonpath import MAX_VALUES, JSONPathError, find_all, parse_path

VALUE = {"a": [{"b": 1}, {"b": [2, {"b": 3}]}], "x y": {"*": None}, "c-d": True, "é": 0}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$.a[0].b", [1]),
        ("$.a[-1].b[0]", [2]),
        ("$.a[2]", []),
        ("$.a[-3]", []),
        ("$.a[*].b", [1, [2, {"b": 3}]]),
        ("$.a.*.b", [1, [2, {"b": 3}]]),
        ("$..b", [1, [2, {"b": 3}], 3]),
        ("$..[1].b", [[2, {"b": 3}], 3]),
        ('$["x y"]["*"]', [None]),
        ('$["x y"].*', [None]),
        ("$.c-d", [True]),
        ("$.é", [0]),
        ("$.a.b", []),
        ("$.a[0].b.c", []),
        ("$[0]", []),
    ],
)
def test_a_path_finds(text: str, found: list[Any]) -> None:
    path = parse_path(text)
    assert find_all(VALUE, path) == found
    assert parse_path(str(path)) == path


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("$", 1),
        ("$.", 1),
        ("$a", 1),
        ("$..", 1),
        ("$.a.", 3),
        ("$.a..", 3),
        ("$.a...b", 3),
        ("$.a[x]", 3),
        ("$.a[0", 3),
        ("$.a[1234567890]", 3),
        ("$.0a", 1),
        ("$.a*", 3),
    ],
)
def test_an_invalid_path_is_reported_with_its_position(text: str, position: int) -> None:
    with pytest.raises(JSONPathError) as caught:
        parse_path(text)
    assert caught.value.position == position


def test_depth_and_width_have_an_end() -> None:
    deep: Any = 0
    for _ in range(5000):
        deep = [deep]
    assert len(find_all(deep, parse_path("$..[0]"))) == 5000
    wide = [[0] * 1000] * 1000
    assert len(find_all(wide, parse_path("$[*][*]"))) == MAX_VALUES


@given(st.text(alphabet='$.[]*"\\ab0-1 é', max_size=12))
def test_any_text_is_a_path_or_none(rest: str) -> None:
    try:
        path = parse_path("$" + rest)
    except JSONPathError as problem:
        assert problem.position <= len(rest) + 1  # noqa: PT017 - most texts are none
        return
    assert parse_path(str(path)) == path
