"""Rows of the table: what they say, and how that is laid out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from acp_console.traffic.model import TrafficModel
from acp_console.traffic.rows import (
    EDGE,
    Times,
    TrafficRow,
    gap_before,
    head_text,
    picture,
    read_row,
    row_text,
    time_of,
)
from acp_inspector.filter.entries import EntryList, RecordingEntries
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Header, encode_entry, encode_header
from acp_inspector.session.edits import FrameEdit
from acp_inspector.views.annotations import Annotations
from acp_inspector.views.session_model import SessionModel
from tests.console.tui.conftest import entries, update

TALK: list[Entry] = [
    *entries(
        ("client", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}),
        update("agent_message_chunk", content={"type": "text", "text": "[b]\x1b[31m"}),
        ("agent", {"id": 1, "error": {"code": -32603, "message": "out of tokens"}}),
        ("agent", {"id": 2, "method": "fs/read_text_file", "params": {"path": "/a"}}),
        ("agent", b"no JSON \xff"),
    ),
    StderrChunk(6, 0.6, b"panic: \x1b[2J\n"),
    JournalEvent(7, 0.7, "exit", {"code": 1}),
]


def said(row: int) -> TrafficRow:
    return read_row(EntryList(TALK), row)


def test_an_edited_frame_of_a_dialect_is_shown_by_what_was_sent() -> None:
    was = b'{"type":"prompt","session_id":"s1","content":[{"type":"text","text":"hello"}]}'
    edit = FrameEdit(2, 1, "person", was, was.replace(b"hello", b"goodbye"))
    row = read_row(EntryList([Frame(1, 0.1, "client", was)]), 0, edit=edit)
    assert row.summary == '"goodbye"'


def test_news_of_a_session_are_called_a_title_only_with_one() -> None:
    rows = entries(
        update("session_info_update", title="Carts"),
        update("session_info_update", updatedAt="2026-01-01"),
    )
    labels = [read_row(EntryList(rows), row).label for row in range(2)]
    texts = ["" if each is None else each.text(60, is_short=True) for each in labels]
    assert texts == ['title "Carts"', "session updated 2026-01-01"]


def test_each_kind_of_entry_has_its_row() -> None:
    kinds = ["request", "notification", "error", "request", "malformed", "stderr", "event"]
    assert [said(row).kind for row in range(7)] == kinds
    assert [said(row).is_fault for row in range(7)] == [
        False,
        False,
        True,
        False,
        True,
        False,
        False,
    ]
    assert said(5).summary == "panic: ␛[2J"
    assert said(6).summary == "the agent ended with exit code 1"


def test_an_answer_has_method_session_and_latency_of_its_question() -> None:
    row = said(2)
    assert (row.method, row.session) == ("session/prompt", "s1")
    assert row.latency == pytest.approx(0.2)


def test_a_question_that_waits_is_told_in_words() -> None:
    assert [said(row).is_open for row in (0, 3)] == [False, True]
    assert "open" in row_text(said(3), 100, 5, delta=0)


def test_lines_of_a_recording_that_are_no_entries_have_rows_too(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    lines = [encode_header(Header("", "tool 1", "")), *map(encode_entry, TALK), b"broken\n"]
    path.write_bytes(b"".join([*lines, b'{"end":{"frames":5},"digest":""}\n']))
    with RecordingEntries(path).index_all() as recording:
        assert [read_row(recording, row).seq for row in range(9)] == [*range(1, 8), 0, 0]
        assert read_row(recording, 7).summary == "line 9: no JSON object"
        assert read_row(recording, 8).summary == "5 frames"
        assert time_of(recording, 2) == pytest.approx(0.3)


def test_what_is_large_is_not_read_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    path.write_bytes(b"".join([encode_header(Header("", "", "")), *map(encode_entry, TALK)]))
    with RecordingEntries(path).index_all() as recording:
        row = read_row(recording, 0, max_size=60)
        assert (row.kind, row.method) == ("large", "")
        assert "press v" in row.summary


@given(
    st.integers(1, 250),
    st.integers(4, 9),
    st.sampled_from(range(7)),
    st.text(max_size=80),
)
def test_any_width_takes_any_row(width: int, digits: int, row: int, text: str) -> None:
    shown = said(row)
    line = row_text(
        TrafficRow(shown.seq, shown.time, shown.side, shown.kind, text, shown.method, size=10**8),
        width,
        digits,
        delta=1e9,
    )
    assert "\n" not in line or "\n" in text
    assert head_text(width, digits)


@pytest.mark.parametrize("width", [70, 80, 99, 100, 129, 130, 169, 170, 200])
def test_columns_stand_below_their_heads(width: int) -> None:
    head = head_text(width, 4)
    line = " " * EDGE + row_text(said(2), width, 4, delta=0.05)
    assert head.index("n") == line.index("3")
    end = head.index("latency") + len("latency")
    assert line[:end].endswith("200 ms")
    assert cell_len(line[:end]) == end


@pytest.mark.parametrize(
    ("width", "names"),
    [
        (80, []),
        (99, []),
        (100, ["gap"]),
        (129, ["gap"]),
        (130, ["gap", "Δ"]),
        (200, ["gap", "Δ"]),
    ],
)
def test_the_gap_has_a_column_where_there_is_room(width: int, names: list[str]) -> None:
    head = head_text(width, 4)
    line = " " * EDGE + row_text(said(2), width, 4, gap=12.5, delta=0.3)
    shown = {"gap": "12.5 s", "Δ": "300 ms"}
    assert [name for name in shown if name in head.split()] == names
    assert [name for name, text in shown.items() if text in line] == names
    for name in names:
        end = head.index(name) + len(name)
        assert line[:end].endswith(shown[name])


WITH_OTHERS: list[Entry] = [
    JournalEvent(1, 0.0, "spawn", {}),
    Frame(2, 1.0, "client", b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'),
    StderrChunk(3, 1.2, b"starting\n"),
    JournalEvent(4, 11.0, "mark", {}),
    Frame(5, 13.5, "agent", b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    Frame(6, 13.5, "agent", b"no JSON"),
    Frame(7, 13.0, "client", b'{"jsonrpc":"2.0","method":"x"}'),
]
"""The clock of the last entry goes back."""


@pytest.mark.parametrize("is_file", [False, True])
def test_the_gap_is_the_time_since_the_previous_frame_as_in_filters(
    tmp_path: Path, *, is_file: bool
) -> None:
    model, known = SessionModel(), Annotations()
    for entry in WITH_OTHERS:
        model.apply(entry)
        known.add_entry(entry, model.notes())
    in_filters = [known.gap(entry.seq) for entry in WITH_OTHERS]
    assert in_filters == [None, None, None, None, 12.5, 0.0, 0.0]
    if is_file:
        path = tmp_path / "a.acp.ndjson"
        lines = [encode_header(Header("", "", "")), *map(encode_entry, WITH_OTHERS)]
        path.write_bytes(b"".join(lines))
        with RecordingEntries(path).index_all() as recording:
            assert [gap_before(recording, row) for row in range(7)] == in_filters
    else:
        assert [gap_before(EntryList(WITH_OTHERS), row) for row in range(7)] == in_filters


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("read the whole of it", "read the whole of it"),
        ("read the whole of the file", "read the whole of the…"),
        ("read the whole of some file", "read the whole of…"),
        ("read src/checkout/cart.py", "read src/checkout/car…"),
    ],
)
def test_a_text_that_does_not_fit_is_cut_before_a_short_word_and_within_a_long_one(
    text: str, shown: str
) -> None:
    line = row_text(TrafficRow(1, 0.0, "", "event", text), 24, 4)
    assert line.strip() == f"1 · {shown}"


def test_frames_without_a_time_have_none() -> None:
    line = row_text(TrafficRow(0, 0.0, "", "end", "5 frames"), 90, 4, delta=0)
    assert line.split() == ["·", "end:", "5", "frames"]
    assert isinstance(TALK[0], Frame)


def permission(call: str, **members: Any) -> dict[str, Any]:
    params: Any = {"sessionId": "s1", "toolCall": {"toolCallId": call, **members}, "options": []}
    return {"id": 7, "method": "session/request_permission", "params": params}


WORK: list[Entry] = entries(
    update("tool_call", toolCallId="c1", title="Run pytest -q", status="pending"),
    ("agent", permission("c1")),
    ("client", {"id": 7, "result": {"outcome": {"outcome": "selected", "optionId": "allow"}}}),
    ("agent", {"id": 8, "method": "terminal/create",
               "params": {"sessionId": "s1", "command": "pytest", "args": ["-q"]}}),
    ("client", {"id": 8, "result": {"terminalId": "t1"}}),
    ("agent", {"id": 9, "method": "terminal/wait_for_exit",
               "params": {"sessionId": "s1", "terminalId": "t1"}}),
    ("client", {"id": 9, "result": {"exitCode": 1}}),
    update("tool_call_update", toolCallId="c1", status="failed"),
    ("agent", {"id": 10, "method": "fs/read_text_file",
               "params": {"sessionId": "s1", "path": "/home/ada/shop/src/checkout/cart.py"}}),
    ("client", {"id": 10, "result": {"content": "x"}}),
)  # fmt: skip


@pytest.mark.parametrize("is_file", [False, True])
def test_a_narrow_row_says_what_its_frame_touches(tmp_path: Path, *, is_file: bool) -> None:
    def pictures(rows: EntryList | RecordingEntries) -> list[str]:
        model = TrafficModel(rows)
        return [picture(model.at(row), 32) for row in range(len(WORK))]

    if is_file:
        path = tmp_path / "a.acp.ndjson"
        path.write_bytes(b"".join([encode_header(Header("", "", "")), *map(encode_entry, WORK)]))
        with RecordingEntries(path).index_all() as recording:
            shown = pictures(recording)
    else:
        shown = pictures(EntryList(WORK))
    assert shown == [
        "◀┄ call Run pytest -q pending ┄┄",
        "◀─ permission Run pytest -q ─ ?●",
        "○─ permission result allow ────▶",
        "◀─ run pytest -q ──────────────●",
        "○─ run result pytest -q ───────▶",
        "◀─ wait pytest -q ─────────────●",
        "○─ wait result pytest… exit 1 ─▶",
        "◀┄ update Run pytest -q failed ┄",
        "◀─ read …/src/checkout/cart.py ●",
        "○─ read result …/cart.py ──────▶",
    ]
    assert {cell_len(each) for each in shown} == {32}


BEGAN = datetime(2026, 11, 29, 13, 59, 58, tzinfo=UTC).astimezone()


@pytest.mark.parametrize(
    ("width", "format_", "shown"),
    [
        (60, "time", "3.200"),
        (100, "time", "3.200"),
        (60, "clock", f"{BEGAN.hour + 1:02}:00:01"),
        (100, "clock", f"{BEGAN.hour + 1:02}:00:01.200"),
        (60, "Δ", "50.0 ms"),
        (200, "Δ", "50.0 ms"),
    ],
)
def test_times_are_relative_of_the_clock_or_since_the_row_above(
    width: int, format_: str, shown: str
) -> None:
    times = Times(began=BEGAN).named(format_)
    assert times.next.next.next == times
    row = TrafficRow(3, 3.2, "agent", "request", "x", "session/prompt")
    head = head_text(width, 4, times)
    line = " " * EDGE + row_text(row, width, 4, delta=0.05, times=times)
    assert head.split().count(format_) == 1
    end = head.index(format_) + len(format_)
    assert line[:end].split()[1:] == shown.split()


def test_a_journal_whose_beginning_is_unknown_has_no_clock_times() -> None:
    assert Times().named("clock").format == Times().format
    assert Times().next.next == Times()
