"""A very long line is judged as a parser judges it, in steps of any length."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acp_inspector.recording import format as recording_format
from acp_inspector.recording import scanner
from acp_inspector.recording.format import DEPTH_LIMIT, is_json
from acp_protocol import jsonrpc

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
SPELLINGS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r:")])
WINDOWS = st.sampled_from([7, 30, 1 << 18])


def judged(raw: bytes, window: int = 1 << 18) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner, "WINDOW", window)
        return scanner.is_json(raw, DEPTH_LIMIT)


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b" ", b"{}", b"[]", b" [ ] ", b"[1,]", b"[,1]", b"{,}", b'{"a"}', b'{"a":}'),
        *(b'{"a":1,}', b'{"a":1 "b":2}', b"{1:2}", b'{"a":1}}', b"[1]]", b"[1", b'{"a":1', b"[}"),
        *(b"1 2", b"01", b"-", b"1.", b".5", b"+1", b"1e5", b"1E+05", b"1e", b"-0", b"1e999"),
        *(b"9" * 400, b"9" * 5000, b"NaN", b"[NaN]", b"-Infinity", b"tru", b"nullx", b"'a'"),
        *(b'"', b'"\\"', b'"\\x"', b'"\\u12"', b'"\\ud800"', b'"\t"', b'"\x00"', b'"\x7f"'),
        *(b'"\xff"', b'"\xed\xa0\x80"', '["é","漢","🙂"]'.encode(), b'{"\\n":[{"a":[[]]}]}'),
        *(b'[[1],[2],{"a":{"b":[3,{}]}},[],[{"c":1}]]', b"[[1],[2}]", b'[{"a":{"b":[3,{]}}]'),
    ],
    ids=repr,
)
def test_it_says_what_the_parser_says(raw: bytes) -> None:
    for window in (7, 30, 1 << 18):
        assert judged(raw, window) == jsonrpc.is_json(raw)


@settings(max_examples=300)
@given(VALUES, SPELLINGS, WINDOWS, st.data())
@example([[[[[{"a": [[{}]]}]]]], "x" * 40, 10**30, 1.5e300], (",", ":"), 30, None)
def test_so_it_does_of_any_value_and_of_any_with_something_wrong(
    value: object, spelling: tuple[str, str], window: int, data: st.DataObject | None
) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=spelling)
    raw = text.encode(errors="surrogatepass")
    assert judged(raw, window) == jsonrpc.is_json(raw)
    if data is not None:
        at = data.draw(st.integers(0, len(raw)))
        signs = st.sampled_from([b"", b",", b"]", b"}", b"{", b"[", b'"', b":", b"\\", b"\xc3"])
        broken = raw[:at] + data.draw(signs) + raw[at + data.draw(st.integers(0, 2)) :]
        assert judged(broken, window) == jsonrpc.is_json(broken)


@pytest.mark.parametrize("excess", [-4, -3, -1, 0, 1, 2])
@pytest.mark.parametrize(("begin", "end"), [(b"[", b"]"), (b'{"a":', b"}"), (b"[0,1,", b"]")])
def test_nesting_is_counted_to_the_last_level(begin: bytes, end: bytes, excess: int) -> None:
    levels = DEPTH_LIMIT + excess
    assert judged(begin * levels + b"1" + end * levels) == (levels <= DEPTH_LIMIT)


@given(st.binary(max_size=40) | st.text().map(str.encode), WINDOWS)
def test_text_is_what_can_be_decoded(raw: bytes, window: int) -> None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner, "WINDOW", window)
        assert scanner.is_text(raw) == (text is not None)
        if text is not None:
            assert "".join(scanner.text_parts(raw)) == text


def test_a_very_long_frame_is_scanned_and_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_format, "SCANNED", 1)
    for raw in (b'{"a":[1,2]}', b'{"a":[1,2}', b"\xef\xbb\xbf{}", b"{}\n"):
        scanned = is_json(raw)
        monkeypatch.setattr(recording_format, "SCANNED", 1 << 30)
        assert scanned == is_json(raw)
        monkeypatch.setattr(recording_format, "SCANNED", 1)
