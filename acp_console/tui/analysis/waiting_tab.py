"""Shows who waits for whom, since when and for what: at the end, now, or after the chosen frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, islice
from typing import ClassVar, Final

from textual.binding import BindingType

from acp_console.tui.analysis.tab import AnalysisTab, Line
from acp_console.tui.commands import bindings
from acp_console.wording.values import format_number, plural
from acp_console.wording.waiting import WaitLine, alarms, unanswered_sentence, wait_tree
from acp_inspector.session.exchanges import Exchange
from acp_inspector.views.session_model import SessionModel

MAX_LINES: Final = 1000
"""Lines that are shown."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who waits for whom after entry `n`."""

    n: int
    analysed: int
    waits: int
    lines: tuple[Line, ...]
    unanswered: int = 0
    """Requests of a recording that never got a response."""
    unanswered_lines: tuple[Line, ...] = ()
    """Those of them that are not in `lines`."""
    is_last: bool = False
    """Whether `n` is the last entry that was read, whichever it is."""


class WaitingTab(AnalysisTab[SessionModel, Waiting]):
    """Shows each wait, and nested below it the waits that it depends on.

    A recording is looked at from its end, until the cursor of the traffic is moved.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("waiting")
    _choice: tuple[bool, int | None] | None = None
    """Whether the user wants to see the end, and the entry that was chosen then."""

    @property
    def _is_last_wanted(self) -> bool:
        if self._choice is not None and self._choice[1] == self.moment.n:
            return self._choice[0]
        return self.moment.is_untouched and self.moment.now is None

    @property
    def _n(self) -> int | None:
        return None if self._is_last_wanted else self.moment.n

    def action_last(self) -> None:
        self._choice = not self._is_last_wanted, self.moment.n
        self.post_message(self.ViewChanged())

    def query_function(self) -> Callable[[SessionModel], Waiting]:
        n = self._n
        now, is_over = self.moment.now, self.moment.now is None
        return lambda model: waiting(model, n, now if n is None else None, is_over=is_over)

    def query_key(self) -> object:
        now = self.moment.now
        second = int(now) if self._n is None and now is not None else None
        return self._n, second, now is None

    def seconds_to_next(self) -> float | None:
        now = self.moment.now
        if self._n is not None or now is None or self.answer is None or not self.answer.waits:
            return None
        return 1 - now % 1

    def is_settled(self) -> bool:
        current, n = self.answer, self._n
        if self.moment.now is None and self.folding.progress.is_behind:
            # What is still to be read may hold a response.
            return False
        return current is not None and n is not None and current.n == n <= current.analysed

    def show(self, answer: Waiting) -> None:
        then = f"after frame {format_number(answer.n)}"
        if answer.n > answer.analysed:
            self.show_heading(f"{then.capitalize()}")
            self.show_note(
                f"Not analysed yet: the analysis has reached {format_number(answer.analysed)}."
            )
            return
        waits = plural(answer.waits, "wait") if answer.waits else "no request is pending"
        heads = [f"{self._when(answer)}: {waits}"]
        lines = answer.lines or (Line((("muted", "Every request has its response."),)),)
        if answer.unanswered:
            so_far = " so far" if self.folding.progress.is_behind else ""
            never = f"never answered{so_far}: {plural(answer.unanswered, 'request')}"
            heads.insert(0 if answer.is_last else 1, never)
            rest = answer.lines or (Line((("muted", "No request is pending there."),)),)
            if answer.unanswered_lines and answer.is_last:
                lines = (*answer.unanswered_lines, *answer.lines)
            elif answer.unanswered_lines:
                between = (Line((("", ""),)), Line((("strong", then.capitalize()),)))
                lines = (*answer.unanswered_lines, *between, *rest)
        head = " · ".join(heads)
        self.show_heading(head[:1].upper() + head[1:])
        self.show_wrapped(lines, has_cursor=bool(answer.waits or answer.unanswered))

    def _when(self, answer: Waiting) -> str:
        """Return of which moment the answer tells, and how to look at another."""
        n = format_number(answer.n)
        if answer.is_last and self.moment.now is not None:
            return "now"
        if answer.is_last and self.folding.progress.is_behind:
            return f"up to frame {n}"
        if answer.is_last:
            return "at the end (← → to step)"
        return f"after frame {n} (← → to step, e for the end)"


def waiting(
    model: SessionModel, n: int | None, now: float | None, *, is_over: bool = False
) -> Waiting:
    """Return who waited.

    Args:
        model: The analysis of the session.
        n: The entry after which to look; None: the last one.
        now: Seconds since the journal began, if it is live; None: the time of that entry.
        is_over: Whether no response can come any more, as in a recording.
    """
    if n is not None and n > model.n:
        return Waiting(n, model.n, 0, ())
    # Clocks may differ, but now is never before the last entry.
    graph = model.waiting(n, None if now is None else max(model.at, now))
    shown = (Line((("error", f"✗ {text}"),), frame) for text, frame in alarms(graph))
    lines = _some(
        chain(shown, map(_line, wait_tree(graph))), f"{format_number(len(graph.waits))} wait in all"
    )
    missing = model.exchanges.unanswered() if is_over else []
    waiting_frames = {wait.frame for wait in graph.waits}
    others = [each for each in missing if each.request_frame.seq not in waiting_frames]
    unanswered = _some(
        (_unanswered(each, model) for each in others), f"{format_number(len(missing))} in all"
    )
    total = len(graph.waits), lines, len(missing), unanswered
    return Waiting(graph.n, model.n, *total, is_last=n is None)


def _some(lines: Iterable[Line], all_: str) -> tuple[Line, ...]:
    """Return the first lines, and how many there are in all if that is more."""
    found = tuple(islice(lines, MAX_LINES + 1))
    if len(found) <= MAX_LINES:
        return found
    return (*found[:MAX_LINES], Line((("muted", f"… {all_}"),)))


def _unanswered(exchange: Exchange, model: SessionModel) -> Line:
    text = unanswered_sentence(exchange, model)
    return Line((("error", "✗ "), ("", text)), exchange.request_frame.seq)


def _line(line: WaitLine) -> Line:
    if line.is_repeated:
        return Line((("muted", line.stem + line.text),), line.wait.frame)
    style = {"user": "warning", "gone": "error"}.get(line.wait.awaited, "")
    return Line((("muted", line.stem), (style, line.text)), line.wait.frame)
