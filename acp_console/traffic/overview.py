"""All of a connection in one line: how much was said when, what broke, waits, marks."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

from acp_console.traffic.marks import Marks
from acp_console.traffic.rows import time_of
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.entries import EntrySequence, RecordingEntries
from acp_inspector.filter.search import FilterSearch
from acp_inspector.views.annotations import Annotations
from acp_protocol.schema.vocabulary import USER_METHODS

TAIL_ROWS: Final = 8
"""Rows at the end that are searched for one with a time: footers have none."""
MAX_WAITS: Final = 10_000
"""Waits that are shown, the newest."""
LEVELS: Final = 8
SMALL: Final = 8.0
"""How many times more is at least said in the highest than in the lowest level."""
_ASKS: Final = compile_filter(
    f"kind == request and ({' or '.join(f'method == {each}' for each in sorted(USER_METHODS))})"
)
_FAILED: Final = compile_filter("error or malformed")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time: its rows, from `begin` to before `end`, and what is special in it."""

    begin: int
    end: int
    has_error: bool = False
    finding: str = ""
    """The letter of the gravest rule that is broken in it; empty if none is."""
    is_wait: bool = False
    """Whether a person was asked and had not answered yet."""
    is_marked: bool = False

    @property
    def count(self) -> int:
        return self.end - self.begin


class Overview:
    """Divides the entries into spans of equal time; errors are searched step by step."""

    def __init__(
        self,
        entries: EntrySequence,
        marks: Marks | None = None,
        annotations: Annotations | None = None,
        row_of: Callable[[int], int | None] = lambda n: n - 1,
    ) -> None:
        """Divide `entries` with their marks and annotations; `row_of` knows the row of a number."""
        self._entries = entries
        self._marks = marks
        self._annotations = annotations or Annotations()
        self._row_of = row_of
        self.forget()

    def forget(self) -> None:
        """Restart: the entries were replaced."""
        self._failed = FilterSearch(self._entries, _FAILED)
        self._asks = FilterSearch(self._entries, _ASKS)
        self._steps: Iterator[None] = iter(())
        self._found: tuple[tuple[int, ...], list[Span]] = ((), [])
        self._rows: dict[int, int] = {}
        """The rows of entries that break a rule, by their number."""

    def step(self) -> bool:
        """Search on for a moment; return whether there is more to search."""
        searches = self._failed, self._asks
        if all(search.position >= len(self._entries) for search in searches):
            return False
        if next(self._steps, True):
            self._steps = chain.from_iterable(search.steps() for search in searches)
        return True

    def spans(self, count: int) -> list[Span]:
        """Return `count` spans from the first entry to the last; none without entries."""
        marked = 0 if self._marks is None else self._marks.revision
        searched = len(self._failed.rows), len(self._asks.rows)
        key = (count, len(self._entries), *searched, marked, self._annotations.findings_revision)
        if self._found[0] != key:
            self._found = key, self._divided(count)
        return self._found[1]

    def place_of(self, row: int, count: int) -> int:
        """Return the number of the span of a row."""
        begin, end = self._bounds()
        share = (time_of(self._entries, row) - begin) / (end - begin) if end > begin else 0.0
        return min(max(int(share * count), 0), count - 1)

    def _bounds(self) -> tuple[float, float]:
        every = len(self._entries)
        tail = range(max(every - TAIL_ROWS, 0), every)
        return time_of(self._entries, 0), max(time_of(self._entries, row) for row in tail)

    def _row_from(self, time: float) -> int:
        entries = self._entries
        if isinstance(entries, RecordingEntries):
            return bisect_left(entries.index.times, time)
        return bisect_left(range(len(entries)), time, key=lambda row: time_of(entries, row))

    def _divided(self, count: int) -> list[Span]:
        every = len(self._entries)
        if not every or count < 1:
            return []
        begin, end = self._bounds()
        edges = [0]
        for place in range(1, count):
            edges.append(max(self._row_from(begin + (end - begin) * place / count), edges[-1]))
        edges.append(every)
        failed = self._failed.rows
        marked = [] if self._marks is None else self._marks.rows
        waits = self._waits(count)
        broken = self._broken()
        return [
            Span(
                first,
                behind,
                has_error=_has_any(failed, first, behind),
                finding=_gravest(broken, first, behind),
                is_wait=place in waits,
                is_marked=_has_any(marked, first, behind),
            )
            for place, (first, behind) in enumerate(pairwise(edges))
        ]

    def _broken(self) -> dict[str, list[int]]:
        """Return the rows that break a rule, by letter, the gravest first."""
        found: dict[str, list[int]] = {"E": [], "W": [], "I": []}
        for n in self._annotations.after(0):
            row = self._rows.get(n)
            if row is None:
                row = self._row_of(n)
                if row is None:
                    continue
                self._rows[n] = row
            found[self._annotations.mark(n)].append(row)
        return found

    def _waits(self, count: int) -> set[int]:
        found: set[int] = set()
        for row in self._asks.rows[-MAX_WAITS:]:
            answer = self._entries.response_row(row)
            last = len(self._entries) - 1 if answer is None else answer
            found.update(range(self.place_of(row, count), self.place_of(last, count) + 1))
            if len(found) == count:
                break
        return found


def levels(spans: Sequence[Span]) -> list[int]:
    """Return how much is said in each span, from 0 for nothing to `LEVELS` - 1, by its log.

    The least that is said anywhere has level 1, so traffic that is alike everywhere is flat.
    """
    counts = [span.count for span in spans if span.count]
    least, most = min(counts, default=1), max(counts, default=1)
    scale = (LEVELS - 2) / math.log(max(most / least, SMALL))
    return [1 + round(math.log(span.count / least) * scale) if span.count else 0 for span in spans]


def _has_any(rows: Sequence[int], first: int, behind: int) -> bool:
    """Return whether one of `rows`, which are in order, is from `first` to before `behind`."""
    return bisect_left(rows, first) < bisect_left(rows, behind)


def _gravest(broken: dict[str, list[int]], first: int, behind: int) -> str:
    return next((each for each, rows in broken.items() if _has_any(rows, first, behind)), "")
