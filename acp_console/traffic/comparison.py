"""Two sources of traffic, compared in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from acp_console.listeners import Listeners
from acp_console.wording.values import format_number
from acp_inspector.compare.diff import compare
from acp_inspector.compare.difference import JournalComparison
from acp_inspector.filter.entries import ENTRY_TYPES, EntrySequence, RecordingEntries
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.reader import Row, read_lines
from acp_protocol.errors import AcpError

logger = logging.getLogger(__name__)

MAX_ENTRIES: Final = 500_000
"""Entries of each side that are compared: all of them are in memory."""
ENTRIES_PER_REPORT: Final = 256
SLICE_S: Final = 0.004
"""Seconds of work before the thread releases the interpreter to the screen."""
PAUSE_S: Final = 0.004
"""Seconds for which the interpreter is released."""


@dataclass(frozen=True, slots=True)
class ComparisonSource:
    """Traffic that can be compared."""

    title: str
    """Untrusted."""
    rows: Callable[[], Iterable[Row]]
    """Reads it, in the thread."""


def recording_source(path: Path, title: str = "") -> ComparisonSource:
    return ComparisonSource(title or path.name, lambda: read_lines(path))


def entries_source(entries: EntrySequence, title: str) -> ComparisonSource:
    """Return what a screen shows, as far as it has arrived when it is read."""
    if isinstance(entries, RecordingEntries):
        return recording_source(entries.path, title)
    return ComparisonSource(title, lambda: (entries[row] for row in range(len(entries))))


class _CancelledError(Exception):
    """The comparison is no longer wanted."""


class ComparisonRun:
    """Compares two sources. Only its thread writes the results; any thread may read them."""

    def __init__(
        self, left: ComparisonSource, right: ComparisonSource, *, max_entries: int = MAX_ENTRIES
    ) -> None:
        self.left = left
        self.right = right
        self._max_entries = max_entries
        self.status = ""
        """What it does now, and how far it is."""
        self.cut = ""
        """Which sources were not compared whole; empty if all were."""
        self.found: JournalComparison | None = None
        self.problem = ""
        """Why there is no result; empty if there will be one."""
        self.news = Listeners()
        """Called by the thread."""
        self._is_cancelled = False
        self._slice_end = 0.0
        self._thread = threading.Thread(target=self._run, name="comparing", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait(self) -> None:
        self._thread.join()

    @property
    def is_over(self) -> bool:
        """Whether it has ended: with a result, with a problem, or because it was cancelled."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        self._is_cancelled = True

    # In the thread.

    def _run(self) -> None:
        try:
            left, right = self._read(self.left), self._read(self.right)
            self.found = compare(left, right, progress=self._report)
        except _CancelledError:
            pass
        except AcpError as problem:
            self.problem = str(problem)
        except Exception as problem:
            # Boundary: catch everything, because a failing comparison must not be waited for.
            logger.exception("a comparison failed")
            self.problem = f"{type(problem).__name__}: {problem}"
        self.news()

    def _read(self, source: ComparisonSource) -> list[Entry]:
        found: list[Entry] = []
        rows = iter(source.rows())
        for row in islice(rows, self._max_entries):
            if isinstance(row, ENTRY_TYPES):
                found.append(row)
            if not len(found) % ENTRIES_PER_REPORT:
                self.status = f"reading {source.title}: {format_number(len(found))} entries"
                self._yield()
        if any(isinstance(row, Frame | StderrChunk | JournalEvent) for row in rows):
            first = f"only the first {format_number(self._max_entries)} entries"
            self.cut += f"{' · ' if self.cut else ''}{first} of {source.title}"
        return found

    def _report(self, share: float) -> None:
        self.status = f"comparing: {share * 100:.0f} %"
        self._yield()

    def _yield(self) -> None:
        """Release the interpreter now and then.

        Raises:
            _CancelledError: the comparison is no longer wanted.
        """
        if self._is_cancelled:
            raise _CancelledError
        if time.monotonic() > self._slice_end:
            self.news()
            time.sleep(PAUSE_S)
            self._slice_end = time.monotonic() + SLICE_S
