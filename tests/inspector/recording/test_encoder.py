"""Encoding entries that resemble one another."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording import encoder
from acp_inspector.recording.encoder import EntryEncoder
from acp_inspector.recording.format import encode_entry

BEFORE, BEHIND = b'{"method":"a","params":{"text":"', b'","more":[1,"x"]}}'

bodies = st.binary(max_size=8).map(lambda raw: raw.replace(b"\n", b"")) | st.sampled_from(
    [
        *(b"", b"plain", b"\\n", b"\\", b'\\"', b'"', b'","more":[1,"x"]}},"', b"\t", b"\0"),
        *(b"\\ud800", b"\\u12", b"\\x", b"\xff", "\u2028é".encode(), b'a","b":"c'),
    ]
)
ends = st.sampled_from([b"\n", b"\n", b"\r\n", b""])


@st.composite
def _frames(draw: st.DrawFn) -> Frame:
    behind = draw(st.sampled_from([BEHIND, BEHIND, b'"}']))
    return Frame(1, 0.5, "agent", BEFORE + draw(bodies) + behind, draw(ends))


frames = _frames()
others = st.sampled_from(
    [JournalEvent(1, 0.5, "x"), StderrText(1, 0.5, b"x"), Frame(1, 0.5, "client", b'"')]
)


@pytest.fixture(autouse=True, scope="module")
def look_at_all() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "REST", 1)
        yield


@given(st.lists(frames | others, min_size=2))
@example([Frame(1, 0.5, "agent", BEFORE + body + BEHIND) for body in (b"one", b"two", b'"')])
def test_it_returns_what_the_plain_way_returns(entries: list[Entry]) -> None:
    it = EntryEncoder()
    assert [it.encode(entry) for entry in entries] == [encode_entry(entry) for entry in entries]


@given(st.lists(st.recursive(st.text(max_size=3), st.lists, max_leaves=4), min_size=2))
def test_any_json_is_encoded_as_by_the_plain_way(values: list[object]) -> None:
    it = EntryEncoder()
    for value in values:
        for raw in (json.dumps(value).encode(), json.dumps(value).encode()[:-1]):
            frame = Frame(1, 0.5, "client", raw)
            assert it.encode(frame) == encode_entry(frame)


@pytest.mark.parametrize("word", ["word {}", "word"])
def test_frames_that_differ_in_one_string_are_read_once(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    read: list[bytes] = []

    def is_json(raw: bytes) -> Literal[True]:
        read.append(raw)
        return True

    monkeypatch.setattr(encoder, "is_json", is_json)
    it = EntryEncoder()
    for n in range(50):
        it.encode(Frame(n, 0.5, "agent", BEFORE + word.format(n).encode() + BEHIND))
    assert len(read) == 2


def test_only_the_latest_kinds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    it = EntryEncoder()
    for kind in range(9):
        for n in range(2):
            it.encode(Frame(n, 0.5, "agent", b'{"%d":"%d"}' % (kind, n)))
    assert len(it._molds) == encoder.MOLDS
