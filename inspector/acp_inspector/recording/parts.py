"""The files of a recording that was written in several."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.recording.names import part_path
from acp_inspector.recording.reader import read_header


def part_paths(path: Path) -> list[Path]:
    """Return the files of the recording whose first is `path`, in order, as far as they are there.

    What bears the name of a part but belongs to another recording ends them.

    Raises:
        RecordingError: the first file is there, but it cannot be read or is no recording.
    """
    if not _may_be_read(path):
        return []
    series = series_of(path, read_header(path))
    paths = [path]
    for number in count(2):
        part = part_path(path, number)
        if not _may_be_read(part):
            break
        try:
            header = read_header(part)
        except RecordingError:
            break
        if header.meta.get("series") != series or header.meta.get("part") != number:
            break
        paths.append(part)
    return paths


def _may_be_read(path: Path) -> bool:
    """Tell whether there is anything that nobody would have to wait for, as for a pipe."""
    return path.exists() and not (path.is_fifo() or path.is_char_device())


def series_of(path: Path, header: Header) -> str:
    """Return what all parts of the recording whose first file is `path` say alike."""
    series = header.meta.get("series")
    return series if isinstance(series, str) else f"{path.name} of {header.created}"
