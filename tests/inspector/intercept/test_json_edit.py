"""A frame spread over lines and gathered again: nothing but white space differs."""

from __future__ import annotations

import copy
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.json_edit import (
    NotEditableError,
    find_syntax_error,
    minify,
    pretty,
    unwrap,
    verbatim_bytes,
)
from acp_inspector.jsonpath import delete_at, find_all, parse_path, set_at
from acp_protocol import jsonrpc
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_pretty_and_minified_json_is_equal_and_safe_to_show(value: object) -> None:
    text = pretty(jsonrpc.encode(value))
    assert json.loads(text) == value
    assert escape_controls(text) == text
    line = minify(text)
    assert b"\n" not in line
    assert jsonrpc.parse(line) == value


@pytest.mark.parametrize(
    "raw",
    [
        b'{"b":1.50,"a":1e5,"a":2,"c":-0,"d":[],"e":{}}',
        b'["a, b : [c]","\\"{","\\u00e9"]',
        b'"alone"',
        b"12345678901234567890123",
        b"[[[]],{}]",
    ],
)
def test_spelling_order_and_doubles_survive(raw: bytes) -> None:
    assert minify(pretty(raw)) == raw


def test_it_looks_as_people_write_it() -> None:
    assert pretty(b'{"a":[1,{}],"b":{"c":null}}') == (
        '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": {\n    "c": null\n  }\n}'
    )


def test_deceptive_characters_become_escapes() -> None:
    text = pretty('"a\u202eb\u200b\U000e0041"'.encode())
    assert text == r'"a\u202eb\u200b\udb40\udc41"'
    assert json.loads(text) == "a\u202eb\u200b\U000e0041"


def test_what_is_no_json_is_edited_as_it_is_or_not_at_all() -> None:
    assert pretty(b"no JSON") == "no JSON"
    assert verbatim_bytes("no JSON\n") == b"no JSON"
    assert unwrap('{!!\n  "a": "x  y",\r\n\n  "b": [\n    1\n  ]\n') == b'{!!"a": "x  y","b": [1]'
    for raw, reason in (
        (b"\xff", "byte 0 is not UTF-8"),
        (b"a\x00", "control"),
        (b"a\tb", "control"),
    ):
        with pytest.raises(NotEditableError, match=reason):
            pretty(raw)


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("", 1, 1, "expecting value"),
        ('{"a": }', 1, 7, "expecting value"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "expecting ',' delimiter"),
        ('{"a": "x\ny"}', 1, 9, "invalid control character"),
        ('{"a": 1} x', 1, 10, "extra data"),
        ('{\n"NaN": NaN}', 2, 8, "NaN is not a number in JSON"),
        ("[" * 100_000, 1, 1, "nested too deeply"),
        ("9" * 5000, 1, 1, "a number is too long"),
    ],
)
def test_a_syntax_problem_has_its_position(text: str, line: int, column: int, reason: str) -> None:
    flaw = find_syntax_error(text)
    assert flaw is not None
    assert (flaw.line, flaw.column, flaw.reason) == (line, column, reason)
    assert str(flaw) == f"line {line}, column {column}: {reason}"


def test_the_picture_has_a_caret_below_the_position_even_in_a_long_line() -> None:
    flaw = find_syntax_error('{"long": "' + "x" * 5000 + '" oops}')
    assert flaw is not None
    shown, caret = flaw.picture.split("\n")
    assert shown[caret.index("^") :].startswith("oops")
    assert len(shown) <= 120
    hostile = find_syntax_error("[\x1b\x1b, oops]")
    assert hostile is not None
    assert "\x1b" not in hostile.picture


def test_a_text_without_a_flaw_has_none() -> None:
    assert find_syntax_error(' {"a": [1, "NaN"]} ') is None


@given(st.text())
def test_any_text_is_json_or_has_a_flaw_within_it(text: str) -> None:
    flaw = find_syntax_error(text)
    if flaw is None:
        assert jsonrpc.parse(minify(text)) == json.loads(text)
    else:
        assert 1 <= flaw.line <= text.count("\n") + 1
        assert re.fullmatch(r"[^\n]*\n *\^", flaw.picture)


DOCUMENT: Json = {"a": {"b": [1, {"b": 2}], "c": None}, "d e": [], "f": "text"}


@pytest.mark.parametrize(
    "path", ["$.a.b", "$.a.b[0]", "$.a.b[-1].b", "$.a.c", '$["d e"]', "$.new", "$.a.new", "$..b"]
)
def test_what_was_put_is_found_there(path: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    assert set_at(document, parse_path(path), "here")
    found = find_all(document, parse_path(path))
    assert found
    assert {*found} == {"here"}


@pytest.mark.parametrize("path", ["$.x.y", "$.f.x", "$.a.b[7]", "$.a.b.x", "$..new", "$.a[0]"])
def test_where_there_is_no_place_nothing_is_put(path: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    assert not set_at(document, parse_path(path), "here")
    assert document == DOCUMENT


@pytest.mark.parametrize("document", [None, 1, "text", [], {}])
def test_what_has_no_places_stays(document: Json) -> None:
    assert not delete_at(document, parse_path("$.a"))
    assert not delete_at(document, parse_path("$[*]"))
    assert not delete_at(document, parse_path("$..a"))


NEW_VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
)
PATHS = st.lists(
    st.sampled_from([".a", ".b", "..a", "[0]", "[-1]", "[*]", "..b"]), min_size=1, max_size=4
)


@given(NEW_VALUES, PATHS)
def test_what_was_removed_is_found_there_no_more(document: Json, steps: list[str]) -> None:
    path = parse_path("$" + "".join(steps))
    before = copy.deepcopy(document)
    had = bool(find_all(document, path))
    assert bool(delete_at(document, path)) == had
    assert had == (document != before)
