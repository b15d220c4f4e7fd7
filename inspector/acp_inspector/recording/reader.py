"""Reads a recording as far as it goes, and says where it stops being good.

Opening is inert: nothing that a recording names is run, fetched or followed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, Protocol, assert_never

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording.format import (
    Footer,
    Header,
    Line,
    RecordingError,
    Unreadable,
    decode_line,
)
from acp_protocol.errors import describe_os_error

HEADER_LIMIT: Final = 2**20
"""Bytes of the longest header that is read."""


class Digest(Protocol):
    """What has been hashed so far."""

    def hexdigest(self) -> str:
        """Return the hash in hex."""
        ...


@dataclass(frozen=True, slots=True)
class LineFault:
    """A line of the file that could not be read as it should."""

    line: int
    """Its number in the file, from 1."""
    reason: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A journal that was on disk."""

    path: Path
    header: Header
    entries: tuple[Entry, ...]
    faults: tuple[LineFault, ...]
    footer: Footer | None
    """None when the recorder did not end in peace."""

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames alone."""
        return tuple(entry for entry in self.entries if isinstance(entry, Frame))


def read_recording(path: Path) -> Recording:
    """Return the whole recording at `path`.

    Raises:
        RecordingError: there is no such file, it cannot be read, or it is no recording.
    """
    entries: list[Entry] = []
    faults: list[LineFault] = []
    footer: Footer | None = None
    lines = read_lines(path)
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


def read_lines(path: Path) -> Iterator[Header | Entry | Footer | LineFault]:
    """Yield what the lines of the recording say, the header first, holding one line at a time.

    Raises:
        RecordingError: see `read_recording`; also while the file is read.
    """
    try:
        with path.open("rb") as file:
            yield from _read_file(path, file)
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None


def _read_file(path: Path, file: BinaryIO) -> Iterator[Header | Entry | Footer | LineFault]:
    # What is foreign may be one endless line, so the first is not read further than a header goes.
    first = file.readline(HEADER_LIMIT)
    if not first:
        raise RecordingError(f"{path} is no recording: it is empty")
    header = decode_line(first.rstrip(b"\n"))
    if not isinstance(header, Header):
        raise RecordingError(f"{path} is no recording: its first line is no header")
    yield header
    digest = hashlib.sha256(first)
    for number, line in enumerate(file, start=2):
        read = decode_line(line.rstrip(b"\n"))
        yield from _judged(read, line, LineFault(number, ""), digest)
        digest.update(line)


def _judged(
    read: Line, line: bytes, place: LineFault, digest: Digest
) -> Iterator[Header | Entry | Footer | LineFault]:
    """Yield what was read, and what is to be said against it."""
    if isinstance(read, Unreadable):
        is_cut = not line.endswith(b"\n")
        reason = "the file ends in the middle of this line" if is_cut else read.reason
        yield replace(place, reason=reason)
        return
    yield read
    if isinstance(read, Footer) and read.digest != digest.hexdigest():
        yield replace(place, reason="the digest does not fit: lines before this one were changed")
