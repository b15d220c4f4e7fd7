"""Values put at places in JSON, and taken from there."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.filter.paths import look_up, read_path
from acp_inspector.intercept.spelling import delete_at, set_at
from acp_protocol.jsonrpc import Json

DOCUMENT: Json = {"a": {"b": [1, {"b": 2}], "c": None}, "d e": [], "f": "text"}


@pytest.mark.parametrize(
    "path", ["$.a.b", "$.a.b[0]", "$.a.b[-1].b", "$.a.c", '$["d e"]', "$.new", "$.a.new", "$..b"]
)
def test_what_was_put_is_found_there(path: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    assert set_at(document, read_path(path), "here")
    found = look_up(document, read_path(path))
    assert found
    assert {*found} == {"here"}


@pytest.mark.parametrize("path", ["$.x.y", "$.f.x", "$.a.b[7]", "$.a.b.x", "$..new", "$.a[0]"])
def test_where_there_is_no_place_nothing_is_put(path: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    assert not set_at(document, read_path(path), "here")
    assert document == DOCUMENT


@pytest.mark.parametrize("document", [None, 1, "text", [], {}])
def test_what_has_no_places_stays(document: Json) -> None:
    assert not delete_at(document, read_path("$.a"))
    assert not delete_at(document, read_path("$[*]"))
    assert not delete_at(document, read_path("$..a"))


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
)
PATHS = st.lists(
    st.sampled_from([".a", ".b", "..a", "[0]", "[-1]", "[*]", "..b"]), min_size=1, max_size=4
)


@given(VALUES, PATHS)
def test_what_was_removed_is_found_there_no_more(document: Json, steps: list[str]) -> None:
    path = read_path("$" + "".join(steps))
    before = copy.deepcopy(document)
    had = bool(look_up(document, path))
    assert delete_at(document, path) == had
    assert had == (document != before)
