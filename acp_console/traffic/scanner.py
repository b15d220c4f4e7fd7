"""The background work of the traffic pane: reading, filtering, searching.

All of it runs in small steps in the event loop: keys are handled between steps, no locks are
needed, and dropping the iterator cancels the work. Only patterns, which may be slow, are matched in
a thread, which gets only the texts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from acp_console.listeners import Lookout
from acp_console.traffic.model import TrafficModel
from acp_console.traffic.overview import Overview
from acp_console.wording.values import format_number, plural
from acp_inspector.filter.compiler import Filter
from acp_inspector.filter.entries import RecordingEntries
from acp_inspector.views.annotations import LINT_FIELDS, MODEL_FIELDS
from acp_protocol.errors import AcpError

INDEX_STEP_BYTES: Final = 1 << 17
"""Bytes of a recording that are indexed in one step."""
GROWTH_INTERVAL_S: Final = 0.1
"""Seconds between two looks at a recording that grows."""
NO_MATCH: Final = -1
"""The result of a search without a match."""


class TrafficScanner:
    """Reads, filters and searches for one view."""

    def __init__(self, view: TrafficModel, *, step_bytes: int = INDEX_STEP_BYTES) -> None:
        """Scan for `view`, reading at most `step_bytes` of its recording at a time."""
        self._view = view
        self._step_bytes = step_bytes
        self._recording = view.entries if isinstance(view.entries, RecordingEntries) else None
        self.overview = Overview(view.entries, view.marks, view.annotations, view.row_of)
        self._scan: Iterator[None] | None = None
        self._search: Iterator[int | None] | None = None
        self._sought: Filter | None = None
        """The last search."""
        self._found: int | None = None
        self._was_replaced = False
        self.problem: AcpError | None = None
        """Why reading the recording failed, if it did."""

    def run(self, seconds: float) -> bool:
        """Work for at most this long; return whether there is more to do."""
        end = time.monotonic() + seconds
        is_busy = True
        while is_busy and time.monotonic() < end:
            try:
                # Run each of them, so that none waits for another.
                is_busy = any(
                    [
                        self._read_on(),
                        self._filter_on(),
                        self._search_on(),
                        self.overview.step(),
                    ]
                )
            except AcpError as problem:
                self.problem = problem
                self._scan = self._search = None
                is_busy = False
        return is_busy

    def poll(self) -> bool:
        """Return whether a recording that was read to its end has grown."""
        recording = self._recording
        if recording is None or self.problem or not recording.is_complete:
            return False
        before = len(recording)
        try:
            self._advance(recording)
        except AcpError as problem:
            self.problem = problem
            return False
        return len(recording) != before or not recording.is_complete

    def take_replaced(self) -> bool:
        """Return, once, whether the recording was replaced."""
        was_replaced, self._was_replaced = self._was_replaced, False
        return was_replaced

    def _advance(self, recording: RecordingEntries) -> None:
        before = len(recording)
        recording.index_more(self._step_bytes)
        if len(recording) < before:
            self._was_replaced = True
            self._scan = self._search = None
            self._view.forget()
            self.overview.forget()

    def status(self) -> list[str]:
        """Return the row counts and the progress as text."""
        view, every = self._view, len(self._view.entries)
        is_filtered = not view.wanted.is_empty
        count = "1 entry" if every == 1 else f"{format_number(every)} entries"
        parts = [f"{format_number(len(view))} of {count}" if is_filtered else count]
        if is_filtered and view.looked_at < every:
            parts.append(f"{view.looked_at * 100 // every} % checked")
        if self._recording is not None and not self._recording.is_complete:
            parts.append(f"{self._recording.progress * 100:.0f} % read")
        if self.is_searching:
            parts.append("searching, Esc stops")
        if view.wanted.warning or (self._sought is not None and self._sought.warning):
            parts.append("a pattern takes too long")
        if marked := len(view.marks.rows):
            parts.append(f"{marked} marked")
        if stale := len(view.marks.stale):
            parts.append(plural(stale, "stale mark"))
        return parts

    # Searching.

    @property
    def is_searching(self) -> bool:
        return self._search is not None

    def search(self, wanted: Filter, row: int, *, is_forward: bool, turns: bool = False) -> None:
        """Search the next matching row; `turns`: then the previous one, if there is none.

        `take_found` returns it.
        """
        self._found, self._sought = None, wanted
        self._search = self._seek(wanted, row, is_forward=is_forward, turns=turns)

    def stop_search(self) -> None:
        self._search = None

    def take_found(self) -> int | None:
        """Return the row that was found, once; `NOWHERE` if none, None while searching."""
        found, self._found = self._found, None
        return found

    def _seek(
        self, wanted: Filter, row: int, *, is_forward: bool, turns: bool
    ) -> Iterator[int | None]:
        for way in (is_forward, not is_forward) if turns else (is_forward,):
            for found in self._view.scan_from(row, wanted, is_forward=way):
                yield found
                if found is not None:
                    return
        yield NO_MATCH

    # Steps.

    def _read_on(self) -> bool:
        if self._recording is None or self._recording.is_complete or self.problem:
            return False
        self._advance(self._recording)
        return True

    def _filter_on(self) -> bool:
        if self._scan is None:
            if not self._view.is_behind:
                return False
            self._scan = self._view.run()
        for _ in self._scan:
            return True
        self._scan = None
        return self._view.is_behind

    def _search_on(self) -> bool:
        if self._search is None:
            return False
        self._found = next(self._search, NO_MATCH)
        if self._found is not None:
            self._search = None
        return self._search is not None

    def restart(self) -> None:
        self._scan = None


def growth_of(recording: RecordingEntries) -> Lookout:
    """Return a lookout for what other programs write to a recording."""

    def look() -> tuple[int, int] | None:
        try:
            found = recording.path.stat()
        except OSError:
            return None
        return found.st_size, found.st_mtime_ns

    return Lookout(look, wait=GROWTH_INTERVAL_S, name="growth")


class FilterStaleness:
    """Tracks whether new information affects rows that a filter has already checked."""

    def __init__(self, view: TrafficModel) -> None:
        self._view = view
        self.is_stale = False
        """Whether the filter must run again."""
        self._findings_revision = self._entries_revision = 0

    def see_growth(self) -> None:
        """Record new rows: they may respond to pending requests."""
        self.is_stale = self.is_stale or "pending" in self._view.wanted.fields

    def see_findings(self) -> None:
        """Check whether there are new annotations."""
        known, needs = self._view.annotations, self._view.wanted.fields
        if known.findings_revision != self._findings_revision and LINT_FIELDS & needs:
            self.is_stale = True
        if known.entries_revision != self._entries_revision and MODEL_FIELDS & needs:
            self.is_stale = True
        self._findings_revision, self._entries_revision = (
            known.findings_revision,
            known.entries_revision,
        )
