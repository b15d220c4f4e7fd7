"""Saves rows of the traffic as a recording, with or without its secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from acp_inspector.filter.entries import EntrySequence
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Header, RecordingError, new_header
from acp_inspector.recording.indexed import IndexedRecording
from acp_inspector.recording.writer import RecordingWriter
from acp_inspector.redaction.files import redact_recording

ENTRIES_PER_WRITE: Final = 1000


def save_rows(entries: EntrySequence, rows: Sequence[int], path: Path, *, redacts: bool) -> int:
    """Write the entries in `rows` to a new recording; return how many secrets were replaced.

    It may run in a thread, while another one reads the same entries.

    Raises:
        RecordingError: a file cannot be read or written, or `path` exists.
    """
    if not redacts:
        _write(entries, rows, path)
        return 0
    with TemporaryDirectory(prefix="acp-save-") as folder:
        whole = Path(folder, "whole.acp.ndjson")
        _write(entries, rows, whole)
        return sum(redact_recording(whole, path).secrets.values())


def _write(entries: EntrySequence, rows: Sequence[int], path: Path) -> None:
    if isinstance(entries, IndexedRecording):
        with IndexedRecording(entries.path).index_all() as recording:
            _put(_entries(recording, rows), recording.header, path)
    else:
        header = new_header((), Path.cwd(), about="saved from the Traffic screen")
        _put(_entries(entries, rows), header, path)


def _entries(entries: EntrySequence, rows: Sequence[int]) -> Iterator[Entry]:
    lines = (entries[row] for row in rows if row < len(entries))
    return (line for line in lines if isinstance(line, Frame | StderrChunk | JournalEvent))


def _put(found: Iterable[Entry], header: Header, path: Path) -> None:
    writer = RecordingWriter(path, header)
    try:
        waiting: Iterator[Entry] = iter(found)
        while batch := list(islice(waiting, ENTRIES_PER_WRITE)):
            writer.write(batch)
    finally:
        writer.close()
    if writer.failure:
        raise RecordingError(f"cannot write {path}: {writer.failure}")
