"""A temporary file for what is seldom needed, so that a long session takes little memory.

It has no name: no other user can read it, and it is gone with the process.
"""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
import weakref
from typing import Any, Final, TypeAlias

logger = logging.getLogger(__name__)

DISK: Final = "/var/tmp"  # noqa: S108
"""Where temporary files go that need not be quick: other directories are often in memory."""

Place: TypeAlias = tuple[int, int]
"""Where a value begins, and its bytes."""


class SpillFile:
    """Values that this process has written, read back by their place."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._end = 0
        self.is_full = False
        """Whether a value could not be written; nothing is written from then on."""

    def write(self, value: object) -> Place | None:
        """Write a value; return its place, or None if it cannot be written."""
        if self.is_full:
            return None
        try:
            data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            if self._file is None:
                self._file = _open_temporary()
                weakref.finalize(self, os.close, self._file)
            written = 0
            while written < len(data):
                rest = memoryview(data)[written:]
                written += os.pwrite(self._file, rest, self._end + written)
        except RecursionError:
            # It is nested too deeply; others may not be.
            return None
        except OSError as error:
            logger.warning("memory is not spilled any more: %s", error)
            self.is_full = True
            return None
        place = self._end, len(data)
        self._end += len(data)
        return place

    def read(self, place: Place) -> Any:
        """Return a value that was written.

        Raises:
            OSError: the disk fails.
        """
        assert self._file is not None
        at, size = place
        data = bytearray()
        while len(data) < size:
            piece = os.pread(self._file, size - len(data), at + len(data))
            if not piece:
                raise OSError("the temporary file was cut")
            data += piece
        # Only this process can have written it.
        return pickle.loads(data)  # noqa: S301


def _open_temporary() -> int:
    directory = None
    if "TMPDIR" not in os.environ and os.access(DISK, os.W_OK):
        directory = DISK
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        return os.dup(file.fileno())
