"""Folds over many entries, computed in a thread so that the screen stays responsive.

A fold belongs to its thread. Queries run there between two steps and return immutable values, so
the screen and the thread share no lock.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar

from acp_console.listeners import Listeners
from acp_inspector.filter.entries import ENTRY_TYPES, EntrySequence, RecordingEntries
from acp_inspector.journal import Entry
from acp_inspector.lint.engine import Linter
from acp_inspector.recording.format import Header
from acp_inspector.views.annotations import Annotations
from acp_inspector.views.session_model import SessionModel
from acp_protocol.errors import AcpError

logger = logging.getLogger(__name__)

T = TypeVar("T")
A = TypeVar("A")

SLICE_S: Final = 0.004
"""Seconds of work before the thread releases the interpreter to the screen."""
PAUSE_S: Final = 0.004
"""Seconds for which the interpreter is released."""
INDEX_STEP_BYTES: Final = 1 << 19
"""Bytes of a recording that are indexed in one step."""
ROWS_PER_CHECK: Final = 32
"""Rows that are read between two checks of the clock."""
ROWS_PER_FREEZE: Final = 16_384
"""Rows after which the objects so far are excluded from garbage collection."""
RENEWAL_REST: Final = 1
"""A renewal is followed by a rest of so many times its own length."""
ENTRIES_PER_PORTION: Final = 500_000
"""Entries that are read before the fold pauses: each one costs memory."""
MAX_FINDINGS_PER_RULE: Final = 200
"""Findings that are kept of each rule."""


@dataclass(slots=True, eq=False)
class Query(Generic[T, A]):
    """A query, and its result once it is there."""

    function: Callable[[T], A]
    result: A | None = None
    problem: str = ""
    """Why there is none."""
    is_done: bool = False
    is_discarded: bool = False
    """Whether its result is no longer needed."""
    cost: float = 0.0
    """Seconds that the query took."""

    def run(self, fold: T) -> None:
        began = time.monotonic()
        try:
            self.result = self.function(fold)
        except Exception as problem:
            # Boundary: catch everything, because the next query may succeed.
            logger.exception("a query of a fold failed")
            self.problem = f"{type(problem).__name__}: {problem}"
        self.cost = time.monotonic() - began
        self.is_done = True


@dataclass(slots=True)
class FoldProgress:
    """The progress of a fold. Only its thread writes it; any thread may read it."""

    read: int = 0
    """Rows that were read."""
    known: int = 0
    """Known rows."""
    is_whole: bool = False
    """Whether `known` counts all current rows."""
    is_paused: bool = False
    """Whether it waits for `resume`."""
    is_finished: bool = False
    """Whether all entries were read and `finish` has run."""
    is_closed: bool = False
    renewals: int = 0
    """How often it restarted because the entries were replaced."""
    problem: str = ""
    """Why reading failed; empty if it did not."""
    missed: int = 0
    """Entries that could not be read by a bug of ours."""
    first_missed: str = ""
    """Which was the first, and what went wrong."""

    @property
    def is_behind(self) -> bool:
        """Whether there is more to read."""
        return not self.problem and (self.read < self.known or not self.is_whole)

    @property
    def is_busy(self) -> bool:
        """Whether it is reading."""
        return self.is_behind and not self.is_paused and not self.is_closed


class BackgroundFold(Generic[T]):
    """Folds entries in its own thread as they arrive."""

    def __init__(
        self,
        entries: Callable[[], EntrySequence],
        begin: Callable[[], T],
        take: Callable[[T, Entry], object],
        *,
        ahead: Callable[[T, Sequence[Entry]], object] = lambda fold, entries: None,
        renew: Callable[[T], T | None] = lambda fold: None,
        finish: Callable[[T], object] | None = None,
        is_over: Callable[[], bool] = lambda: False,
        portion: int = ENTRIES_PER_PORTION,
        pause: float = PAUSE_S,
        news: Callable[[], object] = lambda: None,
    ) -> None:
        """Prepare; `start` starts the thread.

        Args:
            entries: Opens the entries; called by the thread, which closes them if they are a file.
            begin: Creates an empty fold.
            take: Adds the next entry to the fold.
            ahead: Called with some of the entries that come next, before they are added.
            renew: Called when all is read; returns an empty fold if all has to be read again.
            finish: Called when there are no more entries.
            is_over: Whether a source that is not a file has ended.
            portion: Entries after which it pauses until `resume`.
            pause: Seconds between two slices of work.
            news: Called by the thread when it has read on, and when a query has its result.
        """
        self._open = entries
        self._begin = begin
        self._take = take
        self._ahead = ahead
        self._renew = renew
        self._next: T | None = None
        """What replaces the fold once it has read as much."""
        self._next_read = 0
        self._next_began = 0.0
        self._rest_until: float | None = None
        """When it may be replaced again, if it has been: with each edit, all is read again."""
        self._finish = finish
        self._is_over = is_over
        self._portion = portion
        self._limit = portion
        self._pause_s = pause
        self._news = news
        self._inbox: SimpleQueue[Query[T, Any] | None] = SimpleQueue()
        """Queries; None only wakes the thread."""
        self._thread: threading.Thread | None = None
        self._entries: EntrySequence | None = None
        self.progress = FoldProgress()
        self.is_wanted = True
        """Whether its result is shown; if not, it yields to other folds, but still runs queries."""

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="folding", daemon=True)
            self._thread.start()

    @property
    def is_started(self) -> bool:
        return self._thread is not None

    def wake(self) -> None:
        """Look whether there is more to read: entries have arrived, or the source has ended."""
        if self._thread is not None:
            self._inbox.put(None)

    def query(self, function: Callable[[T], A]) -> Query[T, A]:
        """Run `function` on the fold in its thread, soon; it must change nothing.

        The result must not refer to the fold, which continues meanwhile.
        """
        query = Query(function)
        self._inbox.put(query)
        return query

    def want(self, *, is_wanted: bool) -> None:
        """Show its result, or let other folds go first."""
        was_wanted, self.is_wanted = self.is_wanted, is_wanted
        if is_wanted and not was_wanted:
            self.wake()

    def pause(self) -> None:
        """Read no more until `resume`."""
        self._limit = self.progress.read
        self.progress.is_paused = True

    def resume(self) -> None:
        """Read another portion."""
        self._limit = self.progress.read + self._portion
        self.progress.is_paused = False
        self.wake()

    def close(self) -> None:
        self.progress.is_closed = True
        self.wake()

    # In the thread.

    def _run(self) -> None:
        try:
            # The first linter loads hundreds of rules, which takes time.
            fold = self._begin()
        except Exception as problem:
            # Boundary: catch everything; `progress` reports the problem.
            logger.exception("a fold could not be started")
            self.progress.problem = f"{type(problem).__name__}: {problem}"
            self._news()
            return
        wait_s: float | None = 0.0
        while not self.progress.is_closed:
            try:
                query = self._inbox.get(timeout=wait_s)
            except Empty:
                query = None
            if query is not None:
                wait_s = 0.0
                if not query.is_discarded:
                    query.run(fold)
                    self._news()
                continue
            before = replace(self.progress)
            # Without more to do it waits for the next query, or to be woken.
            fold, wait_s = self._work(fold)
            if self.progress != before:
                self._news()
        if isinstance(self._entries, RecordingEntries):
            self._entries.close()
        # The values of this fold are garbage from here on.
        gc.unfreeze()

    def _work(self, fold: T) -> tuple[T, float | None]:
        """Read for a moment; return the fold, and when to go on, in seconds; None: if woken."""
        if self.progress.problem or not self.is_wanted:
            return fold, None
        try:
            return self._read_on(fold)
        except AcpError as problem:
            self.progress.problem = str(problem)
        except Exception as problem:
            # Boundary: catch everything, because a failing fold must not end the app.
            logger.exception("a fold failed at row %d", self.progress.read)
            self.progress.problem = f"{type(problem).__name__}: {problem}"
        return fold, None

    def _read_on(self, fold: T) -> tuple[T, float | None]:
        entries, progress = self._entries, self.progress
        if entries is None:
            entries = self._entries = self._open()
        recording = entries if isinstance(entries, RecordingEntries) else None
        if recording is not None and (progress.is_whole or not recording.is_complete):
            recording.index_more(INDEX_STEP_BYTES)
        progress.is_whole = recording is None or recording.is_complete
        progress.known = len(entries)
        if progress.known < progress.read or (progress.is_finished and progress.is_behind):
            fold, self._next = self._begin(), None
            progress.read = 0
            progress.is_finished = False
            progress.renewals += 1
        end = time.monotonic() + SLICE_S
        while self._may_go_on() and time.monotonic() < end:
            behind = min(progress.known, max(self._limit, progress.read + 1))
            progress.read = self._read_rows(fold, entries, progress.read, behind)
        if progress.is_paused or not progress.is_behind:
            fold = self._read_again(fold, entries, end)
        if not progress.is_behind and not progress.is_finished and self._finish is not None:
            is_over = self._is_over() if recording is None else recording.footer is not None
            # Include entries that arrived meanwhile.
            if is_over and len(entries) == progress.read:
                self._finish(fold)
                progress.is_finished = True
        if self._next is not None or (progress.is_behind and not progress.is_paused):
            return fold, self._pause_s
        if self._rest_until is not None:
            # What replaced the fold may be outdated as well.
            return fold, max(self._rest_until - time.monotonic(), 0.0)
        return fold, None

    def _read_again(self, fold: T, entries: EntrySequence, end: float) -> T:
        """Read on until `end` in what replaces the fold, if anything; return what counts now."""
        now = time.monotonic()
        if self._next is None and (self._rest_until is None or now >= self._rest_until):
            self._next, self._next_read, self._next_began = self._renew(fold), 0, now
            self._rest_until = None
        fresh = self._next
        if fresh is None:
            return fold
        while self._next_read < self.progress.read and time.monotonic() < end:
            self._next_read = self._read_rows(fresh, entries, self._next_read, self.progress.read)
        if self._next_read < self.progress.read:
            return fold
        self._next = None
        self.progress.renewals += 1
        now = time.monotonic()
        self._rest_until = now + RENEWAL_REST * (now - self._next_began)
        # Most of the fold that it replaces was excluded from garbage collection.
        gc.unfreeze()
        return fresh

    def _may_go_on(self) -> bool:
        progress = self.progress
        progress.is_paused = progress.is_behind and progress.read >= self._limit
        is_wanted = not progress.is_paused and not progress.is_closed
        return is_wanted and progress.read < progress.known

    def _take_one(self, fold: T, entry: Entry) -> None:
        try:
            self._take(fold, entry)
        except AcpError:
            raise
        except Exception as problem:
            # Boundary: catch everything, because what follows can be read all the same.
            self.progress.missed += 1
            if not self.progress.first_missed:
                logger.exception("a fold failed at entry %d", entry.seq)
                self.progress.first_missed = f"entry {entry.seq}: {type(problem).__name__}"

    def _read_rows(self, fold: T, entries: EntrySequence, first: int, limit: int) -> int:
        """Read the next rows from `first` on; return the row behind them, `limit` at most."""
        behind = min(first + ROWS_PER_CHECK, limit)
        if isinstance(entries, RecordingEntries):
            rows = entries[first:behind]
        else:
            rows = [entries[row] for row in range(first, behind)]
        read = [row for row in rows if isinstance(row, ENTRY_TYPES)]
        self._ahead(fold, read)
        if self._next is not None and self._next is not fold:
            self._ahead(self._next, read)
        for row in read:
            self._take_one(fold, row)
        if behind // ROWS_PER_FREEZE > first // ROWS_PER_FREEZE:
            # Otherwise the garbage collector would scan all kept objects repeatedly.
            gc.collect(1)
            gc.freeze()
        return behind


class AnalysisFolds:
    """The analysis of one source: its model, its findings, and annotations from both.

    Each fold starts on demand. Only one runs at a time: two at once would be no faster.
    """

    def __init__(
        self,
        entries: Callable[[], EntrySequence],
        *,
        is_over: Callable[[], bool] = lambda: False,
        dialect: str | None = None,
        header: Header | None = None,
    ) -> None:
        """Prepare to read the entries that `entries` opens.

        Args:
            entries: Opens the entries.
            is_over: Whether a source that is not a file has ended.
            dialect: The dialect of their frames; None: it is recognised.
            header: That of the recording, if they are one.
        """
        self.annotations = Annotations()
        self.news = Listeners()
        """Called by the threads of the folds."""
        self.background: tuple[BackgroundFold[Any], ...] = ()
        """The folds that run in the background, the most urgent first."""

        def new_model() -> SessionModel:
            self.annotations.clear_entries()
            return begun(SessionModel(dialect))

        def begun(model: SessionModel) -> SessionModel:
            if header is not None:
                model.read([header])
            return model

        def with_edits(model: SessionModel) -> SessionModel | None:
            if not model.is_outdated:
                return None
            return begun(SessionModel(dialect, edits=model.edits.copy()))

        def apply_entry(model: SessionModel, entry: Entry) -> None:
            model.apply(entry)
            self.annotations.add_entry(entry, model.notes())

        def begin_linting() -> Linter:
            self.annotations.clear_findings()
            linter = Linter(dialect=dialect, limit=MAX_FINDINGS_PER_RULE)
            if header is not None:
                linter.feed(header)
            return linter

        def lint_entry(linter: Linter, entry: Entry) -> None:
            self.annotations.note_edit(entry)
            self.annotations.feed_linter(linter, entry)

        self.model: BackgroundFold[SessionModel] = BackgroundFold(
            entries,
            new_model,
            apply_entry,
            ahead=SessionModel.expect,
            renew=with_edits,
            news=self.news,
        )
        self.linter: BackgroundFold[Linter] = BackgroundFold(
            entries,
            begin_linting,
            lint_entry,
            finish=lambda linter: self.annotations.add_findings(linter.finish()),
            is_over=is_over,
            # No pauses: it keeps little per entry, and all rows get marks.
            portion=sys.maxsize,
            news=self.news,
        )

    def share(self, looked_at: BackgroundFold[Any] | None) -> None:
        """Run the visible folds; once they are done, those in the background."""
        order = [] if looked_at is None else [looked_at]
        order += [each for each in self.background if each is not looked_at]
        is_free = True
        for each in order:
            each.start()
            each.want(is_wanted=is_free)
            is_free = is_free and not each.progress.is_busy
        for each in (self.model, self.linter):
            each.want(is_wanted=each.is_wanted and each in order)

    def wake(self) -> None:
        """Read on: entries have arrived, or the source has ended."""
        for each in (self.model, self.linter):
            each.wake()

    def close(self) -> None:
        self.model.close()
        self.linter.close()
