"""Who waits for whom, since when and for what: after the chosen frame, or now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from acp_console.cli.studies import safe, seconds
from acp_console.cli.views import cycle_steps, wait_sentence
from acp_console.tui.widgets.analysis_lines import Line
from acp_console.tui.widgets.analysis_tab import AnalysisTab
from acp_console.tui.widgets.numbers import many, number
from acp_inspector.analysis.study import Study
from acp_inspector.analysis.waiting import Wait, WaitingGraph

MOST: Final = 1000
"""Lines that are shown."""
DEEPEST: Final = 30
"""Waits below each other that are shown."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who waited."""

    n: int
    studied: int
    waits: int
    lines: tuple[Line, ...]


class WaitingTab(AnalysisTab[Study, Waiting]):
    """Shows each that waits, and below it what it waits for in turn."""

    def question(self) -> Callable[[Study], Waiting]:
        """Ask who waits."""
        n = self.moment.n
        now = self.moment.now if n is None else None
        return lambda study: waiting(study, n, now)

    def wish(self) -> object:
        """Ask again for another frame; time goes on where somebody may still answer."""
        now = self.moment.now
        return self.moment.n, int(now) if self.moment.n is None and now is not None else None

    def is_settled(self) -> bool:
        """Nothing that comes later changes who waited."""
        told, n = self.answer, self.moment.n
        return told is not None and n is not None and told.n == n <= told.studied

    def show(self, answer: Waiting) -> None:
        """Show them."""
        is_now = self.moment.n is None and self.moment.now is not None
        then = f"after frame {number(answer.n)}"
        if answer.n > answer.studied:
            self.tell(f"{then.capitalize()}")
            self.show_note(f"Not there yet: {number(answer.studied)} is the last that was studied.")
            return
        when = "now" if is_now else f"{then} (← → go on)"
        if not answer.waits:
            self.tell(f"{when.capitalize()}: nobody waits")
            self.show_note("Every question has its answer.")
            return
        self.tell(f"{when.capitalize()}: {many(answer.waits, 'wait')}")
        self.show_wrapped(answer.lines)


def waiting(study: Study, n: int | None, now: float | None) -> Waiting:
    """Return who waited.

    Args:
        study: What is known.
        n: After which entry; None: the last one.
        now: Seconds since the journal began, where time goes on; None: as of that entry.
    """
    if n is not None and n > study.n:
        return Waiting(n, study.n, 0, ())
    # Clocks may differ, but nothing has come before its time.
    graph = study.waiting(n, None if now is None else max(study.at, now))
    trees = (line for root in graph.roots for line in _tree(root, graph, frozenset(), ""))
    lines = list(islice(chain(_alarms(graph), trees), MOST + 1))
    if len(lines) > MOST:
        lines[-1] = Line((("muted", f"… {number(len(graph.waits))} wait in all"),))
    return Waiting(graph.n, study.n, len(graph.waits), tuple(lines))


def _alarms(graph: WaitingGraph) -> Iterator[Line]:
    for cycle in graph.cycles:
        is_sure = all(one in before.on for before, one in cycle_steps(cycle))
        frames = " → ".join(str(wait.frame) for wait in (*cycle, cycle[0]))
        told = f"✗ {'deadlock' if is_sure else 'likely deadlock'}: frames {frames}"
        yield Line((("error", told),), cycle[0].frame)
    for wait in graph.hung()[:MOST]:
        why = "nobody is there to answer"
        if wait.whom != "nobody":
            why = f"no sign of life for {seconds(wait.silence)}"
        told = f"✗ hung: frame {wait.frame}, {safe(wait.method)}: {why}"
        yield Line((("error", told),), wait.frame)


def _tree(
    wait: Wait, graph: WaitingGraph, above: frozenset[Wait], stem: str, sign: str = ""
) -> Iterator[Line]:
    if wait in above or len(above) > DEEPEST:
        yield Line((("muted", f"{stem}{sign}… frame {wait.frame} again"),), wait.frame)
        return
    style = "warning" if wait.whom == "user" else "error" if wait.whom == "nobody" else ""
    yield Line((("muted", stem + sign), (style, wait_sentence(wait, graph))), wait.frame)
    below = [(inner, "") for inner in wait.on] + [(inner, "likely: ") for inner in wait.likely]
    stem += "" if not sign else "   " if sign.startswith("└") else "│  "
    for place, (inner, how) in enumerate(below):
        branch = "└─ " if place == len(below) - 1 else "├─ "
        yield from _tree(inner, graph, above | {wait}, stem, branch + how)
