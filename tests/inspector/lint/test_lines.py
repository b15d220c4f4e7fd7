"""What JSON is, however deeply it is nested."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.lint.json_lines import spells_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS.filter(lambda each: each not in {float("inf"), float("-inf")}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES, st.sampled_from([None, 1]))
def test_what_is_json_is_known_for_it(value: Any, indent: int | None) -> None:
    assert spells_json(json.dumps(value, indent=indent))


@given(VALUES, st.integers(0, 40), st.sampled_from('[]{},:"1a '))
def test_a_text_is_json_where_the_standard_library_reads_it(
    value: Any, place: int, slip: str
) -> None:
    text = json.dumps(value)
    text = text[:place] + slip + text[place + 1 :]
    try:
        json.loads(text, parse_constant=int)
    except ValueError:
        assert not spells_json(text)
    else:
        assert spells_json(text)


@pytest.mark.parametrize("levels", [5, 50_000])
def test_nesting_has_no_end(levels: int) -> None:
    assert spells_json('{"a":[' * levels + "]}" * levels)
    assert not spells_json('{"a":[' * levels + "]}" * (levels - 1) + "]]")
    assert not spells_json('{"a":[' * levels)
