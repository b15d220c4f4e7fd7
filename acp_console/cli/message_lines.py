"""Prints a line on stderr for each message of a connection, with its time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from acp_console.wording.values import arrow, format_seconds
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.messages import Decoder
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.frame_row import FrameRow, decoded_row
from acp_protocol.host.sanitize import single_line

WIDTH: Final = 120
"""Characters of a line, at most."""


class MessageLines:
    """Observes a journal: `0.151 → session/prompt "hello"`, `0.174 ← result 23.0 ms …`."""

    def __init__(self, directory: str, is_in_line: Callable[[], bool]) -> None:
        """Begin.

        Args:
            directory: That of sessions whose client names none.
            is_in_line: Whether another writer to the same terminal has begun a line.
        """
        self._decoder = Decoder(directory=directory)
        self._exchanges = Exchanges(is_lean=True)
        self._is_in_line = is_in_line

    def show(self, entry: Entry) -> None:
        if isinstance(entry, JournalEvent):
            self._decoder.note(entry)
            if entry.begins_connection:
                self._exchanges.restart(entry.seq)
        if not isinstance(entry, Frame) or not entry.data.strip():
            return
        decoded = self._decoder.decode(entry)
        self._exchanges.pair(decoded)
        is_shared = sys.stdout.isatty() and sys.stderr.isatty() and self._is_in_line()
        # A reader of stderr that has gone does not end the turn.
        with suppress(OSError):
            sys.stderr.write(f"{chr(10) * is_shared}{message_line(decoded_row(decoded))}\n")


def message_line(row: FrameRow) -> str:
    """Return a message as a line: when, in which direction, what, and how long it took."""
    name = row.method if row.kind in {"request", "notification"} else row.kind
    latency = format_seconds(row.latency)
    of = row.method if name != row.method else ""
    words = (f"{row.at:8.3f}", arrow(row.side), name, latency, of, row.summary)
    return single_line(" ".join(filter(None, words)), WIDTH)
