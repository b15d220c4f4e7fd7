"""Finds what the proxy of a recording had noted and not written when it was killed.

Readers get it without a change of any file; `recover` and a proxy with `--append` write it.

Source: docs/recording-format.md, "After a kill".
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final, cast

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.format import (
    Header,
    RecordingError,
    decode_line,
    encode_entry,
    part_path,
    series_of,
)
from acp_inspector.recording.lines import MAX_HEADER, line_begin, read_at
from acp_inspector.recording.spool import claim, read_entries, remove, spool_files, spool_path
from acp_inspector.recording.writer import RecordingWriter, WriteMode, last_entry
from acp_protocol.errors import describe_os_error
from acp_protocol.host.regular_files import open_regular

logger = logging.getLogger(__name__)

_PART: Final = re.compile(r"\.\d+(?=(\.acp\.ndjson|\.[^.]*)?$)")


def open_writer(
    path: Path,
    header: Header,
    *,
    mode: WriteMode,
    warn: Callable[[str], None],
    retry_when_full: bool = False,
) -> RecordingWriter:
    """Open a recording of ours to write; recover first what a killed proxy had noted for it.

    Raises:
        RecordingError: see `RecordingWriter`.
    """
    if mode != "new":
        recover(path)
    writer = RecordingWriter(
        path, header, mode=mode, warn=warn, retry_when_full=retry_when_full, is_ours=True
    )
    if writer.is_created or mode == "overwrite":
        # Otherwise the frames of another recording would be recovered into this one.
        with claim(spool_path(path)) as folder:
            if folder is not None:
                remove(folder, spool_path(path))
    return writer


@dataclass(frozen=True, slots=True)
class Unwritten:
    """The end of a recording, as it would be if it were recovered."""

    size: int
    """Bytes of the file that come before it; what follows them is a part of a line."""
    lines: BinaryIO
    """A file without a name, with the lines that follow."""


def read_unwritten(recording: Path) -> Unwritten | None:
    """Return what the proxy had noted and not written when it was killed; change nothing.

    None if there is nothing, or if it belongs to another part of the recording. Says on the log
    what was found.
    """
    found = _find(recording)
    if found is None:
        return None
    first, spool = found
    with claim(spool, is_shared=True) as folder:
        if folder is None:
            return None
        try:
            with _open(folder, first) as lost:
                if lost is None or not lost.path.samefile(recording):
                    return None
                return _unwritten(lost, first)
        except (OSError, RecordingError) as problem:
            _report_failure(first, spool, problem)
            return None


def recover(recording: Path) -> int | None:
    """Append to a recording what its proxy had noted and not written when it was killed.

    Return how many frames those were; None if they could not be appended. Does nothing while that
    proxy lives. Says on the log what was done.
    """
    found = _find(recording)
    if found is None:
        return 0
    first, spool = found
    with claim(spool) as folder:
        if folder is None:
            return 0
        try:
            with _open(folder, first) as lost:
                frames = 0 if lost is None else _append(lost)
        except (OSError, RecordingError) as problem:
            _report_failure(first, spool, problem)
            return None
        remove(folder, spool)
    if frames:
        text = "%s: recovered %s that the proxy had not written when it was killed"
        logger.warning(text, first, _frames(frames))
    return frames


def _find(recording: Path) -> tuple[Path, Path] | None:
    """Return the first file of a recording, and its spool; also if the file was moved or linked."""
    if not recording.name:
        return None
    candidates = [recording, recording.with_name(_PART.sub("", recording.name))]
    with suppress(OSError, RuntimeError):
        candidates.append(recording.resolve())
    for first in candidates:
        if os.path.lexists(spool_path(first)) and first.is_file():
            return first, spool_path(first)
    try:
        spools = [*recording.parent.glob(".*.spool")]
        header = _first_line(recording) if spools else b""
    except OSError:
        return None
    for spool in spools:
        if not os.path.lexists(recording.with_name(spool.name[1 : -len(".spool")])):
            with claim(spool, is_shared=True) as folder:
                if folder is not None and _header_of(folder) == header:
                    return recording, spool
    return None


def _header_of(folder: int) -> bytes | None:
    with spool_files(folder) as files:
        return files[-1].header if files else None


@dataclass(frozen=True, slots=True)
class _Lost:
    """What a recording lacks."""

    path: Path
    """The file of the recording that it belongs to."""
    size: int
    """Bytes of that file without a part of a line."""
    header: bytes
    """The first line if the file lacks it, or is to be overwritten."""
    entries: Iterator[Entry]
    """With a note at the end that counts the frames."""


@contextmanager
def _open(folder: int, first: Path) -> Generator[_Lost | None]:
    """Yield what a spool has of a recording; None if it has nothing.

    Raises:
        OSError: a file cannot be read.
        RecordingError: it belongs to another recording.
    """
    # Opened before the recording is read: what is removed meanwhile is in the recording by then.
    with spool_files(folder) as files:
        if next(read_entries(files), None) is None:
            yield None
            return
        header = files[-1].header
        if _first_line(first) == header:
            parts = _parts(first)
            size, number, at = _whole_lines(parts[-1])
            if not number and len(parts) > 1:
                # The proxy was killed when it had only begun the last part.
                _, number, at = _whole_lines(parts[-2])
            yield _Lost(parts[-1], size, b"", _missing(read_entries(files), number, at))
        elif files[-1].may_begin:
            # The file is empty, or still holds the recording to overwrite.
            yield _Lost(first, 0, header, _missing(read_entries(files), 0, 0.0))
        else:
            raise RecordingError("another recording has taken its place")


def _missing(entries: Iterator[Entry], number: int, at: float) -> Iterator[Entry]:
    """Yield the entries after a number, and a note that counts the frames."""
    frames = 0
    for entry in entries:
        if entry.seq > number:
            number, at = entry.seq, entry.time
            frames += isinstance(entry, Frame)
            yield entry
    if frames:
        text = f"recovered {_frames(frames)} that the proxy had not written when it was killed"
        yield JournalEvent(number + 1, at, "note", {"text": text})


def _unwritten(lost: _Lost, first: Path) -> Unwritten:
    entries = list(lost.entries)
    lines = TemporaryFile()  # noqa: SIM115 - closed with the reader
    lines.writelines([lost.header, *map(encode_entry, entries)])
    lines.flush()
    if frames := sum(isinstance(entry, Frame) for entry in entries):
        _report(first, frames)
    return Unwritten(lost.size, cast("BinaryIO", lines))


def _append(lost: _Lost) -> int:
    """Append what is missing; return how many frames that were.

    Raises:
        OSError: the file cannot be written.
        RecordingError: the recording cannot be written.
    """
    header = decode_line(lost.header.rstrip(b"\n"))
    if isinstance(header, Header):
        writer = RecordingWriter(lost.path, header, mode="overwrite")
    else:
        # A part of a line is a part of a batch, all of which is in the spool.
        _cut(lost.path, lost.size)
        writer = RecordingWriter(lost.path, Header("", "", ""), mode="append")
    entries = list(lost.entries)
    writer.write(entries)
    writer.close()
    if writer.failure:
        _cut(lost.path, lost.size)
        raise RecordingError(writer.failure)
    return sum(isinstance(entry, Frame) for entry in entries)


def _cut(path: Path, size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_size > size:
            os.ftruncate(descriptor, size)
    finally:
        os.close(descriptor)


def _first_line(recording: Path) -> bytes:
    with recording.open("rb") as file:
        return file.readline(MAX_HEADER)


def _whole_lines(path: Path) -> tuple[int, int, float]:
    """Return the size of a file without a part of a line, and its last number and time."""
    with open_regular(path, is_followed=True) as file:
        read = partial(read_at, file.fileno())
        size = os.fstat(file.fileno()).st_size
        if size and read(size - 1, 1) != b"\n":
            size = line_begin(read, size)
        return size, *last_entry(read, size)


def _parts(first: Path) -> list[Path]:
    """Return the files of a recording; none is compressed, because a proxy was writing them."""
    paths, series = [first], ""
    for number in count(1):
        path = part_path(first, number)
        header = decode_line(_first_line(path).rstrip(b"\n")) if path.is_file() else None
        if not isinstance(header, Header):
            break
        series = series or series_of(first, header)
        if number > 1:
            if (header.meta.get("series"), header.meta.get("part")) != (series, number):
                break
            paths.append(path)
    return paths


@lru_cache(maxsize=128)
def _report(first: Path, frames: int) -> None:
    """Say it once: a recording may be opened several times."""
    logger.warning(
        "%s: shown with %s that the proxy had not written when it was killed; acp-console recover "
        "writes them",
        first,
        _frames(frames),
    )


def _report_failure(first: Path, spool: Path, problem: OSError | RecordingError) -> None:
    reason = describe_os_error(problem) if isinstance(problem, OSError) else problem
    text = "%s: frames that the proxy had not written when it was killed wait in %s (%s)"
    logger.warning(text, first, spool, reason)


def _frames(count: int) -> str:
    return "1 frame" if count == 1 else f"{count} frames"
