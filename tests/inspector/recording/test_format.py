"""Lines of a recording: what goes in comes out, to the byte."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import (
    MAX_DEPTH,
    Footer,
    Header,
    UnreadableLine,
    decode_line,
    encode_entry,
    encode_footer,
    encode_header,
    is_json,
)
from acp_protocol import jsonrpc

numbers = st.integers(min_value=1, max_value=10**9)
times = st.integers(min_value=0, max_value=10**12).map(lambda micros: micros / 10**6)
ends = st.sampled_from([b"\n", b"\r\n", b"", b"\n\r\n"])
heads = st.sampled_from(
    [b"", b"Content-Length: 2\r\n\r\n", b"\n", b"X: \xff\nContent-Length:2\n\n"]
)
json_texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
).map(lambda value: json.dumps(value).encode())
lines = st.binary().filter(lambda raw: b"\n" not in raw) | json_texts


@given(numbers, times, st.sampled_from(["client", "agent"]), lines, ends, heads)
@example(1, 0.0, "client", b' {"a" : 1,\t"a":1e400} \r', b"\n", b"")
@example(1, 0.0, "client", b'"\\ud800"', b"\n", b"")
@example(1, 0.0, "client", b"\xef\xbb\xbf{}", b"\n", b"")
@example(1, 0.0, "client", b"NaN", b"\n", b"")
@example(1, 0.0, "client", b'{"a":"}],\\"msg\\":"}', b"\r\n", b"")
@example(1, 0.0, "client", "\u2028".encode(), b"\n", b"")
@example(1, 0.0, "client", b"[" * 990 + b"]" * 990, b"\n", b"")
@example(1, 0.0, "client", b"9" * 5000, b"\n", b"")
def test_any_frame_comes_back_to_the_byte(
    n: int, at: float, side: str, raw: bytes, end: bytes, head: bytes
) -> None:
    frame = Frame(n, at, "client" if side == "client" else "agent", raw, end, head)
    line = encode_entry(frame)
    assert line.count(b"\n") == 1
    assert decode_line(line[:-1]) == frame


def test_a_header_stands_behind_its_message_and_needs_no_end() -> None:
    frame = Frame(1, 0.5, "agent", b"{}", b"", b"Content-Length: 2\r\n\r\n")
    assert encode_entry(frame) == (
        b'{"n":1,"t":0.500000,"from":"agent","msg":{},"head":"Content-Length: 2\\r\\n\\r\\n"}\n'
    )
    assert not frame.is_cut


@given(numbers, times, st.binary())
def test_any_stderr_comes_back_to_the_byte(n: int, at: float, text: bytes) -> None:
    entry = StderrChunk(n, at, text)
    assert decode_line(encode_entry(entry)[:-1]) == entry


def test_events_keep_their_data() -> None:
    event = JournalEvent(3, 1.5, "exit", {"code": 0, "future": [1]})
    assert decode_line(encode_entry(event)[:-1]) == event


def test_a_json_frame_is_kept_verbatim() -> None:
    line = encode_entry(Frame(1, 0.25, "agent", b'{"b": 1.0, "a":1e3}'))
    assert line == b'{"n":1,"t":0.250000,"from":"agent","msg":{"b": 1.0, "a":1e3}}\n'


@pytest.mark.parametrize(
    ("raw", "key"),
    [(b"{}", "msg"), (b"NaN", "text"), (b"oops", "text"), (b"", "text"), (b"\xff", "b64")],
)
def test_every_line_is_json_whatever_the_frame_is(raw: bytes, key: str) -> None:
    assert key in json.loads(encode_entry(Frame(1, 0, "client", raw)))


@given(lines)
def test_what_counts_as_json_is_json_to_the_standard_library(raw: bytes) -> None:
    if is_json(raw):
        json.loads(raw)


def test_the_header_comes_back() -> None:
    header = Header(
        "2026-01-01T00:00:00.000Z", "acp-console 1", "v1", command=["a", "b"], about="x"
    )
    line = encode_header(header)
    assert line.startswith(b'{"acp_recording":1,"created":')
    assert decode_line(line[:-1]) == header


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b" ", b"{}", b"[]", b" [ ] ", b"[1,]", b"[,1]", b"{,}", b'{"a"}', b'{"a":}'),
        *(b'{"a":1,}', b'{"a":1 "b":2}', b"{1:2}", b'{"a":1}}', b"[1]]", b"[1", b'{"a":1', b"[}"),
        *(b"1 2", b"01", b"-", b"1.", b".5", b"+1", b"1e5", b"1E+05", b"1e", b"-0", b"1e999"),
        *(b"9" * 400, b"9" * 5000, b"NaN", b"[NaN]", b"-Infinity", b"tru", b"nullx", b"'a'"),
        *(b'"', b'"\\"', b'"\\x"', b'"\\u12"', b'"\\ud800"', b'"\t"', b'"\x00"', b'"\x7f"'),
        *(b'"\xff"', b'"\xed\xa0\x80"', '["é","漢","🙂"]'.encode(), b'{"a":1,"a":2}', b"1\x00"),
        b'"' + b"x" * (1 << 20) + b'"',
    ],
    ids=lambda raw: repr(raw[:20]),
)
def test_what_counts_as_json_is_what_its_reader_parses(raw: bytes) -> None:
    expected = jsonrpc.is_json(raw)
    # Often enough that the fast parser is taken, too, and so large that the one for large lines is.
    assert {is_json(raw) for _ in range(300 if len(raw) < 1 << 20 else 3)} == {expected}
    assert is_json(b" " * (1 << 20) + raw) == expected


@given(json_texts, st.data())
def test_json_with_something_wrong_is_judged_as_its_reader_will(
    raw: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(raw)))
    broken = raw[:at] + data.draw(st.binary(max_size=3)) + raw[at + data.draw(st.integers(0, 2)) :]
    is_one_line = b"\n" not in broken and not broken.startswith(b"\xef\xbb\xbf")
    assert is_json(broken) == (is_one_line and jsonrpc.is_json(broken))


@pytest.mark.parametrize("excess", [-4, -3, -1, 0, 1, 2])
@pytest.mark.parametrize(
    ("begin", "end"),
    [(b"[", b"]"), (b'{"a[":', b"}"), (b"[0,[],{},1,", b"]"), (b'[{"\\"":', b"}]")],
)
def test_nesting_is_counted_to_the_last_level(begin: bytes, end: bytes, excess: int) -> None:
    levels, each = MAX_DEPTH + excess, len(end)
    raw = begin * (levels // each) + b"1" + end * (levels // each)
    depth = levels // each * each + (begin.startswith(b"[0") and levels // each == levels)
    assert is_json(raw) == (depth <= MAX_DEPTH)
    assert is_json(bytearray(raw)) == (depth <= MAX_DEPTH)


def test_a_header_of_a_later_format_is_not_taken_for_ours() -> None:
    line = b'{"acp_recording":2,"created":"","tool":"","schema":""}'
    assert decode_line(line) == UnreadableLine("format version 2 is not known here")


@pytest.mark.parametrize("wrong", [5, None, True, [1], {"a": 1}], ids=repr)
@pytest.mark.parametrize("name", [field.name for field in fields(Header)])
def test_header_value_of_the_wrong_type_counts_as_empty(name: str, wrong: object) -> None:
    values = {"acp_recording": 1, "created": "c", "tool": "t", "schema": "s", name: wrong}
    header = decode_line(json.dumps(values).encode())
    assert isinstance(header, Header)
    types = get_type_hints(Header)
    for field in fields(Header):
        TypeAdapter[object](types[field.name]).validate_python(
            getattr(header, field.name), strict=True
        )


def test_the_footer_comes_back() -> None:
    footer = Footer({"frames": 2}, "abc")
    assert decode_line(encode_footer(footer)[:-1]) == footer


@given(
    lines | st.text().map(str.encode), st.sampled_from([b"", b',"end":"\\r\\n"', b',"x":{"a":1}'])
)
@example(b"[" * 990 + b"]" * 990, b"")
@example(b"NaN", b"")
@example(b"\xef\xbb\xbf1", b"")
@example(b'1,"msg":2', b"")
@example(b'1},"msg":{"a":2', b"")
def test_the_short_way_reads_as_the_long_one_does(raw: bytes, more: bytes) -> None:
    line = b'{"n":7,"t":1.500000,"from":"client","msg":%b%b}' % (raw.replace(b"\n", b""), more)
    assert decode_line(line) == decode_line(b"{ " + line[1:])


def test_members_may_have_another_order_and_spaces() -> None:
    line = b'{ "msg": {"a": [1]} , "from": "client", "t": 1, "n": 7, "new": null }'
    assert decode_line(line) == Frame(7, 1.0, "client", b' {"a": [1]} ')


@given(st.binary())
def test_any_line_is_read_or_unreadable(line: bytes) -> None:
    decode_line(line)


@pytest.mark.parametrize(
    "line",
    [b"", b"5", b"[]", b"{", b'{"n":1}', b'{"n":"1","t":0,"event":"x"}',
    b'{"n":1,"t":0,"from":"x","msg":1}',
     b'{"n":1,"t":0,"from":"client"}', b'{"n":1,"t":0,"from":"client","b64":"*"}', b"\xff", b"{}x"],
)  # fmt: skip
def test_a_broken_line_is_a_value_not_an_exception(line: bytes) -> None:
    assert isinstance(decode_line(line), UnreadableLine)
