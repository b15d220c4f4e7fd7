"""Looking into a recording of any size."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.compression import TRUNCATED
from acp_inspector.recording.format import Footer, Header, RecordingError, encode_entry
from acp_inspector.recording.index import LineKind
from acp_inspector.recording.random_access import IndexedRecording
from acp_inspector.recording.reader import (
    DIGEST_MISMATCH,
    LINE_CUT_OFF,
    LINE_TOO_LONG,
    BadLine,
    Row,
    read_lines,
)
from acp_inspector.recording.writer import RecordingWriter

HEADER = Header("2026-01-01T00:00:00.000Z", "test", "v1")
ENTRIES: list[Entry] = [
    JournalEvent(1, 0.1, "spawn", {"pid": 1}),
    *(Frame(n, n / 10, "client", b'{"jsonrpc":"2.0","method":"m%d"}' % n) for n in range(2, 20)),
    Frame(25, 2.5, "agent", b'"' + b"long" * 200 + b'"'),
    Frame(26, 2.6, "agent", "\u2028\r\0\u0085".encode(), b"\r\n"),
    Frame(27, 2.7, "agent", b"\xff\x00", b""),
    StderrChunk(28, 2.8, b"oh\n"),
]
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": zstd.compress,
}

LARGE = b'{"a":"' + b"x" * 500 + b'"}'
payloads = st.binary().map(lambda raw: raw.replace(b"\n", b"")) | st.sampled_from(
    [
        b"",
        b"{}",
        b"\0",
        b"\r",
        "\u2028".encode(),
        b"\xff",
        b"[" * 300,
        b'{"a":"' + b"x" * 500 + b'"}',
    ]
)
compressions = pytest.mark.parametrize("compress", COMPRESSIONS.values(), ids=COMPRESSIONS)


STEP = 300
"""Bytes of a step, so that even a small file takes several."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.acp.ndjson"
    write(path, ENTRIES)
    return path


def write(path: Path, entries: list[Entry]) -> None:
    writer = RecordingWriter(path, HEADER)
    writer.write(entries)
    writer.close()


def write_many(path: Path, count: int) -> None:
    path.unlink()
    write(path, [Frame(n, n / 8, "client", b'{"n":%d}' % n) for n in range(1, count + 1)])


def rows_of(path: Path, max_line: int | None = None) -> list[Row]:
    """Return what the reader says, without what it says twice of one line."""
    return [row for row in read_lines(path, max_line=max_line) if not isinstance(row, Header)]


def test_rows_are_there_by_their_place_and_both_ways(path: Path) -> None:
    with IndexedRecording(path) as file:
        assert len(file) == 0
        file.index_all(STEP)
        assert file.is_complete
        expected = rows_of(path)
        assert list(file) == expected
        assert list(reversed(file)) == expected[::-1]
        assert [file[row] for row in range(len(file))] == expected
        assert file[-1] == expected[-1] == file.footer
        assert file[3:9] == expected[3:9]
        assert file[::-3] == expected[::-3]
        assert file.rest == ()
        assert list(file.bad_lines()) == []
        with pytest.raises(IndexError):
            file[len(file)]


def test_the_first_screen_needs_no_index(path: Path) -> None:
    with IndexedRecording(path) as file:
        assert file.header == HEADER
        assert file.head(3) == ENTRIES[:3]
        assert file.tail(3)[:2] == ENTRIES[-2:]
        assert isinstance(file.tail(1)[0], Footer)
        assert len(file.head(99)) == len(file.tail(99)) == len(ENTRIES) + 1
        assert len(file) == 0
        assert file.progress < 1


def test_an_entry_is_found_by_its_number_before_and_after(path: Path) -> None:
    numbers = {entry.seq: entry for entry in ENTRIES}
    with IndexedRecording(path) as file:
        for _ in range(2):
            assert [file.entry(n) for n in range(30)] == [numbers.get(n) for n in range(30)]
            file.index_all(STEP)
        rows = [file.row_of(n) for n in range(30)]
    assert [row for row in rows if row is not None] == list(range(len(ENTRIES)))


def test_row_info_has_offset_time_kind_and_method(path: Path) -> None:
    with IndexedRecording(path).index_all(STEP) as file:
        briefs = [file.row_info(row) for row in range(len(file))]
    assert [brief.kind for brief in briefs] == [
        LineKind.EVENT,
        *[LineKind.CLIENT] * 18,
        *[LineKind.AGENT] * 3,
        LineKind.STDERR,
        LineKind.FOOTER,
    ]
    assert briefs[1].method == "m2"
    assert [brief.time for brief in briefs[:-1]] == [entry.time for entry in ENTRIES]


@compressions
@settings(deadline=None)
@given(st.lists(st.tuples(payloads, st.sampled_from([b"\n", b"\r\n", b""]))), st.booleans())
def test_what_was_written_comes_back_to_the_byte(
    compress: Callable[[bytes], bytes], written: list[tuple[bytes, bytes]], is_twice: bool
) -> None:
    entries: list[Entry] = [
        Frame(n, n / 10, "agent", raw, end) for n, (raw, end) in enumerate(written, start=1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        write(path, entries)
        path.write_bytes(compress(path.read_bytes()))
        for _ in range(1 + is_twice):
            with IndexedRecording(path).index_all(STEP) as file:
                assert file[:-1] == entries
                assert [file.entry(entry.seq) for entry in entries] == entries
                assert list(file.bad_lines()) == []
                assert file.footer is not None


@compressions
@settings(deadline=None)
@given(data=st.data())
def test_a_cut_at_any_byte_loses_only_what_lies_behind(
    compress: Callable[[bytes], bytes], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        write(path, ENTRIES)
        content = path.read_bytes()
        path.write_bytes(compress(content)[: -data.draw(st.integers(0, len(content)))])
        try:
            expected = rows_of(path)
        except RecordingError:
            with pytest.raises(RecordingError):
                IndexedRecording(path)
            return
        with IndexedRecording(path).index_all(STEP) as file:
            assert [*file, *file.rest] == expected


@settings(deadline=None)
@given(st.data())
def test_a_change_anywhere_is_one_bad_line_found_by_the_digest(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        write(path, ENTRIES)
        content = bytearray(path.read_bytes())
        first = content.index(b"\n") + 1
        at = data.draw(st.integers(first, content.rindex(b'{"end"') - 2))
        content[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[at]))
        path.write_bytes(content)
        expected = rows_of(path)
        with IndexedRecording(path).index_all(STEP) as file:
            assert list(file) == [
                row
                for row in expected
                if not (isinstance(row, BadLine) and row.reason == DIGEST_MISMATCH)
            ]
            assert [bad_line.reason for bad_line in file.bad_lines()][-1] == DIGEST_MISMATCH


def test_corrupt_lines_are_reported_with_number_and_offset(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5], lines[9] = b"{corrupt\n", b'{"n":9,"t":1.0,"from":"client","msg":{]}\n'
    path.write_bytes(b"".join(lines) + b"{cut")
    places = [len(b"".join(lines[:number])) for number in (5, 9, -1, len(lines))]
    with IndexedRecording(path).index_all(STEP) as file:
        bad_lines = [
            BadLine(6, "no JSON object", places[0]),
            BadLine(10, "no JSON object", places[1]),
            BadLine(len(lines), DIGEST_MISMATCH, places[2]),
            BadLine(len(lines) + 1, LINE_CUT_OFF, places[3]),
        ]
        assert list(file.bad_lines()) == bad_lines
        assert file[4] == bad_lines[0]
        assert file.rest == (bad_lines[3],)
        assert file.footer is None
        assert file.entry(11) == ENTRIES[10]


def test_appended_lines_get_rows_by_index_more(path: Path) -> None:
    file = IndexedRecording(path).index_all(STEP)
    count = len(file)
    writer = RecordingWriter(path, HEADER, mode="append")
    more: list[Entry] = [Frame(n, 3.0, "client", b"{}") for n in range(29, 60)]
    writer.write(more)
    assert len(file) == count
    file.index_all(STEP)
    assert file[count:] == more
    writer.close()
    file.index_all(STEP)
    assert isinstance(file.footer, Footer)
    assert list(file.bad_lines()) == []
    file.close()


def test_half_a_line_waits_for_the_other_half(path: Path) -> None:
    line = encode_entry(Frame(29, 3.0, "client", b"{}"))
    file = IndexedRecording(path).index_all(STEP)
    count = len(file)
    with path.open("ab", buffering=0) as out:
        out.write(line[:20])
        file.index_all(STEP)
        assert len(file) == count
        assert [type(row) for row in file.rest] == [BadLine]
        out.write(line[20:-1])
        file.index_all(STEP)
        assert (len(file), file.rest) == (count, (Frame(29, 3.0, "client", b"{}"),))
        out.write(b"\n")
        file.index_all(STEP)
        assert (len(file), file.rest) == (count + 1, ())
    file.close()


def test_a_file_that_was_overwritten_begins_anew(path: Path) -> None:
    file = IndexedRecording(path).index_all(STEP)
    RecordingWriter(path, HEADER, mode="overwrite").close()
    assert file.index_all(STEP)[:] == [file.footer]
    path.write_bytes(b"")
    with pytest.raises(RecordingError, match="it is empty"):
        file.index_all(STEP)
    file.close()


def test_the_recording_leaves_nothing_beside_it(path: Path) -> None:
    IndexedRecording(path).index_all().close()
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_cut_short_while_it_is_read_raises_nothing_else(path: Path) -> None:
    """A mapped file would end the process here."""
    with IndexedRecording(path).index_all(STEP) as file:
        path.write_bytes(b"o")
        assert isinstance(file[3], BadLine)
        assert isinstance(file[20], BadLine)


def test_a_compressed_file_is_unpacked_only_as_far_as_it_is_needed(path: Path) -> None:
    write_many(path, 40_000)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with IndexedRecording(path) as file:
        assert len(file.head(3)) == 3
        assert file.index_more(STEP)
        assert file.progress < 1
        assert len(file.index_all()) == 40_001
        assert file.progress == 1


def test_numbers_are_found_among_lines_of_other_writers(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    odd = [b'{ "n": 3, "t": 1, "event": "note" }\n', b"no entry\n", b"{}\n"]
    lines[3:3] = odd
    path.write_bytes(b"".join(lines))
    with IndexedRecording(path) as file:
        assert file.entry(2) == ENTRIES[1]
        assert file.entry(3) is not None
        assert file.entry(19) == ENTRIES[18]


def test_a_file_that_cannot_be_opened_is_explained_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file or directory"):
        IndexedRecording(tmp_path / "gone")
    (tmp_path / "notes").write_text("notes\n")
    with pytest.raises(RecordingError, match="is not a recording"):
        IndexedRecording(tmp_path / "notes")


def test_truncated_compressed_data_is_reported_at_the_end(path: Path) -> None:
    path.write_bytes(gzip.compress(path.read_bytes())[:-4])
    with IndexedRecording(path).index_all(STEP) as file:
        assert len(file) == len(ENTRIES) + 1
        assert [bad_line.reason for bad_line in file.bad_lines()] == [TRUNCATED]


@compressions
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_that_is_too_long_has_a_row_and_is_never_held(
    path: Path,
    compress: Callable[[bytes], bytes],
    end: bytes,
) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    text = b"".join((*lines[:4], b"\0" * 5000 + b"\n", *lines[4:], b'{"n":99,' + b"1" * 3000 + end))
    path.write_bytes(compress(text))
    with IndexedRecording(path, max_line=1500) as file:
        assert file.head(5)[3] == BadLine(0, LINE_TOO_LONG, len(b"".join(lines[:4])))
        file.index_all(STEP)
        # The reader tells of a footer that does not fit in a bad_line behind it.
        reported = [
            row
            for row in rows_of(path, max_line=1500)
            if getattr(row, "reason", "") != DIGEST_MISMATCH
        ]
        assert [*file, *file.rest] == reported
        assert file[3] == BadLine(5, LINE_TOO_LONG, len(b"".join(lines[:4])))
        assert file.raw_lines(3) == b"\n"
        assert file.raw_lines(2, 5) == lines[3] + b"\n" + lines[4]
        assert file.tail(2)[-1] == (reported[-1] if end else reported[-2])
        assert file.entry(28) == ENTRIES[-1]
        assert file.entry(99) is None
        assert [bad_line.line for bad_line in file.bad_lines()] == [
            5,
            len(lines) + 1,
            len(lines) + 2,
        ]
