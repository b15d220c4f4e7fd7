"""Reads a recording as far as it goes, and reports what cannot be read.

Opening is inert: nothing that a recording names is run, fetched or followed.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, assert_never

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording.compression import RecordingStream
from acp_inspector.recording.format import (
    Footer,
    Header,
    RecordingError,
    Unreadable,
    decode_line,
)
from acp_inspector.recording.lines import TOO_LONG, SkippedLine, stream_lines
from acp_protocol.errors import describe_os_error

HEADER_LIMIT: Final = 2**20
"""Bytes of the longest header that is read."""
CUT_LINE: Final = "the file ends in the middle of this line"
CHANGED: Final = "the digest does not fit: lines before this one were changed"


@dataclass(frozen=True, slots=True)
class LineFault:
    """A line of the file that could not be read as it should."""

    line: int
    """Its number in the file, from 1."""
    reason: str
    offset: int = 0
    """Where it begins: bytes from the beginning, of what a compressed file holds."""


Row: TypeAlias = Header | Entry | Footer | LineFault
"""What one line of a recording says."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A journal that was on disk."""

    path: Path
    header: Header
    entries: tuple[Entry, ...]
    faults: tuple[LineFault, ...]
    footer: Footer | None
    """None if the recording was not closed cleanly."""

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames alone."""
        return tuple(entry for entry in self.entries if isinstance(entry, Frame))


def read_recording(path: Path, *, max_line: int | None = None) -> Recording:
    """Return the whole recording at `path`.

    Raises:
        RecordingError: there is no such file, it cannot be read, or it is no recording.
    """
    entries: list[Entry] = []
    faults: list[LineFault] = []
    footer: Footer | None = None
    lines = read_lines(path, max_line=max_line)
    header = next(lines)
    assert isinstance(header, Header)
    for line in lines:
        match line:
            case Frame() | StderrText() | JournalEvent():
                entries.append(line)
            case LineFault():
                faults.append(line)
            case Footer():
                footer = line
            case Header():
                pass
            case _:
                assert_never(line)
    return Recording(path, header, tuple(entries), tuple(faults), footer)


def read_header(path: Path) -> Header:
    """Return what the first line of the recording at `path` says.

    Raises:
        RecordingError: see `read_recording`.
    """
    with closing(read_lines(path)) as lines:
        header = next(lines)
    assert isinstance(header, Header)
    return header


def read_lines(path: Path, *, max_line: int | None = None) -> Generator[Row]:
    """Yield what the lines of the recording say, the header first, holding one line at a time.

    Lines longer than `max_line` bytes, `LINE_LIMIT` by default, are skipped.

    Raises:
        RecordingError: see `read_recording`; also while the file is read.
    """
    try:
        with RecordingStream(path) as stream:
            yield from _read_stream(path, stream, max_line)
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None


def header_of(path: Path, line: bytes) -> Header:
    """Return what the first line of a file says.

    Raises:
        RecordingError: it is no header.
    """
    if not line:
        raise RecordingError(f"{path} is no recording: it is empty")
    header = decode_line(line.rstrip(b"\n"))
    if not isinstance(header, Header):
        raise RecordingError(f"{path} is no recording: its first line is no header")
    return header


def _read_stream(path: Path, stream: RecordingStream, max_line: int | None) -> Generator[Row]:
    # Late: a proxy starts without it.
    import hashlib

    # What is foreign may be one endless line, so the first is not read further than a header goes.
    line = stream.file.readline(HEADER_LIMIT)
    if not line and stream.fault:
        raise RecordingError(f"cannot read {path}: {stream.fault}")
    yield header_of(path, line)
    digest = hashlib.sha256(line)
    offset = len(line)
    number = 1
    is_cut = False
    for number, line in enumerate(stream_lines(stream.file, max_line, digest.update), start=2):
        if isinstance(line, SkippedLine):
            yield LineFault(number, TOO_LONG, offset)
            offset += line.size
            continue
        read = decode_line(line.rstrip(b"\n"))
        if isinstance(read, Unreadable):
            is_cut = not line.endswith(b"\n")
            reason = CUT_LINE if is_cut else read.reason
            yield LineFault(number, stream.fault or reason if is_cut else reason, offset)
        else:
            yield read
            if isinstance(read, Footer) and read.digest != digest.hexdigest():
                yield LineFault(number, CHANGED, offset)
        digest.update(line)
        offset += len(line)
    if stream.fault and not is_cut:
        yield LineFault(number + 1, stream.fault, offset)
