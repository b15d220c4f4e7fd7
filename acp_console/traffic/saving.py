"""Saves rows of the traffic: as a recording, or as text that others can read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from acp_console.traffic.rows import size_of
from acp_console.wording.frames import ShownRow, edited_row, frame_json, other_row, table_lines
from acp_console.wording.transcript_html import html_page
from acp_console.wording.transcript_markdown import document_lines
from acp_console.wording.values import OUTPUT_VERSION, ascii_json
from acp_inspector.filter.entries import ENTRY_TYPES, EntrySequence, RecordingEntries
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.messages import Decoder
from acp_inspector.recording.format import Header, RecordingError, new_header
from acp_inspector.recording.reader import read_header, read_lines
from acp_inspector.recording.writer import RecordingWriter, atomic_replacement
from acp_inspector.redaction.files import redact_recording
from acp_inspector.session.conversation import Conversation
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.edits import Edits
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.recorded_edits import read_edits
from acp_inspector.views.frame_row import decoded_row
from acp_protocol.dialects.spellings import NO_DIALECT

SaveFormat: TypeAlias = Literal["recording", "text", "JSON lines", "Markdown", "HTML"]

SUFFIXES: Final[dict[SaveFormat, str]] = {
    "recording": ".acp.ndjson",
    "text": ".txt",
    "JSON lines": ".jsonl",
    "Markdown": ".md",
    "HTML": ".html",
}
"""The end of the file's name, by format."""
ENTRIES_PER_WRITE: Final = 1000


def saved_size(entries: EntrySequence, rows: Sequence[int]) -> int:
    """Return the bytes of rows; all of a recording are known without a look at each."""
    if isinstance(entries, RecordingEntries) and isinstance(rows, range) and len(rows):
        return entries.index.offset(rows[-1]) - entries.index.offset(rows[0])
    return sum(size_of(entries, row) for row in rows)


def save_rows(
    entries: EntrySequence,
    rows: Sequence[int],
    path: Path,
    *,
    redacts: bool,
    format_: SaveFormat = "recording",
    overwrites: bool = False,
    edits: Collection[int] = (),
) -> int:
    """Write the entries in `rows` to a file; return how many secrets were replaced.

    It may run in a thread, while another one reads the same entries. `edits` are the rows of events
    that report edits of these frames: text shows what was sent, also if their rows are left out.

    Raises:
        RecordingError: a file cannot be read or written, or `path` exists.
    """
    if format_ == "recording" and not redacts:
        with atomic_replacement(path, overwrite=overwrites) as part:
            _write(entries, rows, part)
        return 0
    with TemporaryDirectory(prefix="acp-save-") as folder:
        whole, redacted = Path(folder, "whole.acp.ndjson"), Path(folder, "redacted.acp.ndjson")
        if format_ == "recording":
            _write(entries, rows, whole)
            return sum(redact_recording(whole, path, overwrite=overwrites).secrets.values())
        # A response without its request has neither method nor latency.
        requests = (entries.request_row(row) for row in rows)
        context = {row for row in requests if row is not None}.union(edits).difference(rows)
        _write(entries, sorted(context.union(rows)), whole)
        secrets = 0
        if redacts:
            secrets = sum(redact_recording(whole, redacted).secrets.values())
        source = redacted if redacts else whole
        others = {entry.seq for row in context if isinstance(entry := entries[row], ENTRY_TYPES)}
        with atomic_replacement(path, overwrite=overwrites) as part:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(
                os.open(part, flags, 0o600), "w", encoding="utf-8", errors="replace"
            ) as file:
                file.writelines(f"{line}\n" for line in _lines(source, format_, others))
        return secrets


def _lines(source: Path, format_: SaveFormat, context: Collection[int]) -> Iterator[str]:
    """Yield what is written of a recording; the entries of `context` only explain others."""
    header, found = (
        read_header(source),
        (each for each in read_lines(source) if isinstance(each, ENTRY_TYPES)),
    )
    edits = read_edits(source)
    match format_:
        case "Markdown":
            yield from document_lines(_talks(header, found, edits), left_out=context)
        case "HTML":
            talks = _talks(header, found, edits)
            yield from html_page(document_lines(talks, left_out=context))
        case "JSON lines":
            for row in _shown_rows(header, found, edits, context):
                yield ascii_json({"v": OUTPUT_VERSION, **frame_json(row)})
        case _:
            yield from table_lines(_shown_rows(header, found, edits, context))


def _shown_rows(
    header: Header, found: Iterable[Entry], edits: Edits, context: Collection[int]
) -> Iterator[ShownRow]:
    decoder, exchanges = Decoder(), Exchanges()
    decoder.begin_recording(header.dialect, header.cwd)
    for entry in found:
        if isinstance(entry, JournalEvent):
            decoder.note(entry)
            if entry.begins_connection:
                exchanges.restart(entry.seq)
        if isinstance(entry, Frame):
            decoded = decoder.decode(entry)
            exchanges.pair(decoded)
            row = decoded_row(decoded)
        else:
            row = other_row(entry)
        edit = edits.of(entry.seq)
        if entry.seq not in context:
            yield row if edit is None else edited_row(row, edit, decoder.dialect)


def _talks(header: Header, found: Iterable[Entry], edits: Edits) -> Iterable[Conversation]:
    talks = Conversations()
    talks.fold.decoder.begin_recording(header.dialect, header.cwd)
    talks.read(found, edits)
    return talks.sessions.values()


def _write(entries: EntrySequence, rows: Sequence[int], path: Path) -> None:
    if isinstance(entries, RecordingEntries):
        with RecordingEntries(entries.path, entries.chosen_dialect).index_all() as recording:
            # The frames that show the dialect may be left out.
            recording.translated(0, max(rows, default=-1) + 1)
            header = replace(recording.header, dialect=_dialect(recording))
            _put(_entries(recording, rows), header, path)
    else:
        about = "saved from the Traffic screen"
        header = new_header((), Path.cwd(), about=about, dialect=_dialect(entries))
        _put(_entries(entries, rows), header, path)


def _dialect(entries: EntrySequence) -> str | None:
    name = entries.dialect or entries.named_dialect
    return None if name == NO_DIALECT else name


def _entries(entries: EntrySequence, rows: Sequence[int]) -> Iterator[Entry]:
    lines = (entries[row] for row in rows if row < len(entries))
    return (line for line in lines if isinstance(line, ENTRY_TYPES))


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
