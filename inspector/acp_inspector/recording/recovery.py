"""Finds what the proxy of a recording had noted and not written when it was killed.

Readers get it without a change of any file; `recover` and a proxy with `--append` write it.

Source: docs/recording-format.md, "After a kill".
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
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
    encode_header,
    part_path,
    series_of,
)
from acp_inspector.recording.lines import line_begin, read_at
from acp_inspector.recording.spool import (
    OWNER_NAME,
    claim,
    discard,
    first_line,
    open_file,
    pending_header,
    read_entries,
    remove,
    spool_path,
)
from acp_inspector.recording.writer import RecordingWriter, WriteMode, last_entry, read_append_state
from acp_protocol.errors import describe_os_error
from acp_protocol.host.regular_files import open_regular, read_regular

logger = logging.getLogger(__name__)

OWNER_BYTES: Final = 64
RECOVERED_BATCH: Final = 4 * 2**20
"""Bytes of frames that are appended to a recording at a time."""
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
        discard(path)
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
            return _read(folder, first, recording)
        except (OSError, RecordingError) as problem:
            reason = describe_os_error(problem) if isinstance(problem, OSError) else problem
            logger.warning(
                "%s: what the proxy had not written when it was killed stays in %s (%s)",
                first,
                spool,
                reason,
            )
            return None


def _read(folder: int, first: Path, recording: Path) -> Unwritten | None:
    if next(read_entries(folder), None) is None:
        return None
    if not _belongs(folder, first):
        raise RecordingError("another recording has taken its place")
    header = pending_header(folder)
    parts = [first] if header is not None else _parts(first)
    if not parts[-1].samefile(recording):
        return None
    size, number, at = (0, 0, 0.0) if header is not None else _whole_lines(parts[-1])
    if not number and len(parts) > 1:
        number, at = _last_entry(parts[-2])
    lines = TemporaryFile()  # noqa: SIM115 - closed with the reader
    if header is not None:
        lines.write(encode_header(header))
    count = 0
    for entry in _missing(folder, number, at):
        lines.write(encode_entry(entry))
        count += isinstance(entry, Frame)
    lines.flush()
    if count:
        _report(first, count)
    return Unwritten(size, cast("BinaryIO", lines))


@lru_cache(maxsize=128)
def _report(first: Path, count: int) -> None:
    """Say it once: a recording may be opened several times."""
    logger.warning(
        "%s: shown with %s that the proxy had not written when it was killed; acp-console recover "
        "writes them",
        first,
        _frames(count),
    )


def _whole_lines(path: Path) -> tuple[int, int, float]:
    """Return the size of a file without a part of a line, and its last number and time."""
    with open_regular(path, is_followed=True) as file:
        read = partial(read_at, file.fileno())
        size = os.fstat(file.fileno()).st_size
        if size and read(size - 1, 1) != b"\n":
            size = line_begin(read, size)
        return size, *last_entry(read, size)


def _missing(folder: int, number: int, at: float) -> Iterator[Entry]:
    """Yield the entries of a spool after a number, and a note that counts the frames."""
    count = 0
    for entry in read_entries(folder):
        if entry.seq > number:
            number, at = entry.seq, entry.time
            count += isinstance(entry, Frame)
            yield entry
    if count:
        text = f"recovered {_frames(count)} that the proxy had not written when it was killed"
        yield JournalEvent(number + 1, at, "note", {"text": text})


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
            count = _append(folder, first)
        except (OSError, RecordingError) as problem:
            reason = describe_os_error(problem) if isinstance(problem, OSError) else str(problem)
            frames = sum(isinstance(entry, Frame) for entry in read_entries(folder))
            logger.warning(
                "%s: up to %d frames that the proxy had not written when it was killed wait in %s "
                "(%s)",
                first,
                frames,
                spool,
                reason,
            )
            return None
        remove(folder, spool)
        if count:
            logger.warning(
                "%s: recovered %s that the proxy had not written when it was killed",
                first,
                _frames(count),
            )
        return count


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
        owner = sha256(first_line(recording)).digest() if spools else b""
    except OSError:
        return None
    for spool in spools:
        is_orphan = not os.path.lexists(recording.with_name(spool.name[1 : -len(".spool")]))
        with suppress(OSError):
            if is_orphan and read_regular(spool / OWNER_NAME, OWNER_BYTES) == owner:
                return recording, spool
    return None


def _frames(count: int) -> str:
    return "1 frame" if count == 1 else f"{count} frames"


def _belongs(folder: int, first: Path) -> bool:
    """Return whether a spool is of this file; one whose header is not written is of any."""
    descriptor = open_file(folder, OWNER_NAME)
    if descriptor is None or pending_header(folder) is not None:
        return True
    with os.fdopen(descriptor, "rb") as file:
        return file.read() == sha256(first_line(first)).digest()


def _append(folder: int, first: Path) -> int:
    """Append what is missing; return how many frames that were.

    Raises:
        OSError: a file cannot be read or written.
        RecordingError: the recording cannot be written.
    """
    if next(read_entries(folder), None) is None:
        return 0
    if not _belongs(folder, first):
        raise RecordingError("another recording has taken its place")
    path, size, writer = _open_writer(folder, first)
    batch: list[Entry] = []
    count = held = 0
    number, at = writer.first_number - 1, writer.time_offset
    if not number and path != first:
        # The proxy was killed when it had only begun the last part.
        number, at = _last_entry(_parts(first)[-2])
    for entry in _missing(folder, number, at):
        batch.append(entry)
        if isinstance(entry, Frame):
            count += 1
            held += len(entry.data)
        if held > RECOVERED_BATCH:
            writer.write(batch)
            batch, held = [], 0
    writer.write(batch)
    writer.close()
    if writer.failure:
        os.truncate(path, size)
        raise RecordingError(writer.failure)
    return count


def _open_writer(folder: int, first: Path) -> tuple[Path, int, RecordingWriter]:
    """Return the file to append to, its size without a line that was cut off, and its writer."""
    header = pending_header(folder)
    if header is not None:
        # The file is empty, or still holds the recording to overwrite.
        return first, 0, RecordingWriter(first, header, mode="overwrite")
    path = _parts(first)[-1]
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            # A part of a batch: all of it is in the spool.
            size = line_begin(partial(read_at, descriptor), size)
            os.ftruncate(descriptor, size)
    finally:
        os.close(descriptor)
    return path, size, RecordingWriter(path, Header("", "", ""), mode="append")


def _last_entry(path: Path) -> tuple[int, float]:
    """Return number and time of the last entry of a recording."""
    with path.open("rb") as file:
        found = read_append_state(file.fileno())
    return (found.last_number, found.last_time) if found else (0, 0.0)


def _parts(first: Path) -> list[Path]:
    """Return the files of a recording; none is compressed, because a proxy was writing them."""
    paths = [first]
    header = _header_of(first)
    if header is None:
        return paths
    series = series_of(first, header)
    for number in count(2):
        path = part_path(first, number)
        part = _header_of(path)
        if part is None or (part.meta.get("series"), part.meta.get("part")) != (series, number):
            break
        paths.append(path)
    return paths


def _header_of(path: Path) -> Header | None:
    if not path.is_file():
        return None
    header = decode_line(first_line(path).rstrip(b"\n"))
    return header if isinstance(header, Header) else None
