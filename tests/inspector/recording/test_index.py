"""Rows of an index: where lines begin, what they are, and which belong together."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import (
    Footer,
    Header,
    decode_line,
    encode_entry,
    encode_footer,
    encode_header,
)
from acp_inspector.recording.index import Envelope, LineKind, Methods, Pairing, RecordingIndex
from acp_inspector.session.exchanges import Exchange, Exchanges

numbers = st.integers(min_value=1, max_value=10**18)
times = st.integers(min_value=0, max_value=10**12).map(lambda micros: micros / 10**6)
payloads = st.binary().map(lambda raw: raw.replace(b"\n", b"")) | st.sampled_from(
    [
        b'{"jsonrpc":"2.0","method":"a/b"}',
        b'{"jsonrpc":"2.0","id":"x","method":"c","params":{}}',
        b'{"id":-7,"method":"d"}',
        b'{"jsonrpc":"2.0","id":1,"result":{"method":"e"}}',
    ]
)
entries = (
    st.builds(Frame, numbers, times, st.sampled_from(["client", "agent"]), payloads)
    | st.builds(StderrChunk, numbers, times, st.binary())
    | st.builds(JournalEvent, numbers, times, st.text(min_size=1), st.just({}))
)


def indexed(lines: bytes, at: int = 0) -> RecordingIndex:
    index = RecordingIndex()
    index.add(lines, at)
    return index


def kind_of(entry: Entry) -> LineKind:
    match entry:
        case Frame(side=side):
            return LineKind.CLIENT if side == "client" else LineKind.AGENT
        case StderrChunk():
            return LineKind.STDERR
        case JournalEvent():
            return LineKind.EVENT


@given(st.lists(entries), st.integers(0, 2**50))
def test_each_entry_has_its_place_its_time_and_its_kind(written: list[Entry], at: int) -> None:
    lines = [encode_entry(entry) for entry in written]
    found = indexed(b"".join(lines), at)
    assert list(found.kinds) == [kind_of(entry) for entry in written]
    assert list(found.times) == [entry.time for entry in written]
    assert list(found.offsets) == [at + len(b"".join(lines[:n])) for n in range(len(lines))]
    assert found.last_number == max((entry.seq for entry in written), default=0)


@given(st.lists(st.binary()))
def test_any_bytes_have_an_outline(lines: list[bytes]) -> None:
    content = b"".join(line + b"\n" for line in lines)
    assert len(indexed(content)) == content.count(b"\n")


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
def test_a_method_at_the_start_of_a_message_is_indexed(msg: bytes, method: str | None) -> None:
    assert indexed(encode_entry(Frame(1, 0.0, "client", msg))).method(0) == method


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{ "n": 7, "t": 1, "from": "agent", "msg": {} }\n', LineKind.AGENT),
        (b'{"n":7,"t":1,"event":"mark"}\n', LineKind.EVENT),
        (b'{"n":7,"t":1,"from":"agent","stderr":"x"}\n', LineKind.STDERR),
        (encode_header(Header("", "", "")), LineKind.HEADER),
        (encode_footer(Footer({}, "")), LineKind.FOOTER),
        (b'{"n":7,"t":1.000000,"from":"client","msg":"x\n', LineKind.BAD),
        (b"\n", LineKind.BAD),
        (b"\xff\n", LineKind.BAD),
    ],
)
def test_lines_of_others_are_read_slowly(line: bytes, kind: LineKind) -> None:
    found = indexed(line)
    is_entry = kind in {LineKind.AGENT, LineKind.EVENT, LineKind.STDERR}
    assert list(found.kinds) == [kind]
    assert found.last_number == (7 if is_entry else 0)
    assert list(found.times) == [1.0 if is_entry else 0.0]


def test_only_so_many_methods_get_a_code() -> None:
    methods = Methods(max_methods=2)
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
    assert not isinstance(decode_line(line), Frame | StderrChunk | JournalEvent | Footer)
    assert list(indexed(line + b"\n").kinds) == [LineKind.BAD]


SPELLINGS: Final[tuple[Callable[[dict[str, Any]], str], ...]] = (
    lambda members: json.dumps(members, separators=(",", ":"), ensure_ascii=False),
    json.dumps,
    lambda members: json.dumps(dict(reversed(members.items()))),
    lambda members: "\ufeff" + json.dumps(members),
)
IDS: Final[tuple[Any, ...]] = (1, 2, "1", 'a"é', "", None, -3)
TOLD: Final[tuple[dict[str, Any], ...]] = (
    {"method": "session/prompt", "params": {}},
    {"result": {"id": 1}},
    {"error": {"code": 1, "message": '"id"'}},
)
NOTICE: Final[dict[str, Any]] = {"method": "session/update", "params": {"id": 1}}
MESSAGES: Final = [{"jsonrpc": "2.0", "id": id_} | reported for id_ in IDS for reported in TOLD]
RAWS: Final = [
    spell(members).encode()
    for members in (*MESSAGES, {"jsonrpc": "2.0"} | NOTICE)
    for spell in SPELLINGS
]
frames = st.tuples(st.sampled_from(["client", "agent"]), st.sampled_from(RAWS))


@given(st.lists(frames | st.none(), max_size=40))
def test_pairs_are_those_of_the_exchanges(actual: list[tuple[Any, bytes] | None]) -> None:
    """Frames, and between them other processes."""
    entries: list[Entry] = [
        JournalEvent(row, row / 10, "spawn", {"pid": row})
        if reported is None
        else Frame(row, row / 10, *reported)
        for row, reported in enumerate(actual, start=1)
    ]
    exchanges = Exchanges()
    for entry in entries:
        if isinstance(entry, Frame):
            exchanges.apply(entry)
        else:
            exchanges.restart(entry.seq)
    index = RecordingIndex()
    for first in range(0, len(entries), 3):
        index.add(b"".join(map(encode_entry, entries[first : first + 3])), 0)
    for row, entry in enumerate(entries):
        exchange = exchanges.of(entry) if isinstance(entry, Frame) else None
        request, response = pair_of(exchange)
        pairing = index.pairing
        assert pairing.request_of(row) == (request if response == row else None)
        assert pairing.response_of(row) == (response if request == row else None)
        assert pairing.is_request(row) == (request == row)
        assert pairing.is_waiting(row) == (request == row and response is None)


def pair_of(exchange: Exchange | None) -> tuple[int | None, int | None]:
    if exchange is None:
        return None, None
    return (
        exchange.request_frame.seq - 1,
        exchange.response_frame.seq - 1 if exchange.response_frame else None,
    )


def test_only_so_many_requests_wait() -> None:
    pairing = Pairing(max_waiting=2)
    requests = [(row, Envelope("client", b"%d" % row, is_response=False)) for row in range(3)]
    pairing.add(3, requests)
    responses = [(row, Envelope("client", b"%d" % row, is_response=True)) for row in range(3)]
    pairing.add(3, responses)
    assert [pairing.request_of(row) for row in range(6)] == [None, None, None, None, 1, 2]
    assert [pairing.is_waiting(row) for row in range(6)] == [True, *[False] * 5]


def test_a_row_is_found_by_any_of_its_bytes() -> None:
    index = indexed(b"0123456789\n" * 3, 10)
    assert [index.row_at(at) for at in (0, 10, 20, 21, 42, 999)] == [-1, 0, 0, 1, 2, 2]


def test_rows_of_a_kind_are_found_in_order() -> None:
    event = encode_entry(JournalEvent(1, 0.5, "mark"))
    index = indexed(b"".join([event, b"x\n", event, event, b"y\n"]))
    index.add_skipped(999)
    assert list(index.rows_of(LineKind.BAD)) == [1, 4, 5]
    assert list(index.rows_of(LineKind.EVENT, 1)) == [2, 3]
    assert list(index.rows_of(LineKind.HEADER)) == []
    assert index.row_info(5).offset == 999


def test_a_row_takes_23_bytes() -> None:
    index = indexed(encode_entry(Frame(1, 0.5, "client", b"{}")) * 1000)
    columns = (
        *(index.offsets, index.times, index.kinds),
        *(index.method_codes, index.pairing.partners),
    )
    assert sum(column.itemsize * len(column) for column in columns) == 23 * 1000
