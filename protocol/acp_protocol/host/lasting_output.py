"""Keeps a program running whose reader has left, as `head` does, until its result is known.

By default the error of the next write would end it, and the exit code would not say that a check
has failed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


def open_closed_streams() -> None:
    """Open the null device as stdin, stdout and stderr where they were closed at the start.

    Python has None for them, and their numbers would be those of the next files.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), mode)
            setattr(sys, name, stream)


@contextmanager
def lasting_output() -> Generator[None]:
    """Discard what is written to stdout and stderr once their readers have left."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_lasting, before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


class _LastingFile(io.FileIO):
    """A descriptor that becomes the null device once its reader has left."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            return super().write(data)


def _lasting(stream: TextIO) -> TextIO:
    """Return a stream to the same descriptor; `stream` itself if it has none of its own."""
    is_ours = stream in (sys.__stdout__, sys.__stderr__)
    if not is_ours or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    file = _LastingFile(stream.fileno(), "wb", closefd=False)
    lasting: TextIO = io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        errors=stream.errors,
        # What goes to stderr is not buffered, but our buffer would hold it back.
        line_buffering=stream.line_buffering or stream.write_through,
        write_through=stream.write_through,
    )
    return lasting
