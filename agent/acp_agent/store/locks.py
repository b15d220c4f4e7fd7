"""Locks of sessions, so that no two processes write to one session.

A lock is one of the operating system on a file: it ends with its process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

ATTEMPTS: Final = 4
PAUSE: Final = 0.005
"""Seconds between two attempts: `is_taken` of another process holds a lock that briefly."""


class SessionLocks:
    """The sessions that this process has open; without a directory there is no other process.

    No two connections have the same session open, be they of one process or of several ones.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._held: dict[int, int] = {}
        """File descriptors by number of the session; -1 where there is no file."""

    def take(self, number: int) -> bool:
        """Lock a session; return False if it is locked already.

        Raises:
            OSError: the directory cannot be used.
        """
        if number in self._held:
            return False
        if self._directory is None:
            self._held[number] = -1
            return True
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE)
            if (descriptor := _locked(self._directory / str(number))) is not None:
                self._held[number] = descriptor
                return True
        return False

    def release(self, number: int) -> None:
        """Unlock a session."""
        descriptor = self._held.pop(number, None)
        if descriptor is None or self._directory is None:
            return
        # Removed while it is locked: another process that opened it sees that the file is gone.
        with suppress(OSError):
            (self._directory / str(number)).unlink()
        os.close(descriptor)

    def is_taken(self, number: int) -> bool:
        """Return whether any process has the session open."""
        if number in self._held or self._directory is None:
            return number in self._held
        try:
            descriptor = os.open(self._directory / str(number), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def check(self, number: int) -> None:
        """Do nothing: a process does not lose the lock of a file."""

    def close(self) -> None:
        """Unlock all sessions."""
        for number in list(self._held):
            self.release(number)


def _locked(path: Path) -> int | None:
    """Return a descriptor that holds the lock on the file at `path`; None if it is taken."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None
