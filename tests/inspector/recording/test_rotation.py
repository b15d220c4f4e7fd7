"""A recording in several files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.format import Header, RecordingError, RecordingExistsError
from acp_inspector.recording.reader import read_header, read_recording
from acp_inspector.recording.rotation import RotatingWriter, RotationLimits, part_paths
from acp_inspector.recording.writer import RecordingWriter

HEADER = Header("2026-01-01T00:00:00.000Z", "test", "v1", meta={"note": "kept"})


def frames(first: int, last: int) -> list[Entry]:
    return [Frame(n, n / 10, "client", b'{"n":%d}' % n) for n in range(first, last + 1)]


def write(writer: RotatingWriter, *batches: list[Entry]) -> None:
    for batch in batches:
        writer.write(batch)
    writer.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.acp.ndjson"


def test_each_part_is_a_whole_recording_that_names_the_one_before(path: Path) -> None:
    writer = RotatingWriter(path, HEADER, RotationLimits(size=1))
    write(writer, frames(1, 2), [], frames(3, 3), frames(4, 6))
    assert writer.path == path.with_name("a.3.acp.ndjson")
    assert part_paths(path) == [path, path.with_name("a.2.acp.ndjson"), writer.path]
    parts = [read_recording(part) for part in part_paths(path)]
    assert [part.bad_lines for part in parts] == [()] * 3
    assert [part.footer and part.footer.counts for part in parts] == [
        {"frames": 2},
        {"frames": 1},
        {"frames": 3},
    ]
    series = "a.acp.ndjson of 2026-01-01T00:00:00.000Z"
    assert [part.header.meta for part in parts] == [
        {"note": "kept", "series": series, "part": 1},
        {"note": "kept", "series": series, "part": 2, "previous": "a.acp.ndjson"},
        {"note": "kept", "series": series, "part": 3, "previous": "a.2.acp.ndjson"},
    ]
    assert [entry for part in parts for entry in part.entries] == frames(1, 6)


def test_the_next_parts_name_the_dialect_that_an_event_has_named(path: Path) -> None:
    writer = RotatingWriter(path, HEADER, RotationLimits(size=1))
    named = JournalEvent(2, 0.2, "dialect", {"dialect": "acpex"})
    write(writer, [*frames(1, 1), named], frames(3, 3), frames(4, 4))
    assert [read_header(part).dialect for part in part_paths(path)] == [None, "acpex", "acpex"]


def test_a_file_is_old_after_a_time_unless_it_is_empty(path: Path) -> None:
    now = 0.0
    writer = RotatingWriter(path, HEADER, RotationLimits(age=60.0), clock=lambda: now)
    for at, part in [(70.0, 1), (100.0, 1), (129.0, 1), (130.0, 2), (189.0, 2), (190.0, 3)]:
        now = at if part > 1 else at - 70.0
        writer.write(frames(1, 1))
        assert len(part_paths(path)) == part
    writer.close()


def test_without_limits_there_is_one_file(path: Path) -> None:
    write(RotatingWriter(path, HEADER, RotationLimits()), frames(1, 5), frames(6, 9))
    assert part_paths(path) == [path]


def test_appending_goes_on_in_the_last_part(path: Path) -> None:
    write(RotatingWriter(path, HEADER, RotationLimits(size=500)), frames(1, 9), frames(10, 12))
    writer = RotatingWriter(path, HEADER, RotationLimits(size=10**6), mode="append")
    assert (writer.first_number, writer.time_offset) == (13, 1.2)
    write(writer, frames(13, 14))
    parts = [read_recording(part) for part in part_paths(path)]
    assert len(parts) == 2
    assert [entry for part in parts for entry in part.entries] == frames(1, 14)
    assert [part.bad_lines for part in parts] == [(), ()]


def test_appending_to_nothing_begins(path: Path) -> None:
    write(
        RotatingWriter(path, HEADER, RotationLimits(size=1), mode="append"),
        frames(1, 1),
        frames(2, 2),
    )
    assert len(part_paths(path)) == 2


def test_a_recording_in_one_file_can_be_gone_on_with_in_several(path: Path) -> None:
    first = RecordingWriter(path, HEADER)
    first.write(frames(1, 3))
    first.close()
    writer = RotatingWriter(path, HEADER, RotationLimits(size=1), mode="append")
    assert writer.first_number == 4
    write(writer, frames(4, 4), frames(5, 5))
    again = RotatingWriter(path, HEADER, RotationLimits(size=1), mode="append")
    write(again, frames(6, 6))
    parts = [read_recording(part) for part in part_paths(path)]
    assert [entry for part in parts for entry in part.entries] == frames(1, 6)
    assert [len(part.entries) for part in parts] == [3, 1, 1, 1]


def test_a_next_file_that_cannot_be_opened_is_done_without(path: Path) -> None:
    warnings: list[str] = []
    taken = path.with_name("a.2.acp.ndjson")
    taken.write_text("precious")
    writer = RotatingWriter(path, HEADER, RotationLimits(size=300), warn=warnings.append)
    for n in range(1, 200):
        writer.write(frames(n, n))
    assert len(warnings) == 1
    assert "exists already" in warnings[0]
    assert warnings[0].endswith(f"the recording continues in {path}")
    assert taken.read_text() == "precious"
    taken.unlink()
    write(writer, frames(200, 220), frames(221, 221))
    parts = [read_recording(part) for part in part_paths(path)]
    assert len(parts) == 2
    assert [entry for part in parts for entry in part.entries] == frames(1, 221)
    assert [part.bad_lines for part in parts] == [(), ()]


def test_overwriting_replaces_a_recording_with_all_its_parts(path: Path) -> None:
    write(
        RotatingWriter(path, HEADER, RotationLimits(size=1)),
        frames(1, 1),
        frames(2, 2),
        frames(3, 3),
    )
    header = Header("2026-02-02T00:00:00.000Z", "test", "v1")
    warnings: list[str] = []
    for first, mode in ((1, "overwrite"), (3, "append"), (5, "append")):
        writer = RotatingWriter(
            path,
            header,
            RotationLimits(size=1),
            mode=mode,  # pyright: ignore[reportArgumentType] - a literal
            warn=warnings.append,
        )
        write(writer, frames(first, first), frames(first + 1, first + 1))
    parts = [read_recording(part) for part in part_paths(path)]
    assert [entry.seq for part in parts for entry in part.entries] == list(range(1, 7))
    assert len(parts) == 6
    assert {part.header.created for part in parts} == {header.created}
    assert warnings == []


def test_who_is_withdrawn_while_overwriting_leaves_all_parts(path: Path) -> None:
    write(
        RotatingWriter(path, HEADER, RotationLimits(size=1)),
        frames(1, 1),
        frames(2, 2),
        frames(3, 3),
    )
    before = [part.read_bytes() for part in part_paths(path)]
    writer = RotatingWriter(path, HEADER, RotationLimits(size=1), mode="overwrite")
    writer.discard_if_empty()
    writer.close()
    assert [part.read_bytes() for part in part_paths(path)] == before


def test_the_first_file_is_refused_as_by_the_writer(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(RecordingExistsError):
        RotatingWriter(path, HEADER, RotationLimits())
    with pytest.raises(RecordingError, match="not a recording"):
        RotatingWriter(path, HEADER, RotationLimits(), mode="append")


@settings(deadline=None)
@given(st.lists(st.lists(st.binary(), max_size=4)), st.integers(1, 2000))
def test_any_entries_come_back_to_the_byte(batches: list[list[bytes]], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.acp.ndjson")
        writer = RotatingWriter(path, HEADER, RotationLimits(size=size))
        written: list[Entry] = []
        for batch in batches:
            entries: list[Entry] = [
                Frame(len(written) + n, 0.5, "agent", raw.replace(b"\n", b""))
                for n, raw in enumerate(batch, start=1)
            ]
            written += entries
            writer.write(entries)
        writer.close()
        parts = [read_recording(part) for part in part_paths(path)]
    assert [entry for part in parts for entry in part.entries] == written
    assert all(part.bad_lines == () and part.footer for part in parts)


def test_overwriting_touches_no_file_that_only_bears_the_name_of_a_part(path: Path) -> None:
    stranger = path.with_name("a.2.acp.ndjson")
    stranger.write_text("my thesis\n")
    warnings: list[str] = []
    writer = RotatingWriter(
        path, HEADER, RotationLimits(size=1), mode="overwrite", warn=warnings.append
    )
    write(writer, frames(1, 1), frames(2, 2))
    assert stranger.read_text() == "my thesis\n"
    assert len(warnings) == 1
    assert "the recording continues in" in warnings[0]
    assert [entry.seq for entry in read_recording(path).entries] == [1, 2]
