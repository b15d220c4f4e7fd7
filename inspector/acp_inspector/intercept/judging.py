"""What rules, add-ons and breakpoints say to one frame, in that order.

It runs outside of any lock, in the writer thread of a direction, so that a slow rule or filter
delays no more than its own frames. Whatever fails is told once, and the frame passes as if it were
not there.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence

from acp_inspector.intercept.complaints import Complaints
from acp_inspector.intercept.holds import Breakpoint
from acp_inspector.intercept.injection import Injections
from acp_inspector.intercept.matching import Matching
from acp_inspector.intercept.passage import Inject, Interferer, Passage
from acp_inspector.journal import Frame


class Judge:
    """Says what shall become of frames."""

    def __init__(
        self,
        interferers: Sequence[Interferer],
        matching: Matching,
        injections: Injections,
        complaints: Complaints,
    ) -> None:
        self.interferers = tuple(interferers)
        self._matching = matching
        self._injections = injections
        self._complaints = complaints
        self._counting = threading.Lock()
        self.struck = Counter[str]()
        """How many frames each rule and add-on has done something to."""

    def judge(
        self, frame: Frame, points: Callable[[], Sequence[Breakpoint]], inject: Inject
    ) -> Passage:
        """Return what shall become of `frame`."""
        passage = Passage.of(frame)
        try:
            if self._injections.take(passage):
                return passage
            self._matching.see(frame)
        except Exception as problem:  # noqa: BLE001 - knowing more must not cost the traffic
            self._complaints.failure("looking at a frame", problem)
        for interferer in self.interferers:
            if passage.is_dropped:
                return passage
            passage = self._interfered(interferer, passage, inject)
        if not passage.is_dropped:
            passage.breakpoint = self._matched(passage, points())
        return passage

    def _interfered(self, interferer: Interferer, passage: Passage, inject: Inject) -> Passage:
        try:
            done = interferer.interfere(passage, inject)
        except BaseException as problem:  # noqa: BLE001 - even its exit must not end the traffic
            self._complaints.failure(interferer.name, problem)
            return passage
        if len(done.tale) > len(passage.tale):
            with self._counting:
                self.struck[interferer.name] += 1
        return done

    def _matched(self, passage: Passage, points: Sequence[Breakpoint]) -> int | None:
        for point in points:
            try:
                if point.matches(passage.current):
                    return point.id
            except Exception as problem:  # noqa: BLE001 - a filter must not end the traffic
                self._complaints.failure(f"breakpoint {point.id}", problem)
        return None
