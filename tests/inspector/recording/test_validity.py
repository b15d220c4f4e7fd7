"""The fast word and the last word are the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.recording import validity
from acp_protocol import jsonrpc

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "PATIENCE", 0)


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b" [1, 2] ",
        b"NaN",
        b"-Infinity",
        b"1.",
        b"01",
        b"-",
        b"",
        b"1e999",
        b"1" * 400,
        b"1" * 5000,
        b'"\\ud800"',
        b'"\\ud83d\\ude00"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\x00"',
        b'"\x7f"',
        b'{"a":1,"a":2}',
        b"{'a':1}",
        b"[1,]",
        b"1 2",
        b"\xef\xbb\xbf{}",
        b"1\x00",
        b'"' + b"x" * (1 << 20) + b'"',
    ],
    ids=lambda raw: repr(raw[:20]),
)
def test_a_line_is_judged_as_its_reader_will_judge_it(raw: bytes) -> None:
    assert validity.is_json(raw) == jsonrpc.is_json(raw)


@settings(max_examples=300)
@given(VALUES, st.data())
def test_so_is_any_value_and_any_value_with_something_wrong(
    value: object, data: st.DataObject
) -> None:
    raw = json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode(errors="surrogatepass")
    assert validity.is_json(raw) == jsonrpc.is_json(raw)
    at = data.draw(st.integers(0, len(raw)))
    broken = raw[:at] + data.draw(st.binary(max_size=3)) + raw[at + data.draw(st.integers(0, 2)) :]
    assert validity.is_json(broken) == jsonrpc.is_json(broken)
