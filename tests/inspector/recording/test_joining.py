"""Frames that an earlier recording holds as lines are read as frames, where their headers stand."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.compare.diff import compare
from acp_inspector.journal import Entry, Frame, Journal, JournalEvent
from acp_inspector.lint.engine import lint
from acp_inspector.recording.format import Footer, Header
from acp_inspector.recording.joining import FrameJoiner, holds_lines, joined
from acp_inspector.recording.random_access import IndexedRecording
from acp_inspector.recording.reader import read_lines, read_recording
from acp_inspector.recording.scan import RecordingScan
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.replay.parts import framing_of, gaps
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.fold import Sessions
from acp_inspector.views.session_model import SessionModel
from acp_protocol.framing import MAX_HEADER_BYTES, LineFramer, Side, encode_frame


class Wire:
    """Records as the proxy does: by lines, each when its end has come."""

    def __init__(self) -> None:
        self.journal = Journal()
        self._framers: dict[Side, LineFramer] = {"client": LineFramer(), "agent": LineFramer()}

    def write(self, side: Side, data: bytes) -> None:
        for line in self._framers[side].feed(data):
            self.journal.line(side, line)

    def say(self, side: Side, **message: Any) -> None:
        raw = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self.write(side, encode_frame(raw, "headers"))

    def end(self) -> list[Entry]:
        for side, framer in self._framers.items():
            if rest := framer.rest():
                self.journal.frame(side, rest, b"")
        self.journal.event("eof")
        return list(self.journal.entries)


def frames(entries: list[Entry]) -> list[tuple[Side, bytes]]:
    return [(each.side, each.data) for each in joined(entries) if isinstance(each, Frame)]


def recorded(path: Path, entries: list[Entry]) -> Path:
    """Write a recording as it was written before."""
    writer = RecordingWriter(path, Header("", "", ""))
    writer.write(entries)
    writer.close()
    return path


def opened() -> Wire:
    wire = Wire()
    wire.journal.event("spawn", pid=1)
    wire.say("client", id=1, method="initialize", params={})
    abilities = ("file_read", "file_write", "terminal_exec", "web_search", "session_fork")
    wire.say("agent", id=1, result=dict.fromkeys(abilities, True) | {"streaming": True})
    wire.say("client", id=2, method="session/new", params={"working_dir": "/w"})
    wire.say("agent", id=2, result={"session_id": "s1"})
    return wire


def test_lint_judges_frames_that_come_with_their_lengths() -> None:
    wire = opened()
    text = [{"type": "text", "text": "Hello"}]
    wire.say("client", id=3, method="session/prompt", params={"session_id": "s1", "prompt": text})
    result: dict[str, Any] = {"role": "agent", "content": [], "stop_reason": "end_turn"}
    wire.say("agent", id=3, result=result)
    wire.say("agent", id=9, result={})
    report = lint(joined(wire.end()), dialect="openoxide")
    assert {each.rule.name for each in report.findings if each.severity == "error"} == {
        "unknown-response-id"
    }
    assert {"unknown-response-id", "no-capabilities"} <= report.exercised


def test_a_frame_stands_where_its_header_stands() -> None:
    whole = [each for each in joined(opened().end()) if isinstance(each, Frame)]
    assert [each.side for each in whole] == ["client", "agent", "client", "agent"]
    assert [each.seq for each in whole] == sorted(each.seq for each in whole)
    assert json.loads(whole[2].data)["method"] == "session/new"


def test_a_frame_that_never_became_whole_is_no_whole_line() -> None:
    wire = Wire()
    wire.write("client", cut_off := b'Content-Length: 9\r\n\r\n{"a"')
    (cut, eof) = joined(wire.end())
    assert isinstance(cut, Frame)
    assert (cut.data, cut.is_cut) == (cut_off, True)
    assert isinstance(eof, JournalEvent)


def test_another_process_ends_what_was_not_whole() -> None:
    wire = opened()
    wire.journal.event("spawn", pid=2)
    joining = FrameJoiner()
    told = [each for entry in wire.journal.entries for each in joining.feed(entry)]
    assert isinstance(told[-1], JournalEvent)
    assert len(told) == 6


def test_headers_without_end_are_told_as_the_lines_they_are() -> None:
    journal = Journal()
    journal.line("client", b"Content-Length: 3")
    for _ in range(MAX_HEADER_BYTES // 1000 + 1):
        journal.line("client", b"X: " + b"x" * 1000)
    assert journal.entries[-1] in list(joined(journal.entries))


@pytest.mark.parametrize("between", [b"", b"\r\n"])
def test_before_a_length_that_cannot_be_right_no_byte_comes_twice_and_none_is_lost(
    between: bytes,
) -> None:
    wire = Wire()
    stream = encode_frame(b"{}", "headers") + between + b"Content-Length: 999999999999\r\n\r\n{}\n"
    wire.write("client", stream)
    told = [each for each in joined(wire.end()) if isinstance(each, Frame)]
    assert told[0].data == b"{}"
    assert b"".join(each.wire for each in told) == stream


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("client", "agent")),
            st.text(st.characters(codec="utf-8"), min_size=1).map(str.encode),
        ),
        max_size=12,
    )
)
def test_whatever_the_bodies_hold_they_come_back_in_their_order(
    said: list[tuple[Side, bytes]],
) -> None:
    wire = Wire()
    for side, raw in said:
        wire.write(side, encode_frame(raw, "headers"))
    assert frames(wire.end()) == said


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("client", "agent")),
            st.sampled_from(
                [encode_frame(b'{"a":\n1}', "headers"), b"\r\n", b"\n", b"no header\r\n", b"Cont"]
            ),
        ),
        max_size=9,
    )
)
def test_no_byte_of_a_side_is_lost_or_changes_its_place(said: list[tuple[Side, bytes]]) -> None:
    wire = Wire()
    sides: tuple[Side, ...] = ("client", "agent")
    streams = dict.fromkeys(sides, encode_frame(b"{}", "headers"))
    for side in sides:
        wire.write(side, streams[side])
    for side, piece in said:
        wire.write(side, piece)
        streams[side] += piece
    whole = list(joined(wire.end()))
    for side in sides:
        its = [each.wire for each in whole if isinstance(each, Frame) and each.side == side]
        assert b"".join(its) == streams[side]
    assert [each.seq for each in whole] == sorted({each.seq for each in whole})


def test_blank_lines_behind_the_last_frame_of_a_side_are_a_row_of_their_own() -> None:
    wire = opened()
    wire.write("agent", b"\r\n\r\n")
    wire.say("client", id=3, method="session/list")
    whole = [each for each in joined(wire.end()) if isinstance(each, Frame)]
    assert [(each.side, each.data) for each in whole[3:]] == [
        ("agent", b'{"jsonrpc": "2.0", "id": 2, "result": {"session_id": "s1"}}'),
        ("agent", b""),
        ("client", b'{"jsonrpc": "2.0", "id": 3, "method": "session/list"}'),
    ]
    assert (whole[4].line_ending, whole[4].is_cut) == (b"\r\n\r\n", False)


def test_blank_lines_before_another_frame_belong_to_its_header() -> None:
    """So the frame stands where its header does, and not where the blank lines do."""
    wire = opened()
    wire.write("client", b"\r\n")
    wire.say("agent", method="session/update", params={})
    wire.say("client", id=3, method="session/list")
    whole = [each for each in joined(wire.end()) if isinstance(each, Frame)]
    assert [each.side for each in whole[-2:]] == ["agent", "client"]
    assert whole[-1].header.startswith(b"\r\nContent-Length")


TALK: list[tuple[Side, dict[str, Any]]] = [
    ("client", {"id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}}),
    ("agent", {"id": 1, "result": {"sessionId": "s"}}),
    (
        "client",
        {
            "id": 2,
            "method": "session/prompt",
            "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "Hi"}]},
        },
    ),
    (
        "agent",
        {
            "method": "session/update",
            "params": {
                "sessionId": "s",
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": "Hello"},
                },
            },
        },
    ),
    ("agent", {"id": 2, "result": {"stopReason": "end_turn"}}),
]


def both() -> tuple[list[Entry], list[Entry]]:
    """Return the same talk with lengths and as lines."""
    wire, lines = Wire(), Wire()
    for side, message in TALK:
        wire.say(side, **message)
        lines.write(side, json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
    return wire.end(), lines.end()


def test_a_talk_with_lengths_is_folded_as_one_of_lines() -> None:
    found: list[list[str]] = []
    for entries in map(joined, both()):
        events = [event for _, each in Sessions().read(entries) for event in each]
        found.append([type(event).__name__ for event in events])
    assert found[0] == found[1]
    assert found[0].count("TurnEnded") == 1


def test_a_talk_with_lengths_is_shown_and_counted_as_one_of_lines() -> None:
    found: list[object] = []
    for entries in (list(joined(each)) for each in both()):
        model, talks = SessionModel(), Conversations()
        model.read(entries)
        talks.read(entries)
        items = [
            [type(item).__name__ for item in each.sessions["s"].items]
            for each in (model.conversations, talks)
        ]
        found.append((items, [each.ending for each in model.exchanges.all]))
    assert (
        found[0] == found[1] == ([["UserMessage", "AgentMessage", "TurnEnd"]] * 2, ["result"] * 2)
    )


def test_a_talk_with_lengths_does_not_differ_from_one_of_lines() -> None:
    assert compare(*(list(joined(each)) for each in both())).differences == ()


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_every_reader_shows_an_earlier_recording_with_whole_frames(
    tmp_path: Path, ending: str
) -> None:
    entries = opened().end()
    path = recorded(tmp_path / "it.acp.ndjson", entries)
    if ending:
        path.write_bytes(gzip.compress(path.read_bytes()))
    recording = read_recording(path)
    whole = list(joined(entries))
    shown = [(type(each), each.seq, getattr(each, "wire", b"")) for each in recording.entries]
    assert shown == [(type(each), each.seq, getattr(each, "wire", b"")) for each in whole]
    assert not recording.bad_lines
    assert recording.footer is not None
    assert gaps(recording) == []
    with IndexedRecording(path) as indexed:
        indexed.index_all()
        assert [row for row in indexed if not isinstance(row, Footer)] == [*recording.entries]
        assert list(indexed.bad_lines()) == []
        assert indexed.request_row(2) == 1
    with RecordingScan(path, lambda bad: pytest.fail(bad.reason)) as scan:
        assert scan.count_frames() == 4
    assert framing_of(recording) == "headers"


def test_an_earlier_recording_is_joined_from_a_pipe(tmp_path: Path) -> None:
    path = recorded(tmp_path / "it.acp.ndjson", opened().end())
    read, write = os.pipe()
    os.write(write, path.read_bytes())
    os.close(write)
    rows = list(read_lines(Path(f"/dev/fd/{read}")))
    os.close(read)
    assert rows == list(read_lines(path))
    assert sum(isinstance(row, Frame) and bool(row.header) for row in rows) == 4


@given(st.lists(st.tuples(st.sampled_from(("client", "agent")), st.binary(max_size=9)), max_size=8))
def test_joining_what_is_joined_changes_nothing(said: list[tuple[Side, bytes]]) -> None:
    wire = Wire()
    for side, raw in said:
        wire.write(side, encode_frame(raw, "headers"))
    once = list(joined(wire.end()))
    assert list(joined(once)) == once


def test_a_new_recording_is_read_as_it_is(tmp_path: Path) -> None:
    frames: list[Entry] = [
        Frame(1, 0.5, "client", b"{}", b"", b"Content-Length: 2\r\n\r\n"),
        Frame(2, 0.5, "client", b"Content-Length: two", b"\r\n\r\n"),
        Frame(3, 0.5, "agent", b"Content-Length: 9999999999", b"\r\n"),
    ]
    path = recorded(tmp_path / "it.acp.ndjson", frames)
    assert not holds_lines(path.read_bytes())
    assert read_recording(path).entries == tuple(frames)
