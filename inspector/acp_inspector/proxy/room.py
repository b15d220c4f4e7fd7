"""Room for what waits to be written: who finds none is held back for a moment, and then not again.

Large lines have a room of their own, in which one of any size may wait: those behind it need not,
and are granted the time that it takes.
"""

from __future__ import annotations

import threading

from acp_inspector.recording.encoder import LARGE


class Load:
    """Bytes that take room: those of large lines, and all others."""

    __slots__ = ("large", "small")

    def __init__(self) -> None:
        self.small = self.large = 0

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self.small or self.large)

    def add(self, size: int) -> None:
        """Count `size` bytes that came at once."""
        if size >= LARGE:
            self.large += size
        else:
            self.small += size


class Room:
    """Counts bytes from when they are noted until they have been written."""

    def __init__(self, limit: int, patience: float) -> None:
        """Take how many bytes may wait, and for how many seconds others wait for so many to go."""
        self._limit = limit
        self._patience = patience
        self._changed = threading.Condition()
        self._load = Load()
        self._is_behind = False

    def take(self, size: int) -> bool:
        """Take room for `size` bytes; wait for it, unless that was in vain since there was some."""
        with self._changed:
            has_room = self._has(size)
            if not has_room and not self._is_behind:
                has_room = self._changed.wait_for(lambda: self._has(size), self._time())
            self._is_behind = not has_room
            if has_room:
                self._load.add(size)
        return has_room

    def take_at_once(self, size: int) -> bool:
        """Take room without waiting; False only where others have waited in vain."""
        with self._changed:
            if self._is_behind and not self._has(size):
                return False
            self._load.add(size)
        return True

    def hold(self, size: int) -> None:
        """Count a large line that was gathered out of what had room."""
        with self._changed:
            self._load.large += size

    def free(self, load: Load) -> None:
        """Give back what has been written."""
        with self._changed:
            self._load.small -= load.small
            self._load.large -= load.large
            self._changed.notify_all()

    def _has(self, size: int) -> bool:
        waiting = self._load.large if size >= LARGE else self._load.small
        return waiting == 0 or waiting + size <= self._limit

    def _time(self) -> float:
        return self._patience * max(1.0, (self._load.small + self._load.large) / self._limit)
