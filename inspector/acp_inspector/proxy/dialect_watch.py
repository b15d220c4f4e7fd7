"""Recognises the dialect of what a proxy records, in the recorder's thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from acp_inspector.journal import Entry, Frame

if TYPE_CHECKING:
    from acp_inspector.messages import Decoder

MAX_ENTRIES: Final = 1000
"""Entries that are looked at; a decoder looks at fewer, but not at long frames and at stderr."""
MAX_FRAME_BYTES: Final = 1 << 16
"""A longer frame is not looked at: to parse it would hold up the traffic."""


class DialectWatch:
    """Looks at the first frames of a connection, until they show its dialect or that it has none.

    The decoder is imported when there is a frame: a proxy starts without it.
    """

    def __init__(self) -> None:
        self.is_over = False
        """Whether later frames would change nothing."""
        self._decoder: Decoder | None = None
        self._left = MAX_ENTRIES

    def look(self, entries: Iterable[Entry]) -> str | None:
        """Look at the next entries; return the name of the dialect that they show."""
        for entry in entries:
            self._left -= 1
            if self._left < 0:
                self.is_over = True
                return None
            if not isinstance(entry, Frame) or len(entry.data) > MAX_FRAME_BYTES:
                continue
            if self._decoder is None:
                from acp_inspector.messages import Decoder

                self._decoder = Decoder()
            self._decoder.decode(entry)
            if self._decoder.dialect is not None or self._decoder.is_official:
                self.is_over = True
                return self._decoder.dialect
        return None
