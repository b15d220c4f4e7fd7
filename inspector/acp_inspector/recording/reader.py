"""Reads recordings and reports the lines that cannot be read.

Reading is inert: nothing that a recording names is run, fetched or followed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, assert_never

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.compression import DecompressedFile
from acp_inspector.recording.format import (
    Footer,
    Header,
    RecordingError,
    UnreadableLine,
    decode_line,
    header_error,
)
from acp_inspector.recording.lines import MAX_HEADER, SkippedLine, stream_lines
from acp_protocol.errors import describe_os_error
from acp_protocol.host.regular_files import check_regular

LINE_TOO_LONG: Final = "the line is too long to be read"

LINE_CUT_OFF: Final = "the file ends in the middle of this line"
DIGEST_MISMATCH: Final = "the digest does not fit: lines before this one were changed"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of the file that cannot be read, or a wrong digest."""

    line: int
    """Number in the file, from 1."""
    reason: str
    offset: int = 0
    """Byte offset of the line, in the decompressed data."""

    @property
    def is_unread(self) -> bool:
        """Whether something could not be read: behind a wrong digest everything was."""
        return self.reason != DIGEST_MISMATCH


Row: TypeAlias = Header | Entry | Footer | BadLine
"""A decoded line of a recording."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording in memory."""

    path: Path
    header: Header
    entries: tuple[Entry, ...]
    bad_lines: tuple[BadLine, ...]
    footer: Footer | None
    """None if the recording was not closed cleanly."""
    digest: str = ""
    """The SHA-256 of all decompressed bytes that were read, by which its origin is known."""

    @property
    def unread(self) -> int:
        """The number of lines that could not be read; a check of the recording does not pass."""
        return sum(bad.is_unread for bad in self.bad_lines)

    @property
    def frames(self) -> tuple[Frame, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, Frame))


def unread_problem(count: int) -> str:
    """Return why a check of a recording with `count` unreadable lines does not pass."""
    return f"{count} {'line' if count == 1 else 'lines'} of the recording could not be read"


def read_recording(path: Path, *, max_line: int | None = None) -> Recording:
    """Return the whole recording at `path`.

    Raises:
        RecordingError: there is no such file, it cannot be read, or it is not a recording.
    """
    try:
        # Without a writer a pipe would block for ever, and a terminal until somebody types.
        check_regular(path, path.stat())
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None
    entries: list[Entry] = []
    bad_lines: list[BadLine] = []
    footer: Footer | None = None
    digests: list[str] = []
    lines = read_lines(path, max_line=max_line, on_end=digests.append)
    header = next(lines)
    assert isinstance(header, Header)
    with garbage_collection_off():
        for line in lines:
            match line:
                case Frame() | StderrChunk() | JournalEvent():
                    entries.append(line)
                case BadLine():
                    bad_lines.append(line)
                case Footer():
                    footer = line
                case Header():
                    pass
                case _:
                    assert_never(line)
    return Recording(path, header, tuple(entries), tuple(bad_lines), footer, *digests)


@contextmanager
def garbage_collection_off() -> Generator[None]:
    """Make many objects without searching them for cycles again and again; it takes a third."""
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()


def read_header(path: Path) -> Header:
    """Return the header of the recording at `path`.

    Raises:
        RecordingError: see `read_recording`.
    """
    with closing(read_lines(path)) as lines:
        header = next(lines)
    assert isinstance(header, Header)
    return header


def read_lines(
    path: Path,
    *,
    max_line: int | None = None,
    on_end: Callable[[str], object] = lambda digest: None,
) -> Generator[Row]:
    """Yield the decoded lines of the recording, header first, holding one line at a time.

    Lines longer than `max_line` bytes, `MAX_LINE` by default, are skipped. `on_end` gets the digest
    of all bytes.

    Raises:
        RecordingError: see `read_recording`; also while the file is read.
    """
    try:
        with DecompressedFile(path) as stream:
            on_end((yield from _read_stream(path, stream, max_line)))
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None


def header_of(path: Path, line: bytes, problem: str | None = None) -> Header:
    """Decode the first line of a file; `problem` says why there is none, if that is known.

    Raises:
        RecordingError: it is not a header.
    """
    if not line and problem:
        raise RecordingError(f"cannot read {path}: {problem}")
    if not line:
        raise RecordingError(f"{path} is not a recording: it is empty")
    header = decode_line(line.rstrip(b"\n"))
    if not isinstance(header, Header):
        raise header_error(path, header)
    return header


def _read_stream(
    path: Path, stream: DecompressedFile, max_line: int | None
) -> Generator[Row, None, str]:
    """Yield the lines; return the digest of all bytes."""
    # Imported late: a proxy starts without it.
    import hashlib

    # A file that is not a recording may be one endless line.
    line = stream.file.readline(MAX_HEADER)
    yield header_of(path, line, stream.problem)
    digest = hashlib.sha256(line)
    offset = len(line)
    number = 1
    is_cut = False
    for number, line in enumerate(stream_lines(stream.file, max_line, digest.update), start=2):
        if isinstance(line, SkippedLine):
            yield BadLine(number, LINE_TOO_LONG, offset)
            offset += line.size
            continue
        read = decode_line(line.rstrip(b"\n"))
        if isinstance(read, UnreadableLine):
            is_cut = not line.endswith(b"\n")
            reason = LINE_CUT_OFF if is_cut else read.reason
            yield BadLine(number, stream.problem or reason if is_cut else reason, offset)
        else:
            yield read
            if isinstance(read, Footer) and read.digest != digest.hexdigest():
                yield BadLine(number, DIGEST_MISMATCH, offset)
        digest.update(line)
        offset += len(line)
    if stream.problem and not is_cut:
        yield BadLine(number + 1, stream.problem, offset)
    return digest.hexdigest()
