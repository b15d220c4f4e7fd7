"""Converts a file of another tool to a recording, one message at a time."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, count, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final, TypeAlias

from acp_inspector.importers.formats import Format, UnknownFormatError, detect_format, find_format
from acp_inspector.importers.model import (
    EventItem,
    FrameItem,
    Item,
    NoteItem,
    SkippedItem,
    StderrItem,
)
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.compression import DecompressedFile, open_whole
from acp_inspector.recording.format import BOM, Header, RecordingError, new_header
from acp_inspector.recording.joining import joined
from acp_inspector.recording.writer import RecordingWriter, atomic_replacement
from acp_protocol.errors import describe_os_error

HEAD_BYTES: Final = 1 << 18
"""Bytes at the start of a file by which its format is detected."""
Kept: TypeAlias = FrameItem | StderrItem | NoteItem | EventItem
_BATCH: Final = 256
"""Entries that are written at once."""
_PIECE_BYTES: Final = 1 << 20
_UNTIMED: Final = 1000
"""Items among which the first time is looked for."""
_FIRST_DATE: Final = 100_000_000.0
"""Seconds since 1970; less are those since a program or a day began."""
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks of UTF-16, as PowerShell writes it."""
_OURS: Final = b'{"acp_recording"'


class NoMessageError(RecordingError):
    """The file contains no message in its format."""


@dataclass(slots=True)
class ImportResult:
    """The result of an import."""

    format: Format
    counts: Counter[str] = field(default_factory=Counter[str])
    """How many `frames`, pieces of `stderr`, `notes`, `events`, and `broken` lines that were kept.

    Broken lines are kept as text.
    """
    guesses: Counter[str] = field(default_factory=Counter[str])
    """What was guessed, and for how many frames."""
    skipped: Counter[str] = field(default_factory=Counter[str])
    """What was skipped, and how often."""
    has_messages: bool = False
    """Whether any message was read."""


def import_file(
    source: Path, target: Path, *, format_name: str | None = None, overwrite: bool = False
) -> ImportResult:
    """Write the traffic in `source` to the recording `target`.

    Args:
        source: what another tool wrote.
        target: where the recording goes, with mode 0600.
        format_name: the format of `source`; None: recognise it by its content.
        overwrite: replace `target` if it exists.

    Raises:
        UnknownFormatError: the format is not known; nothing was written.
        NoMessageError: it has no message that can be read; nothing was written.
        RecordingError: a file cannot be read or written, or `target` exists.
    """
    head = _read_head(source)
    encoding = "utf-16" if head.startswith(_UTF16) else None
    if encoding is not None:
        head = head.decode(encoding, errors="ignore").encode(errors="surrogatepass")
    chosen = _format(source, head, format_name)
    with open_whole(source, is_joined=False) as opened, _as_utf8(opened, encoding) as file:
        if target.exists() and target.samefile(source):
            raise RecordingError(f"{target} is what is imported; choose another name")
        result = ImportResult(chosen)
        items = _counted(chosen.read(file), result)
        first = _until_timed(items) if chosen.clock in {"1970", "either"} else []
        began = next((item.at for item in first if item.at is not None), None)
        header = _header(source, chosen, began if began and began >= _FIRST_DATE else None)
        with atomic_replacement(target, overwrite=overwrite) as part:
            writer = RecordingWriter(part, header)
            entries = _numbered(joined(_entries(chain(first, items), began or 0.0)), result)
            with closing(writer):
                while not writer.failure and (batch := list(islice(entries, _BATCH))):
                    writer.write(batch)
            if writer.failure:
                raise RecordingError(f"cannot write {target}: {writer.failure}")
            if not result.has_messages:
                raise NoMessageError(
                    f"cannot import {source} as {chosen.about}: no message can be read in it"
                )
    return result


def _read_head(source: Path) -> bytes:
    try:
        with DecompressedFile(source, is_joined=False) as stream:
            head = stream.file.read(HEAD_BYTES)
    except OSError as problem:
        raise RecordingError(f"cannot read {source}: {describe_os_error(problem)}") from None
    if not head.strip() and not stream.problem:
        raise NoMessageError(f"cannot import {source}: it is empty")
    return head


def _format(source: Path, head: bytes, name: str | None) -> Format:
    if head.startswith(_OURS):
        raise UnknownFormatError(f"{source} is a recording already; there is nothing to import")
    if name is not None:
        return find_format(name)
    try:
        # The byte order mark is not part of the first line.
        return detect_format(head.removeprefix(BOM))
    except UnknownFormatError as problem:
        raise UnknownFormatError(f"cannot import {source}: {problem}") from None


def _until_timed(items: Iterator[Kept]) -> list[Kept]:
    """Return the first items, up to one that has a time."""
    first: list[Kept] = []
    for item in islice(items, _UNTIMED):
        first.append(item)
        if item.at is not None:
            break
    return first


@contextmanager
def _as_utf8(file: BinaryIO, encoding: str | None) -> Generator[BinaryIO]:
    """Open a text of another encoding as UTF-8."""
    if encoding is None:
        yield file
        return
    with TemporaryFile() as converted:
        decoder = getincrementaldecoder(encoding)(errors="surrogatepass")
        while piece := file.read(_PIECE_BYTES):
            converted.write(decoder.decode(piece).encode(errors="surrogatepass"))
        converted.seek(0)
        yield converted


def _counted(items: Iterator[Item], result: ImportResult) -> Iterator[Kept]:
    """Yield the entries of the recording, and count all items."""
    for item in items:
        match item:
            case SkippedItem(why=why):
                result.skipped[why] += 1
                continue
            case FrameItem(guess=guess, is_broken=is_broken):
                result.has_messages |= not is_broken
                result.counts["broken"] += is_broken
                if guess:
                    result.guesses[guess] += 1
            case StderrItem():
                result.counts["stderr"] += 1
                result.has_messages = True
            case NoteItem(is_broken=is_broken):
                result.counts["notes"] += 1
                result.counts["broken"] += is_broken
            case EventItem():
                result.counts["events"] += 1
        yield item


def _header(source: Path, chosen: Format, began: float | None) -> Header:
    header = new_header((), Path(), about=f"Imported from {source.name} ({chosen.about})")
    created = began if began is not None else source.stat().st_mtime
    created_at = datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")
    imported = {"format": chosen.name, "file": source.name, "caveats": list(chosen.caveats)}
    # The traffic does not come from this machine or its environment.
    return replace(
        header,
        created=created_at.replace("+00:00", "Z"),
        cwd="",
        platform="",
        env=[],
        meta={"imported": imported},
    )


def _numbered(entries: Iterator[Entry], result: ImportResult) -> Iterator[Entry]:
    """Yield entries with numbers from 1, and count the frames."""
    for n, entry in enumerate(entries, start=1):
        result.counts["frames"] += isinstance(entry, Frame)
        yield entry if entry.seq == n else replace(entry, seq=n)


def _entries(items: Iterator[Kept], began: float) -> Iterator[Entry]:
    """Yield the entries; one without a time gets that of the entry before."""
    at = 0.0
    for n, item in zip(count(1), items, strict=False):
        if item.at is not None:
            at = max(item.at - began, 0.0)
        match item:
            case FrameItem(side=side, raw=raw, end=end, header=header):
                yield Frame(n, at, side, raw, end, header)
            case StderrItem(text=text):
                yield StderrChunk(n, at, text)
            case NoteItem(text=text):
                yield JournalEvent(n, at, "note", {"text": text})
            case EventItem(name=name, data=data):
                yield JournalEvent(n, at, name, data)
