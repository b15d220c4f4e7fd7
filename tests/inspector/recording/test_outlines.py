"""What lines are, without reading them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording import outlines
from acp_inspector.recording.format import (
    Footer,
    Header,
    decode_line,
    encode_entry,
    encode_footer,
    encode_header,
)
from acp_inspector.recording.outlines import Kind, Methods, outline

numbers = st.integers(min_value=1, max_value=10**18)
times = st.integers(min_value=0, max_value=10**12).map(lambda micros: micros / 10**6)
raws = st.binary().map(lambda raw: raw.replace(b"\n", b"")) | st.sampled_from(
    [
        b'{"jsonrpc":"2.0","method":"a/b"}',
        b'{"jsonrpc":"2.0","id":"x","method":"c","params":{}}',
        b'{"id":-7,"method":"d"}',
        b'{"jsonrpc":"2.0","id":1,"result":{"method":"e"}}',
    ]
)
entries = (
    st.builds(Frame, numbers, times, st.sampled_from(["client", "agent"]), raws)
    | st.builds(StderrText, numbers, times, st.binary())
    | st.builds(JournalEvent, numbers, times, st.text(min_size=1), st.just({}))
)


def kind_of(entry: Entry) -> Kind:
    match entry:
        case Frame(side=side):
            return Kind.CLIENT if side == "client" else Kind.AGENT
        case StderrText():
            return Kind.STDERR
        case JournalEvent():
            return Kind.EVENT


@given(st.lists(entries), st.integers(0, 2**50))
def test_each_entry_has_its_place_its_time_and_its_kind(written: list[Entry], at: int) -> None:
    lines = [encode_entry(entry) for entry in written]
    found = outline(b"".join(lines), at, Methods())
    assert list(found.kinds) == [kind_of(entry) for entry in written]
    assert list(found.times) == [entry.at for entry in written]
    assert list(found.offsets) == [at + len(b"".join(lines[:n])) for n in range(len(lines))]
    assert found.last_number == max((entry.n for entry in written), default=0)


@given(st.lists(st.binary()))
def test_any_bytes_have_an_outline(lines: list[bytes]) -> None:
    content = b"".join(line + b"\n" for line in lines)
    assert len(outline(content, 0, Methods()).kinds) == content.count(b"\n")


@pytest.mark.parametrize(
    ("msg", "method"),
    [
        (b'{"jsonrpc":"2.0","method":"a/b"}', "a/b"),
        (b'{"jsonrpc":"2.0","id":"x","method":"c","params":{}}', "c"),
        (b'{"jsonrpc":"2.0","id":-7,"method":"d"}', "d"),
        (b'{"id":-7,"method":"d"}', None),
        (b'{"jsonrpc":"2.0","method":"d","params":7}', None),
        (b'{"jsonrpc":"2.0","method":"d","params":[],"id":1.5}', None),
        (b'{"jsonrpc":"2.0","id":1,"result":{"method":"e"}}', None),
        (b'{"params":{"method":"f"},"method":"g"}', None),
        (b'{"method":"a\\/b"}', None),
        (b'{"method":""}', None),
    ],
)
def test_a_method_is_known_where_it_stands_at_the_beginning(msg: bytes, method: str | None) -> None:
    methods = Methods()
    found = outline(encode_entry(Frame(1, 0.0, "client", msg)), 0, methods)
    assert methods.name(found.methods[0]) == method


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{ "n": 7, "t": 1, "from": "agent", "msg": {} }\n', Kind.AGENT),
        (b'{"n":7,"t":1,"event":"mark"}\n', Kind.EVENT),
        (b'{"n":7,"t":1,"from":"agent","stderr":"x"}\n', Kind.STDERR),
        (encode_header(Header("", "", "")), Kind.HEADER),
        (encode_footer(Footer({}, "")), Kind.FOOTER),
        (b'{"n":7,"t":1.000000,"from":"client","msg":"x\n', Kind.FAULT),
        (b"\n", Kind.FAULT),
        (b"\xff\n", Kind.FAULT),
    ],
)
def test_lines_of_others_are_read_slowly(line: bytes, kind: Kind) -> None:
    found = outline(line, 0, Methods())
    is_entry = kind in {Kind.AGENT, Kind.EVENT, Kind.STDERR}
    assert list(found.kinds) == [kind]
    assert found.last_number == (7 if is_entry else 0)
    assert list(found.times) == [1.0 if is_entry else 0.0]


def test_only_so_many_methods_get_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines, "METHODS", 2)
    methods = Methods()
    assert list(methods.codes([b"a", b"b", b"c", b"a", b"\xff", b"d" * 999])) == [1, 2, 0, 1, 0, 0]
    assert list(methods.codes([b"c", b"b"])) == [0, 2]
    assert methods.names == ["a", "b"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"n":1,"t":0,"from":"client","msg":1,"end":5}',
        b'{"n":1,"t":0,"from":"client","stderr":5}',
        b'{"n":1,"t":1%s,"event":"x"}' % (b"0" * 400),
        b'{"end":[],"digest":""}',
    ],
)
def test_values_of_a_wrong_type_are_a_fault(line: bytes) -> None:
    assert not isinstance(decode_line(line), Frame | StderrText | JournalEvent | Footer)
    assert list(outline(line + b"\n", 0, Methods()).kinds) == [Kind.FAULT]
