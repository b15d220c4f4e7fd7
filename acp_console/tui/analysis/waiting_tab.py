"""Shows who waits for whom, since when and for what: after the chosen frame, or now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from acp_console.render.values import format_number, plural
from acp_console.render.waiting import WaitLine, alarms, wait_tree
from acp_console.tui.analysis.tab import AnalysisTab, Line
from acp_inspector.analysis.session_model import SessionModel

MAX_LINES: Final = 1000
"""Lines that are shown."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who waits for whom after entry `n`."""

    n: int
    analysed: int
    waits: int
    lines: tuple[Line, ...]


class WaitingTab(AnalysisTab[SessionModel, Waiting]):
    """Shows each wait, and nested below it the waits that it depends on."""

    def query_function(self) -> Callable[[SessionModel], Waiting]:
        n = self.moment.n
        now = self.moment.now if n is None else None
        return lambda model: waiting(model, n, now)

    def query_key(self) -> object:
        now = self.moment.now
        return self.moment.n, int(now) if self.moment.n is None and now is not None else None

    def is_settled(self) -> bool:
        current, n = self.answer, self.moment.n
        return current is not None and n is not None and current.n == n <= current.analysed

    def show(self, answer: Waiting) -> None:
        is_now = self.moment.n is None and self.moment.now is not None
        then = f"after frame {format_number(answer.n)}"
        if answer.n > answer.analysed:
            self.show_heading(f"{then.capitalize()}")
            self.show_note(
                f"Not analysed yet: the analysis has reached {format_number(answer.analysed)}."
            )
            return
        when = "now" if is_now else f"{then} (← → to step)"
        if not answer.waits:
            self.show_heading(f"{when.capitalize()}: no request is pending")
            self.show_note("Every request has its response.")
            return
        self.show_heading(f"{when.capitalize()}: {plural(answer.waits, 'wait')}")
        self.show_wrapped(answer.lines)


def waiting(model: SessionModel, n: int | None, now: float | None) -> Waiting:
    """Return who waited.

    Args:
        model: The analysis of the session.
        n: The entry after which to look; None: the last one.
        now: Seconds since the journal began, if it is live; None: the time of that entry.
    """
    if n is not None and n > model.n:
        return Waiting(n, model.n, 0, ())
    # Clocks may differ, but now is never before the last entry.
    graph = model.waiting(n, None if now is None else max(model.at, now))
    shown = (Line((("error", f"✗ {text}"),), frame) for text, frame in alarms(graph))
    lines = list(islice(chain(shown, map(_line, wait_tree(graph))), MAX_LINES + 1))
    if len(lines) > MAX_LINES:
        lines[-1] = Line((("muted", f"… {format_number(len(graph.waits))} wait in all"),))
    return Waiting(graph.n, model.n, len(graph.waits), tuple(lines))


def _line(line: WaitLine) -> Line:
    if line.is_repeated:
        return Line((("muted", line.stem + line.text),), line.wait.frame)
    style = {"user": "warning", "nobody": "error"}.get(line.wait.awaited, "")
    return Line((("muted", line.stem), (style, line.text)), line.wait.frame)
